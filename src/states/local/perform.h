/*
 * perform - one function on this machine, as a request that came from elsewhere.
 *
 * The agent's side of what `zester --local` does by hand: functions of states (state.apply,
 * state.highstate, ...), states by hand and functions of modules, by one name. The outcome is
 * always a list of results, or an error when nothing ran; secrets are masked in both.
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
    PERFORM_QUICK,   /* answers from what is in memory */
    PERFORM_READ,    /* looks at the machine, changes nothing */
    PERFORM_ACT,     /* may change the machine: one at a time */
    PERFORM_STATES,  /* the same, and needs the tree of states */
    PERFORM_SHOW,    /* reads the tree of states, changes nothing */
    PERFORM_UNKNOWN, /* no such function */
};

enum perform_class perform_class(const char *name);

struct perform_request {
    const char *function;
    const char *id;    /* the positional argument; "": none */
    struct value args; /* a map; null: none */
    const char *job;   /* the id of the run, and of the plan of a dry run; NULL: none */
    /* Has this machine done the job of that id? NULL: no jobs are known. */
    bool (*has_run)(void *self, const char *job);
    void *self;
    const char
        *plan; /* the id of a dry run that it must match (states/run/plan_store.h); NULL: none */
};

struct perform_answer {
    struct run_result result;
    bool success, test;
    const char *error;   /* NULL: none */
    const char *trouble; /* beside the answer, for the log: the plan was not stored; NULL: none */
    const struct lastrun
        *last_run; /* what is kept of it (states/run/lastrun.h); NULL: nothing is */
};

/* `sink` may be NULL. */
void perform(struct session *session, const struct perform_request *request,
             const struct run_sink *sink, struct perform_answer *ret_answer);

/* The only place for the words of a function that does not exist. */
const char *perform_unknown(struct arena *arena, const char *name);

#endif
