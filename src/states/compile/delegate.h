/*
 * delegate - module.run: a state that runs another module.
 *
 *     refresh: {module.run: [{name: cmd.run}, {command: apt-get update}]}
 *     touch:   {module.run: [{file.touch: {path: /run/flag}}]}
 *
 * A target that is a state replaces it, so it is checked, applied and reverted like any other; only
 * the name of the state stays module.run. A target that is a function is called by the module
 * module.run, with its arguments in a map.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_COMPILE_DELEGATE_H
#define STATES_COMPILE_DELEGATE_H

#include <stdbool.h>

struct arena;
struct decl;
struct diags;
struct module;
struct value_map;

/* The module whose states delegate. */
#define DELEGATE_MODULE "module.run"
/* The modules whose states call functions, in both languages, when a watched state changed. */
#define DELEGATE_WAITING  "module.wait"
#define DELEGATE_WATCHING "module.watch"

/* The module that really runs, and its arguments; both are unchanged for modules other than
 * module.run. Returns -1 when it added to `diags`. */
int delegate_read(struct arena *arena, const struct decl *decl, const struct module **module,
                  const struct value_map **args, struct diags *diags);

#endif
