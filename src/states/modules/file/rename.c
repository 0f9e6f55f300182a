/* file.rename - renames a file or folder. */
#include "core/base/err.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct rename_args

struct rename_args {
    const char *name, *source;
    bool force, makedirs;
};

/* clang-format off */
static const struct param rename_params[] = {
    PARAM("name", PATH, ARGS, name, "the new name", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("source", PATH, ARGS, source, "the old name", .flags = PARAM_REQUIRED),
    PARAM("force", BOOL, ARGS, force, "replace what exists at the new name; otherwise both are left alone"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders"),
    { 0 },
};
/* clang-format on */

/* Is there something to rename? If not, `ret_why` is the reason. */
static int is_rename_needed(struct state_run *run, const struct rename_args *want,
                            const char **ret_why, bool *ret_replaces, struct err *err)
{
    struct fs_info source, there;

    if (fs_lstat(want->source, &source, err) < 0 || fs_lstat(want->name, &there, err) < 0)
        return -1;
    *ret_why = NULL;
    *ret_replaces = there.kind != FS_NONE;
    if (source.kind == FS_NONE)
        *ret_why = arena_printf(run->arena, "%s no longer exists", want->source);
    else if (*ret_replaces && !want->force)
        *ret_why =
            arena_printf(run->arena, "%s exists and force is false; nothing renamed", want->name);
    return 0;
}

static int rename_check(struct state_run *run, const void *args, struct err *err)
{
    const struct rename_args *want = args;
    const char *why;
    bool replaces;

    if (is_rename_needed(run, want, &why, &replaces, err) < 0)
        return -1;
    if (why) {
        state_say(run, "%s", why);
        return 0;
    }
    if (parent_check(run, want->name, want->makedirs, err) < 0)
        return -1;
    state_differs(run, "%s will be renamed to %s", want->source, want->name);
    state_made(run, "renamed %s to %s", want->source, want->name);
    return 0;
}

static int rename_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct rename_args *want = args;
    const char *why;
    bool replaces;

    if (is_rename_needed(run, want, &why, &replaces, err) < 0)
        return -1;
    if (why) {
        state_say(run, "%s", why);
        state_unchanged(run);
        return 0;
    }
    if (replaces && change_remove(run, want->name, err) < 0)
        return -1;
    if (parent_make(run, want->name, want->makedirs, NULL, err) < 0 ||
        change_rename(run, want->source, want->name, err) < 0)
        return -1;
    state_say(run, "renamed %s to %s", want->source, want->name);
    state_detail(run, "source", "%s", want->source);
    state_detail(run, "path", "%s", want->name);
    return 0;
}

const struct module module_file_rename = {
    .name = "file.rename",
    .summary = "rename a file or folder",
    .example = "name: ROOT/renamed\nsource: ROOT/present\n",
    .params = rename_params,
    .flags = MODULE_WHOLE | MODULE_EDITS,
    .args_size = sizeof(struct rename_args),
    .check = rename_check,
    .apply = rename_apply,
};
