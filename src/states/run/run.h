/*
 * run - a plan becomes deeds.
 *
 * Level by level; every state of a level at once, on a pool that grows while
 * workers wait; the end of a level is a barrier. For each state, in this order:
 *
 *     abort     a failhard state of an earlier level failed, or the run is canceled
 *     gate      require, watch, onchanges, onfail: does what came before allow it?
 *     prereq    would what comes later change? A target that cannot be checked fails it
 *     guards    onlyif, unless: commands that may say no
 *     check     what differs; nothing: done. Not when it is forced by a watch or prereq
 *     apply     after the before-images are safe; then check_cmd
 *
 * and all from the guards on again while it fails and retry allows. A dry run ends
 * with check; there, what would change counts as changed for those that come later.
 *
 * States whose modules share a lock run one after the other and hold no worker
 * while they wait. Events come on the thread that called, one at a time.
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
    RUN_WAITING, /* another run is under way: `text` says whose */
    RUN_STARTED,
    RUN_LEVEL_STARTED,
    RUN_STATE_STARTED,
    RUN_STATE_FINISHED, /* `state` */
    RUN_FINISHED,       /* after each that started: `run`, or NULL when it failed as a whole */
};

struct run_event {
    enum run_event_kind kind;
    const char *run_id;
    const char *text;
    uint32_t level, level_count, state_count;
    const char *name;                 /* of the state that starts or has finished */
    const struct state_result *state; /* all borrowed for the call, or as long as the result */
    const struct run_result *run;
};

/* Callbacks for progress; each may be NULL. */
struct run_sink {
    void (*emit)(void *self, const struct run_event *event);
    void *self;
    bool brief; /* nothing of single states: workers need not wake the caller for each */
    /* Workers call `emit` for single states, several at once; else it is called in the thread of
     * the run alone, which they wake for each. */
    bool any_thread;
};

/* Returns 0 when the run took place, whatever the outcome, which is in `ret_result`. Fails only
 * when it could not begin: another run does not end (ERR_BUSY), no room for undo data. */
int run_plan(struct arena *arena, struct state_host *host, const struct plan *plan,
             enum run_mode mode, const struct run_sink *sink, struct run_result *ret_result,
             struct err *err);

#endif
