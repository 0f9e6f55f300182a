/* Folders of runs: <data_dir>/undo/<number, 10 digits>-<run id>; of an older version: <run id>. */
#include "states/undo/undo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define NUMBER_DIGITS 10
#define DAY           INT64_C(86400)

static bool is_run_id(const char *text)
{
    struct ksuid ksuid;
    struct err ignored;

    return ksuid_parse(str_from(text), &ksuid, &ignored) == 0;
}

static bool parse_undo_file_name(const char *name, struct undo_place *ret)
{
    char *end = NULL;
    unsigned long long number;

    if (is_run_id(name)) {
        *ret = (struct undo_place){ .id = name };
        return true;
    }
    if (strspn(name, "0123456789") != NUMBER_DIGITS)
        return false;
    number = strtoull(name, &end, 10);
    if (*end != '-' || !is_run_id(end + 1) || number == 0)
        return false;
    *ret = (struct undo_place){ .id = end + 1, .number = number };
    return true;
}

/* By number; those without one by their id, which begins with the time. */
static int compare_run_age(const void *a, const void *b)
{
    const struct undo_place *left = a, *right = b;

    if (left->number != right->number)
        return left->number < right->number ? 1 : -1;
    return strcmp(right->id, left->id);
}

bool undo_place_is_later(const struct undo_place *a, const struct undo_place *b)
{
    return compare_run_age(a, b) < 0;
}

int undo_list(struct arena *arena, const char *data_dir, struct undo_places *ret_places,
              struct err *err)
{
    const char *root = path_join(arena, data_dir, "undo");
    struct fs_names names = { 0 };
    struct undo_place place;
    struct fs_info info;

    *ret_places = (struct undo_places){ 0 };
    if (fs_stat(root, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (fs_list(arena, root, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (parse_undo_file_name(*name, &place)) {
            place.folder = path_join(arena, root, *name);
            VEC_PUSH_IN(arena, &ret_places->list, place);
        }
    if (ret_places->list.n > 1)
        qsort(ret_places->list.p, ret_places->list.n, sizeof(place), compare_run_age);
    return 0;
}

int undo_next_folder(struct arena *arena, const char *data_dir, const char *run_id,
                     const char **ret_folder, struct err *err)
{
    struct undo_places places;
    uint64_t number;

    if (undo_list(arena, data_dir, &places, err) < 0)
        return -1;
    number = places.list.n > 0 ? places.list.p[0].number + 1 : 1;
    *ret_folder =
        arena_printf(arena, "%s/undo/%0*" PRIu64 "-%s", data_dir, NUMBER_DIGITS, number, run_id);
    return 0;
}

/* --- old runs ---------------------------------------------------------------------- */

static int64_t read_place_time(const struct undo_place *place)
{
    struct ksuid ksuid = { 0 };
    struct err ignored; /* it was read as an id before */

    (void)ksuid_parse(str_from(place->id), &ksuid, &ignored);
    return ksuid.seconds;
}

/* When a run that is not among the newest few becomes too old. */
static int64_t age_limit(const struct undo_places *places)
{
    int64_t reference = INT64_MAX;

    for (size_t i = 0; i < places->list.n && i < UNDO_KEEP_LEAST; i++) {
        int64_t time = read_place_time(&places->list.p[i]);

        reference = time < reference ? time : reference;
    }
    return reference - UNDO_KEEP_DAYS * DAY;
}

static int add_entry_size(void *self, enum tree_step step, const struct tree_entry *entry,
                          struct err *err)
{
    uint64_t *sum = self;

    (void)err;
    if (step == TREE_ENTRY)
        *sum += entry->info.size;
    return 0;
}

int undo_prune(const char *data_dir, const char *keep, bool weigh, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct undo_places places;
    uint64_t bytes = 0;
    int64_t oldest;

    if (undo_list(&arena, data_dir, &places, err) < 0)
        return -1;
    oldest = age_limit(&places);
    for (size_t i = 0; i < places.list.n; i++) {
        const struct undo_place *place = &places.list.p[i];
        const bool old = i >= UNDO_KEEP_LEAST && read_place_time(place) < oldest;

        if (weigh && tree_walk(place->folder, add_entry_size, &bytes, err) < 0)
            return -1;
        if (i < UNDO_KEEP_RUNS && bytes <= UNDO_KEEP_BYTES && !old)
            continue;
        if (strcmp(place->id, keep) != 0 && tree_remove(place->folder, err) < 0)
            return -1;
    }
    return 0;
}
