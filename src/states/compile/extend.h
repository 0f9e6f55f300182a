/*
 * extend - finds the declarations that an `extend` of Salt changes.
 *
 * By ID and family, or, as there is no such ID, by the name of a state.
 *
 * Memory: the arena of the set. Threads: one at a time.
 */
#ifndef STATES_COMPILE_EXTEND_H
#define STATES_COMPILE_EXTEND_H

#include <stdbool.h>

#include "core/base/str.h"

struct decl;
struct decl_set;
struct value;

/* Is its module of this family: "file.managed" of "file"? */
bool extend_is_of(const struct decl *decl, struct str descendants);

/* The ID of the one state with this name, of the first family that the body names; NULL if there is
 * none, or several. */
const char *extend_find(const struct decl_set *set, struct str name, const struct value *body);

#endif
