/* file.absent - nothing of this name. */
#include "state/change.h"
#include "state/module.h"
#include "sys/fs.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
};

static const struct param absent_params[] = {
    PARAM("name", PATH, ARGS, name, "what is not to be there",
          .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    { 0 },
};

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;
    struct str rest = str_from(want->name);

    while (rest.n > 0 && rest.p[0] == '/')
        rest = str_from_offset(rest, 1);
    if (rest.n == 0)
        return value_diag(diags, where, "the root of the file system cannot be absent");
    return 0;
}

/* Links that point nowhere count too. */
static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct fs_info info;

    if (fs_lstat(want->name, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE)
        state_differs(run, "%s exists and should be absent", want->name);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct fs_info info;

    if (fs_lstat(want->name, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE) {
        state_unchanged(run);
        return 0;
    }
    if (change_remove(run, want->name, err) < 0)
        return -1;
    state_say(run, "removed %s", want->name);
    state_detail(run, "path", "%s", want->name);
    return 0;
}

const struct module module_file_absent = {
    .name = "file.absent",
    .summary = "nothing of this name: no file, no link, no folder",
    .details = "A folder goes with all that is in it; reverting brings all of it back.",
    .example = "name: ROOT/present\n",
    .params = absent_params,
    .flags = MODULE_REMOVES,
    .args_size = sizeof(struct absent_args),
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
};
