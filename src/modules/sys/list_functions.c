/* sys.list_functions - the names of all states and functions. */
#include "state/module.h"

static int list_functions_call(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    struct value_list *names = value_list_new(run->arena, module_count);

    (void)args;
    (void)err;
    for (size_t i = 0; i < module_count; i++)
        if (!(module_table[i]->flags & MODULE_HIDDEN))
            value_list_push(run->arena, names, value_text(module_table[i]->name));
    *ret = value_list(names);
    return 0;
}

const struct module module_sys_list_functions = {
    .name = "sys.list_functions",
    .summary = "the names of all states and functions",
    .params = params_none,
    .call = list_functions_call,
};
