/*
 * functions - all functions besides modules, as rows of the manual: state functions
 * (states/local/verb.h), template functions (states/compile/salt.h), and agent functions
 * (states/local/agent.h).
 *
 * The host passes them to the sys.* functions.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_LOCAL_FUNCTIONS_H
#define STATES_LOCAL_FUNCTIONS_H

struct arena;
struct manual_function;

/* Sorted by name, without duplicates; terminated by a row without a name. */
const struct manual_function *functions_list(struct arena *arena);
const struct manual_function *functions_list_agent(struct arena *arena);

#endif
