/*
 * cgroup - a group of processes that none of them can leave.
 *
 * Only the unified hierarchy (cgroup v2) is used, wherever it is mounted; beside v1 it is often at
 * /sys/fs/cgroup/unified. Groups are made below the one that this process is in, or below any
 * folder of the caller.
 *
 *     cgroup_home -> cgroup_create -> start processes in it
 *                 -> cgroup_kill -> cgroup_wait -> cgroup_remove -> cgroup_done
 *
 * Memory: cgroup_done frees. Threads: one at a time for each group.
 */
#ifndef CORE_SYS_CGROUP_H
#define CORE_SYS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/vec.h"

struct arena;
struct err;
struct str;

struct cgroup {
    char *path;
    int fd;     /* the folder */
    int events; /* cgroup.events: POLLPRI when the group becomes empty or populated */
};

#define CGROUP_NONE                                                                                \
    {                                                                                              \
        NULL, -1, -1                                                                               \
    }

/* The folder of the group that this process is in; NULL without a unified hierarchy or the right to
 * make groups there. */
int cgroup_home(struct arena *arena, const char **ret_path, struct err *err);

/* A group below the folder `parent`. An existing one is opened. */
int cgroup_create(struct cgroup *cgroup, const char *parent, const char *name, struct err *err);
/* Close and free; the group stays. */
void cgroup_done(struct cgroup *cgroup);

/* Kill every process in it and in groups below. Returns at once. */
int cgroup_kill(const struct cgroup *cgroup, struct err *err);
/* Is there a process in it, or in a group below, that is not a zombie? */
int cgroup_is_populated(const struct cgroup *cgroup, bool *ret_populated, struct err *err);
/* Wait until it is empty; fails with ERR_TIMEOUT at `deadline` of clock_real. */
int cgroup_wait(const struct cgroup *cgroup, int64_t deadline, struct err *err);
/* Remove the group and those below; fails with EBUSY while a process is in one. */
int cgroup_remove(const struct cgroup *cgroup, struct err *err);

/* The processes in it, not those in groups below. */
struct cgroup_pids {
    VEC(pid_t) list;
};
int cgroup_list(const struct cgroup *cgroup, struct arena *arena, struct cgroup_pids *ret_pids,
                struct err *err);

/* Read or write one of its files, such as "memory.max". A missing file reads as a NULL view. */
int cgroup_get(const struct cgroup *cgroup, struct arena *arena, const char *file,
               struct str *ret_text, struct err *err);
int cgroup_set(const struct cgroup *cgroup, const char *file, const char *text, struct err *err);

#endif
