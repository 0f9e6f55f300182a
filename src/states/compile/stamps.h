/*
 * stamps - the inputs of a plan, to tell later whether compiling would give the same plan.
 *
 * While a plan is compiled, code that reads a file adds its path first, even if the file is
 * missing. Code that inspects the machine otherwise raises a doubt. The compiler knows facts,
 * settings and the request; they do not belong here.
 *
 *     stamps_init -> { stamps_add, stamps_doubt }... -> stamps_can_last -> stamps_hold...
 *
 * A file is identified by device, inode, size and times. One changed within STAMPS_SETTLED could
 * change again without a new time, so it is a doubt.
 *
 * Memory: the arena. Threads: one at a time; stamps_hold any.
 */
#ifndef STATES_COMPILE_STAMPS_H
#define STATES_COMPILE_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/sys/fs.h"

struct arena;

#define STAMPS_SETTLED (INT64_C(2) * 1000000000)
/* Files of one plan; more are a doubt. */
#define STAMPS_MAX 1000

struct stamp {
    const char *path;
    struct fs_info info;
};

struct stamps {
    struct arena *arena;
    VEC(struct stamp) list;
    int64_t settled;
    bool is_doubtful;
};

/* `settled`: see above; STAMPS_SETTLED, or less in tests. */
void stamps_init(struct stamps *stamps, struct arena *arena, int64_t settled);

/* Call it before the file is read. NULL is fine. */
void stamps_add(struct stamps *stamps, const char *path);
/* The plan may be another one next time. NULL is fine. */
void stamps_doubt(struct stamps *stamps);

/* Are all inputs of the plan recorded, without doubt? */
bool stamps_can_last(const struct stamps *stamps);
/* Are all files unchanged? */
bool stamps_hold(const struct stamps *stamps);

#endif
