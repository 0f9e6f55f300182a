/*
 * waiting - a command that runs when a watched state changed: cmd.wait, and Salt's other name for
 * it, cmd.watch.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_CMD_WAITING_H
#define STATES_MODULES_CMD_WAITING_H

#include <stdbool.h>

#include "core/data/params.h"
#include "states/modules/cmd/command.h"

struct diags;
struct err;
struct state_run;
struct value;

struct waiting_args {
    const char *command;
    struct command_args how;
    const struct value *stateful;
};

extern const struct param waiting_params[];

int waiting_validate(const void *args, const struct value *where, struct diags *diags);
int waiting_check(struct state_run *run, const void *args, struct err *err);
int waiting_apply(struct state_run *run, const void *args, struct err *err);

#define WAITING_FIELDS                                                                             \
    .example = "command: systemctl reload nginx\n", .params = waiting_params,                      \
    .flags = MODULE_NO_UNDO, .args_size = sizeof(struct waiting_args),                             \
    .validate = waiting_validate, .check = waiting_check, .apply = waiting_apply

#endif
