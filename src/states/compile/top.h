/*
 * top - the top file of states: the references of this machine.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_TOP_H
#define STATES_COMPILE_TOP_H

#include "core/data/params.h"

struct arena;
struct diags;
struct state_host;
struct value;

struct top_list {
    struct param_strs refs;
    const struct value **where; /* of each */
};

/* In the order of first mention; none is a mistake. */
int top_list(struct arena *arena, struct state_host *host, struct top_list *ret,
             struct diags *diags);

#endif
