/* file.missing - requires that a path does not exist; removes nothing. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct missing_args

struct missing_args {
    const char *name;
};

/* clang-format off */
static const struct param missing_params[] = {
    PARAM("name", PATH, ARGS, name, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    { 0 },
};
/* clang-format on */

static int missing_check(struct state_run *run, const void *args, struct err *err)
{
    const struct missing_args *want = args;
    struct fs_info info;

    if (fs_lstat(want->name, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE)
        return err_set(err, ERR_INVALID, "%s exists", want->name);
    state_say(run, "%s does not exist", want->name);
    return 0;
}

static int missing_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run); /* a watched change checks again and changes nothing */
    return missing_check(run, args, err);
}

const struct module module_file_missing = {
    .name = "file.missing",
    .summary = "require that a path does not exist; nothing is removed",
    .example = "name: /etc/nologin\n",
    .params = missing_params,
    .args_size = sizeof(struct missing_args),
    .flags = MODULE_REMOVES | MODULE_LOCAL,
    .check = missing_check,
    .apply = missing_apply,
};
