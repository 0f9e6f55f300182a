#include "fleet/peel/canary.h"

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "language/target/target.h"
#include "test.h"
#include "fleet/wire/canary.h"

static const struct value *read_value(struct arena *arena, const char *text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value *v = ARENA_NEW(arena, struct value);

    CHECK_INT(yaml_parse(arena, "test", str_from(text), NULL, v, &diags), 0);
    return v;
}

static struct str make_record(struct arena *arena, const char *target, const char *groups,
                              enum canary_phase phase)
{
    AUTO_BUF struct buf bytes = BUF_INIT(CANARY_RECORD_MAX);
    struct canary canary = { .target = target,
                             .phase = phase,
                             .operator= "root",
                             .ended_by = "",
                             .base = 7,
                             .manifest = "" };
    struct err err;

    if (groups)
        canary.groups = *read_value(arena, groups);
    CHECK_INT(record_encode(&bytes, &canary_type, &canary, &err), 0);
    return buf_copy(&bytes, arena);
}

TEST(a_peel_is_meant_by_its_id_its_facts_and_the_groups_that_come_with_the_target)
{
    static const struct {
        const char *target, *groups;
        bool is_meant;
    } cases[] = {
        { "web*", NULL, true },
        { "db*", NULL, false },
        { "not db*", NULL, true },
        { "G@role:test", NULL, true },
        { "G@role:live", NULL, false },
        { "web-01 and not G@role:test", NULL, false },
        { "S@10.0.0.0/8", NULL, true },
        { "N@front", "{front: web*}", true },
        { "N@back", "{front: web*, back: 'not N@front'}", false },
        /* what a master would refuse means nobody, also after `not` */
        { "N@front", NULL, false },
        { "not N@front", NULL, false },
        { "not I@role:web", NULL, false },
        { "(web*", NULL, false },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target_subject subject = {
        .id = STR("web-01"),
        .facts = read_value(&arena, "{role: test, network: {ipv4: [10.1.2.3]}}")
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct str record =
            make_record(&arena, cases[i].target, cases[i].groups, CANARY_RUNNING);

        CHECK_STR(canary_means(record, &subject) ? cases[i].target : "",
                  cases[i].is_meant ? cases[i].target : "");
    }
}

TEST(only_a_canary_that_runs_or_is_promoted_is_followed)
{
    static const bool is_followed[] = { [CANARY_RUNNING] = true,
                                        [CANARY_PROMOTING] = true,
                                        [CANARY_ABORTING] = false,
                                        [CANARY_ENDED] = false };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target_subject subject = { .id = STR("web-01") };

    for (size_t i = 0; i < ARRAY_LEN(is_followed); i++)
        CHECK_INT(canary_means(make_record(&arena, "*", NULL, (enum canary_phase)i), &subject),
                  is_followed[i]);
}

TEST(a_record_that_is_missing_or_cannot_be_read_means_nobody)
{
    const struct target_subject subject = { .id = STR("web-01") };

    CHECK(!canary_means((struct str){ NULL, 0 }, &subject));
    CHECK(!canary_means(STR("\xff\xff"), &subject));
    CHECK(!canary_means(STR("\x82\xa6target\xa1*\xa5phase\xa5later"), &subject));
}

TEST(a_change_of_facts_is_noticed_with_the_record_that_was_noted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target_subject before = { .id = STR("web-01"),
                                           .facts = read_value(&arena, "{role: test}") };
    const struct target_subject after = { .id = STR("web-01"),
                                          .facts = read_value(&arena, "{role: live}") };
    struct peel_canary canary = { 0 };

    CHECK(!canary_has_changed(&canary, &before));
    CHECK(canary_note(&canary, make_record(&arena, "G@role:test", NULL, CANARY_RUNNING), &before));
    CHECK(!canary_has_changed(&canary, &before));
    CHECK(canary_has_changed(&canary, &after));
    CHECK(!canary_note(&canary, (struct str){ NULL, 0 }, &after));
    CHECK(!canary_has_changed(&canary, &before));
    canary_done(&canary);
}
