#include "fleet/peel/duty.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "fleet/beacons/section.h"

static bool is_disabled(const struct value *entry)
{
    const struct value *enabled = value_get(entry, "enabled");

    return value_is(enabled, VALUE_BOOL) && !enabled->b;
}

static void add_duty(struct arena *arena, struct duties *duties, const struct duty *duty)
{
    if (duties->list.n < DUTIES_MAX)
        VEC_PUSH_IN(arena, &duties->list, *duty);
    else
        duties->left_out++;
}

static struct duty *find_duty(const struct duties *duties, struct str name)
{
    VEC_EACH (&duties->list, duty)
        if (str_eq(duty->name, name))
            return duty;
    return NULL;
}

static void add_map(struct arena *arena, struct duties *duties, enum duty_kind kind,
                    const struct value *map, enum duty_source source)
{
    for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map->count; i++) {
        const struct value_pair *pair = &map->map->pairs[i];
        const struct duty duty = { .name = pair->key.s, .value = pair->value, .source = source };
        struct duty *known;

        if (pair->key.kind != VALUE_STR)
            continue;
        known = find_duty(duties, duty.name);
        if (!known)
            add_duty(arena, duties, &duty);
        else if (kind != DUTY_SCHEDULE || !is_disabled(&pair->value))
            *known = duty;
    }
}

/* Key by key; what cannot be read as a map stays, and is reported by whoever reads it. */
static void change_keys(struct arena *arena, struct duty *duty, const struct value *keys)
{
    struct diags ignored = DIAGS_INIT(arena);
    struct value_map *sum;
    struct value map;

    if (section_map(arena, &duty->value, &map, &ignored) < 0 || map.kind != VALUE_MAP)
        return;
    sum = value_map_new(arena, map.map->count + keys->map->count);
    for (size_t i = 0; i < map.map->count; i++)
        value_map_set(arena, sum, map.map->pairs[i].key, map.map->pairs[i].value);
    for (size_t i = 0; i < keys->map->count; i++)
        if (keys->map->pairs[i].value.kind == VALUE_NULL)
            (void)value_map_remove(sum, &keys->map->pairs[i].key);
        else
            value_map_set(arena, sum, keys->map->pairs[i].key, keys->map->pairs[i].value);
    duty->value = value_map(sum);
    duty->is_changed = true;
}

static void add_overlay(struct arena *arena, struct duties *duties,
                        const struct overlay_entry *entry)
{
    const struct duty whole = { .name = str_from(entry->name),
                                .value = entry->keys,
                                .source = DUTY_ADDED };
    struct duty *known = find_duty(duties, whole.name);

    if (known && entry->is_whole)
        *known = whole;
    else if (known)
        change_keys(arena, known, &entry->keys);
    else if (entry->is_whole)
        add_duty(arena, duties, &whole);
}

struct duties duties_merge(struct arena *arena, enum duty_kind kind,
                           const struct duty_sources *sources)
{
    struct duties duties = { .is_on = !sources->overlay->is_off };
    const struct value *settings = sources->settings;

    if (settings && settings->kind != VALUE_NULL && settings->kind != VALUE_MAP)
        duties.refused = value_describe(settings);
    add_map(arena, &duties, kind, sources->file, DUTY_OF_FILE);
    add_map(arena, &duties, kind, settings, DUTY_OF_SETTINGS);
    VEC_EACH (&sources->overlay->entries, entry)
        add_overlay(arena, &duties, entry);
    return duties;
}

const struct duty *duties_find(const struct duties *duties, struct str name)
{
    return find_duty(duties, name);
}

bool duty_is_enabled(const struct duty *duty)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags ignored = DIAGS_INIT(&arena);
    struct value map;

    return section_map(&arena, &duty->value, &map, &ignored) < 0 || !is_disabled(&map);
}

const char *duty_source_text(const struct duty *duty)
{
    static const char *const texts[][2] = {
        [DUTY_OF_FILE] = { "configuration", "configuration, changed on the peel" },
        [DUTY_OF_SETTINGS] = { "settings", "settings, changed on the peel" },
        [DUTY_ADDED] = { "added on the peel", "added on the peel" },
    };

    return texts[duty->source][duty->is_changed];
}
