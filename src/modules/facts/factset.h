/*
 * factset - a fact that the administrator writes: facts.set, and grains.setval as Salt calls it.
 */
#ifndef MODULES_FACTS_FACTSET_H
#define MODULES_FACTS_FACTSET_H

#include "data/params.h"

struct err;
struct state_run;
struct value;

#define FACTSET_DETAILS                                                                            \
    "Kept in /etc/zester/facts, whose values are merged over what the machine finds out about "    \
    "itself; so it is there in the next run."

struct factset_args {
    const char *key;
    const struct value *value;
};
extern const struct param factset_params[];

int factset_call(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
