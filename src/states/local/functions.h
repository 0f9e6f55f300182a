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

#include <stddef.h>

struct arena;
struct manual_function;
struct param_strs;

/* Sorted by name, without duplicates; terminated by a row without a name. */
const struct manual_function *functions_list(struct arena *arena);
const struct manual_function *functions_list_agent(struct arena *arena);

/* The call that an unknown function with these words means, as it is written here: "pkg.installed
 * x" for "package.installed x", "service.restart x" for "service restart x" and for "systemctl
 * restart x". NULL: none. */
const char *functions_meant(struct arena *arena, const char *name, const struct param_strs *words);
/* Why there is no such function, or what to use (states/compile/unsupported.h); NULL: unknown. */
const char *functions_reason(struct arena *arena, const char *name, const struct param_strs *words);
/* A word as a shell takes it. */
const char *functions_quote(struct arena *arena, const char *word);

#endif
