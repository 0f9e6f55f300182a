/* file.basename - the last part of a path. */
#include "states/state/module.h"
#include "core/sys/path.h"

#define ARGS struct basename_args

struct basename_args {
    const char *path;
};

/* clang-format off */
static const struct param basename_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int basename_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct basename_args *want = args;

    (void)err;
    *ret = value_str(arena_str(run->arena, path_basename(want->path)));
    return 0;
}

const struct module module_file_basename = {
    .name = "file.basename",
    .summary = "the last part of a path",
    .params = basename_params,
    .args_size = sizeof(struct basename_args),
    .call = basename_call,
};
