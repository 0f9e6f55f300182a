/*
 * builtin - the functions that templates of states can call, besides Jinja's own.
 *
 * Two tables: the globals (facts_get, pillar_get, outputs...), and the functions of `salt` under
 * Salt's names (grains.get, pillar.get, config.get...). Every other name after `salt` is a module
 * with a function.
 *
 * Threads: as the rendering that calls them.
 */
#ifndef STATES_COMPILE_BUILTIN_H
#define STATES_COMPILE_BUILTIN_H

#include "core/data/value.h"
#include "language/jinja/function.h"

struct output_list;
struct state_host;

/* The context of the functions; the `user` of both tables. */
struct builtin_context {
    struct state_host *host;
    struct output_list *outputs; /* NULL: outputs() is an error */
    unsigned depth;              /* renderings around this one, by slsutil.renderer */
};

/* `opts`: the configuration, under Salt's names. */
struct value builtin_opts(struct arena *arena, const struct state_host *host);

/* The globals; ends with a row without a name. */
extern const struct function builtin_globals[];

/* The functions of `salt`, by full name; see states/compile/salt.h. Terminated the same way. */
extern const struct function builtin_salt_functions[];

#endif
