#include "state/change.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "undo/image.h"
#include "state/module.h"
#include "undo/stall.h"
#include "undo/undo.h"
#include "sys/draft.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"
#include "sys/tree.h"

/* As many as the kernel follows. */
#define LINKS_MAX   40
#define USUAL_UMASK 022

/* How much of a path is kept; the map of paths holds the address of one of these. */
enum { KEPT_ATTRIBUTES, KEPT_WHOLE, KEPT_OPEN, KEPT_KINDS };
static char kept[KEPT_KINDS];

static int allow(const struct state_run *run, const char *path, struct err *err)
{
    if (run->test || !run->change)
        return err_set(err, ERR_UNSUPPORTED, "change '%s': nothing may be changed while checking",
                       path);
    if (path[0] != '/')
        return err_set(err, ERR_INVALID, "change '%s': wants an absolute path", path);
    return 0;
}

/* The image is in the journal then, but not yet safe. */
static int keep_one(struct state_run *run, const char *path, enum image_extent extent,
                    const char *left, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct change *change = run->change;
    const char *known;

    if (!change->undo)
        return 0;
    known = map_find(&change->paths, str_from(path));
    if (known && (extent == IMAGE_ATTRIBUTES || known == &kept[KEPT_OPEN]))
        return 0;
    if (known == &kept[KEPT_WHOLE] && left)
        return undo_left(change->undo, &scratch, change->number, path, left, err);
    if (undo_keep(change->undo, &scratch, change->number, path, extent, left, err) < 0)
        return -1;
    change->paths.arena = run->arena;
    map_set(&change->paths, arena_str(run->arena, str_from(path)),
            &kept[extent == IMAGE_ATTRIBUTES ? KEPT_ATTRIBUTES
                  : left                     ? KEPT_WHOLE
                                             : KEPT_OPEN]);
    return 0;
}

static int settle(struct state_run *run, struct err *err)
{
    return run->change->undo ? undo_sync(run->change->undo, err) : 0;
}

static int keep(struct state_run *run, const char *path, enum image_extent extent, const char *left,
                struct err *err)
{
    if (allow(run, path, err) < 0 || keep_one(run, path, extent, left, err) < 0)
        return -1;
    return settle(run, err);
}

int change_resolve(struct state_run *run, const char **path, struct err *err)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        const char *target;

        if (fs_readlink(run->arena, *path, &target, err) < 0)
            return -1;
        if (!target)
            return 0;
        *path = path_join(run->arena, path_dirname(run->arena, *path), target);
    }
    return err_sys(err, ELOOP, "follow '%s'", *path);
}

/* --- content ----------------------------------------------------------------------- */

static mode_t umask_of(const struct state_run *run)
{
    return run->umask ? *run->umask : USUAL_UMASK;
}

static int options_for(const struct state_run *run, const char *path,
                       const struct change_attr *attr, struct fs_replace_options *ret,
                       struct err *err)
{
    struct fs_info info;

    *ret = (struct fs_replace_options){ .attr = FS_ATTR_KEEP };
    if (attr)
        ret->attr = (struct fs_attr){ attr->mode, attr->uid, attr->gid };
    if (ret->attr.mode != FS_KEEP)
        return 0;
    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        ret->attr.mode = 0666 & ~umask_of(run);
    return 0;
}

int change_write(struct state_run *run, const char *path, struct str content,
                 const struct change_attr *attr, struct err *err)
{
    struct fs_replace_options options;
    bool stalled;
    int rc;

    if (change_resolve(run, &path, err) < 0 || options_for(run, path, attr, &options, err) < 0)
        return -1;
    if (keep(run, path, IMAGE_WHOLE, image_mark_content(run->arena, content), err) < 0)
        return -1;
    stalled = stall_begin();
    rc = fs_replace(path, content, &options, err);
    stall_end(stalled);
    return rc;
}

/* The source may change while it is read: what counts is what was copied of it. */
static int commit_copy(struct state_run *run, struct draft *draft, int from, const char *path,
                       struct err *err)
{
    bool stalled = stall_begin();
    int rc = draft_copy(draft, from, err);
    const char *mark;

    stall_end(stalled);
    if (rc < 0 || image_mark_fd(run->arena, draft->fd, &mark, err) < 0 ||
        keep(run, path, IMAGE_WHOLE, mark, err) < 0)
        return -1;
    stalled = stall_begin();
    rc = draft_commit(draft, err);
    stall_end(stalled);
    return rc;
}

int change_copy(struct state_run *run, const char *from, const char *path,
                const struct change_attr *attr, struct err *err)
{
    AUTO_FD int source = -1;
    struct fs_replace_options options;
    struct draft draft;
    int rc;

    if (allow(run, path, err) < 0 || change_resolve(run, &path, err) < 0 ||
        options_for(run, path, attr, &options, err) < 0)
        return -1;
    source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return err_sys(err, errno, "copy '%s'", from);
    if (draft_open(&draft, path, &options, err) < 0)
        return -1;
    rc = commit_copy(run, &draft, source, path, err);
    draft_done(&draft);
    return rc;
}

/* --- folders, links, names --------------------------------------------------------- */

static int set_owner(const char *path, const struct change_attr *attr, struct err *err)
{
    if (!attr || (attr->uid == CHANGE_KEEP_ID && attr->gid == CHANGE_KEEP_ID))
        return 0;
    return fs_chown(path, attr->uid, attr->gid, err);
}

