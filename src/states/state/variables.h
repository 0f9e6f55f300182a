/*
 * variables - variables that states of a run give to the commands that come after them.
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

/* A NULL value: the variable is not there. With a NULL environment nothing happens. */
void variables_set(struct variables *variables, const char *name, const char *value);
/* What a command would see; NULL: the variable is not there. In the arena. */
const char *variables_find(struct variables *variables, struct arena *arena, const char *name);
/* "NAME=value" of the process with what was set on top, ends in NULL. NULL: nothing was set, and
 * the process's own will do. */
const char *const *variables_make(struct variables *variables, struct arena *arena);

#endif
