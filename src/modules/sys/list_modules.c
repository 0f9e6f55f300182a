/* sys.list_modules - the names of all modules, or of those that match. */
#include "base/glob.h"
#include "base/str.h"
#include "state/module.h"

#define ARGS struct list_modules_args

struct list_modules_args {
    struct param_strs globs;
};

static const struct param list_modules_params[] = {
    PARAM("globs", STRS, ARGS, globs, "only those that match one of these", .flags = PARAM_PRIMARY),
    { 0 },
};

static bool is_wanted(struct str name, const struct param_strs *globs)
{
    for (size_t i = 0; i < globs->n; i++)
        if (glob_match(str_from(globs->p[i]), name))
            return true;
    return globs->n == 0;
}

/* The table is in the order of names, so functions of a module follow one another. */
static int list_modules_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct list_modules_args *want = args;
    struct value_list *names = value_list_new(run->arena, module_count);
    struct str last = STR("");

    (void)err;
    for (size_t i = 0; i < module_count; i++) {
        struct str rest = str_from(module_table[i]->name);
        const struct str name = str_cut(&rest, '.');

        if ((module_table[i]->flags & MODULE_HIDDEN) || str_eq(name, last))
            continue;
        last = name;
        if (is_wanted(name, &want->globs))
            value_list_push(run->arena, names, value_str(name));
    }
    *ret = value_list(names);
    return 0;
}

const struct module module_sys_list_modules = {
    .name = "sys.list_modules",
    .summary = "the names of all modules, or of those that match",
    .params = list_modules_params,
    .args_size = sizeof(struct list_modules_args),
    .call = list_modules_call,
};
