/* sys.list_functions - the names of all states and functions, or of those of a module. */
#include "base/str.h"
#include "state/module.h"

#define ARGS struct list_functions_args

struct list_functions_args {
    const char *module;
};

static const struct param list_functions_params[] = {
    PARAM("module", STR, ARGS, module, "only the functions of this module", .flags = PARAM_PRIMARY),
    { 0 },
};

static bool is_of_module(struct str name, const char *module)
{
    return !module || str_eq(str_cut(&name, '.'), str_from(module));
}

static int list_functions_call(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    const struct list_functions_args *want = args;
    struct value_list *names = value_list_new(run->arena, module_count);

    (void)err;
    for (size_t i = 0; i < module_count; i++)
        if (!(module_table[i]->flags & MODULE_HIDDEN) &&
            is_of_module(str_from(module_table[i]->name), want->module))
            value_list_push(run->arena, names, value_text(module_table[i]->name));
    *ret = value_list(names);
    return 0;
}

const struct module module_sys_list_functions = {
    .name = "sys.list_functions",
    .summary = "the names of all states and functions, or of those of a module",
    .params = list_functions_params,
    .args_size = sizeof(struct list_functions_args),
    .call = list_functions_call,
};
