/*
 * descendants - a process and all that descend from it.
 *
 * For children started with `reaper`: as long as such a child lives, everything
 * below it stays below it, also what has left its session and lost its parent.
 * So the descendants can be found, and ended, without a control group.
 *
 * Threads: any; one at a time for each descendants.
 */
#ifndef CORE_SYS_DESCENDANTS_H
#define CORE_SYS_DESCENDANTS_H

#include <sys/types.h>

#include "core/base/vec.h"

struct arena;
struct err;
struct process;

/* Kill the process and every descendant, and wait until none of them runs. The process itself is
 * left to be reaped. */
int descendants_kill(const struct process *root, struct err *err);

struct descendants_pids {
    VEC(pid_t) list;
};
/* Everybody below `root`, without itself, as far as they can be seen now. Never blocks. */
void descendants_list(pid_t root, struct arena *arena, struct descendants_pids *ret_pids);
/* The children of `parent` alone. */
void descendants_children(pid_t parent, struct arena *arena, struct descendants_pids *ret_pids);

#endif
