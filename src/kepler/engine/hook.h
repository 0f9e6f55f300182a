/*
 * hook - the steps of one phase of one service, one after another.
 *
 *     hook_begin -> { hook_task_ended }... -> EV_HOOK_DONE
 *
 * A step without `if` is passed over once a step before it failed. A step with one
 * runs when it says so. A failure is healed only by a later step that succeeded and
 * whose condition asked failure(); otherwise the first failure is what the phase
 * returns. A condition that cannot be evaluated passes its step over.
 *
 * Every step has a timeout, after which its whole tree is killed and the step has
 * failed: HOOK_TIMEOUT unless the step says otherwise.
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

#define HOOK_TIMEOUT   (600 * INT64_C(1000000000)) /* as the table of steps has it */
#define HOOK_ERROR_MAX 600

struct hook {
    enum hook_phase phase;
    bool active;      /* a phase is going on */
    bool preparing;   /* the world evaluates a step */
    bool running;     /* a step is */
    bool canceled;    /* the rest is not wanted */
    bool timed_out;   /* the running step */
    bool clears;      /* a success of the running step heals the phase */
    bool failed;      /* a step failed and nothing healed it */
    size_t step;      /* the running one */
    struct buf error; /* of the first failure */
    struct timer timer;
};

/* Run the phase. True when it is over already; then there is no EV_HOOK_DONE. */
bool hook_begin(struct service *service, enum hook_phase phase);
/* Kill what runs; EV_HOOK_DONE comes when it is gone. Only while a hook is active. */
void hook_cancel(struct service *service);
/* The world says what the step is, later than it was asked. */
void hook_step_prepared(struct service *service, const struct world_step *step,
                        const struct err *err);
/* The world says that the running step ended. */
void hook_task_ended(struct service *service, struct process_status status);
void hook_done(struct hook *hook);

#endif