int change_mkdir(struct state_run *run, const char *path, const struct change_attr *attr,
                 struct err *err)
{
    mode_t mode = attr && attr->mode != CHANGE_KEEP_MODE ? attr->mode : 0777 & ~umask_of(run);
    struct fs_info info;

    if (fs_stat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_FOLDER)
        return attr ? change_attr(run, path, attr, err) : 0;
    if (keep(run, path, IMAGE_WHOLE, "folder", err) < 0)
        return -1;
    if (mkdir(path, mode) < 0) {
        const int why = errno;

        /* Another state may have made it meanwhile; it is as good as ours. */
        if (why != EEXIST || fs_stat(path, &info, err) < 0 || info.kind != FS_FOLDER)
            return err_sys(err, why, "make the folder '%s'", path);
        return attr ? change_attr(run, path, attr, err) : 0;
    }
    if (set_owner(path, attr, err) < 0)
        return -1;
    return fs_chmod(path, mode, err); /* whatever the umask of the process says */
}

int change_make_parents(struct state_run *run, const char *path, struct err *err)
{
    const char *parent = path_dirname(run->arena, path);
    VEC(const char *) missing = VEC_INIT;
    struct fs_info info;

    for (;; parent = path_dirname(run->arena, parent)) {
        if (fs_stat(parent, &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER)
            break;
        if (info.kind != FS_NONE || strcmp(parent, "/") == 0)
            return err_set(err, ERR_INVALID, "make the parents of '%s': '%s' is no folder", path,
                           parent);
        VEC_PUSH_IN(run->arena, &missing, parent);
    }
    while (missing.n > 0)
        if (change_mkdir(run, missing.p[--missing.n], NULL, err) < 0)
            return -1;
    return 0;
}

int change_symlink(struct state_run *run, const char *target, const char *path, struct err *err)
{
    if (keep(run, path, IMAGE_WHOLE, arena_printf(run->arena, "link:%s", target), err) < 0)
        return -1;
    return fs_symlink(target, path, err);
}

/* --- whole trees ------------------------------------------------------------------- */

/* Children before their folder, so that the images, taken back from the end, make the folder
 * first. */
static int keep_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                      struct err *err)
{
    if (step == TREE_ENTER)
        return 0;
    return keep_one(self, entry->path, IMAGE_WHOLE, "none", err);
}

struct moving {
    struct state_run *run;
    const char *from, *to;
};

/* What will be at the new place: a folder before its children. */
static int keep_arrival(void *self, enum tree_step step, const struct tree_entry *entry,
                        struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct moving *moving = self;
    const char *mark;

    if (step == TREE_LEAVE)
        return 0;
    if (image_mark(&scratch, entry->path, &mark, err) < 0)
        return -1;
    return keep_one(moving->run,
                    arena_printf(&scratch, "%s%s", moving->to, entry->path + strlen(moving->from)),
                    IMAGE_WHOLE, mark, err);
}

int change_rename(struct state_run *run, const char *from, const char *to, struct err *err)
{
    struct moving moving = { run, from, to };

    if (allow(run, from, err) < 0 || allow(run, to, err) < 0)
        return -1;
    if (tree_walk(from, keep_entry, run, err) < 0 ||
        tree_walk(from, keep_arrival, &moving, err) < 0 || settle(run, err) < 0)
        return -1;
    return fs_rename(from, to, err);
}

int change_remove(struct state_run *run, const char *path, struct err *err)
{
    struct fs_info info;

    if (allow(run, path, err) < 0 || fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (tree_walk(path, keep_entry, run, err) < 0 || settle(run, err) < 0)
        return -1;
    return tree_remove(path, err);
}

/* --- attributes -------------------------------------------------------------------- */

int change_attr(struct state_run *run, const char *path, const struct change_attr *attr,
                struct err *err)
{
    if (attr->mode != CHANGE_KEEP_MODE && change_resolve(run, &path, err) < 0)
        return -1;
    if (keep(run, path, IMAGE_ATTRIBUTES, NULL, err) < 0)
        return -1;
    if (set_owner(path, attr, err) < 0) /* first: it clears set-id bits */
        return -1;
    return attr->mode == CHANGE_KEEP_MODE ? 0 : fs_chmod(path, attr->mode, err);
}

int change_touch(struct state_run *run, const char *path, int64_t atime, int64_t mtime,
                 struct err *err)
{
    struct fs_info info;

    if (change_resolve(run, &path, err) < 0 || fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE && change_write(run, path, STR(""), NULL, err) < 0)
        return -1;
    if (info.kind != FS_NONE && keep(run, path, IMAGE_ATTRIBUTES, NULL, err) < 0)
        return -1;
    return fs_utimens(path, atime, mtime, err);
}

/* --- what others change -------------------------------------------------------------- */

int change_save(struct state_run *run, const char *path, struct err *err)
{
    return keep(run, path, IMAGE_WHOLE, NULL, err);
}

int change_finish(struct state_run *run, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct change *change = run->change;
    const char *mark;

    MAP_EACH (&change->paths, entry) {
        if (entry->value != &kept[KEPT_OPEN])
            continue;
        if (image_mark(&scratch, entry->key.p, &mark, err) < 0 ||
            undo_left(change->undo, &scratch, change->number, entry->key.p, mark, err) < 0)
            return -1;
    }
    return 0;
}
