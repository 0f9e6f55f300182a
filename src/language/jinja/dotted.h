/*
 * dotted - functions with dotted names: salt['grains.get']('os') and salt.grains.get('os') are the
 * same call.
 *
 * The object collects the name; the host handles the call. It also has get() and keys(), like a
 * map: salt.get('x.y', default) is a function or the default.
 */
#ifndef LANGUAGE_JINJA_DOTTED_H
#define LANGUAGE_JINJA_DOTTED_H

#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct function_call;
struct render;

typedef int dotted_fn(struct render *render, void *user, struct str name,
                      const struct function_call *call, struct value *ret);

/* All callable names, for `'grains.get' in salt` and `salt['grains.get'] is defined`. */
typedef int dotted_names_fn(struct render *render, void *user, struct value_list **ret);

/* The object with no name yet; `user` is borrowed. */
struct value dotted_new(struct arena *arena, dotted_fn *call, dotted_names_fn *names, void *user);

#endif
