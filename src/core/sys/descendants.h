/*
 * descendants - a process and all its descendants.
 *
 * For children started with `reaper`: while such a child lives, its descendants stay below it, even
 * those that left its session and lost their parent. So they can be found and ended without a
 * control group.
 *
 * Threads: any; one at a time for each process.
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
/* All descendants of `root` that can be seen now, without itself. Never blocks. */
void descendants_list(pid_t root, struct arena *arena, struct descendants_pids *ret_pids);
/* The children of `parent` alone. */
void descendants_children(pid_t parent, struct arena *arena, struct descendants_pids *ret_pids);

#endif
