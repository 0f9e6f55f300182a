/*
 * standing - the last result of each state of this machine, for services that wait for one.
 *
 * A run replaces the marks of its own states and of its reference ("highstate", "web.nginx"); other
 * marks stay, up to STANDING_MARKS of each kind. One file in the data folder, replaced whole, and
 * only when a mark changes. Dry runs leave it alone.
 *
 *     standing_keep after a run -> standing_read -> standing_find
 *
 * Memory: the arena. Threads: any, and any number of processes: a lock makes one wait for another.
 */
#ifndef CORE_RUNS_STANDING_H
#define CORE_RUNS_STANDING_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/record.h"

struct arena;
struct err;

#define STANDING_FILE "standing"
/* Limits: bytes of the file; marks of states and of references; bytes of a name and of an error. */
#define STANDING_MAX      ((size_t)32 << 20)
#define STANDING_MARKS    50000
#define STANDING_NAME_MAX 512
#define STANDING_TEXT_MAX 256
/* The reference of a run of the top file. */
#define STANDING_HIGHSTATE "highstate"

struct standing_mark {
    const char *name;          /* "file.managed:/etc/motd", or the reference of a run */
    bool success;              /* result of the last run */
    struct value_time changed; /* when it last changed something; 0: never */
    const char *error;         /* why it failed; "" when it did not */
};

struct standing_marks {
    VEC(struct standing_mark) list;
};

struct standing {
    struct standing_marks states, runs;
    struct str succeeded; /* a checksum of the names if all of them succeeded; a NULL view: none */
};

/* The answer for one who waits for a state. */
struct standing_answer {
    const char *name; /* as asked */
    bool known;       /* it has run here */
    bool success;
    struct value_time changed;
    const char *error;
};

/* Store the marks of a run. A mark that changed nothing has `changed` 0 and keeps the earlier time.
 */
int standing_keep(const char *data_dir, const struct standing *ended, struct err *err);

/* Read all marks; none when there is no file. */
int standing_read(struct arena *arena, const char *data_dir, struct standing *ret, struct err *err);

/* `name` is "highstate", a state ("file.managed:/etc/motd"), a state ID, or another reference. All
 * states of one ID must have succeeded. Borrows from the marks. */
struct standing_answer standing_find(const struct standing *standing, const char *name);

#endif
