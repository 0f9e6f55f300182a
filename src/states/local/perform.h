/*
 * perform - runs one requested function on this machine.
 *
 * The agent's counterpart of `zester --local`: state functions (state.apply, state.highstate,
 * ...), single states and module functions, by name. The answer is always a list of results, or an
 * error when nothing ran; secrets are masked in both.
 *
 *     perform_class -> session_init with what it needs -> perform
 *
 * Memory: the arena of the session. Threads: as session.
 */
#ifndef STATES_LOCAL_PERFORM_H
#define STATES_LOCAL_PERFORM_H

#include <stdbool.h>

#include "core/data/value.h"
#include "states/state/outcome.h"

struct lastrun;
struct run_sink;
struct session;

enum perform_class {
    PERFORM_QUICK,   /* answers from memory */
    PERFORM_READ,    /* reads from the machine, changes nothing */
    PERFORM_ACT,     /* may change the machine: one at a time */
    PERFORM_STATES,  /* the same, and needs the state tree */
    PERFORM_SHOW,    /* reads the state tree, changes nothing */
    PERFORM_UNKNOWN, /* no such function */
};

enum perform_class perform_class(const char *name);

struct perform_request {
    const char *function;
    const char *id;    /* the positional argument; "": none */
    struct value args; /* a map; null: none */
    const char *by;    /* who asks, for the list of runs: "operator ada"; NULL: our user */
    const char *job;   /* ID of the run and of the plan of a dry run, or NULL */
    /* Has this machine run the job of that ID? NULL: no jobs are known. */
    bool (*has_run)(void *self, const char *job);
    void *self;
    const char *plan; /* the plan that it must match (states/run/plan_store.h), or NULL */
};

struct perform_answer {
    struct run_result result;
    bool success, test;
    const char *error;   /* NULL: none */
    const char *trouble; /* a warning for the log, such as a plan that was not stored; or NULL */
    const struct lastrun *last_run; /* the stored summary (states/run/lastrun.h), or NULL */
};

/* `sink` may be NULL. */
void perform(struct session *session, const struct perform_request *request,
             const struct run_sink *sink, struct perform_answer *ret_answer);

/* The message for an unknown function; the only place for it. */
const char *perform_unknown(struct arena *arena, const char *name);

#endif
