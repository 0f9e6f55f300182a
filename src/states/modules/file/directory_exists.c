/* file.directory_exists - whether a folder exists. */
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct directory_exists_args

struct directory_exists_args {
    const char *path;
};

/* clang-format off */
static const struct param directory_exists_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int directory_exists_call(struct state_run *run, const void *args, struct value *ret,
                                 struct err *err)
{
    const struct directory_exists_args *want = args;
    struct fs_info info;

    (void)run;
    if (fs_stat(want->path, &info, err) < 0)
        return -1;
    *ret = value_bool(info.kind == FS_FOLDER);
    return 0;
}

const struct module module_file_directory_exists = {
    .name = "file.directory_exists",
    .summary = "whether a folder exists",
    .params = directory_exists_params,
    .args_size = sizeof(struct directory_exists_args),
    .call = directory_exists_call,
};
