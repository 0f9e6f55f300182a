/* test.nop - a state that is always unchanged. */
#include "states/state/module.h"

static int nop_check(struct state_run *run, const void *args, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    return 0;
}

static int nop_apply(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    (void)err;
    state_unchanged(run); /* forced by a watch: still nothing to do */
    return 0;
}

const struct module module_test_nop = {
    .name = "test.nop",
    .summary = "do nothing; an anchor for requisites",
    .example = "{}\n",
    .params = params_none,
    .flags = MODULE_LOCAL,
    .check = nop_check,
    .apply = nop_apply,
};
