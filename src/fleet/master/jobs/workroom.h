/*
 * workroom - a folder that this master has to itself, for copies of what is published.
 *
 * Masters of one machine may have the same `orchestrate_dir`: each uses the first folder in it that
 * no other one uses.
 *
 *     WORKROOM_INIT -> workroom_open... -> workroom_done
 *
 * Memory: the struct holds a lock and the path. Threads: the loop's.
 */
#ifndef FLEET_MASTER_JOBS_WORKROOM_H
#define FLEET_MASTER_JOBS_WORKROOM_H

#include "core/base/arena.h"
#include "core/sys/lock.h"

struct err;

/* That use one folder. */
#define WORKROOM_MASTERS_MAX 64

struct workroom {
    struct arena arena;
    struct lock lock;
    const char *folder; /* NULL: not open */
};

#define WORKROOM_INIT                                                                              \
    {                                                                                              \
        .lock = LOCK_NONE                                                                          \
    }

/* The folder in `all`, which is made when it is missing; NULL on failure. An open one stays. */
const char *workroom_open(struct workroom *room, const char *all, struct err *err);
/* Not open is fine. */
void workroom_done(struct workroom *room);

#endif
