#include "states/modules/file/parent.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/vec.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

static const char *find_parent_path(struct state_run *run, const char *path)
{
    return path_dirname(run->arena, path_normalise(run->arena, path));
}

/* The nearest existing path above that is not a folder; NULL: none. A dangling link exists. States
 * of one level make folders at the same time: what is found at first is what is looked at then. */
static int find_parent_obstacle(struct state_run *run, const char *parent, const char **ret,
                                struct err *err)
{
    struct fs_info info;

    *ret = NULL;
    for (;; parent = path_dirname(run->arena, parent)) {
        if (fs_lstat(parent, &info, err) < 0)
            return -1;
        if (info.kind == FS_NONE)
            continue;
        if (fs_stat(parent, &info, err) < 0)
            return -1;
        if (info.kind != FS_FOLDER)
            *ret = parent;
        return 0;
    }
}

/* Is the parent missing, and what prevents its creation? */
static int find_creating_state(struct state_run *run, const char *parent, bool *ret_missing,
                               const char **ret_obstacle, struct err *err)
{
    struct fs_info info;

    if (fs_stat(parent, &info, err) < 0)
        return -1;
    *ret_missing = info.kind != FS_FOLDER;
    return *ret_missing ? find_parent_obstacle(run, parent, ret_obstacle, err) : 0;
}

int parent_check(struct state_run *run, const char *path, bool makedirs, struct err *err)
{
    const char *parent = find_parent_path(run, path), *obstacle;
    bool missing;

    if (find_creating_state(run, parent, &missing, &obstacle, err) < 0)
        return -1;
    if (!missing)
        return 0;
    if (obstacle)
        state_differs(run,
                      "parent path %s exists but is not a directory — it must be replaced by an "
                      "earlier state in the run (apply fails otherwise)",
                      obstacle);
    else if (!makedirs)
        state_differs(run,
                      "parent directory %s is missing — it must be created by an earlier state in "
                      "the run, or set makedirs: true (apply fails otherwise)",
                      parent);
    return 0;
}

int parent_check_file(struct state_run *run, const char *path, bool makedirs, struct err *err)
{
    return change_resolve(run, &path, err) < 0 ? -1 : parent_check(run, path, makedirs, err);
}

/* Folders in an unprivileged user's folder belong to that user, whoever owns the file: no path may
 * lead from there to another owner (core/sys/site.h). */
static void keep_owner_above(struct change_attr *attr, const struct fs_info *above)
{
    if (above->uid != 0 && above->uid != attr->uid)
        attr->uid = attr->gid = CHANGE_KEEP_ID;
}

/* Of several new folders in a folder of root, the last one alone belongs to an unprivileged user:
 * what states of other users create beside it must not be in that user's folder. */
static bool stays_with_root(const struct change_attr *attr, const struct fs_info *above)
{
    return above->uid == 0 && attr->uid != 0 && attr->uid != CHANGE_KEEP_ID;
}

/* From the top down, with the requested attributes. */
static int make_each(struct state_run *run, const char *parent, const struct change_attr *attr,
                     struct err *err)
{
    struct change_attr each = attr ? *attr : (struct change_attr)CHANGE_KEEP, upper;
    VEC(const char *) missing = VEC_INIT;
    struct fs_info info;

    for (;; parent = path_dirname(run->arena, parent)) {
        if (fs_stat(parent, &info, err) < 0)
            return -1;
        if (info.kind != FS_NONE)
            break;
        VEC_PUSH_IN(run->arena, &missing, parent);
    }
    keep_owner_above(&each, &info);
    upper = stays_with_root(&each, &info) ? (struct change_attr)CHANGE_KEEP : each;
    while (missing.n > 0) {
        missing.n--;
        if (change_mkdir(run, missing.p[missing.n], missing.n > 0 ? &upper : &each, err) < 0)
            return -1;
    }
    return 0;
}

struct change_attr parent_attr(const struct change_attr *attr)
{
    struct change_attr parent = *attr;

    if (attr->mode == CHANGE_KEEP_MODE || attr->mode == CHANGE_SOURCE_MODE) {
        parent.mode = CHANGE_KEEP_MODE;
        return parent;
    }
    parent.mode = (attr->mode & 0777) | (attr->mode & 0444) >> 2;
    if (geteuid() != 0)
        parent.mode |= S_IRWXU; /* only root could write into it otherwise */
    return parent;
}

int parent_make(struct state_run *run, const char *path, bool makedirs,
                const struct change_attr *attr, struct err *err)
{
    const char *parent = find_parent_path(run, path), *obstacle;
    bool missing;

    if (find_creating_state(run, parent, &missing, &obstacle, err) < 0)
        return -1;
    if (!missing)
        return 0;
    if (obstacle)
        return err_set(err, ERR_INVALID, "parent path %s exists but is not a directory", obstacle);
    if (!makedirs)
        return err_set(err, ERR_NOT_FOUND,
                       "parent directory %s does not exist (set makedirs: true to create it)",
                       parent);
    return make_each(run, parent, attr, err);
}

int parent_make_file(struct state_run *run, const char *path, bool makedirs,
                     const struct change_attr *attr, struct err *err)
{
    return change_resolve(run, &path, err) < 0 ? -1 : parent_make(run, path, makedirs, attr, err);
}
