/* file.exists - requires that a path exists; creates nothing. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct exists_args

struct exists_args {
    const char *name;
};

/* clang-format off */
static const struct param exists_params[] = {
    PARAM("name", PATH, ARGS, name, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    { 0 },
};
/* clang-format on */

static int exists_check(struct state_run *run, const void *args, struct err *err)
{
    const struct exists_args *want = args;
    struct fs_info info;

    if (fs_lstat(want->name, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->name);
    state_say(run, "%s exists", want->name);
    return 0;
}

static int exists_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run); /* a watched change checks again and changes nothing */
    return exists_check(run, args, err);
}

const struct module module_file_exists = {
    .name = "file.exists",
    .summary = "require that a path exists; nothing is created",
    .example = "name: /etc/passwd\n",
    .params = exists_params,
    .args_size = sizeof(struct exists_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .check = exists_check,
    .apply = exists_apply,
};
