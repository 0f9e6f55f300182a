/* test.true - the value true, for templates. */
#include "states/state/module.h"

static int true_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_bool(true);
    return 0;
}

const struct module module_test_true = {
    .name = "test.true",
    .summary = "return true",
    .params = params_none,
    .call = true_call,
};
