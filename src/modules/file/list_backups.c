/* file.list_backups - what a file was before earlier runs changed it. */
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "state/host.h"
#include "state/module.h"
#include "sys/fs.h"
#include "undo/undo.h"

#define ARGS      struct list_backups_args
#define TIME_SIZE 64

struct list_backups_args {
    const char *path;
    int64_t limit;
};

/* clang-format off */
static const struct param list_backups_params[] = {
    PARAM("path", PATH, ARGS, path, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("limit", INT, ARGS, limit, "only so many, the newest first", .default_text = "200", PARAM_RANGE(1, UNDO_KEEP_RUNS)),
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

static int add_backup(struct state_run *run, const struct undo_place *place, const char *path,
                      struct value_map *all, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct image *image;
    struct value backup;
    struct undo_run past;

    if (undo_load(&scratch, place, &past, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1; /* removed meanwhile, or not yet begun */
    image = find_image(&past, path);
    if (!image)
        return 0;
    if (describe_image(run->arena, &past, image, &backup, err) < 0)
        return -1;
    value_map_set(run->arena, all, value_int((int64_t)all->count), backup);
    return 0;
}

static int list_backups_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const struct list_backups_args *want = args;
    struct undo_places places = { .list = VEC_INIT };

    if (undo_list(run->arena, run->host->data_dir, &places, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 4));
    VEC_EACH (&places.list, place)
        if ((int64_t)ret->map->count < want->limit &&
            add_backup(run, place, want->path, ret->map, err) < 0)
            return -1;
    return 0;
}

const struct module module_file_list_backups = {
    .name = "file.list_backups",
    .summary = "what a file was before earlier runs changed it",
    .details =
        "The undo journal keeps it; `zester revert` brings it back. The location is the copy, "
        "or the folder of the run for a small file.",
    .params = list_backups_params,
    .args_size = sizeof(struct list_backups_args),
    .call = list_backups_call,
};
