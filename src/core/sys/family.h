/*
 * family - a process and all that descend from it.
 *
 * For children started with `reaper`: as long as such a child lives, everything
 * below it stays below it, also what has left its session and lost its parent.
 * So the family can be found, and ended, without a control group.
 *
 * Threads: any; one at a time for each family.
 */
#ifndef CORE_SYS_FAMILY_H
#define CORE_SYS_FAMILY_H

#include <sys/types.h>

#include "core/base/vec.h"

struct arena;
struct err;
struct process;

/* Kill the process and every descendant, and wait until none of them runs. The process itself is
 * left to be reaped. */
int family_kill(const struct process *root, struct err *err);

struct family_pids {
    VEC(pid_t) list;
};
/* Everybody below `root`, without itself, as far as they can be seen now. Never blocks. */
void family_list(pid_t root, struct arena *arena, struct family_pids *ret_pids);
/* The children of `parent` alone. */
void family_children(pid_t parent, struct arena *arena, struct family_pids *ret_pids);

#endif
