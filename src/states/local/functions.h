/*
 * functions - what can be called besides the modules of the table, as rows of the manual: the
 * functions of states (states/local/verb.h), those of templates (states/compile/salt.h), and on an
 * agent its own (states/local/agent.h).
 *
 * Handed to the host, so that the functions of sys.* can list them.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_LOCAL_FUNCTIONS_H
#define STATES_LOCAL_FUNCTIONS_H

struct arena;
struct manual_function;

/* Sorted by name, each name once; ends with a row without one. */
const struct manual_function *functions_list(struct arena *arena);
const struct manual_function *functions_list_agent(struct arena *arena);

#endif
