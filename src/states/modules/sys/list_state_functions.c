/* sys.list_state_functions - the names of all states, or of those of a module. */
#include "states/modules/sys/catalog.h"
#include "states/state/module.h"

#define ARGS struct list_state_functions_args

struct list_state_functions_args {
    struct param_strs modules;
};

static const struct param list_state_functions_params[] = {
    PARAM("module", STRS, ARGS, modules,
          "only the states of these modules, or those that a pattern matches",
          .flags = PARAM_PRIMARY),
    { 0 },
};

static int list_state_functions_call(struct state_run *run, const void *args, struct value *ret,
                                     struct err *err)
{
    const struct list_state_functions_args *want = args;

    (void)err;
    *ret = catalog_matching(run, &want->modules, true);
    return 0;
}

const struct module module_sys_list_state_functions = {
    .name = "sys.list_state_functions",
    .summary = "the names of all states, or of those of a module",
    .params = list_state_functions_params,
    .args_size = sizeof(struct list_state_functions_args),
    .call = list_state_functions_call,
};
