/* Beacons of Salt as sections of ours. */
#include "commands/migrate/salt_beacons.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/beacons/section.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "test.h"

/* What was made of it is read without mistakes. */
static void check_sections(struct arena *arena, const struct value *sections)
{
    for (size_t i = 0; i < sections->map->count; i++) {
        const struct value_pair *pair = &sections->map->pairs[i];
        struct diags diags = DIAGS_INIT(arena);

        CHECK(section_read(arena, beacon_kind_find(pair->key.s.p), &pair->value, &diags) != NULL);
    }
}

static int run_case(const struct golden *golden, struct buf *out)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags remarks = DIAGS_INIT(&arena);
    struct value conf, result;
    struct err err;

    CHECK_INT(
        yaml_parse(&arena, "minion", golden_section(golden, "minion"), &options, &conf, &remarks),
        0);
    result = salt_beacons_convert(&arena, value_get(&conf, "beacons"), &remarks);
    CHECK_INT(yaml_print(out, &result, &err), 0);
    VEC_EACH (&remarks.list, remark)
        buf_printf(out, "%u: %s\n", remark->at.line, remark->text);
    check_sections(&arena, value_get(&result, "beacons"));
    return 0;
}

TEST(beacons_of_salt_become_sections_without_mistakes_and_remarks_say_what_is_missing)
{
    test_golden("commands/migrate/beacons.txt", run_case);
}
