/*
 * calls - functions that module.run and module.wait call.
 *
 *     calls_validate (when the state is read) -> calls_say, calls_run
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MODULE_CALLS_H
#define STATES_MODULES_MODULE_CALLS_H

#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct calls_args {
    const char *function;
    const struct value *arguments, *calls;
};

extern const struct param calls_params[];

int calls_validate(const void *args, const struct value *where, struct diags *diags);
/* Say what would be called. */
void calls_say(struct state_run *run, const void *args);
int calls_run(struct state_run *run, const void *args, struct err *err);
/* Check of a state that runs for a watch only. */
int calls_check_watched(struct state_run *run, const void *args, struct err *err);

#endif
