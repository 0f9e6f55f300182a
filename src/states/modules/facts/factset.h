/*
 * factset - a custom fact: facts.set, and Salt's name for it, grains.setval.
 */
#ifndef STATES_MODULES_FACTS_FACTSET_H
#define STATES_MODULES_FACTS_FACTSET_H

#include "core/data/params.h"

struct err;
struct state_run;
struct value;

#define FACTSET_DETAILS                                                                            \
    "Stored in /etc/zester/facts, whose values override the detected ones from the next run "      \
    "on."

struct factset_args {
    const char *key;
    const struct value *value;
};
extern const struct param factset_params[];

int factset_call(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
