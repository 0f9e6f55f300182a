#include "undo/image.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/value.h"
#include "sys/draft.h"
#include "sys/fd.h"
#include "sys/path.h"
#include "sys/site.h"

/* Attributes that the kernel or a policy sets itself are put back if that is allowed, and not
 * missed if it is not. */
static int restore_xattrs(const struct image *image, const struct site *site, struct err *err)
{
    const struct value *xattrs = &image->xattrs;
    char fd_path[SITE_FD_PATH_SIZE];
    AUTO_FD int fd = -1;

    if (xattrs->kind != VALUE_MAP)
        return 0;
    if (site_hold(site, &fd, err) < 0)
        return -1;
    site_fd_path(fd, fd_path);
    for (size_t i = 0; i < xattrs->map->count; i++) {
        const struct value_pair *pair = &xattrs->map->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_BYTES)
            continue;
        if (setxattr(fd_path, pair->key.s.p, pair->value.s.p, pair->value.s.n, 0) < 0 &&
            strncmp(pair->key.s.p, "user.", 5) == 0)
            return err_sys(err, errno, "set the attribute '%s' of '%s'", pair->key.s.p,
                           image->path);
    }
    return 0;
}

/* What is there now is of the kind that was there. */
static int restore_attributes(const struct image *image, struct site *site, struct buf *out,
                              bool *ret_changed, struct err *err)
{
    const struct fs_info *was = &image->info, now = site->info;
    const bool owner = now.uid != was->uid || now.gid != was->gid;
    const bool mode = now.mode != was->mode && was->kind != FS_LINK;
    const struct fs_attr attr = { was->mode, owner ? was->uid : FS_KEEP,
                                  owner ? was->gid : FS_KEEP };

    /* a new owner takes set-id bits away: the mode is set again with it */
    if ((owner || mode) && site_set(site, &attr, err) < 0)
        return -1;
    if (owner)
        buf_printf(out, "owner of %s: %u:%u -> %u:%u\n", image->path, now.uid, now.gid, was->uid,
                   was->gid);
    if (mode)
        buf_printf(out, "mode of %s: %04o -> %04o\n", image->path, now.mode, was->mode);
    *ret_changed |= owner || mode;
    if (now.mtime != was->mtime && was->kind == FS_FILE)
        return site_set_times(site, was->mtime, was->mtime, err);
    return 0;
}

/* What is in the way of something of another kind. A folder goes only when it is empty. */
static int clear_way(const struct image *image, struct site *site, struct err *err)
{
    const enum fs_kind now = site->info.kind;

    if (now == FS_NONE || now == image->info.kind)
        return 0;
    if ((now == FS_FOLDER ? site_rmdir : site_unlink)(site, err) < 0)
        return err_wrap(err, "make room for the %s '%s'", fs_kind_name(image->info.kind),
                        image->path);
    return site_look(site, err);
}

