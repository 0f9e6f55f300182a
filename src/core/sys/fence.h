/*
 * fence - keeps the processes of one run together, so that all can be ended.
 *
 * Two kinds. Either the child adopts the orphans below it, so that all descendants can be found
 * (core/sys/descendants.h): free of cost, and works for any user. Or a control group holds all
 * processes of the run; groups are made below our own group and reused by later runs. That holds
 * even programs that try to escape, at a small cost for each group.
 *
 *     fence_open -> fence_apply(spec) -> process_start -> [fence_kill] -> fence_close
 *
 * Processes that a run leaves running on purpose stay: its group is not reused until it is empty.
 * Threads: any; one at a time for each fence.
 */
#ifndef CORE_SYS_FENCE_H
#define CORE_SYS_FENCE_H

struct err;
struct fence_group;
struct process;
struct process_spec;

enum fence_kind {
    FENCE_REAPER,
    FENCE_CGROUP,
};

struct fence {
    enum fence_kind kind;
    struct fence_group *group;
};

/* Fails with ERR_UNSUPPORTED when a control group is requested and cannot be created. */
int fence_open(struct fence *fence, enum fence_kind kind, struct err *err);
/* The child will start inside. */
void fence_apply(const struct fence *fence, struct process_spec *spec);
/* Kill everything inside and wait until nothing runs. The process itself is left to be reaped. */
int fence_kill(const struct fence *fence, const struct process *process, struct err *err);
void fence_close(struct fence *fence);

#endif
