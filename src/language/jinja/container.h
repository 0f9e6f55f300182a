/*
 * container - lists and maps that templates may change.
 *
 * Containers of the context are shared and never change. When a template calls a
 * method that changes one, the rendering makes a copy, and from then on every
 * access to the original finds the copy: two names for one list stay two
 * names for one list. Containers made by the template are changed in place; their
 * `owner` is the rendering.
 *
 * All of jinja/ reads lists and maps through these functions.
 */
#ifndef LANGUAGE_JINJA_CONTAINER_H
#define LANGUAGE_JINJA_CONTAINER_H

#include "core/data/value.h"
#include "language/jinja/render.h"

/* The current state, for reading. */
void *container_find_copy(const struct render *render, const void *original);
static inline const struct value_list *container_list(struct render *render, const struct value *v)
{
    const struct value_list *copy =
        render->overlay ? container_find_copy(render, v->list) : NULL; /* mostly there is none */

    return copy ? copy : v->list;
}
static inline const struct value_map *container_map(struct render *render, const struct value *v)
{
    const struct value_map *copy = render->overlay ? container_find_copy(render, v->map) : NULL;

    return copy ? copy : v->map;
}

/* For changing: the container itself when the rendering made it, else its copy. */
struct value_list *container_change_list(struct render *render, const struct value *v);
struct value_map *container_change_map(struct render *render, const struct value *v);

/* Containers that the rendering owns. */
struct value_list *container_new_list(struct render *render, size_t expected);
struct value_map *container_new_map(struct render *render, size_t expected);

#endif
