/* environ.get - returns a variable of zester's environment. */
#include <stdlib.h>

#include "states/state/module.h"

#define ARGS struct get_args

struct get_args {
    const char *key;
    const struct value *otherwise;
};

/* clang-format off */
static const struct param get_params[] = {
    PARAM("key", STR, ARGS, key, "the variable", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("default", ANY, ARGS, otherwise, "value to return if it is not set (default: an empty string)"),
    { 0 },
};
/* clang-format on */

static int get_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct get_args *want = args;
    const char *text = getenv(want->key);

    (void)err;
    if (!text && want->otherwise)
        *ret = *want->otherwise;
    else
        *ret = value_str(arena_str(run->arena, str_from(text ? text : "")));
    return 0;
}

const struct module module_environ_get = {
    .name = "environ.get",
    .summary = "a variable of zester's own environment",
    .example = "key: PATH\n",
    .params = get_params,
    .args_size = sizeof(struct get_args),
    .call = get_call,
};
