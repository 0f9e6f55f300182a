/* sysctl.get - the value of a kernel parameter. */
#include <string.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct get_args

struct get_args {
    const char *name;
};

/* clang-format off */
static const struct param get_params[] = {
    PARAM("name", STR, ARGS, name, "the parameter: net.ipv4.ip_forward", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    { 0 },
};
/* clang-format on */

/* A value of /proc/sys. */
#define VALUE_MAX ((size_t)64 << 10)

static int get_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct get_args *want = args;
    char *path = arena_strdup(run->arena, want->name);
    struct str text;

    if (path_escapes(path))
        return err_set(err, ERR_INVALID, "'%s' is not a valid kernel parameter", want->name);
    for (char *p = path; *p && !strchr(want->name, '/'); p++)
        *p = *p == '.' ? '/' : *p;
    if (fs_read(run->arena, path_join(run->arena, "/proc/sys", path), VALUE_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "kernel parameter '%s' does not exist", want->name);
    *ret = value_str(arena_str(run->arena, str_trim(text)));
    return 0;
}

const struct module module_sysctl_get = {
    .name = "sysctl.get",
    .summary = "the value of a kernel parameter",
    .example = "name: kernel.ostype\n",
    .params = get_params,
    .args_size = sizeof(struct get_args),
    .call = get_call,
};
