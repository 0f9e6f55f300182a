/*
 * verb - state functions (state.apply, state.revert, ...): their names and needs.
 *
 * The only list of them: `zester --local` and the agent each have handlers by kind.
 *
 * Threads: any.
 */
#ifndef STATES_LOCAL_VERB_H
#define STATES_LOCAL_VERB_H

#include <stdbool.h>
#include <stddef.h>

#include "states/local/perform.h"

struct suggest;

enum verb_kind {
    VERB_APPLY,
    VERB_HIGHSTATE,
    VERB_SLS_ID,
    VERB_TEMPLATE_STR,
    VERB_TEST,
    VERB_SINGLE,
    VERB_EVENT,
    VERB_REVERT,
    VERB_SHOW,
    VERB_SHOW_HIGHSTATE,
    VERB_SHOW_TOP,
    VERB_GRAPH,
    VERB_CHECK,
    VERB_SLS_EXISTS,
    VERB_ID_EXISTS,
    VERB_LAST,
    VERB_OWED,
    VERB_WAIVE,
    VERB_RUNS,
};
#define VERB_KINDS (VERB_RUNS + 1)

struct verb {
    const char *name;
    enum verb_kind kind;
    enum perform_class class;        /* PERFORM_UNKNOWN: not for agents */
    const char *signature, *summary; /* for sys.doc, in the form of language/jinja/function.h */
};

/* Terminated by a row without a name. */
extern const struct verb verb_table[];

/* NULL: no such verb. */
const struct verb *verb_find(const char *name);
/* Does the function of this name run several states of files? */
bool verb_runs_states(const char *name);
/* Does a call of this function apply or revert states: a verb, or a state called by its name? */
bool verb_applies(const char *function);
/* Does it read the state tree? */
bool verb_needs_tree(const struct verb *verb);
/* Add suggestions for a mistyped name, but never a function that reverts. */
void verb_offer(struct suggest *near);

#endif
