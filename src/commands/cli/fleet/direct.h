/*
 * fleet_direct - a function that is asked of peels directly: no job, no record, no master.
 *
 * Memory: the arena of the fleet. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_DIRECT_H
#define COMMANDS_CLI_FLEET_DIRECT_H

#include <stdint.h>

#include "commands/cli/fleet/answers.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct err;
struct fleet;

struct fleet_question {
    const char *function;
    const char *id;    /* the positional argument; "": none */
    struct value args; /* a map; null: none */
    struct param_strs peels;
    int64_t timeout;      /* for each of them, in nanoseconds */
    const char *window;   /* an EXEC_WINDOW (fleet/wire/exec.h); NULL: none */
    int64_t node_timeout; /* then it is canceled there; 0: never */
    const char *user;     /* for the audit of the peels; NULL: not said */
    struct value secrets; /* secret arguments (fleet/wire/exec.h); null: none */
};

/* Ask them all at once, and wait until each has answered or its time is over. */
int fleet_ask_peels(struct fleet *fleet, const struct fleet_question *question,
                    struct fleet_answers *ret_answers, struct err *err);

/* Read the data that a function returned to one of them; it is sent as YAML. */
int fleet_answer_read(struct arena *arena, const struct fleet_answer *answer, struct value *ret,
                      struct err *err);

#endif
