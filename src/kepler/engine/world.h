/*
 * world - everything the engine needs from outside, as a table of functions.
 *
 * The engine decides; the world acts. It starts processes and tasks (a hook step, a health check),
 * sends signals, watches files, evaluates computed values, and stores outputs. Tests supply a fake
 * world and turn its clock by hand; the daemon supplies kepler/supervise/real_world.h.
 *
 * Calls go both ways, but never nested: no function of the table may call one of `struct
 * world_events` before it has returned. Answers come later, from the loop. Services are numbers:
 * their index in the config.
 *
 * Evaluations may take seconds, so a world may answer later (WORLD_LATER): by one event for each
 * request. A service has one request open at a time.
 *
 * Memory: texts returned by a world are valid until its next call. Threads: one.
 */
#ifndef KEPLER_ENGINE_WORLD_H
#define KEPLER_ENGINE_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kepler/config/config.h"
#include "kepler/config/policy.h"
#include "core/sys/process.h"

struct config;
struct err;
struct timers;
struct world;

/* Schedule of checks; nanoseconds. */
struct world_check {
    bool given;
    int64_t interval, timeout, start_period, retries;
};

/* The evaluated settings of a service. Initialized from the config. */
struct world_plan {
    bool skip;          /* `if` is false */
    const char *reason; /* reason of the skip */
    struct policy policy;
    struct world_check check;
    struct config_logs logs;
    bool has_watch; /* there are files to watch */
};

/* The evaluated settings of a hook step. Initially: run it. */
struct world_step {
    bool run;
    bool clears;         /* its `if` called failure(): success of the step clears the failure */
    const char *warning; /* error in its `if`; NULL: none */
    int64_t timeout;     /* 0: HOOK_TIMEOUT */
};

/* The known status of a state of this machine. */
struct world_state {
    bool success;      /* its last run succeeded */
    int64_t changed;   /* wall time when it last changed something; 0: never */
    const char *words; /* why it is not met: "has not run on this machine" */
};

/* Kind of a line in a service's log that we add. */
enum world_note {
    WORLD_ERROR,   /* something failed */
    WORLD_WARNING, /* something was ignored */
};

enum world_resolve {
    WORLD_IGNORE_IF = 1, /* requested by name: `if` is not evaluated */
    WORLD_RESTART = 2,   /* not part of a start request: nothing is shared */
};

/* Result of an evaluation. */
enum world_answer {
    WORLD_NO = -1, /* with the reason in `err` */
    WORLD_DONE = 0,
    WORLD_LATER = 1, /* an event follows */
};

/* A service runs one task of each kind at a time. */
enum world_task { WORLD_HOOK, WORLD_CHECK };
#define WORLD_TASKS (WORLD_CHECK + 1)

/* Result of task_start. */
enum world_started {
    WORLD_FAILED = -1, /* with the reason in `err` */
    WORLD_STARTED = 0,
    WORLD_NOTHING = 1, /* nothing to run: counts as success */
};

/* Called by the world, from the loop. The engine sets these. */
struct world_events {
    void *self;
    /* The main process of a service ended; comes before `emptied`. */
    void (*exited)(void *self, uint32_t service, struct process_status status);
    /* The service's tree is empty. */
    void (*emptied)(void *self, uint32_t service);
    /* A task ended and its tree is empty. */
    void (*task_ended)(void *self, uint32_t service, enum world_task kind,
                       struct process_status status);
    /* Later answers to resolve, prepare_step and outputs_keep. `err` is NULL on success. */
    void (*resolved)(void *self, uint32_t service, const struct world_plan *plan,
                     const struct err *err);
    void (*step_prepared)(void *self, uint32_t service, const struct world_step *step,
                          const struct err *err);
    void (*outputs_kept)(void *self, uint32_t service, const struct err *err);
    /* A watched file changed; reported once for a burst of changes. */
    void (*files_changed)(void *self, uint32_t service, const char *path);
    /* The known status of a watched state has changed. */
    void (*states_changed)(void *self, uint32_t service);
};

struct world_ops {
    int64_t (*now)(struct world *world);  /* monotonic nanoseconds */
    int64_t (*wall)(struct world *world); /* nanoseconds since 1970 */

    /* A start request begins: computed values of its services may share a Lua state. */
    void (*begin)(struct world *world);
    /* Evaluates the service for the next start. */
    enum world_answer (*resolve)(struct world *world, uint32_t service, unsigned flags,
                                 struct world_plan *plan, struct err *err);
    /* The pending answer is no longer needed: fail it soon. */
    void (*cancel_answer)(struct world *world, uint32_t service);
    /* Starts the resolved program. */
    int (*spawn)(struct world *world, uint32_t service, pid_t *ret_pid, struct err *err);
    /* Signals, or kills, everything in the tree. */
    void (*signal)(struct world *world, uint32_t service, int signo);
    void (*kill)(struct world *world, uint32_t service);

    /* Evaluates a step: whether it runs, and with which settings. `failed`: an earlier step failed.
     */
    enum world_answer (*prepare_step)(struct world *world, uint32_t service, enum hook_phase phase,
                                      size_t step, bool failed, struct world_step *ret_step,
                                      struct err *err);
    /* Starts the step that was prepared last, or a check. */
    enum world_started (*task_start)(struct world *world, uint32_t service, enum world_task kind,
                                     struct err *err);
    /* Kills the tree of a running task; its end is reported as usual. */
    void (*task_kill)(struct world *world, uint32_t service, enum world_task kind);

    /* The last output of the last check; "": none. */
    const char *(*check_words)(struct world *world, uint32_t service);

    void (*watch_start)(struct world *world, uint32_t service);
    void (*watch_stop)(struct world *world, uint32_t service);

    /* Starts or stops watching the states of a service. */
    void (*watch_states)(struct world *world, uint32_t service, bool on);
    /* The last known status. */
    struct world_state (*find_state)(struct world *world, uint32_t service, const char *name);

    /* Removes the outputs of earlier runs; stores those of the run that ended. */
    void (*outputs_clear)(struct world *world, uint32_t service);
    enum world_answer (*outputs_keep)(struct world *world, uint32_t service, struct err *err);

    /* A run and its last hook are over: revokes what it was lent (a token). */
    void (*end_run)(struct world *world, uint32_t service);

    /* The services are those of another config now: the new number of each old one, or
     * ENGINE_GONE. Comes before any other call with new numbers. */
    void (*change)(struct world *world, const struct config *config, const uint32_t *numbers);

    /* Adds a line of ours to the log of a service; `phase` is HOOK_PHASES outside of hooks. */
    void (*note)(struct world *world, uint32_t service, enum hook_phase phase, enum world_note note,
                 const char *text);
};

/* Embedded in the world that implements it. */
struct world {
    const struct world_ops *ops;
    struct timers *timers; /* deadlines in terms of `now` */
    struct world_events events;
};

#endif
