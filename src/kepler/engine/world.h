/*
 * world - everything that the engine needs from outside, as a table of functions.
 *
 * The engine decides; the world acts. It starts processes and tasks (a step of a
 * hook, a health check), sends signals, watches files, evaluates what a service
 * computes, and keeps outputs. Tests give a fake world and turn its clock by hand;
 * the daemon gives kepler/supervise/real_world.h.
 *
 * Calls go both ways, but never at once: no function of the table may call one
 * of `struct world_events` before it has returned. Answers come later, from the
 * loop. Services are numbers: their index in the configuration.
 *
 * What is evaluated may take seconds, so a world may answer later (WORLD_LATER): by
 * one event for each such question. A service has one question open at a time.
 *
 * Memory: texts given out by a world are valid until its next call. Threads: one.
 */
#ifndef KEPLER_ENGINE_WORLD_H
#define KEPLER_ENGINE_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kepler/config/config.h"
#include "kepler/config/policy.h"
#include "core/sys/process.h"

struct err;
struct timers;
struct world;

/* When checks run; nanoseconds. */
struct world_check {
    bool given;
    int64_t interval, timeout, start_period, retries;
};

/* What evaluating a service brought. Begins as what the configuration says. */
struct world_plan {
    bool skip;          /* `if` is false */
    const char *reason; /* of the skip */
    struct policy policy;
    struct world_check check;
    struct config_logs logs;
    bool has_watch; /* there are files to watch */
};

/* What evaluating a step of a hook brought. Begins as: run it. */
struct world_step {
    bool run;
    bool clears;         /* its `if` asked failure(): a success of the step heals the phase */
    const char *warning; /* its `if` could not be evaluated; NULL: it could */
    int64_t timeout;     /* 0: HOOK_TIMEOUT */
};

/* What is known of a state of this machine. */
struct world_state {
    bool success;      /* its last run succeeded */
    int64_t changed;   /* wall time when it last changed something; 0: never */
    const char *words; /* why it is not met: "has not run on this machine" */
};

/* What a line of our own is about. */
enum world_note {
    WORLD_ERROR,   /* something did not happen */
    WORLD_WARNING, /* something was passed over */
};

enum world_resolve {
    WORLD_IGNORE_IF = 1, /* asked for by name: `if` is not evaluated */
    WORLD_RESTART = 2,   /* not part of a request to start: nothing is shared */
};

/* What an evaluation says. */
enum world_answer {
    WORLD_NO = -1, /* and `err` says why */
    WORLD_DONE = 0,
    WORLD_LATER = 1, /* an event follows */
};

/* A service runs one task of each kind at a time. */
enum world_task { WORLD_HOOK, WORLD_CHECK };
#define WORLD_TASKS (WORLD_CHECK + 1)

/* What task_start did. */
enum world_started {
    WORLD_FAILED = -1, /* and `err` says why */
    WORLD_STARTED = 0,
    WORLD_NOTHING = 1, /* there was nothing to run: counts as success */
};

/* Told by the world, from the loop. The engine sets these. */
struct world_events {
    void *self;
    /* The main process of a service ended; comes before `emptied`. */
    void (*exited)(void *self, uint32_t service, struct process_status status);
    /* Nothing of the service's tree is left. */
    void (*emptied)(void *self, uint32_t service);
    /* A task ended and nothing of its tree is left. */
    void (*task_ended)(void *self, uint32_t service, enum world_task kind,
                       struct process_status status);
    /* Later answers to resolve, prepare_step and outputs_keep. `err` is NULL when all went well. */
    void (*resolved)(void *self, uint32_t service, const struct world_plan *plan,
                     const struct err *err);
    void (*step_prepared)(void *self, uint32_t service, const struct world_step *step,
                          const struct err *err);
    void (*outputs_kept)(void *self, uint32_t service, const struct err *err);
    /* A watched file changed; reported once for a burst of changes. */
    void (*files_changed)(void *self, uint32_t service, const char *path);
    /* Something else than before is known of the states that it watches. */
    void (*states_changed)(void *self, uint32_t service);
};

struct world_ops {
    int64_t (*now)(struct world *world);  /* monotonic nanoseconds */
    int64_t (*wall)(struct world *world); /* nanoseconds since 1970 */

    /* A request to start begins: what its services compute may share a state. */
    void (*begin)(struct world *world);
    /* Evaluate what the service computes, for the start that follows. */
    enum world_answer (*resolve)(struct world *world, uint32_t service, unsigned flags,
                                 struct world_plan *plan, struct err *err);
    /* Nobody needs the pending answer any longer: fail it soon. */
    void (*cancel_answer)(struct world *world, uint32_t service);
    /* Start what was resolved. */
    int (*spawn)(struct world *world, uint32_t service, pid_t *ret_pid, struct err *err);
    /* Send a signal to everything in the tree; kill everything in it. */
    void (*signal)(struct world *world, uint32_t service, int signo);
    void (*kill)(struct world *world, uint32_t service);

    /* Evaluate a step: may it run, and what is it? `failed`: a step before it failed. */
    enum world_answer (*prepare_step)(struct world *world, uint32_t service, enum hook_phase phase,
                                      size_t step, bool failed, struct world_step *ret_step,
                                      struct err *err);
    /* Start the step that was prepared last, or a check. */
    enum world_started (*task_start)(struct world *world, uint32_t service, enum world_task kind,
                                     struct err *err);
    /* Kill the tree of a running task; its end is reported as usual. */
    void (*task_kill)(struct world *world, uint32_t service, enum world_task kind);

    /* The end of what the last check wrote; "": nothing. */
    const char *(*check_words)(struct world *world, uint32_t service);

    void (*watch_start)(struct world *world, uint32_t service);
    void (*watch_stop)(struct world *world, uint32_t service);

    /* Keep what is known of the states of a service up to date, or no longer. */
    void (*watch_states)(struct world *world, uint32_t service, bool on);
    /* As last heard. */
    struct world_state (*find_state)(struct world *world, uint32_t service, const char *name);

    /* Forget the outputs of earlier runs; keep those of the run that ended. */
    void (*outputs_clear)(struct world *world, uint32_t service);
    enum world_answer (*outputs_keep)(struct world *world, uint32_t service, struct err *err);

    /* A run and its last hook are over: what it was lent (a token) is revoked. */
    void (*end_run)(struct world *world, uint32_t service);

    /* A line of our own for the log of a service; `phase` is HOOK_PHASES outside of hooks. */
    void (*note)(struct world *world, uint32_t service, enum hook_phase phase, enum world_note note,
                 const char *text);
};

/* Embedded in the world that implements it. */
struct world {
    const struct world_ops *ops;
    struct timers *timers; /* deadlines of `now` */
    struct world_events events;
};

#endif
