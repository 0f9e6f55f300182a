/* file.file_exists - whether a file exists. */
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct file_exists_args

struct file_exists_args {
    const char *path;
};

/* clang-format off */
static const struct param file_exists_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int file_exists_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct file_exists_args *want = args;
    struct fs_info info;

    (void)run;
    if (fs_stat(want->path, &info, err) < 0)
        return -1;
    *ret = value_bool(info.kind == FS_FILE);
    return 0;
}

const struct module module_file_file_exists = {
    .name = "file.file_exists",
    .summary = "whether a file exists",
    .params = file_exists_params,
    .args_size = sizeof(struct file_exists_args),
    .call = file_exists_call,
};
