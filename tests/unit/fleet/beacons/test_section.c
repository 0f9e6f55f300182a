/* Sections of beacons: what they may say, and what is refused. */
#include "fleet/beacons/section.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "test.h"

static const void *read_text(struct arena *arena, const char *kind, const char *text,
                             struct diags *diags)
{
    struct value section;

    CHECK(yaml_parse(arena, "t", str_from(text), NULL, &section, diags) == 0);
    return section_read(arena, beacon_kind_find(kind), &section, diags);
}

TEST(a_section_is_a_map_or_a_list_of_maps_as_in_salt)
{
    static const char *const texts[] = {
        "{services: {nginx: {}, cron: }, interval: 5, onchangeonly: false}",
        "[{services: [nginx, cron]}, {interval: 5s}, {onchangeonly: no}]",
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct diags diags = DIAGS_INIT(&arena);
        const struct beacon_common *common = read_text(&arena, "service", texts[i], &diags);

        CHECK(common != NULL);
        CHECK(common->interval == INT64_C(5000000000));
        CHECK(!common->onchangeonly && common->enabled);
    }
}

TEST(the_defaults_are_ten_seconds_and_changes_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct beacon_common *common =
        read_text(&arena, "service", "{services: {nginx: {}}}", &diags);

    CHECK(common != NULL);
    CHECK(common->interval == INT64_C(10000000000));
    CHECK(common->onchangeonly && common->own_changes == BEACON_OWN_MARK && common->hold == 0);
}

static const struct {
    const char *kind, *text, *error;
} mistakes[] = {
    { "service", "{}", "services" },
    { "service", "{services: {}}", "expected a map or a list of names" },
    { "service", "{services: {nginx: {a: 1}}}", "expected an empty map" },
    { "service", "{services: [[1]]}", "expected a name" },
    { "service", "{services: [a], intervall: 5}", "intervall" },
    { "service", "{services: [a], interval: -1}", "interval" },
    { "service", "{services: [a], interval: 1ms}", "interval" },
    { "service", "[services]", "expected a map" },
    { "disk", "{paths: {var: 90}}", "expected an absolute path" },
    { "disk", "{paths: {/: 190%}}", "expected a percentage" },
    { "disk", "{paths: {/: 90}, margin: 200}", "margin" },
    { "memory", "{over: lots}", "expected a percentage" },
    { "load", "{per_cpu: true}", "must be above 0" },
    { "load", "{one: -1}", "must be above 0" },
    { "file", "{files: [etc]}", "expected an absolute path" },
    { "log", "{files: {/a: '('}}", "" },
    { "log", "{files: {/a: [x]}}", "expected a regular expression" },
    { "process", "{processes: 3}", "expected a map or a list of names" },
    { "kepler", "{services: }", "services" },
};

TEST(a_section_with_a_mistake_is_refused_as_a_whole)
{
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct diags diags = DIAGS_INIT(&arena);

        CHECK(read_text(&arena, mistakes[i].kind, mistakes[i].text, &diags) == NULL);
        CHECK(diags.list.n > 0);
        if (!strstr(diags.list.p[0].text, mistakes[i].error))
            CHECK_STR(diags.list.p[0].text, mistakes[i].error);
    }
}

TEST(the_tables_of_all_kinds_are_sound)
{
    size_t count = 0;

    for (const struct beacon_kind *const *kind = beacon_kind_table; *kind; kind++, count++) {
        struct err err = { 0 };

        CHECK(params_check((*kind)->params, &err) == 0);
        CHECK((*kind)->args_size >= sizeof(struct beacon_common));
        CHECK(beacon_kind_find((*kind)->name) == *kind);
    }
    CHECK(count == 8);
    CHECK(beacon_kind_find("nosuch") == NULL);
}
