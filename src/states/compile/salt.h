/*
 * salt - functions by name: salt['a.b'](...), salt.a.b(...), salt_call('a.b', ...).
 *
 * A name is one of builtin_salt_functions and slsutil_functions, or a module of the table that has
 * a function. Positional arguments go to the primary parameter of a module first, then to the
 * others in the order of its table.
 *
 * Threads: as the rendering that calls them.
 */
#ifndef STATES_COMPILE_SALT_H
#define STATES_COMPILE_SALT_H

#include "core/data/value.h"
#include "language/jinja/function.h"

struct arena;
struct builtin_context;
struct function_call;
struct diags;
struct render;
struct state_host;

/* Is it a function that only templates have? */
bool salt_has(struct str name);
/* The function of this number, from 0; NULL: no more. */
const struct function *salt_at(size_t i);
/* Does it take any number of arguments? */
bool salt_takes_many(struct str name);

/* Call such a function from a command line: `words` is a list, `pairs` a map. */
int salt_call_by_hand(struct arena *arena, struct state_host *host, const char *name,
                      const struct value *words, const struct value *pairs, struct value *ret,
                      struct diags *diags);

/* All names that can be called. */
int salt_names(struct render *render, void *user, struct value_list **ret);

/* The value of `salt`; keeps `context`. */
struct value salt_value(struct arena *arena, struct builtin_context *context);

/* Call a function by its name; `user` is a struct builtin_context. */
int salt_dispatch(struct render *render, void *user, struct str name,
                  const struct function_call *call, struct value *ret);

/* salt_call, whose `user` is a struct builtin_context; ends with a row without a name. */
extern const struct function salt_globals[];

#endif
