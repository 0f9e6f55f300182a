#include "fleet/peel/schedule_entry.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "fleet/beacons/section.h"

static bool is_disabled(const struct value *entry)
{
    const struct value *enabled = value_get(entry, "enabled");

    return value_is(enabled, VALUE_BOOL) && !enabled->b;
}

static void add_merged_entry(struct arena *arena, struct schedule_entries *schedule_entries,
                             const struct schedule_entry *schedule_entry)
{
    if (schedule_entries->list.n < SCHEDULE_ENTRIES_MAX)
        VEC_PUSH_IN(arena, &schedule_entries->list, *schedule_entry);
    else
        schedule_entries->left_out++;
}

static struct schedule_entry *find_merged_entry(const struct schedule_entries *schedule_entries,
                                                struct str name)
{
    VEC_EACH (&schedule_entries->list, schedule_entry)
        if (str_eq(schedule_entry->name, name))
            return schedule_entry;
    return NULL;
}

static void add_entry_map(struct arena *arena, struct schedule_entries *schedule_entries,
                          enum schedule_entry_kind kind, const struct value *map,
                          enum schedule_entry_source source)
{
    for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map->count; i++) {
        const struct value_pair *pair = &map->map->pairs[i];
        const struct schedule_entry schedule_entry = { .name = pair->key.s,
                                                       .value = pair->value,
                                                       .source = source };
        struct schedule_entry *known;

        if (pair->key.kind != VALUE_STR)
            continue;
        known = find_merged_entry(schedule_entries, schedule_entry.name);
        if (!known)
            add_merged_entry(arena, schedule_entries, &schedule_entry);
        else if (kind != SCHEDULE_ENTRY_SCHEDULE || !is_disabled(&pair->value))
            *known = schedule_entry;
    }
}

/* Key by key; a value that is not a map stays, and is reported when it is read. */
static void change_keys(struct arena *arena, struct schedule_entry *schedule_entry,
                        const struct value *keys)
{
    struct diags ignored = DIAGS_INIT(arena);
    struct value_map *sum;
    struct value map;

    if (section_map(arena, &schedule_entry->value, &map, &ignored) < 0 || map.kind != VALUE_MAP)
        return;
    sum = value_map_new(arena, map.map->count + keys->map->count);
    for (size_t i = 0; i < map.map->count; i++)
        value_map_set(arena, sum, map.map->pairs[i].key, map.map->pairs[i].value);
    for (size_t i = 0; i < keys->map->count; i++)
        if (keys->map->pairs[i].value.kind == VALUE_NULL)
            (void)value_map_remove(sum, &keys->map->pairs[i].key);
        else
            value_map_set(arena, sum, keys->map->pairs[i].key, keys->map->pairs[i].value);
    schedule_entry->value = value_map(sum);
    schedule_entry->is_changed = true;
}

static void add_overlay(struct arena *arena, struct schedule_entries *schedule_entries,
                        const struct overlay_entry *entry)
{
    const struct schedule_entry whole = { .name = str_from(entry->name),
                                          .value = entry->keys,
                                          .source = SCHEDULE_ENTRY_ADDED };
    struct schedule_entry *known = find_merged_entry(schedule_entries, whole.name);

    if (known && entry->is_whole)
        *known = whole;
    else if (known)
        change_keys(arena, known, &entry->keys);
    else if (entry->is_whole)
        add_merged_entry(arena, schedule_entries, &whole);
}

struct schedule_entries schedule_entries_merge(struct arena *arena, enum schedule_entry_kind kind,
                                               const struct schedule_entry_sources *sources)
{
    struct schedule_entries schedule_entries = { .is_on = !sources->overlay->is_off };
    const struct value *settings = sources->settings;

    if (settings && settings->kind != VALUE_NULL && settings->kind != VALUE_MAP)
        schedule_entries.refused = value_describe(settings);
    add_entry_map(arena, &schedule_entries, kind, sources->file, SCHEDULE_ENTRY_OF_FILE);
    add_entry_map(arena, &schedule_entries, kind, settings, SCHEDULE_ENTRY_OF_SETTINGS);
    VEC_EACH (&sources->overlay->entries, entry)
        add_overlay(arena, &schedule_entries, entry);
    return schedule_entries;
}

const struct schedule_entry *schedule_entries_find(const struct schedule_entries *schedule_entries,
                                                   struct str name)
{
    return find_merged_entry(schedule_entries, name);
}

bool schedule_entry_is_enabled(const struct schedule_entry *schedule_entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags ignored = DIAGS_INIT(&arena);
    struct value map;

    return section_map(&arena, &schedule_entry->value, &map, &ignored) < 0 || !is_disabled(&map);
}

const char *schedule_entry_source_text(const struct schedule_entry *schedule_entry)
{
    static const char *const texts[][2] = {
        [SCHEDULE_ENTRY_OF_FILE] = { "configuration", "configuration, changed on the peel" },
        [SCHEDULE_ENTRY_OF_SETTINGS] = { "settings", "settings, changed on the peel" },
        [SCHEDULE_ENTRY_ADDED] = { "added on the peel", "added on the peel" },
    };

    return texts[schedule_entry->source][schedule_entry->is_changed];
}
