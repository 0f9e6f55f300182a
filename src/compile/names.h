/*
 * names - one declaration, several states.
 *
 * `names: [curl, git]` makes a state of each entry, with the entry as its ID and as
 * the value of the module's primary parameter. An entry may carry arguments of its
 * own: `names: [curl, {git: {version: 2}}]`. A declaration without names is one state.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef COMPILE_NAMES_H
#define COMPILE_NAMES_H

#include "base/vec.h"
#include "data/value.h"

struct arena;
struct decl;
struct diags;
struct value_map;

struct names_state {
    const char *id;
    const struct value_map *args;
    const char *alias; /* the ID of the declaration when that is another; or NULL */
    const char *about; /* the text of its primary parameter when that is given; or NULL */
};

struct names {
    VEC(struct names_state) list;
};

/* Returns -1 when it added to `diags`. */
int names_expand(struct arena *arena, const struct decl *decl, struct names *ret,
                 struct diags *diags);

#endif
