/*
 * orders - states that are jobs for other machines: fleet.state and fleet.function, and Salt's
 * names of both.
 *
 * Each dispatches one job and waits for it. It has changed when a peel has, and has failed when
 * more peels have than `max_failures`. A dry run dispatches the same job as a dry run; a function
 * that has none is not run.
 */
#ifndef STATES_MODULES_FLEET_ORDERS_H
#define STATES_MODULES_FLEET_ORDERS_H

#include "states/state/fleet.h"
#include "states/state/module.h"

struct orders_args {
    const char *name;
    const char *tgt, *tgt_type;
    struct param_strs sls;
    bool highstate;
    enum state_revert revert_on_failure;
    const struct value *peel_settings;
    struct param_strs arg;
    const struct value *kwarg;
    const char *batch;
    const char *gate;
    int64_t max_failures, timeout, pause;
};

extern const struct param orders_state_params[], orders_function_params[];

int orders_state_validate(const void *args, const struct value *where, struct diags *diags);
int orders_state_check(struct state_run *run, const void *args, struct err *err);
int orders_state_apply(struct state_run *run, const void *args, struct err *err);
int orders_function_validate(const void *args, const struct value *where, struct diags *diags);
int orders_function_check(struct state_run *run, const void *args, struct err *err);
int orders_function_apply(struct state_run *run, const void *args, struct err *err);

/* clang-format off */
#define ORDERS_FIELDS                                                                              \
    .args_size = sizeof(struct orders_args),                                                       \
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO | MODULE_EXACT | MODULE_STEP
#define ORDERS_STATE_FIELDS                                                                        \
    ORDERS_FIELDS, .example = "tgt: 'web-*'\nsls: app\nbatch: 20%\n",                              \
    .params = orders_state_params, .validate = orders_state_validate,               \
    .check = orders_state_check, .apply = orders_state_apply
#define ORDERS_FUNCTION_FIELDS                                                                     \
    ORDERS_FIELDS, .example = "name: cmd.run\ntgt: 'lb-*'\narg: [uptime]\n",                       \
    .params = orders_function_params, .validate = orders_function_validate,         \
    .check = orders_function_check, .apply = orders_function_apply
/* clang-format on */

#endif
