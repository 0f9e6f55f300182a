/*
 * run - executes a plan.
 *
 * Levels run one after the other; the states of a level run concurrently, on a pool that grows
 * while workers wait. For each state, in this order:
 *
 *     abort     a failhard state of an earlier level failed, or the run is canceled
 *     gate      require, watch, onchanges, onfail: do earlier results allow it?
 *     prereq    would a later state change? A target that cannot be checked fails it
 *     guards    onlyif, unless
 *     check     find differences; none: done. Not when forced by watch or prereq
 *     apply     after the before-images are safe; then check_cmd
 *
 * A run that changed something ends with a look at states that it may have affected
 * (states/run/look.h).
 *
 * A failed state starts again at the guards while `retry` allows. A dry run ends after check;
 * later states treat a state that would change as changed.
 *
 * States whose modules share a lock run one at a time and hold no worker while they wait. Events
 * are emitted on the calling thread, one at a time.
 *
 * Memory: results are in the arena. Threads: one run at a time for each host; runs of
 * different processes on one machine wait for each other (states/run/runlock.h).
 */
#ifndef STATES_RUN_RUN_H
#define STATES_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct err;
struct plan;
struct run_result;
struct state_host;
struct state_result;

enum run_mode {
    RUN_APPLY,
    RUN_TEST, /* dry run */
};

enum run_event_kind {
    RUN_WAITING, /* another run holds the lock: `text` describes it */
    RUN_STARTED,
    RUN_LEVEL_STARTED,
    RUN_STATE_STARTED,
    RUN_STATE_FINISHED, /* `state` */
    RUN_FINISHED, /* always follows RUN_STARTED: `run`, or NULL when the run failed as a whole */
};

struct run_event {
    enum run_event_kind kind;
    const char *run_id;
    const char *text;
    uint32_t level, level_count, state_count;
    const char *name;                 /* the starting or finished state */
    const struct state_result *state; /* all borrowed for the call, or as long as the result */
    const struct run_result *run;
};

/* Callbacks for progress; each may be NULL. */
struct run_sink {
    void (*emit)(void *self, const struct run_event *event);
    void *self;
    bool brief; /* no state events: workers need not wake the caller for each */
    /* Workers may call `emit` concurrently for state events; otherwise they wake the calling
     * thread, which calls it. */
    bool any_thread;
};

/* Returns 0 when the run took place; its outcome is in `ret_result`. Fails only when it could not
 * start: another run does not end (ERR_BUSY), or there is no room for undo data. */
int run_plan(struct arena *arena, struct state_host *host, const struct plan *plan,
             enum run_mode mode, const struct run_sink *sink, struct run_result *ret_result,
             struct err *err);

#endif
