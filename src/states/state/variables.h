/*
 * variables - environment variables that states set for later commands of the run.
 *
 * The environment of the process itself is never changed: its threads read it.
 *
 *     variables_new -> variables_set... -> variables_make for each command ->
 * variables_free
 *
 * Threads: any.
 */
#ifndef STATES_STATE_VARIABLES_H
#define STATES_STATE_VARIABLES_H

struct arena;
struct variables;

struct variables *variables_new(void);
/* NULL is fine. */
void variables_free(struct variables *variables);

/* A NULL value removes the variable. NULL variables: does nothing. */
void variables_set(struct variables *variables, const char *name, const char *value);
/* The value that a command sees, in the arena; NULL: not set. */
const char *variables_find(struct variables *variables, struct arena *arena, const char *name);
/* The process environment with these variables on top, terminated by NULL. NULL: none was set; use
 * the process environment. */
const char *const *variables_make(struct variables *variables, struct arena *arena);

#endif
