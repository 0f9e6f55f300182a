/*
 * fleet_binding - maps the words after a function to arguments: "cmd.run uptime".
 *
 * Memory: constant, and the arena. Threads: any.
 */
#ifndef FLEET_VIEW_BINDING_H
#define FLEET_VIEW_BINDING_H

#include "core/base/str.h"

struct arena;
struct job;

/* Id of a request without words. */
#define FLEET_BINDING_NO_WORD "ad-hoc"

/* Names of positional arguments, and the one sent as the id. */
struct fleet_binding {
    const char *function; /* NULL: any other function */
    const char *keys[2];  /* "": unnamed */
    int least;
    const char *id; /* NULL: the first word */
};
const struct fleet_binding *fleet_binding_find(const char *function);

/* Sets the function, the id and the arguments of a job from a function and one word; "": none. */
void fleet_binding_use(struct arena *arena, struct str function, struct str word, struct job *job);

#endif
