/*
 * fleet_binding - which arguments the words after a function are: "cmd.run uptime".
 *
 * Memory: constant, and the arena. Threads: any.
 */
#ifndef FLEET_VIEW_BINDING_H
#define FLEET_VIEW_BINDING_H

#include "core/base/str.h"

struct arena;
struct job;

/* The id of a request that has no word for it. */
#define FLEET_BINDING_NO_WORD "ad-hoc"

/* Positional arguments: their names, and what is sent as the id. */
struct fleet_binding {
    const char *function; /* NULL: any other */
    const char *keys[2];  /* "": one that has no name */
    int least;
    const char *id; /* NULL: the first word */
};
const struct fleet_binding *fleet_binding_find(const char *function);

/* Sets the function, the id and the arguments of a job from a function and one word; "": none. */
void fleet_binding_use(struct arena *arena, struct str function, struct str word, struct job *job);

#endif
