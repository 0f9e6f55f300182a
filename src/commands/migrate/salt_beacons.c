#include "commands/migrate/salt_beacons.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/mem.h"
#include "commands/migrate/salt_tag.h"

/* One section, while it is converted. */
struct section {
    struct arena *arena;
    struct diags *remarks;
    struct value given;    /* a map: the list of Salt, joined */
    struct value_map *out; /* of ours */
};

static void set_beacon_field(const struct section *section, const char *key, struct value v)
{
    value_map_set(section->arena, section->out, value_text(key), v);
}

/* The keys of a map, as a list. */
static struct value list_beacon_keys(const struct section *section, const struct value *map)
{
    struct value_list *list = value_list_new(section->arena, map->map->count);

    for (size_t i = 0; i < map->map->count; i++)
        value_list_push(section->arena, list, map->map->pairs[i].key);
    return value_list(list);
}

static const struct value *find_map(const struct section *section, const char *key)
{
    const struct value *map = value_get(&section->given, key);

    if (value_is(map, VALUE_MAP))
        return map;
    (void)value_diag(section->remarks, value_point(&section->given, key),
                     "expected a map '%s'; left out", key);
    return NULL;
}

/* --- kinds ------------------------------------------------------------------------ */

static bool convert_service(const struct section *section)
{
    const struct value *services = find_map(section, "services");
    size_t only = 0;

    if (!services)
        return false;
    set_beacon_field(section, "services", list_beacon_keys(section, services));
    for (size_t i = 0; i < services->map->count; i++)
        only += value_get_bool(&services->map->pairs[i].value, "onchangeonly");
    set_beacon_field(section, "onchangeonly", value_bool(only > 0));
    if (only > 0 && only < services->map->count)
        (void)value_diag(section->remarks, services,
                         "'onchangeonly' holds for all services of a beacon");
    return true;
}

static bool is_common(const struct value *key)
{
    static const char *const names[] = { "interval", "disable_during_state_run", "enabled",
                                         "beacon_module" };

    for (size_t i = 0; key->kind == VALUE_STR && i < ARRAY_LEN(names); i++)
        if (strcmp(key->s.p, names[i]) == 0)
            return true;
    return false;
}

static bool convert_disk(const struct section *section)
{
    struct value_map *paths = value_map_new(section->arena, 4);

    for (size_t i = 0; i < section->given.map->count; i++) {
        const struct value_pair *pair = &section->given.map->pairs[i];

        if (is_common(&pair->key))
            continue;
        if (pair->key.kind == VALUE_STR && pair->key.s.p[0] == '/' &&
            !strpbrk(pair->key.s.p, "*^$["))
            value_map_set(section->arena, paths, pair->key, pair->value);
        else
            (void)value_diag(section->remarks, &pair->key, "patterns of mounts do not exist here");
    }
    if (paths->count > 0)
        set_beacon_field(section, "paths", value_map(paths));
    return paths->count > 0;
}

static bool convert_memory(const struct section *section)
{
    const struct value *percent = value_get(&section->given, "percent");

    if (!percent) {
        (void)value_diag(section->remarks, &section->given, "missing 'percent'; left out");
        return false;
    }
    set_beacon_field(section, "over", *percent);
    return true;
}

/* Each average has a least and a most; ours have a limit. */
static bool convert_load(const struct section *section)
{
    static const struct {
        const char *salt, *ours;
    } rows[] = { { "1m", "one" }, { "5m", "five" }, { "15m", "fifteen" } };
    const struct value *averages = find_map(section, "averages");

    for (size_t i = 0; averages && i < ARRAY_LEN(rows); i++) {
        const struct value *range = value_get(averages, rows[i].salt);

        if (!value_is(range, VALUE_LIST) || range->list->count != 2)
            continue;
        set_beacon_field(section, rows[i].ours, range->list->items[1]);
        if (value_is_true(&range->list->items[0]))
            (void)value_diag(section->remarks, range,
                             "a load that is too low is not reported here");
    }
    return averages != NULL;
}

