/*
 * stale process - processes of services that outlived their daemon, and their end.
 *
 * With control groups it is simple: all that a daemon started is in one group, whose
 * path is written down in the home. Without, every child leads a session and adds itself
 * to a list before it runs (process_spec.births), so that there is no moment in which it
 * lives and is not known. A session whose leader was born when ours was is ours, with all
 * descendants. Whoever left its session or lost its parents is known by the mark in its
 * environment (kepler/supervise/treemark.h).
 *
 *     | boot id 40 | mark 8 | struct process_birth ... |      the list
 *
 * All parts are multiples of a birth, so that none is torn where a disk is full.
 *
 * Threads: one.
 */
#ifndef KEPLER_DAEMON_STALE_PROCESS_H
#define KEPLER_DAEMON_STALE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* A list that is larger is written anew, without those that have ended. */
#define STALE_PROCESS_TRIM_SIZE ((size_t)1 << 20)

/* What is kept free on the disk for the list, so that services start also when nothing else is. */
#define STALE_PROCESS_RESERVE ((size_t)64 << 10)

/* End everything that the list at `path` knows of, with all descendants and all that are marked.
 * Returns how many there were. No list: none. */
int stale_process_kill(const char *path, size_t *ret_count, struct err *err);
/* Begin a list: of those in the old one that still live. The descriptor is for births; the mark is
 * that of the old list, or new. */
int stale_process_open(const char *path, int *ret_fd, uint64_t *ret_mark, struct err *err);

/* End everything in the group at `path` and remove it; not there is fine. */
int stale_process_kill_group(const char *path, struct err *err);

struct cgroup;

/* The name of a daemon's group begins with this; what follows is the hash of its home. */
#define STALE_PROCESS_GROUP_PREFIX "kepler-"
/* Make the group and keep it locked until cgroup_done: that is how others know that its daemon
 * lives. */
int stale_process_own_group(struct cgroup *group, const char *parent, const char *name,
                            struct err *err);
/* Remove the groups below `parent` whose daemon is dead and in which nothing is left. Those that
 * cannot be removed stay. Returns how many went. */
size_t stale_process_sweep_groups(const char *parent);

#endif
