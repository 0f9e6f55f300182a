/* alternatives.show_current - the program that a name stands for now, or an empty string. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct show_current_args

struct show_current_args {
    const char *name, *altdir;
};

/* clang-format off */
static const struct param show_current_params[] = {
    PARAM("name", STR, ARGS, name, "the name: editor", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("altdir", PATH, ARGS, altdir, "the folder of links", .default_text = "/etc/alternatives"),
    { 0 },
};
/* clang-format on */

static int show_current_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct show_current_args *want = args;
    const char *target;

    if (path_escapes(want->name))
        return err_set(err, ERR_INVALID, "'%s' is not a valid alternative name", want->name);
    if (fs_readlink(run->arena, path_join(run->arena, want->altdir, want->name), &target, err) < 0)
        return -1;
    *ret = value_text(target ? target : "");
    return 0;
}

const struct module module_alternatives_show_current = {
    .name = "alternatives.show_current",
    .summary = "the program that a name stands for now, or an empty string",
    .params = show_current_params,
    .args_size = sizeof(struct show_current_args),
    .call = show_current_call,
};
