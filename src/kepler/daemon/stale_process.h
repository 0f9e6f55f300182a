/*
 * stale process - finds and ends service processes that outlived their daemon.
 *
 * With control groups, everything a daemon started is in one group, whose path is stored in the
 * home. Without them, every child leads a session and adds itself to a list before it runs
 * (process_spec.births), so no child is ever unlisted. A session is ours, with all descendants, if
 * its leader has the listed birth time. A process that left its session or lost its parents is
 * found by the mark in its environment (kepler/supervise/treemark.h).
 *
 *     | boot id 40 | mark 8 | struct process_birth ... |      the list
 *
 * All parts are multiples of a birth, so a full disk never tears one.
 *
 * Threads: one.
 */
#ifndef KEPLER_DAEMON_STALE_PROCESS_H
#define KEPLER_DAEMON_STALE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* A larger list is rewritten without ended processes. */
#define STALE_PROCESS_TRIM_SIZE ((size_t)1 << 20)

/* Disk space reserved for the list, so that services can start on a full disk. */
#define STALE_PROCESS_RESERVE ((size_t)64 << 10)

/* Ends every process in the list at `path`, with all descendants and all marked processes. Returns
 * how many there were. No list: none. */
int stale_process_kill(const char *path, size_t *ret_count, struct err *err);
/* Begins a list with the live processes of the old one. The descriptor is for births; the mark is
 * that of the old list, or new. */
int stale_process_open(const char *path, int *ret_fd, uint64_t *ret_mark, struct err *err);

/* Ends everything in the group at `path` and removes it; a missing group is fine. */
int stale_process_kill_group(const char *path, struct err *err);

struct cgroup;

/* Prefix of a daemon's group name, before the hash of its home. */
#define STALE_PROCESS_GROUP_PREFIX "kepler-"
/* Creates the group and keeps it locked until cgroup_done: the lock shows that its daemon lives. */
int stale_process_own_group(struct cgroup *group, const char *parent, const char *name,
                            struct err *err);
/* Removes the empty groups of dead daemons below `parent`. Skips those that cannot be removed.
 * Returns how many were removed. */
size_t stale_process_sweep_groups(const char *parent);

#endif
