/*
 * hook - runs the steps of one phase of one service, one after another.
 *
 *     hook_begin -> { hook_task_ended }... -> EV_HOOK_DONE
 *
 * A step without `if` is skipped once an earlier step failed. A step with `if` runs when the
 * condition is true. Only a later step that succeeded and whose condition called failure() clears
 * a failure; otherwise the phase returns the first failure. A condition that cannot be evaluated
 * skips its step.
 *
 * Every step has a timeout, after which its whole tree is killed and the step has failed:
 * HOOK_TIMEOUT unless the step sets one.
 *
 * A service runs one phase at a time. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_HOOK_H
#define KEPLER_ENGINE_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "kepler/config/config.h"
#include "core/sys/process.h"
#include "core/sys/timers.h"

struct err;
struct service;
struct world_step;

#define HOOK_TIMEOUT   (600 * INT64_C(1000000000)) /* same as in the table of steps */
#define HOOK_ERROR_MAX 600

enum hook_stage {
    HOOK_STAGE_IDLE,      /* no phase is in progress */
    HOOK_STAGE_NEXT,      /* between steps */
    HOOK_STAGE_PREPARING, /* the world evaluates a step */
    HOOK_STAGE_RUNNING,   /* a step runs */
};

struct hook {
    enum hook_phase phase;
    enum hook_stage stage;
    bool canceled;    /* skip the remaining steps */
    bool timed_out;   /* the running step */
    bool clears;      /* success of the running step clears the failure */
    bool failed;      /* a step failed and nothing cleared it */
    size_t step;      /* the running step */
    struct buf error; /* the first failure */
    struct timer timer;
};

static inline bool hook_is_active(const struct hook *hook)
{
    return hook->stage != HOOK_STAGE_IDLE;
}

/* Runs the phase. True when it is finished already; then there is no EV_HOOK_DONE. */
bool hook_begin(struct service *service, enum hook_phase phase);
/* Kills the running step; EV_HOOK_DONE follows when it is gone. Only while a hook is active. */
void hook_cancel(struct service *service);
/* The world has prepared a step asynchronously. */
void hook_step_prepared(struct service *service, const struct world_step *step,
                        const struct err *err);
/* The world reports the end of the running step. */
void hook_task_ended(struct service *service, struct process_status status);
void hook_done(struct hook *hook);

#endif
