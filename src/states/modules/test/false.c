/* test.false - the value false, for templates. */
#include "states/state/module.h"

static int false_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_bool(false);
    return 0;
}

const struct module module_test_false = {
    .name = "test.false",
    .summary = "return false",
    .params = params_none,
    .call = false_call,
};
