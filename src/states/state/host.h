/*
 * host - the environment of the state engine: file tree, facts, settings, renderer, undo folder,
 * cancel token.
 *
 * The command line makes one for `--local`, the agent one for each job. Modules reach everything
 * outside through it, so a test can supply a scratch root and nothing else.
 *
 * Memory: the caller owns it; it outlives compiling and running.
 * Threads: read by all workers at once; the parts that change have their own locks.
 */
#ifndef STATES_STATE_HOST_H
#define STATES_STATE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/log.h"
#include "core/data/value.h"

struct accumulators;
struct arena;
struct plan_binding;
struct cancel;
struct variables;
struct err;
struct manual_function;
struct secrets;
struct stamps;
struct state_fleet;
struct state_result;
struct state_services;
struct tree;

/* A basket query to the fleet. */
struct state_basket {
    const char *target, *type; /* type "": any target expression */
    const char *name;
};

/* An event of this machine. */
struct state_event {
    const char *tag;
    struct value data; /* a map, owned by the event */
    const char *id;    /* set once it is sent */
};

struct host_facts {
    const struct value *facts, *grains;
};

struct state_host {
    const char *peel_id;              /* this machine */
    const char *environment;          /* the only environment of the top file to use; NULL: all */
    const char *settings_environment; /* the same for settings */
    const struct tree *tree;          /* states/compile/tree.h: files of states and templates */
    struct stamps *stamps; /* states/compile/stamps.h: files the compiler read, or NULL */
    const struct state_services *services; /* states/state/services.h: services for modules */
    const char *data_dir;                  /* undo journal, owed work, caches */
    /* Maps; read them with host_facts and host_grains. When `facts` is NULL, `learn_facts` collects
     * them; `grains` (facts in Salt's form) defaults to the facts. */
    const struct value *facts, *grains;
    const struct host_facts *(*learn_facts)(void *user); /* from any thread */
    void *facts_user;
    const struct value *settings;      /* never NULL */
    struct secrets *secrets;           /* states/state/secrets.h: texts to mask */
    struct variables *variables;       /* states/state/variables.h, or NULL */
    struct accumulators *accumulators; /* states/state/accumulators.h, or NULL */
    struct cancel *cancel;             /* core/sys/cancel.h: set to end the run */
    bool strict_params;                /* unknown parameters are errors, not warnings */
    bool strict_templates;             /* an undefined template value is an error, not empty */
    bool test;                         /* dry run */
    bool is_elsewhere;         /* the machine is another one: templates must not ask this one */
    unsigned parallel;         /* states that run at once; 0: the whole level */
    const char *package_lists; /* folder of dpkg's file lists; NULL: unknown */
    const char *facts_file;    /* where set_fact writes; NULL: the default file */
    /* NULL: not supported. */
    int (*set_fact)(const struct state_host *host, const char *key, const struct value *v,
                    struct err *err);
    /* Collect facts and grains again, between two levels; NULL: not supported. */
    int (*reload_facts)(struct state_host *host, struct err *err);
    /* Send the event of a finished state; NULL: no fleet. */
    void (*fire)(const struct state_host *host, const char *tag, const struct state_result *result);
    void *fire_user;
    /* Send an event for a state; it is on disk when this returns. NULL: no fleet. */
    int (*send_event)(const struct state_host *host, struct arena *arena, struct state_event *event,
                      struct err *err);
    /* Basket values of other machines: a map of peel IDs to values. NULL: no fleet. */
    int (*basket)(const struct state_host *host, const struct state_basket *question,
                  struct arena *arena, struct value *ret, struct err *err);
    struct state_fleet *fleet; /* states/state/fleet.h: jobs for other machines; NULL: no fleet */
    bool steps_only;           /* with a fleet: only fleet job states are allowed */
    /* Functions besides modules (states/state/manual.h), terminated by a row without a name; NULL:
     * none. */
    const struct manual_function *(*list_functions)(struct arena *arena);
    const char *run_id; /* a KSUID for the next run; otherwise a new one is made */
    /* For the list of runs: the requested function, and who asked for it ("operator ada"); NULL:
     * the user of this process. */
    const char *function, *by;
    const struct plan_binding *plan_binding; /* the approved changes; NULL: any change */
    bool plans; /* hash the changes of a dry run, which may become a plan */
    void (*log)(enum log_level level, struct str text); /* for log.*, or NULL */
    int64_t lock_wait; /* nanoseconds to wait for another run; 0: RUNLOCK_WAIT */
};

/* Never NULL. A run collects facts before its first change, so they describe the machine before the
 * run. */
const struct value *host_facts(const struct state_host *host);
/* The same in Salt's form. */
const struct value *host_grains(const struct state_host *host);

#endif
