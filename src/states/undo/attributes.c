#include "states/undo/attributes.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "core/sys/fd.h"
#include "core/sys/site.h"
#include "states/undo/image.h"

/* The kernel's own limits on extended attributes. */
#define XATTR_LIST_SIZE  65536
#define XATTR_VALUE_SIZE 65536
/* Gone with every change of the owner. */
#define CAPABILITY "security.capability"

/* --- extended attributes --------------------------------------------------------------------- */

int attributes_take(struct arena *arena, int fd, struct image *image, struct err *err)
{
    AUTO_FREE char *names = NULL, *bytes = NULL;
    char path[SITE_FD_PATH_SIZE];
    struct value_map *map;
    ssize_t n;

    site_fd_path(fd, path);
    n = listxattr(path, NULL, 0);
    if (n <= 0)
        return 0; /* none, or a file system without them */
    names = mem_alloc(XATTR_LIST_SIZE);
    bytes = mem_alloc(XATTR_VALUE_SIZE);
    n = listxattr(path, names, XATTR_LIST_SIZE);
    if (n < 0)
        return err_sys(err, errno, "list the attributes of '%s'", image->path);
    map = value_map_new(arena, 1);
    for (const char *name = names; name < names + n; name += strlen(name) + 1) {
        ssize_t size = getxattr(path, name, bytes, XATTR_VALUE_SIZE);

        if (size >= 0)
            value_map_set(arena, map, value_text(arena_strdup(arena, name)),
                          value_bytes(arena_str(arena, str_bytes(bytes, (size_t)size))));
    }
    image->xattrs = value_map(map);
    return 0;
}

/* Attributes that users set. Others belong to the kernel or a policy, and are restored if
 * permitted. */
static bool is_of_users(const char *name)
{
    return strncmp(name, "user.", 5) == 0 || strncmp(name, "system.posix_acl_", 17) == 0;
}

static const struct value *find_xattr(const struct image *image, const char *name)
{
    const struct value key = value_text(name);
    const struct value *found =
        image->xattrs.kind == VALUE_MAP ? value_map_find(image->xattrs.map, &key) : NULL;

    return found && found->kind == VALUE_BYTES ? found : NULL;
}

/* A new file inherits the default access control list of its folder. */
static int drop_others(const struct image *image, const char *path, struct err *err)
{
    AUTO_FREE char *names = NULL;
    ssize_t n = listxattr(path, NULL, 0);

    if (n <= 0)
        return 0;
    names = mem_alloc(XATTR_LIST_SIZE);
    n = listxattr(path, names, XATTR_LIST_SIZE);
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
        if (is_of_users(name) && !find_xattr(image, name) && removexattr(path, name) < 0 &&
            errno != ENODATA)
            return err_sys(err, errno, "remove the attribute '%s' of '%s'", name, image->path);
    return 0;
}

static int set_xattrs(const struct image *image, const char *path, struct err *err)
{
    const struct value *xattrs = &image->xattrs;

    for (size_t i = 0; xattrs->kind == VALUE_MAP && i < xattrs->map->count; i++) {
        const struct value_pair *pair = &xattrs->map->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_BYTES)
            continue;
        if (setxattr(path, pair->key.s.p, pair->value.s.p, pair->value.s.n, 0) < 0 &&
            is_of_users(pair->key.s.p))
            return err_sys(err, errno, "set the attribute '%s' of '%s'", pair->key.s.p,
                           image->path);
    }
    return 0;
}

/* --- restoring ------------------------------------------------------------------------------- */

int attributes_copy(const struct image *image, int fd, struct err *err)
{
    const struct fs_info *was = &image->info;
    const struct fs_attr owner = { FS_KEEP, was->uid, was->gid },
                         mode = { was->mode, FS_KEEP, FS_KEEP };
    char path[SITE_FD_PATH_SIZE];
    struct fs_info now;

    if (fs_look_at(fd, "", &now) < 0)
        return err_sys(err, errno, "stat the replacement of '%s'", image->path);
    if ((now.uid != was->uid || now.gid != was->gid) &&
        site_set_held(fd, was->kind, image->path, &owner, err) < 0)
        return -1;
    site_fd_path(fd, path);
    if (was->kind != FS_LINK &&
        (drop_others(image, path, err) < 0 || set_xattrs(image, path, err) < 0))
        return -1;
    if (site_set_held(fd, was->kind, image->path, &mode, err) < 0)
        return -1;
    return site_set_times_held(fd, image->path, was->mtime, was->mtime, err);
}

static int restore_capability(const struct image *image, int fd, struct err *err)
{
    const struct value *was = find_xattr(image, CAPABILITY);
    char path[SITE_FD_PATH_SIZE];

    site_fd_path(fd, path);
    if (!was || getxattr(path, CAPABILITY, NULL, 0) >= 0)
        return 0;
    if (setxattr(path, CAPABILITY, was->s.p, was->s.n, 0) < 0)
        return err_sys(err, errno, "set the capabilities of '%s'", image->path);
    return 0;
}

/* A path that we changed before may be changed again. */
static int hold_site(const struct image *image, const struct site *site, int *ret_fd,
                     struct err *err)
{
    return (fs_id_is(&image->self, &site->info) ? site_hold_known : site_hold)(site, ret_fd, err);
}

int attributes_restore(const struct image *image, struct site *site, struct buf *out,
                       bool *ret_changed, struct err *err)
{
    const struct fs_info *was = &image->info, now = site->info;
    const bool owner = now.uid != was->uid || now.gid != was->gid;
    const bool mode = now.mode != was->mode && was->kind != FS_LINK;
    const bool times = now.mtime != was->mtime && was->kind == FS_FILE;
    const struct fs_attr attr = { was->mode, owner ? was->uid : FS_KEEP,
                                  owner ? was->gid : FS_KEEP };
    AUTO_FD int fd = -1;

    if (!owner && !mode && !times)
        return 0;
    if (hold_site(image, site, &fd, err) < 0)
        return -1;
    /* a new owner takes set-id bits away: the mode is set again with it */
    if ((owner || mode) && (site_set_held(fd, was->kind, site->path, &attr, err) < 0 ||
                            restore_capability(image, fd, err) < 0))
        return -1;
    if (owner)
        buf_printf(out, "owner of %s: %u:%u -> %u:%u\n", image->path, now.uid, now.gid, was->uid,
                   was->gid);
    if (mode)
        buf_printf(out, "mode of %s: %04o -> %04o\n", image->path, now.mode, was->mode);
    *ret_changed |= owner || mode;
    return times ? site_set_times_held(fd, site->path, was->mtime, was->mtime, err) : 0;
}
