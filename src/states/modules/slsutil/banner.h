/*
 * banner - slsutil.banner: a comment in a box, with a title and a text, in Salt's layout, so that a
 * file that Salt wrote stays as it is.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SLSUTIL_BANNER_H
#define STATES_MODULES_SLSUTIL_BANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"

struct err;
struct state_run;
struct value;

struct banner_args {
    int64_t width;
    const char *comment, *border, *start, *end, *title, *text;
    bool newline;
};

extern const struct param banner_params[];

int banner_call(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