static bool convert_beacons_file(const struct section *section)
{
    const struct value *files = find_map(section, "files");
    bool recurse = false, masked = false;

    if (!files)
        return false;
    for (size_t i = 0; i < files->map->count; i++) {
        recurse |= value_get_bool(&files->map->pairs[i].value, "recurse");
        masked |= value_get(&files->map->pairs[i].value, "mask") != NULL;
    }
    set_beacon_field(section, "files", list_beacon_keys(section, files));
    if (recurse)
        set_beacon_field(section, "recurse", value_bool(true));
    if (masked)
        (void)value_diag(section->remarks, files,
                         "'mask' does not exist: what is created, modified or deleted is reported");
    return true;
}

static bool convert_process(const struct section *section)
{
    const struct value *processes = find_map(section, "processes");

    if (!processes)
        return false;
    set_beacon_field(section, "processes", list_beacon_keys(section, processes));
    (void)value_diag(section->remarks, processes,
                     "starting and stopping are both reported: 'running' says which");
    return true;
}

static bool convert_log(const struct section *section)
{
    const struct value *file = value_get(&section->given, "file");
    const struct value *tags = find_map(section, "tags");
    struct value_map *files = value_map_new(section->arena, 1);
    AUTO_BUF struct buf pattern = BUF_INIT(BUF_NO_LIMIT);

    if (!tags || !value_is(file, VALUE_STR))
        return false;
    for (size_t i = 0; i < tags->map->count; i++) {
        const char *regex = value_get_text(&tags->map->pairs[i].value, "regex");

        if (regex)
            buf_printf(&pattern, "%s%s", pattern.n > 0 ? "|" : "", regex);
    }
    value_map_set(section->arena, files, *file, value_str(buf_copy(&pattern, section->arena)));
    set_beacon_field(section, "files", value_map(files));
    return true;
}

static const struct {
    const char *name; /* ours */
    bool (*convert)(const struct section *section);
} kinds[] = {
    { "service", convert_service },   { "disk", convert_disk },
    { "memory", convert_memory },     { "load", convert_load },
    { "file", convert_beacons_file }, { "process", convert_process },
    { "log", convert_log },
};

/* --- sections --------------------------------------------------------------------- */

static struct value join_list(struct arena *arena, const struct value *given)
{
    struct value sum = value_map(value_map_new(arena, 4));

    if (given->kind == VALUE_MAP)
        return *given;
    for (size_t i = 0; given->kind == VALUE_LIST && i < given->list->count; i++)
        if (given->list->items[i].kind == VALUE_MAP)
            sum = value_merge(arena, &sum, &given->list->items[i], VALUE_MERGE_REPLACE);
    return value_at(sum, given);
}

static void convert_section(struct arena *arena, const struct value_pair *pair,
                            struct value_map *ret, struct diags *remarks)
{
    const char *salt = pair->key.kind == VALUE_STR ? pair->key.s.p : "";
    const char *name = salt_tag_beacon(salt);
    const struct section section = { arena, remarks, join_list(arena, &pair->value),
                                     value_map_new(arena, 4) };
    const struct value *interval = value_get(&section.given, "interval");
    const struct value *enabled = value_get(&section.given, "enabled");

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        if (!kinds[i].convert(&section))
            return;
        if (interval)
            set_beacon_field(&section, "interval", *interval);
        if (enabled)
            set_beacon_field(&section, "enabled", *enabled);
        value_map_set(arena, ret, value_text(name), value_map(section.out));
        return;
    }
    (void)value_diag(remarks, &pair->key, "the beacon '%s' does not exist here; left out", salt);
}

struct value salt_beacons_convert(struct arena *arena, const struct value *beacons,
                                  struct diags *remarks)
{
    struct value_map *sections = value_map_new(arena, 8), *whole = value_map_new(arena, 1);

    for (size_t i = 0; i < beacons->map->count; i++)
        convert_section(arena, &beacons->map->pairs[i], sections, remarks);
    value_map_set(arena, whole, value_text("beacons"), value_map(sections));
    return value_map(whole);
}
