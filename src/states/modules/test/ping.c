/* test.ping - a liveness check. */
#include "states/state/module.h"

static int ping_check(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    (void)err;
    state_acts(run);
    if (run->test)
        state_say(run, "would answer");
    return 0;
}

static int ping_apply(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    (void)err;
    state_detail(run, "result", "true");
    state_return(run, value_bool(true));
    state_unchanged(run);
    return 0;
}

static int ping_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_bool(true);
    return 0;
}

const struct module module_test_ping = {
    .name = "test.ping",
    .summary = "return true and change nothing",
    .example = "{}\n",
    .params = params_none,
    .flags = MODULE_ALWAYS | MODULE_IDLE,
    .check = ping_check,
    .apply = ping_apply,
    .call = ping_call,
};
