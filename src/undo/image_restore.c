#include "undo/image.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/value.h"
#include "sys/path.h"

/* Attributes that the kernel or a policy sets itself are put back if that is allowed, and not
 * missed if it is not. */
static int restore_xattrs(const struct image *image, struct err *err)
{
    for (size_t i = 0; image->xattrs && i < image->xattrs->count; i++) {
        const struct value_pair *pair = &image->xattrs->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_BYTES)
            continue;
        if (lsetxattr(image->path, pair->key.s.p, pair->value.s.p, pair->value.s.n, 0) < 0 &&
            strncmp(pair->key.s.p, "user.", 5) == 0)
            return err_sys(err, errno, "set the attribute '%s' of '%s'", pair->key.s.p,
                           image->path);
    }
    return 0;
}

static int restore_attributes(const struct image *image, const struct fs_info *now, struct buf *out,
                              bool *ret_changed, struct err *err)
{
    const struct fs_info *was = &image->info;

    if (now->uid != was->uid || now->gid != was->gid) {
        if (fs_chown(image->path, was->uid, was->gid, err) < 0)
            return -1;
        buf_printf(out, "owner of %s: %u:%u -> %u:%u\n", image->path, now->uid, now->gid, was->uid,
                   was->gid);
        *ret_changed = true;
    }
    if (now->mode != was->mode && was->kind != FS_LINK) {
        if (fs_chmod(image->path, was->mode, err) < 0)
            return -1;
        buf_printf(out, "mode of %s: %04o -> %04o\n", image->path, now->mode, was->mode);
        *ret_changed = true;
    }
    if (now->mtime != was->mtime && was->kind == FS_FILE &&
        fs_utimens(image->path, was->mtime, was->mtime, err) < 0)
        return -1;
    return 0;
}

/* What is in the way of something of another kind. A folder goes only when it is empty. */
static int clear_way(const struct image *image, enum fs_kind now, struct err *err)
{
    if (now == FS_NONE || now == image->info.kind)
        return 0;
    if (now != FS_FOLDER)
        return fs_unlink(image->path, err);
    if (rmdir(image->path) < 0)
        return err_sys(err, errno, "make room for the %s '%s'", fs_kind_name(image->info.kind),
                       image->path);
    return 0;
}

/* What a run that was killed left of a file in the making. */
static void clear_drafts(const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(&arena, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name)
        if (fs_is_temp_name(*name))
            (void)fs_unlink(path_join(&arena, folder, *name), &ignored);
}

static int restore_none(const struct image *image, const struct fs_info *now, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    if (now->kind == FS_NONE)
        return 0;
    if (now->kind == FS_FOLDER)
        clear_drafts(image->path);
    if (now->kind == FS_FOLDER && rmdir(image->path) < 0) {
        if (errno != ENOTEMPTY && errno != EEXIST && errno != EBUSY)
            return err_sys(err, errno, "remove the folder '%s'", image->path);
        buf_printf(out, "left %s: the folder is not empty\n", image->path);
        return 0;
    }
    if (now->kind != FS_FOLDER && fs_unlink(image->path, err) < 0)
        return -1;
    buf_printf(out, "removed %s\n", image->path);
    *ret_changed = true;
    return 0;
}

static int restore_content(const struct image *image, const char *folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fs_replace_options options = {
        .attr = { image->info.mode, image->info.uid, image->info.gid },
    };

    if (image->content.p)
        return fs_replace(image->path, image->content, &options, err);
    return fs_copy(path_join(&arena, folder, image->copy), image->path, &options, err);
}

static int restore_file(const struct image *image, const char *folder, const struct fs_info *now,
                        struct buf *out, bool *ret_changed, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *mark = "";
    struct fs_info after;

    if (now->kind == FS_FILE && image_mark(&arena, image->path, &mark, err) < 0)
        return -1;
    if (strcmp(mark, image->mark) == 0)
        return restore_attributes(image, now, out, ret_changed, err);
    if (clear_way(image, now->kind, err) < 0 || restore_content(image, folder, err) < 0 ||
        restore_xattrs(image, err) < 0)
        return -1;
    buf_printf(out, "restored %s\n", image->path);
    *ret_changed = true;
    if (fs_lstat(image->path, &after, err) < 0)
        return -1;
    return restore_attributes(image, &after, out, ret_changed, err);
}

static int restore_link(const struct image *image, const struct fs_info *now, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *target = NULL;
    struct fs_info after;

    if (now->kind == FS_LINK && fs_readlink(&arena, image->path, &target, err) < 0)
        return -1;
    if (!target || strcmp(target, image->target) != 0) {
        if (clear_way(image, now->kind, err) < 0 || fs_symlink(image->target, image->path, err) < 0)
            return -1;
        buf_printf(out, "restored %s -> %s\n", image->path, image->target);
        *ret_changed = true;
    }
    if (fs_lstat(image->path, &after, err) < 0)
        return -1;
    return restore_attributes(image, &after, out, ret_changed, err);
}

/* Make a folder, fifo or device that is not there any more. */
static int make_again(const struct image *image, struct err *err)
{
    static const mode_t types[FS_KINDS] = {
        [FS_FIFO] = S_IFIFO,
        [FS_BLOCK] = S_IFBLK,
        [FS_CHAR] = S_IFCHR,
    };
    int rc = image->info.kind == FS_FOLDER
                 ? mkdir(image->path, image->info.mode)
                 : mknod(image->path, types[image->info.kind] | image->info.mode, image->info.node);

    if (rc < 0)
        return err_sys(err, errno, "make the %s '%s'", fs_kind_name(image->info.kind), image->path);
    return restore_xattrs(image, err);
}

static int restore_node(const struct image *image, const struct fs_info *now, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    struct fs_info after;

    if (now->kind != image->info.kind) {
        if (clear_way(image, now->kind, err) < 0 || make_again(image, err) < 0)
            return -1;
        buf_printf(out, "restored %s\n", image->path);
        *ret_changed = true;
    }
    if (fs_lstat(image->path, &after, err) < 0)
        return -1;
    return restore_attributes(image, &after, out, ret_changed, err);
}

int image_restore(const struct image *image, const char *folder, struct buf *out, bool *ret_changed,
                  struct err *err)
{
    struct fs_info now;

    if (fs_lstat(image->path, &now, err) < 0)
        return -1;
    if (image->info.kind == FS_NONE)
        return restore_none(image, &now, out, ret_changed, err);
    if (image->info.kind == FS_SOCKET) {
        if (now.kind != FS_SOCKET)
            buf_printf(out, "left %s: a socket is made by the program that serves it\n",
                       image->path);
        return 0;
    }
    if (!image->whole && image->info.kind != FS_FOLDER) {
        if (now.kind == image->info.kind)
            return restore_attributes(image, &now, out, ret_changed, err);
        buf_printf(out, "left %s: it is a %s now\n", image->path, fs_kind_name(now.kind));
        return 0;
    }
    if (image->info.kind == FS_FILE)
        return restore_file(image, folder, &now, out, ret_changed, err);
    if (image->info.kind == FS_LINK)
        return restore_link(image, &now, out, ret_changed, err);
    return restore_node(image, &now, out, ret_changed, err);
}
