#include "states/undo/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "states/undo/attributes.h"
#include "states/undo/image.h"

void restore_init(struct restore *restore, struct arena *arena, const char *folder)
{
    *restore = (struct restore){
        .rebuild = { .arena = arena, .folder = folder, .files = MAP_INIT_IN(arena) },
        .done = MAP_INIT_IN(arena),
    };
}

/* A slash comes before all else, so that a folder is followed by what is below it. */
static int compare_image_paths(const void *a, const void *b)
{
    const unsigned char *left = (const unsigned char *)(*(const struct image *const *)a)->path;
    const unsigned char *right = (const unsigned char *)(*(const struct image *const *)b)->path;

    while (*left && *left == *right)
        left++, right++;
    if (*left == *right)
        return 0;
    return (*left == '/' ? 1 : *left * 2) - (*right == '/' ? 1 : *right * 2);
}

/* The oldest image of a path wins, and it comes last in `images`. */
void restore_expect(struct restore *restore, const struct restore_images *images)
{
    struct arena *arena = restore->rebuild.arena;
    struct map seen = MAP_INIT_IN(arena);

    restore->wholes.list.n = restore->late.list.n = 0;
    restore->done = (struct map)MAP_INIT_IN(arena);
    for (size_t i = images->list.n; i-- > 0;) {
        const struct image *image = images->list.p[i];

        if (!image->whole || image->info.kind == FS_NONE || map_has(&seen, str_from(image->path)))
            continue;
        map_set(&seen, str_from(image->path), restore);
        VEC_PUSH_IN(arena, &restore->wholes.list, image);
    }
    if (restore->wholes.list.n > 1)
        qsort(restore->wholes.list.p, restore->wholes.list.n, sizeof(*restore->wholes.list.p),
              compare_image_paths);
}

bool restore_has(const struct restore *restore, const struct image *image)
{
    return image->whole && image->info.kind != FS_NONE &&
           map_has(&restore->done, str_from(image->path));
}

int restore_find(const struct restore *restore, const struct image *image, struct site *ret_site,
                 struct err *err)
{
    const struct site_way way = { image->in, restore->knows, restore->self };

    if (site_walk_back(ret_site, image->path, &way, err) < 0)
        return -1;
    ret_site->log = restore->log;
    return 0;
}

/* --- removing -------------------------------------------------------------------------------- */

