#include "states/undo/forecast.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "states/undo/image.h"

void forecast_init(struct forecast *forecast, struct arena *arena)
{
    *forecast = (struct forecast){
        .arena = arena,
        .wholes = MAP_INIT_IN(arena),
        .attributes = MAP_INIT_IN(arena),
    };
}

const struct image *forecast_find(const struct forecast *forecast, const char *path)
{
    return map_find(&forecast->wholes, str_from(path));
}

static void remember_image(struct map *map, const struct image *image)
{
    map_set(map, str_from(image->path), (void *)(uintptr_t)image);
}

/* --- removing -------------------------------------------------------------------------------- */

/* Is each name in the folder removed by then? */
static int would_be_empty(const struct forecast *forecast, const char *path, bool *ret,
                          struct err *err)
{
    struct fs_names names = { 0 };

    *ret = false;
    if (fs_list(forecast->arena, path, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        const struct image *image =
            forecast_find(forecast, path_join(forecast->arena, path, *name));

        if (!image || image->info.kind != FS_NONE)
            return 0;
    }
    *ret = true;
    return 0;
}

static int foresee_removal(struct forecast *forecast, const struct image *image, enum fs_kind now,
                           struct buf *out, bool *ret_changed, struct err *err)
{
    bool goes = true;

    if (now == FS_FOLDER && would_be_empty(forecast, image->path, &goes, err) < 0)
        return -1;
    if (!goes) {
        buf_printf(out, "would keep %s: the folder is not empty\n", image->path);
        return 0;
    }
    remember_image(&forecast->wholes, image);
    if (now == FS_NONE)
        return 0;
    buf_printf(out, "would remove %s\n", image->path);
    *ret_changed = true;
    return 0;
}

/* --- restoring ------------------------------------------------------------------------------- */

static void foresee_attributes(struct forecast *forecast, const struct image *image,
                               const struct fs_info *now, struct buf *out, bool *ret_changed)
{
    const struct fs_info *was = &image->info;
    const bool owner = now->uid != was->uid || now->gid != was->gid;
    const bool mode = now->mode != was->mode && was->kind != FS_LINK;

    if (owner)
        buf_printf(out, "owner of %s: %u:%u -> %u:%u\n", image->path, now->uid, now->gid, was->uid,
                   was->gid);
    if (mode)
        buf_printf(out, "mode of %s: %04o -> %04o\n", image->path, now->mode, was->mode);
    *ret_changed |= owner || mode;
    remember_image(&forecast->attributes, image);
}

static int is_same(struct forecast *forecast, const struct image *image, struct site *site,
                   const struct image *before, bool *ret, struct err *err)
{
    const char *mark = before ? before->mark : NULL;

    if (!mark && image_mark(forecast->arena, site, &mark, err) < 0)
        return -1;
    *ret = strcmp(mark, image->mark) == 0;
    return 0;
}

static void foresee_content(const struct image *image, struct buf *out, bool *ret_changed)
{
    if (image->info.kind == FS_SOCKET)
        buf_printf(out, "would skip %s: sockets are created by their program\n", image->path);
    else if (image->info.kind == FS_LINK)
        buf_printf(out, "would restore %s -> %s\n", image->path, image->target);
    else
        buf_printf(out, "would restore %s\n", image->path);
    *ret_changed |= image->info.kind != FS_SOCKET;
}

int forecast_put(struct forecast *forecast, const struct image *image, struct site *site,
                 struct buf *out, bool *ret_changed, struct err *err)
{
    const struct image *before = forecast_find(forecast, image->path);
    const struct image *set = map_find(&forecast->attributes, str_from(image->path));
    const struct fs_info *now = set ? &set->info : before ? &before->info : &site->info;
    const enum fs_kind kind = before ? before->info.kind : site->info.kind;
    bool same = kind == image->info.kind;

    if (image->info.kind == FS_NONE)
        return foresee_removal(forecast, image, kind, out, ret_changed, err);
    if (!image->whole && !same) {
        buf_printf(out, "would keep %s: it is now a %s\n", image->path, fs_kind_name(kind));
        return 0;
    }
    if (image->whole && same && kind != FS_FOLDER &&
        is_same(forecast, image, site, before, &same, err) < 0)
        return -1;
    if (!same)
        foresee_content(image, out, ret_changed);
    if (image->whole)
        remember_image(&forecast->wholes, image);
    if (same)
        foresee_attributes(forecast, image, now, out, ret_changed);
    else
        remember_image(&forecast->attributes, image);
    return 0;
}
