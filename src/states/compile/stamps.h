/*
 * stamps - what a plan was made from, to tell later whether it would be made the same again.
 *
 * While a plan is compiled, whoever looks at a file adds its path first; a path without a file
 * counts, too. Whoever asks the machine for anything else raises a doubt. Facts, settings and the
 * request are known to those who compile, and do not belong here.
 *
 *     stamps_init -> { stamps_add, stamps_doubt }... -> stamps_can_last -> stamps_hold...
 *
 * A file is known by device, inode, size and times. One that has changed within STAMPS_SETTLED
 * could change once more without another time, so it is a doubt.
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

/* Is everything that the plan was made from known here? */
bool stamps_can_last(const struct stamps *stamps);
/* Is every file as it was? */
bool stamps_hold(const struct stamps *stamps);

#endif