/* What a run that was killed left of a file in the making. */
static void clear_drafts(struct site *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fs_info unknown = { .kind = FS_FILE };
    struct fs_names names = { 0 };
    struct err ignored;
    AUTO_FD int fd = -1;

    if (site_peek(folder, &fd, &ignored) < 0 || fd < 0 ||
        fs_list_fd(&arena, fd, folder->path, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        AUTO_SITE struct site site = SITE_INIT;

        if (!fs_is_temp_name(*name))
            continue;
        site_enter(&site, fd, &folder->info, *name, path_join(&arena, folder->path, *name),
                   &unknown);
        (void)site_unlink(&site, &ignored);
    }
}

static int restore_none(const struct image *image, struct site *site, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    const enum fs_kind now = site->info.kind;

    if (now == FS_NONE)
        return 0;
    if (now == FS_FOLDER)
        clear_drafts(site);
    if (now == FS_FOLDER && site_rmdir(site, err) < 0) {
        if (err->errnum != ENOTEMPTY && err->errnum != EEXIST && err->errnum != EBUSY)
            return -1;
        buf_printf(out, "kept %s: the folder is not empty\n", image->path);
        return 0;
    }
    if (now != FS_FOLDER && site_unlink(site, err) < 0)
        return -1;
    buf_printf(out, "removed %s\n", image->path);
    *ret_changed = true;
    return 0;
}

/* What was copied is what was there, or nothing is touched. The record that holds the content of a
 * small file has its own checksum. */
static int check_copy(struct arena *arena, const struct image *image, const char *folder,
                      struct err *err)
{
    const char *path = image->copy ? path_join(arena, folder, image->copy) : NULL;
    AUTO_SITE struct site copy = SITE_INIT;
    const char *mark = NULL;
    AUTO_FD int fd = -1;

    if (!path)
        return 0;
    if (site_walk(&copy, path, SITE_OWN, err) < 0 || site_peek(&copy, &fd, err) < 0 ||
        (fd >= 0 && image_mark_fd(arena, fd, &mark, err) < 0))
        return -1;
    if (!mark || strcmp(mark, image->mark) != 0)
        return err_set(err, ERR_INVALID, "cannot restore '%s': its copy '%s' is %s; not changed",
                       image->path, path, mark ? "damaged" : "missing");
    return 0;
}

static int fill_from_copy(struct draft *draft, const char *path, struct err *err)
{
    AUTO_SITE struct site copy = SITE_INIT;
    AUTO_FD int fd = -1;

    if (site_walk(&copy, path, SITE_OWN, err) < 0 || site_peek(&copy, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return err_sys(err, ENOENT, "copy '%s'", path);
    return draft_copy(draft, fd, err);
}

static int restore_content(const struct image *image, const char *folder, struct site *site,
                           struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fs_replace_options options = {
        .attr = { image->info.mode, image->info.uid, image->info.gid },
    };
    struct draft draft;
    int rc = draft_open_at(&draft, site, &options, err);

    if (rc == 0)
        rc = image->content.p ? draft_add(&draft, image->content, err)
                              : fill_from_copy(&draft, path_join(&arena, folder, image->copy), err);
    if (rc == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc < 0 ? -1 : site_look(site, err);
}

static int restore_file(const struct image *image, const char *folder, struct site *site,
                        struct buf *out, bool *ret_changed, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *mark = "";

    if (site->info.kind == FS_FILE && image_mark(&arena, site, &mark, err) < 0)
        return -1;
    if (strcmp(mark, image->mark) == 0)
        return restore_attributes(image, site, out, ret_changed, err);
    if (check_copy(&arena, image, folder, err) < 0 || clear_way(image, site, err) < 0 ||
        restore_content(image, folder, site, err) < 0 || restore_xattrs(image, site, err) < 0)
        return -1;
    buf_printf(out, "restored %s\n", image->path);
    *ret_changed = true;
    return restore_attributes(image, site, out, ret_changed, err);
}

static int restore_link(const struct image *image, struct site *site, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *target = NULL;

    if (site->info.kind == FS_LINK && site_readlink(&arena, site, &target, err) < 0)
        return -1;
    if (!target || strcmp(target, image->target) != 0) {
        if (clear_way(image, site, err) < 0 || site_symlink(site, image->target, err) < 0)
            return -1;
        buf_printf(out, "restored %s -> %s\n", image->path, image->target);
        *ret_changed = true;
    }
    return restore_attributes(image, site, out, ret_changed, err);
}

/* Recreate a folder, fifo or device that no longer exists. */
static int make_again(const struct image *image, struct site *site, struct err *err)
{
    const struct fs_attr attr = { image->info.mode, FS_KEEP, FS_KEEP };

    if (image->info.kind == FS_FOLDER ? site_mkdir(site, &attr, err) < 0
                                      : site_mknod(site, &image->info, err) < 0)
        return -1;
    return restore_xattrs(image, site, err);
}

static int restore_node(const struct image *image, struct site *site, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    if (site->info.kind != image->info.kind) {
        if (clear_way(image, site, err) < 0 || make_again(image, site, err) < 0)
            return -1;
        buf_printf(out, "restored %s\n", image->path);
        *ret_changed = true;
    }
    return site_look(site, err) < 0 ? -1 : restore_attributes(image, site, out, ret_changed, err);
}

static int restore_at(const struct image *image, const char *folder, struct site *site,
                      struct buf *out, bool *ret_changed, struct err *err)
{
    const enum fs_kind now = site->info.kind;

    if (image->info.kind == FS_NONE)
        return restore_none(image, site, out, ret_changed, err);
    if (image->info.kind == FS_SOCKET) {
        if (now != FS_SOCKET)
            buf_printf(out, "skipped %s: sockets are created by their program\n", image->path);
        return 0;
    }
    if (!image->whole && image->info.kind != FS_FOLDER) {
        if (now == image->info.kind)
            return restore_attributes(image, site, out, ret_changed, err);
        buf_printf(out, "kept %s: it is now a %s\n", image->path, fs_kind_name(now));
        return 0;
    }
    if (image->info.kind == FS_FILE)
        return restore_file(image, folder, site, out, ret_changed, err);
    if (image->info.kind == FS_LINK)
        return restore_link(image, site, out, ret_changed, err);
    return restore_node(image, site, out, ret_changed, err);
}

int image_restore(const struct image *image, const char *folder, struct buf *out, bool *ret_changed,
                  struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, image->path, SITE_RETURN, err) < 0)
        return -1;
    return restore_at(image, folder, &site, out, ret_changed, err);
}
