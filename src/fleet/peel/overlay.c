#include "fleet/peel/overlay.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/record.h"
#include "core/runs/record_file.h"
#include "core/sys/path.h"

#define FILE_NAME    "duties"
#define FILE_VERSION 1

/* clang-format off */
static const struct record_field entry_fields[] = {
    RECORD("name", TEXT, struct overlay_entry, name, RECORD_REQUIRED),
    RECORD("whole", BOOL, struct overlay_entry, is_whole, RECORD_OMIT),
    RECORD("keys", MAP, struct overlay_entry, keys, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type entry_type = RECORD_TYPE("entry", struct overlay_entry, entry_fields, 0);

static const struct record_field part_fields[] = {
    RECORD("off", BOOL, struct overlay_part, is_off, RECORD_OMIT),
    RECORD("entries", LIST, struct overlay_part, entries, RECORD_OMIT, .inner = &entry_type),
    { 0 },
};
static const struct record_type part_type = RECORD_TYPE("part", struct overlay_part, part_fields, 0);

static const struct record_field overlay_fields[] = {
    RECORD("schedule", STRUCT, struct overlay, parts[SCHEDULE_ENTRY_SCHEDULE], RECORD_REQUIRED, .inner = &part_type),
    RECORD("beacons", STRUCT, struct overlay, parts[SCHEDULE_ENTRY_BEACON], RECORD_REQUIRED, .inner = &part_type),
    { 0 },
};
static const struct record_type overlay_type = RECORD_TYPE("duties", struct overlay, overlay_fields, 0);
/* clang-format on */

static struct record_file find_overlay_file(struct arena *arena, const char *data_dir)
{
    return (struct record_file){ .path = path_join(arena, data_dir, FILE_NAME),
                                 .type = &overlay_type,
                                 .version = FILE_VERSION,
                                 .max = OVERLAY_SIZE_MAX,
                                 .sync = FS_SYNC };
}

int overlay_load(struct arena *arena, const char *data_dir, struct overlay *ret, struct err *err)
{
    const struct record_file file = find_overlay_file(arena, data_dir);
    struct overlay overlay = { 0 };

    if (record_file_read(arena, &file, &overlay, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        overlay = (struct overlay){ 0 };
    }
    *ret = overlay;
    return 0;
}

int overlay_save(const struct overlay *overlay, const char *data_dir, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_file file = find_overlay_file(&arena, data_dir);

    for (size_t i = 0; i < SCHEDULE_ENTRY_KINDS; i++)
        if (overlay->parts[i].entries.n > OVERLAY_ENTRIES_MAX)
            return err_set(err, ERR_LIMIT, "more than %d entries were changed on this peel",
                           OVERLAY_ENTRIES_MAX);
    return record_file_write(&file, overlay, err);
}

struct overlay overlay_copy(struct arena *arena, const struct overlay *overlay)
{
    struct overlay copy = { 0 };

    for (size_t i = 0; i < SCHEDULE_ENTRY_KINDS; i++) {
        copy.parts[i].is_off = overlay->parts[i].is_off;
        VEC_EACH (&overlay->parts[i].entries, entry) {
            const struct overlay_entry one = { arena_strdup(arena, entry->name), entry->is_whole,
                                               value_copy(arena, &entry->keys) };

            VEC_PUSH_IN(arena, &copy.parts[i].entries, one);
        }
    }
    return copy;
}

struct overlay_entry *overlay_find(const struct overlay_part *part, struct str name)
{
    VEC_EACH (&part->entries, entry)
        if (str_eq_text(name, entry->name))
            return entry;
    return NULL;
}

struct overlay_entry *overlay_get(struct arena *arena, struct overlay_part *part, struct str name)
{
    struct overlay_entry *known = overlay_find(part, name);
    struct overlay_entry fresh;

    if (known)
        return known;
    fresh = (struct overlay_entry){ .name = arena_str(arena, name).p,
                                    .keys = value_map(value_map_new(arena, 4)) };
    VEC_PUSH_IN(arena, &part->entries, fresh);
    return &part->entries.p[part->entries.n - 1];
}

void overlay_remove(struct overlay_part *part, struct overlay_entry *entry)
{
    const size_t at = (size_t)(entry - part->entries.p);

    memmove(entry, entry + 1, (part->entries.n - at - 1) * sizeof(*entry));
    part->entries.n--;
}