static int restore_none(const struct image *image, struct site *site, struct buf *out,
                        bool *ret_changed, struct err *err)
{
    const enum fs_kind now = site->info.kind;

    if (now == FS_NONE)
        return 0;
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

/* --- restoring ------------------------------------------------------------------------------- */

/* Remove a file type that cannot be replaced in one step. A folder must be empty. */
static int clear_restored_path(const struct image *image, struct site *site, struct err *err)
{
    const enum fs_kind now = site->info.kind, was = image->info.kind;

    if (now == FS_NONE || now == was || (now != FS_FOLDER && was != FS_FOLDER))
        return 0;
    if ((now == FS_FOLDER ? site_rmdir : site_unlink)(site, err) < 0)
        return err_wrap(err, "make room for the %s '%s'", fs_kind_name(was), image->path);
    return site_look(site, err);
}

/* The replacement has inherited extended attributes from its folder. */
static int restore_attributes(const struct image *image, struct site *site, struct buf *out,
                              bool *ret_changed, struct err *err)
{
    const bool is_other =
        image->whole && image->self.born != 0 && !fs_id_is(&image->self, &site->info);
    AUTO_FD int fd = -1;

    if (attributes_restore(image, site, out, ret_changed, err) < 0)
        return -1;
    if (!is_other)
        return 0;
    return site_hold(site, &fd, err) < 0 ? -1 : attributes_copy(image, fd, err);
}

static int restore_node(struct restore *restore, const struct image *image, struct site *site,
                        struct buf *out, bool *ret_changed, struct err *err)
{
    if (rebuild_check_copy(&restore->rebuild, image, err) < 0 ||
        clear_restored_path(image, site, err) < 0 ||
        rebuild_node(&restore->rebuild, image, site, err) < 0)
        return -1;
    if (image->info.kind == FS_LINK)
        buf_printf(out, "restored %s -> %s\n", image->path, image->target);
    else
        buf_printf(out, "restored %s\n", image->path);
    *ret_changed = true;
    return attributes_restore(image, site, out, ret_changed, err);
}

/* The images of the folder and its contents. */
static struct rebuild_tree find_tree(struct restore *restore, const struct image *folder)
{
    struct arena *arena = restore->rebuild.arena;
    const struct image *const *found =
        restore->wholes.list.n == 0
            ? NULL
            : bsearch(&folder, restore->wholes.list.p, restore->wholes.list.n,
                      sizeof(*restore->wholes.list.p), compare_image_paths);
    struct rebuild_tree tree = { 0 };
    size_t i = found ? (size_t)(found - restore->wholes.list.p) + 1 : restore->wholes.list.n;

    VEC_PUSH_IN(arena, &tree.list, found ? *found : folder);
    for (; i < restore->wholes.list.n &&
           path_is_inside(restore->wholes.list.p[i]->path, folder->path);
         i++)
        VEC_PUSH_IN(arena, &tree.list, restore->wholes.list.p[i]);
    return tree;
}

static int restore_folder_image(struct restore *restore, const struct image *image,
                                struct site *site, struct buf *out, bool *ret_changed,
                                struct err *err)
{
    const struct rebuild_tree tree = find_tree(restore, image);
    int rc;

    if (clear_restored_path(image, site, err) < 0)
        return -1;
    rc = rebuild_folder(&restore->rebuild, &tree, site, out, err);
    if (site->info.kind != FS_FOLDER)
        return rc;
    *ret_changed = true;
    VEC_EACH (&tree.list, made)
        map_set(&restore->done, str_from((*made)->path), restore);
    return rc;
}

/* Anyone but root must be able to enter it, to restore what is in it. */
static int keep_for_later(struct restore *restore, const struct image *image, struct site *site,
                          struct err *err)
{
    const struct fs_attr attr = { site->info.mode | S_IRWXU, FS_KEEP, FS_KEEP };

    VEC_PUSH_IN(restore->rebuild.arena, &restore->late.list, image);
    if (geteuid() == 0 || (site->info.mode & S_IRWXU) == S_IRWXU)
        return 0;
    return site_set(site, &attr, err);
}

static int is_as_it_was(struct restore *restore, const struct image *image, struct site *site,
                        bool *ret, struct err *err)
{
    const char *mark;

    *ret = false;
    if (site->info.kind != image->info.kind)
        return 0;
    if (image_mark(restore->rebuild.arena, site, &mark, err) < 0)
        return -1;
    *ret = !image->whole || strcmp(mark, image->mark) == 0;
    return 0;
}

/* Its program can make it again only where there is nothing. */
static int restore_socket(const struct image *image, struct site *site, struct buf *out,
                          bool *ret_changed, struct err *err)
{
    if (site->info.kind != FS_SOCKET && restore_none(image, site, out, ret_changed, err) < 0)
        return -1;
    buf_printf(out, "skipped %s: sockets are created by their program\n", image->path);
    return 0;
}

/* Attributes are restored of what is still there, the whole only if that was kept. */
static int restore_there(struct restore *restore, const struct image *image, struct site *site,
                         struct buf *out, bool *ret_changed, struct err *err)
{
    const enum fs_kind was = image->info.kind;
    bool same;

    if (!image->whole && was != FS_FOLDER && site->info.kind != was) {
        buf_printf(out, "kept %s: it is now a %s\n", image->path, fs_kind_name(site->info.kind));
        return 0;
    }
    if (was == FS_FOLDER)
        return site->info.kind == FS_FOLDER
                   ? keep_for_later(restore, image, site, err)
                   : restore_folder_image(restore, image, site, out, ret_changed, err);
    same = !image->whole;
    if (!same && is_as_it_was(restore, image, site, &same, err) < 0)
        return -1;
    if (same)
        return restore_attributes(image, site, out, ret_changed, err);
    if (was == FS_SOCKET)
        return restore_socket(image, site, out, ret_changed, err);
    return restore_node(restore, image, site, out, ret_changed, err);
}

int restore_put(struct restore *restore, const struct image *image, struct site *site,
                struct buf *out, bool *ret_changed, struct err *err)
{
    if (image->info.kind == FS_NONE)
        return restore_none(image, site, out, ret_changed, err);
    return restore_there(restore, image, site, out, ret_changed, err);
}

/* --- folders --------------------------------------------------------------------------------- */

struct late {
    const struct image *image;
    size_t depth, order;
};

/* The deepest first; of one folder the oldest image last, as they came. */
static int compare_restore_depth(const void *a, const void *b)
{
    const struct late *left = a, *right = b;

    if (left->depth != right->depth)
        return left->depth < right->depth ? 1 : -1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static size_t count_parts(const char *path)
{
    size_t count = 0;

    for (; *path; path++)
        count += *path == '/';
    return count;
}

int restore_finish(struct restore *restore, struct buf *out, bool *ret_changed, struct err *err)
{
    const size_t count = restore->late.list.n;
    struct late *late = ARENA_ARRAY(restore->rebuild.arena, struct late, count + 1);

    for (size_t i = 0; i < count; i++)
        late[i] =
            (struct late){ restore->late.list.p[i], count_parts(restore->late.list.p[i]->path), i };
    qsort(late, count, sizeof(*late), compare_restore_depth);
    restore->late.list.n = 0;
    for (size_t i = 0; i < count; i++) {
        AUTO_SITE struct site site = SITE_INIT;

        if (restore_find(restore, late[i].image, &site, err) < 0)
            return -1;
        if (site.info.kind == FS_FOLDER &&
            restore_attributes(late[i].image, &site, out, ret_changed, err) < 0)
            return -1;
    }
    return 0;
}
