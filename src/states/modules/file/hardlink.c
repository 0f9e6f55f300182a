/* file.hardlink - manages a hard link. */
#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/parent.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"
#include "states/undo/change.h"

#define ARGS struct hardlink_args

struct hardlink_args {
    const char *name, *target, *user, *group;
    const struct value *dir_mode;
    bool force, makedirs;
};

/* clang-format off */
static const struct param hardlink_params[] = {
    PARAM("name", PATH, ARGS, name, "the link", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("target", PATH, ARGS, target, "the file it links to", .flags = PARAM_REQUIRED),
    PARAM("force", BOOL, ARGS, force, "replace another file of this name"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of new parent folders"),
    PARAM("user", STR, ARGS, user, "owner of new parent folders", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group of new parent folders"),
    { 0 },
};
/* clang-format on */

static int hardlink_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct hardlink_args *want = args;

    (void)where;
    return attrs_validate(want->dir_mode, false, diags);
}

struct link_names {
    struct fs_info name, target;
};

static bool is_linked(const struct link_names *names)
{
    return names->name.kind == FS_FILE && names->name.device == names->target.device &&
           names->name.inode == names->target.inode;
}

static int find_hardlink_names(const struct hardlink_args *want, struct link_names *ret,
                               struct err *err)
{
    if (fs_lstat(want->name, &ret->name, err) < 0 || fs_stat(want->target, &ret->target, err) < 0)
        return -1;
    if (ret->target.kind != FS_NONE && ret->target.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "target %s is a %s: only a file can have two names",
                       want->target, fs_kind_name(ret->target.kind));
    if (ret->name.kind == FS_FOLDER)
        return err_set(err, ERR_INVALID, "%s is a directory", want->name);
    return 0;
}

static int hardlink_check(struct state_run *run, const void *args, struct err *err)
{
    const struct hardlink_args *want = args;
    struct link_names names;

    if (find_hardlink_names(want, &names, err) < 0)
        return -1;
    if (names.target.kind == FS_NONE) {
        state_differs(run, "target %s does not exist", want->target);
        return 0;
    }
    if (is_linked(&names))
        return 0;
    if (parent_check(run, want->name, want->makedirs, err) < 0)
        return -1;
    if (names.name.kind == FS_NONE)
        state_differs(run, "hard link %s does not exist", want->name);
    else
        state_differs(run, "%s is not a link to %s%s", want->name, want->target,
                      want->force ? "" : "; set force: true to replace it (apply fails otherwise)");
    state_made(run, "created hard link %s -> %s", want->name, want->target);
    return 0;
}

static int hardlink_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct hardlink_args *want = args;
    struct attrs folders;
    struct link_names names;

    if (find_hardlink_names(want, &names, err) < 0 ||
        attrs_read(run, want->dir_mode, want->user, want->group, &folders, err) < 0)
        return -1;
    if (names.target.kind == FS_NONE)
        return err_set(err, ERR_NOT_FOUND, "target %s does not exist", want->target);
    if (is_linked(&names)) {
        state_unchanged(run);
        return 0;
    }
    if (names.name.kind != FS_NONE && !want->force)
        return err_set(err, ERR_INVALID, "%s already exists; use force: true to replace",
                       want->name);
    if (change_remove(run, want->name, err) < 0 ||
        parent_make(run, want->name, want->makedirs, &folders.want, err) < 0 ||
        change_link(run, want->target, want->name, err) < 0)
        return -1;
    state_say(run, "created hard link %s -> %s", want->name, want->target);
    state_detail(run, "path", "%s", want->name);
    state_detail(run, "target", "%s", want->target);
    return 0;
}

const struct module module_file_hardlink = {
    .name = "file.hardlink",
    .summary = "manage a hard link",
    .example = "name: ROOT/alias\ntarget: ROOT/present\n",
    .params = hardlink_params,
    .args_size = sizeof(struct hardlink_args),
    .flags = MODULE_EDITS,
    .validate = hardlink_validate,
    .check = hardlink_check,
    .apply = hardlink_apply,
};
