/* test.version - returns the version of zester. */
#include "states/state/module.h"

static int version_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_text(ZESTER_VERSION);
    return 0;
}

const struct module module_test_version = {
    .name = "test.version",
    .summary = "return the version of zester",
    .params = params_none,
    .call = version_call,
};
