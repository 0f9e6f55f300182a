/*
 * workroom - a private folder of this master, for copies of published trees.
 *
 * Masters on one machine may share `orchestrate_dir`: each uses the first free folder in it.
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

/* Limit of masters that share a folder. */
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

/* The folder in `all`, created if missing; NULL on failure. An open one is kept. */
const char *workroom_open(struct workroom *room, const char *all, struct err *err);
/* Not open is fine. */
void workroom_done(struct workroom *room);

#endif
