/*
 * call - one function of the module table, by hand.
 */
#ifndef STATE_CALL_H
#define STATE_CALL_H

struct arena;
struct diags;
struct module;
struct state_host;
struct value;

/* Decode `given` (a map, or NULL) by the module's table and call it. `primary` is what its primary
 * parameter is when not given, or NULL. A mistake in the arguments, and a function that says no,
 * are diagnostics. */
int call_function(struct arena *arena, struct state_host *host, const struct module *module,
                  const struct value *given, const struct value *primary, struct value *ret,
                  struct diags *diags);

#endif
