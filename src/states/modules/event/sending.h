/*
 * sending - events of this machine, raised by states and functions.
 *
 * An event leaves through the host (states/state/host.h): on an agent it is on disk when the state
 * ends, and stays there until the stream has it. Without a fleet it cannot be sent, and
 * that is a failure, in a dry run as well.
 *
 * Threads: as the module that calls.
 */
#ifndef STATES_MODULES_EVENT_SENDING_H
#define STATES_MODULES_EVENT_SENDING_H

#include <stdbool.h>

#include "core/data/params.h"
#include "core/data/value.h"

struct err;
struct state_run;

struct sending_args {
    const char *tag;
    const struct value *data;                   /* a map; NULL: none */
    const struct value *env, *facts, *settings; /* parts to add: all, or a list of names */
    const struct value *more;                   /* other keys, as data; NULL: none */
    bool show_changed;
};

extern const struct param sending_params[];

/* Reports what would be sent; counts as a difference, unless changes must not be shown. */
int sending_check(struct state_run *run, const void *args, struct err *err);
int sending_apply(struct state_run *run, const void *args, struct err *err);
/* As a function: true. Nothing is sent in a dry run. */
int sending_call(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
