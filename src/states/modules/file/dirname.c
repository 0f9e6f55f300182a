/* file.dirname - all but the last part of a path. */
#include "states/state/module.h"
#include "core/sys/path.h"

#define ARGS struct dirname_args

struct dirname_args {
    const char *path;
};

/* clang-format off */
static const struct param dirname_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int dirname_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct dirname_args *want = args;

    (void)err;
    *ret = value_text(path_dirname(run->arena, want->path));
    return 0;
}

const struct module module_file_dirname = {
    .name = "file.dirname",
    .summary = "all but the last part of a path",
    .params = dirname_params,
    .args_size = sizeof(struct dirname_args),
    .call = dirname_call,
};
