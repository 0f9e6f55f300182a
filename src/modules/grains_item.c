/* grains.item - a fact by its path. */
#include "modules/datapath.h"
#include "state/module.h"

#define ARGS struct item_args

struct item_args {
    const char *key;
    const struct value *otherwise;
};

/* clang-format off */
static const struct param item_params[] = {
    PARAM("key", STR, ARGS, key, "a path, with ':' or '.' between its parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("default", ANY, ARGS, otherwise, "what to give when there is none"),
    { 0 },
};
/* clang-format on */

static int item_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct item_args *want = args;

    (void)err;
    *ret = datapath_get(state_facts(run), want->key, want->otherwise);
    return 0;
}

const struct module module_grains_item = {
    .name = "grains.item",
    .summary = "a fact by its path",
    .params = item_params,
    .args_size = sizeof(struct item_args),
    .call = item_call,
};
