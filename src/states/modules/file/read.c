/* file.read - returns the contents of a file. */
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

/* A larger file is an error. */
#define READ_MAX ((size_t)16 << 20)
#define ARGS     struct read_args

struct read_args {
    const char *path;
};

/* clang-format off */
static const struct param read_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int read_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct read_args *want = args;
    struct str text;

    if (fs_read(run->arena, want->path, READ_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "file %s does not exist", want->path);
    *ret = utf8_is_valid(text) ? value_str(text) : value_bytes(text);
    return 0;
}

const struct module module_file_read = {
    .name = "file.read",
    .summary = "the contents of a file",
    .params = read_params,
    .args_size = sizeof(struct read_args),
    .call = read_call,
};
