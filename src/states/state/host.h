/*
 * host - what the state engine is given from outside: the tree of files, facts and
 * settings of the machine, how to render, where to keep undo data, when to stop.
 *
 * The command line makes one for `--local`; the agent will make one for each job.
 * Everything a module may ask for goes through here, so that a test can give a
 * scratch root and nothing else.
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

/* A question to the machines of a fleet. */
struct state_basket {
    const char *target, *type; /* type: "" is any expression */
    const char *name;
};

/* An event of this machine. */
struct state_event {
    const char *tag;
    struct value data; /* a map that nobody else reads */
    const char *id;    /* set once it is sent */
};

struct host_facts {
    const struct value *facts, *grains;
};

struct state_host {
    const char *peel_id;     /* this machine */
    const char *environment; /* the one of the top file that counts; NULL: all of them do */
    const char *settings_environment; /* the same of the settings */
    const struct tree *tree;          /* states/compile/tree.h: files of states and templates */
    struct stamps
        *stamps; /* states/compile/stamps.h: of what is read by the compiler; NULL: none */
    const struct state_services *services; /* states/state/services.h: what modules may ask for */
    const char *data_dir;                  /* undo journal, owed work, caches */
    /* Ask with host_facts and host_grains. Maps; `facts` is NULL: `learn_facts` has them, and
     * `grains`, facts in Salt's form, is NULL: the facts. */
    const struct value *facts, *grains;
    const struct host_facts *(*learn_facts)(void *user); /* from any thread */
    void *facts_user;
    const struct value *settings;      /* never NULL */
    struct secrets *secrets;           /* states/state/secrets.h: texts that are never shown */
    struct variables *variables;       /* states/state/variables.h; NULL: nobody sets variables */
    struct accumulators *accumulators; /* states/state/accumulators.h; NULL: nobody collects */
    struct cancel *cancel;             /* core/sys/cancel.h: set to end the run */
    bool strict_params;                /* unknown parameters are errors; else warnings */
    bool strict_templates;     /* an undefined value in a template is an error; else it is empty */
    bool test;                 /* dry run */
    unsigned parallel;         /* states that run at once; 0: as many as a level has */
    const char *package_lists; /* folder of dpkg's lists of the files of packages; NULL: unknown */
    const char *facts_file;    /* where set_fact writes; NULL: the usual place */
    /* NULL: nobody may */
    int (*set_fact)(const struct state_host *host, const char *key, const struct value *v,
                    struct err *err);
    /* Collect facts and grains again, between two levels; NULL: they stay as they are. */
    int (*reload_facts)(struct state_host *host, struct err *err);
    /* The event of a state that has ended; NULL: there is no fleet. */
    void (*fire)(const struct state_host *host, const char *tag, const struct state_result *result);
    void *fire_user;
    /* An event that a state asks for: on disk when it returns; NULL: there is no fleet. */
    int (*send_event)(const struct state_host *host, struct arena *arena, struct state_event *event,
                      struct err *err);
    /* What other machines share: a map of their ids to values; NULL: there is no fleet. */
    int (*basket)(const struct state_host *host, const struct state_basket *question,
                  struct arena *arena, struct value *ret, struct err *err);
    struct state_fleet
        *fleet;      /* states/state/fleet.h: jobs for other machines; NULL: there is no fleet */
    bool steps_only; /* with a fleet: any state that is not a job for it is a mistake */
    /* What can be called besides modules (states/state/manual.h), until a row without a name; NULL:
     * nothing. */
    const struct manual_function *(*list_functions)(struct arena *arena);
    const char *run_id; /* a KSUID for the next run; NULL, or anything else: a new one */
    const struct plan_binding *plan_binding; /* the approved changes; NULL: any change */
    bool plans; /* hash the changes of a dry run, which may become a plan */
    void (*log)(enum log_level level, struct str text); /* of log.*; NULL: nobody listens */
    int64_t lock_wait; /* nanoseconds to wait for another run; 0: RUNLOCK_WAIT */
};

/* Never NULL. A run asks before its first change, so facts are those of the machine before it. */
const struct value *host_facts(const struct state_host *host);
/* The same in Salt's form. */
const struct value *host_grains(const struct state_host *host);

#endif
