/*
 * call - functions of the module table, outside of a state.
 *
 * In one call, or decoded first, so that mistakes are reported before anything runs:
 *
 *     call_decode -> call_decoded, any number of times
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_STATE_CALL_H
#define STATES_STATE_CALL_H

struct arena;
struct diags;
struct err;
struct module;
struct state_host;
struct value;

/* Decode `given` (a map, or NULL) by the module's table and call it. `primary` is the default of
 * its primary parameter, or NULL. Bad arguments and a failed call are diagnostics. */
int call_function(struct arena *arena, struct state_host *host, const struct module *module,
                  const struct value *given, const struct value *primary, struct value *ret,
                  struct diags *diags);

int call_decode(struct arena *arena, const struct module *module, const struct value *given,
                const struct value *primary, const void **ret_args, struct diags *diags);
int call_decoded(struct arena *arena, struct state_host *host, const struct module *module,
                 const void *args, struct value *ret, struct err *err);

#endif
