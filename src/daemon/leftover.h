/*
 * leftover - processes of services that outlived their daemon, and their end.
 *
 * With control groups it is simple: all that a daemon started is in one group, whose
 * path is written down in the home. Without, every child leads a session and adds itself
 * to a list before it runs (process_spec.births), so that there is no moment in which it
 * lives and is not known. A session keeps its number as long as one process is in it,
 * so no stranger has it, unless its leader was born at another time than ours.
 *
 *     | boot id 40 | struct process_birth ... |      the list
 *
 * Threads: one.
 */
#ifndef DAEMON_LEFTOVER_H
#define DAEMON_LEFTOVER_H

#include <stddef.h>

struct err;

/* A list that is larger is written anew, without those that have ended. */
#define LEFTOVER_TRIM_SIZE ((size_t)1 << 20)

/* End everything that the list at `path` knows of, with all descendants. Returns how many there
 * were. No list: none. */
int leftover_kill(const char *path, size_t *ret_count, struct err *err);
/* Begin a list: of those in the old one that still live. The descriptor is for births. */
int leftover_open(const char *path, int *ret_fd, struct err *err);

/* End everything in the group at `path` and remove it; not there is fine. */
int leftover_kill_group(const char *path, struct err *err);

#endif
