#include "fleet/view/trees.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/record.h"
#include "core/sys/clock.h"
#include "fleet/nats/kv.h"
#include "test.h"

#define NOW      (1000 * CLOCK_SECOND)
#define NO_TREES ((struct liveness_trees){ "", "", "", "", "", "" })

static const struct liveness_trees wanted = { "aaa", "bbb", "ccc", "", "", "" };

static void take_peel(struct fleet_reach *reach, const char *id, int64_t seen,
                      const struct liveness_trees *trees)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct liveness_peel beat = { .version = "",
                                        .trees = liveness_show_trees(reach->arena, trees) };
    struct err err;

    CHECK(record_encode(&bytes, &liveness_peel_type, &beat, &err) == 0);
    fleet_reach_take_peel(reach, &(struct nats_kv_entry){ .key = str_from(id),
                                                          .value = buf_view(&bytes),
                                                          .change = NATS_KV_PUT,
                                                          .time = seen });
}

static void take_master(struct fleet_reach *reach, const char *id, int64_t seen, const char *rules)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct liveness_trees trees = { "", "", rules, "", "the folder is broken", "" };
    const struct liveness_master beat = { .master_id = id,
                                          .version = "",
                                          .trees = liveness_show_trees(reach->arena, &trees) };
    struct err err;

    CHECK(record_encode(&bytes, &liveness_master_type, &beat, &err) == 0);
    fleet_reach_take_master(reach, &(struct nats_kv_entry){ .key = str_from(id),
                                                            .value = buf_view(&bytes),
                                                            .change = NATS_KV_PUT,
                                                            .time = seen });
}

static const struct {
    const char *name;
    struct liveness_trees trees;
    int64_t age;
    const char *why; /* NULL: it has them; "": it does not count */
} cases[] = {
    { "a peel with both has them", { "aaa", "bbb", "", "", "", "" }, 0, NULL },
    { "rules are not for peels", { "aaa", "bbb", "zzz", "", "", "" }, 0, NULL },
    { "other states", { "xxx", "bbb", "", "", "", "" }, 0, "still has states xxx" },
    { "no states yet", { "", "bbb", "", "", "", "" }, 0, "still has states none" },
    { "other settings", { "aaa", "xxx", "", "", "", "" }, 0, "still has settings xxx" },
    { "the reason goes first",
      { "aaa", "xxx", "", "", "settings: a.zy:1:2: no", "" },
      0,
      "settings: a.zy:1:2: no" },
    { "only the first line of a reason", { "aaa", "xxx", "", "", "one\ntwo", "" }, 0, "one" },
    { "a peel that is silent", { "xxx", "bbb", "", "", "", "" }, 15, "no answer for 15 s" },
    { "one that has them may be silent", { "aaa", "bbb", "", "", "", "" }, 15, NULL },
    { "one that is offline is not waited for", { "xxx", "", "", "", "", "" }, 30, "" },
    { "an older version", { "", "", "", "", "", "" }, 0, "does not say which trees it has" },
};

TEST(a_peel_counts_when_it_says_that_it_has_the_trees_that_are_wanted)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const bool is_online = !cases[i].why || cases[i].why[0];
        struct fleet_reach_result result;
        struct fleet_reach reach;

        fleet_reach_init(&reach, &arena, &wanted);
        take_peel(&reach, "web-01", NOW - cases[i].age * CLOCK_SECOND, &cases[i].trees);
        fleet_reach_count(&reach, NOW, &result);
        CHECK(result.peels == is_online && result.peels_with == !cases[i].why);
        CHECK(fleet_reach_is_settled(&reach, NOW) == (result.missing.n == 0));
        if (cases[i].why && cases[i].why[0])
            CHECK(result.missing.n == 1 && strcmp(result.missing.p[0].why, cases[i].why) == 0);
    }
}

TEST(a_peel_of_a_canary_has_its_states_or_those_for_all)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct liveness_trees both = { "aaa", "bbb", "", "ddd", "", "" };
    struct fleet_reach reach;

    fleet_reach_init(&reach, &arena, &both);
    take_peel(&reach, "web-01", NOW, &(struct liveness_trees){ "ddd", "bbb", "", "", "", "" });
    take_peel(&reach, "web-02", NOW, &(struct liveness_trees){ "aaa", "bbb", "", "", "", "" });
    CHECK(fleet_reach_is_settled(&reach, NOW));
    take_peel(&reach, "web-02", NOW, &(struct liveness_trees){ "eee", "bbb", "", "", "", "" });
    CHECK(!fleet_reach_is_settled(&reach, NOW));
}

static const struct {
    const char *name;
    struct liveness_trees trees;
    bool is_settled;
} refusals[] = {
    { "these settings", { "aaa", "old", "", "", "a.zy:1:2: no", "bbb" }, true },
    { "settings before these", { "aaa", "old", "", "", "a.zy:1:2: no", "old" }, false },
    { "a problem that may pass", { "aaa", "old", "", "", "a.zy:1:2: no", "" }, false },
    { "states are still missing", { "xxx", "old", "", "", "a.zy:1:2: no", "bbb" }, false },
    { "no reason", { "aaa", "old", "", "", "", "bbb" }, false },
};

TEST(nobody_waits_for_a_peel_that_has_said_that_it_cannot_use_these_settings)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct fleet_reach_result result;
        struct fleet_reach reach;

        fleet_reach_init(&reach, &arena, &wanted);
        take_peel(&reach, "web-01", NOW, &refusals[i].trees);
        CHECK(fleet_reach_is_settled(&reach, NOW) == refusals[i].is_settled);
        fleet_reach_count(&reach, NOW, &result);
        CHECK(result.peels == 1 && result.peels_with == 0 && result.missing.n == 1);
        take_peel(&reach, "web-02", NOW, &(struct liveness_trees){ "", "", "", "", "", "" });
        CHECK(!fleet_reach_is_settled(&reach, NOW));
    }
}

TEST(a_master_counts_with_its_rules_and_a_folder_that_is_broken_does_not_matter)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_reach_result result;
    struct fleet_reach reach;

    fleet_reach_init(&reach, &arena, &wanted);
    take_master(&reach, "master-1", NOW, "ccc");
    take_master(&reach, "master-2", NOW, LIVENESS_RULES_OFF);
    CHECK(fleet_reach_is_settled(&reach, NOW));
    take_master(&reach, "master-3", NOW, "old");
    take_master(&reach, "master-4", NOW - 15 * CLOCK_SECOND, "old");
    take_peel(&reach, "a-peel", NOW, &NO_TREES);
    fleet_reach_count(&reach, NOW, &result);
    CHECK(result.masters == 3 && result.masters_with == 2 && result.missing.n == 2);
    CHECK(result.missing.p[0].is_master && strcmp(result.missing.p[0].name, "master-3") == 0);
    CHECK(strcmp(result.missing.p[0].why, "the folder is broken") == 0);
}

TEST(a_heartbeat_that_is_garbage_or_of_a_bad_name_changes_nothing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_reach_result result;
    struct fleet_reach reach;

    fleet_reach_init(&reach, &arena, &wanted);
    fleet_reach_take_peel(&reach, &(struct nats_kv_entry){ .key = STR("web-01"),
                                                           .value = STR("\xff\xff"),
                                                           .change = NATS_KV_PUT,
                                                           .time = NOW });
    take_peel(&reach, "not.a.peel", NOW, &wanted);
    fleet_reach_count(&reach, NOW, &result);
    CHECK(result.peels == 0 && result.missing.n == 0);
}
