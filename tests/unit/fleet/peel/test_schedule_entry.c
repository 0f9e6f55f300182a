#include "fleet/peel/schedule_entry.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "fleet/peel/overlay.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

static struct value parse(struct arena *arena, const char *text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value map;

    CHECK_INT(yaml_parse(arena, "t", str_from(text), NULL, &map, &diags), 0);
    return map;
}

/* {NAME: KEYS}; a name that begins with '+' is whole. */
static struct overlay_part read_part(struct arena *arena, const char *text)
{
    const struct value map = parse(arena, text);
    struct overlay_part part = { 0 };

    for (size_t i = 0; i < map.map->count; i++) {
        const char *name = map.map->pairs[i].key.s.p;
        const bool is_whole = name[0] == '+';
        struct overlay_entry *entry = overlay_get(arena, &part, str_from(name + is_whole));

        entry->is_whole = is_whole;
        entry->keys = map.map->pairs[i].value;
    }
    return part;
}

static const char *print_entries(struct arena *arena,
                                 const struct schedule_entries *schedule_entries)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    VEC_EACH (&schedule_entries->list, schedule_entry) {
        buf_printf(&out, "%s%.*s [%s] ", out.n > 0 ? "; " : "", STR_ARG(schedule_entry->name),
                   schedule_entry_source_text(schedule_entry));
        CHECK_INT(json_print(&out, &schedule_entry->value, JSON_STYLE_COMPACT, &err), 0);
    }
    return buf_copy(&out, arena).p;
}

TEST(what_counts_follows_from_the_three_sources)
{
    static const struct {
        enum schedule_entry_kind kind;
        const char *file, *settings, *overlay, *sum;
    } cases[] = {
        { SCHEDULE_ENTRY_SCHEDULE, "{a: {x: 1}}", "{a: {x: 2}, b: {x: 3}}", "{}",
          "a [settings] {\"x\":2}; b [settings] {\"x\":3}" },
        { SCHEDULE_ENTRY_SCHEDULE, "{a: {x: 1}}", "{a: {x: 2, enabled: false}}", "{}",
          "a [configuration] {\"x\":1}" },
        { SCHEDULE_ENTRY_BEACON, "{a: {x: 1}}", "{a: {x: 2, enabled: false}}", "{}",
          "a [settings] {\"x\":2,\"enabled\":false}" },
        { SCHEDULE_ENTRY_SCHEDULE, "{a: {x: 1, y: {z: 1}}}", "{}", "{a: {y: {w: 2}}}",
          "a [configuration, changed on the peel] {\"x\":1,\"y\":{\"w\":2}}" },
        { SCHEDULE_ENTRY_SCHEDULE, "{a: {x: 1, y: 2}}", "{}", "{a: {x: null}}",
          "a [configuration, changed on the peel] {\"y\":2}" },
        { SCHEDULE_ENTRY_SCHEDULE, "{a: {x: 1}}", "{}", "{+a: {y: 1}}",
          "a [added on the peel] {\"y\":1}" },
        { SCHEDULE_ENTRY_SCHEDULE, "{}", "{}", "{gone: {enabled: false}, +new: {x: 1}}",
          "new [added on the peel] {\"x\":1}" },
        { SCHEDULE_ENTRY_BEACON, "{a: [{x: 1}, {y: 2}]}", "{}", "{a: {y: 3}}",
          "a [configuration, changed on the peel] {\"x\":1,\"y\":3}" },
        { SCHEDULE_ENTRY_BEACON, "{a: 7}", "{}", "{a: {y: 3}}", "a [configuration] 7" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct value file = parse(&arena, cases[i].file);
        const struct value settings = parse(&arena, cases[i].settings);
        const struct overlay_part part = read_part(&arena, cases[i].overlay);
        const struct schedule_entries schedule_entries =
            schedule_entries_merge(&arena, cases[i].kind,
                                   &(struct schedule_entry_sources){
                                       .file = &file, .settings = &settings, .overlay = &part });

        CHECK_STR(print_entries(&arena, &schedule_entries), cases[i].sum);
    }
}

TEST(changes_are_read_as_they_were_written)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct overlay written = { 0 }, read;
    struct err err;

    CHECK_INT(overlay_load(&arena, folder, &read, &err), 0);
    CHECK_INT((int)read.parts[SCHEDULE_ENTRY_SCHEDULE].entries.n, 0);
    written.parts[SCHEDULE_ENTRY_SCHEDULE] = read_part(&arena, "{+a: {x: 1}, b: {x: null}}");
    written.parts[SCHEDULE_ENTRY_BEACON] = read_part(&arena, "{+kepler: {}}");
    written.parts[SCHEDULE_ENTRY_BEACON].is_off = true;
    CHECK_INT(overlay_save(&written, folder, &err), 0);
    CHECK_INT(overlay_load(&arena, folder, &read, &err), 0);
    CHECK(!read.parts[SCHEDULE_ENTRY_SCHEDULE].is_off && read.parts[SCHEDULE_ENTRY_BEACON].is_off);
    CHECK(overlay_find(&read.parts[SCHEDULE_ENTRY_SCHEDULE], STR("a"))->is_whole);
    CHECK(!overlay_find(&read.parts[SCHEDULE_ENTRY_SCHEDULE], STR("b"))->is_whole);
    CHECK_INT(
        value_get(&overlay_find(&read.parts[SCHEDULE_ENTRY_SCHEDULE], STR("b"))->keys, "x")->kind,
        VALUE_NULL);
    CHECK_INT((int)overlay_find(&read.parts[SCHEDULE_ENTRY_BEACON], STR("kepler"))->keys.kind,
              VALUE_MAP);
}

TEST(too_many_and_too_large_changes_are_refused_and_the_file_stays)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct overlay good = { 0 }, many = { 0 }, large = { 0 }, read;
    struct overlay_entry *entry;
    struct err err;

    good.parts[SCHEDULE_ENTRY_SCHEDULE] = read_part(&arena, "{+a: {x: 1}}");
    CHECK_INT(overlay_save(&good, folder, &err), 0);
    for (int i = 0; i <= OVERLAY_ENTRIES_MAX; i++)
        (void)overlay_get(&arena, &many.parts[SCHEDULE_ENTRY_BEACON],
                          str_from(arena_printf(&arena, "n%d", i)));
    CHECK_INT(overlay_save(&many, folder, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    entry = overlay_get(&arena, &large.parts[SCHEDULE_ENTRY_SCHEDULE], STR("a"));
    value_map_set(
        &arena, entry->keys.map, value_text("x"),
        value_text(memset(arena_zalloc(&arena, OVERLAY_SIZE_MAX + 1), 'x', OVERLAY_SIZE_MAX)));
    CHECK_INT(overlay_save(&large, folder, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(overlay_load(&arena, folder, &read, &err), 0);
    CHECK_INT((int)read.parts[SCHEDULE_ENTRY_SCHEDULE].entries.n, 1);
}

TEST(a_damaged_file_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct overlay read;
    struct err err;

    CHECK_INT(fs_replace(path_join(&arena, folder, "duties"), STR("rubbish"), NULL, &err), 0);
    CHECK_INT(overlay_load(&arena, folder, &read, &err), -1);
}
