/*
 * names - one declaration, several states.
 *
 * `names: [curl, git]` creates a state for each entry, with the entry as its ID and primary
 * parameter. An entry may have its own arguments: `names: [curl, {git: {version: 2}}]`. A
 * declaration without names is one state.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_COMPILE_NAMES_H
#define STATES_COMPILE_NAMES_H

#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct decl;
struct diags;
struct value_map;

struct names_state {
    const char *id;
    const struct value_map *args;
    const char *alias; /* the ID of the declaration if it differs; or NULL */
    const char *about; /* the text of its primary parameter if given; or NULL */
};

struct names {
    VEC(struct names_state) list;
};

/* Returns -1 when it added to `diags`. */
int names_expand(struct arena *arena, const struct decl *decl, struct names *ret,
                 struct diags *diags);

#endif
