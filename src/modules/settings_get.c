/* settings.get - a setting by its path. */
#include "modules/datapath.h"
#include "state/module.h"

#define ARGS struct get_args

struct get_args {
    const char *key;
    const struct value *otherwise;
};

/* clang-format off */
static const struct param get_params[] = {
    PARAM("key", STR, ARGS, key, "a path, with ':' or '.' between its parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("default", ANY, ARGS, otherwise, "what to give when there is none"),
    { 0 },
};
/* clang-format on */

static int get_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct get_args *want = args;

    (void)err;
    *ret = datapath_get(state_settings(run), want->key, want->otherwise);
    return 0;
}

const struct module module_settings_get = {
    .name = "settings.get",
    .summary = "a setting by its path",
    .params = get_params,
    .args_size = sizeof(struct get_args),
    .call = get_call,
};
