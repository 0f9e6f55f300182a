/* file.absent - removes a file, link or folder. */
#include "core/base/err.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
};

static const struct param absent_params[] = {
    PARAM("name", PATH, ARGS, name, "the path to remove", .flags = PARAM_REQUIRED | PARAM_PRIMARY,
          .aliases = "path"),
    { 0 },
};

/* Strip trailing slashes: they would follow a link to its target. */
static struct str strip_slashes(const char *name)
{
    struct str path = str_from(name);

    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;
    const struct str path = strip_slashes(want->name);

    if (path.n == 0)
        return value_diag(diags, where, "refusing to remove the root of the file system");
    if (str_ends(path, STR("/.")) || str_ends(path, STR("/..")))
        return value_diag(diags, value_point(where, "name"), "'name' must end in a name, got '%s'",
                          want->name);
    return 0;
}

/* Dangling links count too. The root may have other names, such as a bind mount. */
static int find_unwanted_path(struct state_run *run, const struct absent_args *want,
                              struct fs_info *ret, struct err *err)
{
    struct fs_info root;

    if (fs_lstat(arena_str(run->arena, strip_slashes(want->name)).p, ret, err) < 0 ||
        fs_lstat("/", &root, err) < 0)
        return -1;
    if (ret->kind == FS_FOLDER && ret->device == root.device && ret->inode == root.inode)
        return err_set(err, ERR_INVALID, "'%s' is the root of the file system", want->name);
    return 0;
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct fs_info info;

    if (find_unwanted_path(run, want, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE) {
        state_differs(run, "%s exists and should be absent", want->name);
        state_made(run, "removed %s", want->name);
    }
    return state_bind_path(run, arena_str(run->arena, strip_slashes(want->name)).p, err);
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const char *path = arena_str(run->arena, strip_slashes(want->name)).p;
    struct fs_info info;

    if (find_unwanted_path(run, want, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE) {
        state_unchanged(run);
        return 0;
    }
    if (change_remove(run, path, err) < 0)
        return -1;
    state_say(run, "removed %s", want->name);
    state_detail(run, "path", "%s", want->name);
    return 0;
}

const struct module module_file_absent = {
    .name = "file.absent",
    .summary = "remove a file, link or folder",
    .details = "A folder is removed with everything in it; a revert restores all of it.",
    .example = "name: ROOT/present\n",
    .params = absent_params,
    .flags = MODULE_REMOVES | MODULE_WHOLE | MODULE_LOCAL,
    .args_size = sizeof(struct absent_args),
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
};
