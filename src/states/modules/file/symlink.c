/* file.symlink - manages a symbolic link. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define ARGS struct symlink_args

struct symlink_args {
    const char *name, *target, *backupname, *user, *group;
    const struct value *dir_mode;
    bool force, makedirs;
};

/* clang-format off */
static const struct param symlink_params[] = {
    PARAM("name", PATH, ARGS, name, "the link", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("target", STR, ARGS, target, "its target", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("force", BOOL, ARGS, force, "replace whatever else exists at this path"),
    PARAM("backupname", STR, ARGS, backupname, "instead, move what exists at this path here: a path, or a name in the same folder"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner of the link"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of new parent folders (links have none)", .aliases = "mode"),
    PARAM("user", STR, ARGS, user, "owner of the link itself", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group of the link itself"),
    PARAM_IDLE("disallow_copy_and_unlink", "a link is always replaced in one step"),
    PARAM_IDLE("atomic", "a link is always replaced in one step"),
    PARAM_IDLE("follow_symlinks", "the link itself is managed"),
    ATTRS_WINDOWS,
    PARAM_REFUSED("inherit_user_and_group", "give user and group"),
    { 0 },
};
/* clang-format on */

static int symlink_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct symlink_args *want = args;

    (void)where;
    return attrs_validate(want->dir_mode, false, diags);
}

struct found {
    struct fs_info info;
    const char *target; /* NULL: no link */
};

static int find_wanted_link(struct state_run *run, const char *path, struct found *ret,
                            struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, 0, err) < 0)
        return -1;
    ret->info = site.info;
    return site_readlink(run->arena, &site, &ret->target, err);
}

static int set_link_owner(struct state_run *run, const char *path, const struct attrs *attrs,
                          struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, 0, err) < 0)
        return -1;
    if (site.info.kind != FS_LINK)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", path);
    return attrs_apply(run, &site, attrs, err);
}

/* Added in a dry run, which cannot know whether an earlier state clears the path. */
static const char *describe_obstacle(const struct symlink_args *want)
{
    return want->force || want->backupname
               ? ""
               : " — it must be removed by an earlier state in the run, or set force: true (apply "
                 "fails otherwise)";
}

static int symlink_check(struct state_run *run, const void *args, struct err *err)
{
    const struct symlink_args *want = args;
    struct attrs attrs;
    struct found found;

    if (attrs_read(run, NULL, want->user, want->group, &attrs, err) < 0 ||
        find_wanted_link(run, want->name, &found, err) < 0)
        return -1;
    if (found.info.kind == FS_NONE) {
        if (parent_check(run, want->name, want->makedirs, err) < 0)
            return -1;
        state_differs(run, "symlink %s does not exist", want->name);
        state_made(run, "created symlink %s -> %s", want->name, want->target);
    } else if (!found.target) {
        state_differs(run, "%s exists as a %s, not a symlink%s", want->name,
                      fs_kind_name(found.info.kind), describe_obstacle(want));
        state_made(run, "replaced %s %s by a symlink to %s", fs_kind_name(found.info.kind),
                   want->name, want->target);
    } else if (strcmp(found.target, want->target) != 0) {
        state_differs(run, "symlink %s points to \"%s\", want \"%s\"%s", want->name, found.target,
                      want->target, describe_obstacle(want));
        state_made(run, "symlink %s: %s -> %s", want->name, found.target, want->target);
    } else {
        attrs_check(run, want->name, &attrs, &found.info);
    }
    return 0;
}

/* Something else is at the path: move it, or fail. A file or link stays until the new link takes
 * its place in one step, so that the path is never missing; a folder must go first. */
static int clear_way_for_link(struct state_run *run, const struct symlink_args *want,
                              const struct found *found, struct err *err)
{
    if (want->backupname) {
        const char *folder = path_dirname(run->arena, want->name);

        return change_rename(run, want->name, path_join(run->arena, folder, want->backupname), err);
    }
    if (!want->force && found->target)
        return err_set(err, ERR_INVALID,
                       "%s already exists pointing to \"%s\"; use force: true to replace",
                       want->name, found->target);
    if (!want->force)
        return err_set(err, ERR_INVALID, "%s exists as a non-symlink; use force: true to replace",
                       want->name);
    return found->info.kind == FS_FOLDER ? change_remove(run, want->name, err) : 0;
}

static int make_link(struct state_run *run, const struct symlink_args *want,
                     const struct found *found, struct err *err)
{
    struct attrs folders;

    if (attrs_read(run, want->dir_mode, want->user, want->group, &folders, err) < 0)
        return -1;
    if (found->info.kind != FS_NONE && clear_way_for_link(run, want, found, err) < 0)
        return -1;
    if (parent_make(run, want->name, want->makedirs, &folders.want, err) < 0 ||
        change_symlink(run, want->target, want->name, err) < 0)
        return -1;
    state_say(run, "created symlink %s -> %s", want->name, want->target);
    return 0;
}

static int symlink_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct symlink_args *want = args;
    struct attrs attrs;
    struct found found;
    bool right;

    if (attrs_read(run, NULL, want->user, want->group, &attrs, err) < 0 ||
        find_wanted_link(run, want->name, &found, err) < 0)
        return -1;
    right = found.target && strcmp(found.target, want->target) == 0;
    if (right && !attrs_differ(&attrs, &found.info)) {
        state_unchanged(run);
        return 0;
    }
    if (!right && make_link(run, want, &found, err) < 0)
        return -1;
    if (set_link_owner(run, want->name, &attrs, err) < 0)
        return -1;
    state_detail(run, "path", "%s", want->name);
    state_detail(run, "target", "%s", want->target);
    return 0;
}

const struct module module_file_symlink = {
    .name = "file.symlink",
    .summary = "manage a symbolic link",
    .example = "name: ROOT/motd\ntarget: /run/motd\n",
    .params = symlink_params,
    .flags = MODULE_WHOLE,
    .args_size = sizeof(struct symlink_args),
    .validate = symlink_validate,
    .check = symlink_check,
    .apply = symlink_apply,
};
