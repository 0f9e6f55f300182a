/* sys.list_modules - the names of all modules, or of those that match. */
#include "states/modules/sys/catalog.h"
#include "states/state/module.h"

#define ARGS struct list_modules_args

struct list_modules_args {
    struct param_strs globs;
};

static const struct param list_modules_params[] = {
    PARAM("globs", STRS, ARGS, globs, "only those that match one of these", .flags = PARAM_PRIMARY),
    { 0 },
};

static int list_modules_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct list_modules_args *want = args;

    (void)err;
    *ret = catalog_families(run, &want->globs, false);
    return 0;
}

const struct module module_sys_list_modules = {
    .name = "sys.list_modules",
    .summary = "the names of all modules, or of those that match",
    .params = list_modules_params,
    .args_size = sizeof(struct list_modules_args),
    .call = list_modules_call,
};
