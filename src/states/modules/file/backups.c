#include "states/modules/file/backups.h"

#include <string.h>
#include <time.h>

#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "states/undo/undo.h"

#define ARGS      struct backups_args
#define TIME_SIZE 64

/* clang-format off */
const struct param backups_params[] = {
    PARAM("path", PATH, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("limit", INT, ARGS, limit, "only so many of a file, the newest first", .default_text = "200", PARAM_RANGE(1, UNDO_KEEP_RUNS)),
    { 0 },
};
/* clang-format on */

/* The first image that a run has of a file; NULL: none. */
static const struct image *find_image(const struct undo_run *past, const char *path)
{
    const struct undo_image *first = NULL;

    VEC_EACH (&past->states, state)
        VEC_EACH (&state->images, one)
            if (one->image.whole && one->image.info.kind == FS_FILE &&
                strcmp(one->image.path, path) == 0 && (!first || one->sequence < first->sequence))
                first = one;
    return first ? &first->image : NULL;
}

/* Small files are in the journal of the run: their location is its folder. */
static int describe_image(struct arena *arena, const struct undo_run *past,
                          const struct image *image, struct value *ret, struct err *err)
{
    const char *place = image->copy ? arena_printf(arena, "%s/%s", past->place.folder, image->copy)
                                    : arena_strdup(arena, past->place.folder);
    const time_t seconds = (time_t)past->time;
    struct fs_info info = { .size = image->content.n };
    char when[TIME_SIZE];
    struct tm parts;

    if (image->copy && fs_stat(place, &info, err) < 0)
        return -1;
    localtime_r(&seconds, &parts);
    (void)strftime(when, sizeof(when), "%a %b %d %Y %H:%M:%S", &parts);
    *ret = value_map(value_map_new(arena, 3));
    value_map_set(arena, ret->map, value_text("Backup Time"),
                  value_text(arena_strdup(arena, when)));
    value_map_set(arena, ret->map, value_text("Size"), value_int((int64_t)info.size));
    value_map_set(arena, ret->map, value_text("Location"), value_text(place));
    return 0;
}

static int add_image(struct state_run *run, const struct backups_args *want,
                     const struct undo_run *past, const struct image *image, struct value_map *all,
                     struct err *err)
{
    struct value backup;

    if ((int64_t)all->count >= want->limit)
        return 0;
    if (describe_image(run->arena, past, image, &backup, err) < 0)
        return -1;
    value_map_set(run->arena, all, value_int((int64_t)all->count), backup);
    return 0;
}

typedef int backups_fn(struct state_run *run, const struct backups_args *want,
                       const struct undo_run *past, struct value_map *all, struct err *err);

static int add_backup_file(struct state_run *run, const struct backups_args *want,
                           const struct undo_run *past, struct value_map *all, struct err *err)
{
    const struct image *image = find_image(past, want->path);

    return image ? add_image(run, want, past, image, all, err) : 0;
}

/* The backups of one file in the folder. */
static struct value_map *find_backup_map(struct arena *arena, struct value_map *all,
                                         const char *name)
{
    const struct value key = value_text(arena_strdup(arena, name));
    const struct value *found = value_map_find(all, &key);
    struct value_map *map = found ? found->map : value_map_new(arena, 2);

    if (!found)
        value_map_set(arena, all, key, value_map(map));
    return map;
}

static int add_backup_folder(struct state_run *run, const struct backups_args *want,
                             const struct undo_run *past, struct value_map *all, struct err *err)
{
    const char *folder = path_normalise(run->arena, want->path);

    VEC_EACH (&past->states, state)
        VEC_EACH (&state->images, one) {
            const char *path = one->image.path;

            if (strcmp(path_dirname(run->arena, path), folder) == 0 &&
                find_image(past, path) == &one->image &&
                add_image(run, want, past, &one->image,
                          find_backup_map(run->arena, all, strrchr(path, '/') + 1), err) < 0)
                return -1;
        }
    return 0;
}

static int add_run(struct state_run *run, const struct backups_args *want,
                   const struct undo_place *place, backups_fn *add, struct value_map *all,
                   struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct undo_run past;

    if (undo_load(&scratch, place, &past, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1; /* removed meanwhile, or not yet begun */
    return add(run, want, &past, all, err);
}

static int collect_backups(struct state_run *run, const void *args, backups_fn *add,
                           struct value *ret, struct err *err)
{
    struct undo_places places = { .list = VEC_INIT };

    if (undo_list(run->arena, run->host->data_dir, &places, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 4));
    VEC_EACH (&places.list, place)
        if (add_run(run, args, place, add, ret->map, err) < 0)
            return -1;
    return 0;
}

int backups_of_file(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return collect_backups(run, args, add_backup_file, ret, err);
}

int backups_of_folder(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return collect_backups(run, args, add_backup_folder, ret, err);
}
