#include "fleet/update/auto_rollout.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "test.h"
#include "fleet/update/rollout.h"

static void add_version(struct arena *arena, struct auto_rollout_world *world, const char *version,
                        const char *arch, int32_t promotions)
{
    VEC_PUSH_IN(arena, &world->manifests.list,
                (struct update_manifest){ .version = version,
                                          .component = UPDATE_PEEL,
                                          .goos = "linux",
                                          .goarch = arch,
                                          .promoted = promotions > 0,
                                          .promotions = promotions });
}

static struct update_node *add_node(struct arena *arena, struct auto_rollout_world *world,
                                    const char *id, const char *version, const char *arch)
{
    VEC_PUSH_IN(arena, &world->nodes.list,
                (struct update_node){ .id = id,
                                      .component = UPDATE_PEEL,
                                      .version = version,
                                      .goos = "linux",
                                      .goarch = arch,
                                      .veto = "" });
    return &world->nodes.list.p[world->nodes.list.n - 1];
}

/* What auto_rollout_next said, as a rollout that ended so. */
static void add_rollout(struct arena *arena, struct auto_rollout_world *world,
                        const struct auto_rollout *next, enum update_rollout_state state)
{
    struct update_rollout rollout = { .id = next->id,
                                      .config = { .version = next->version,
                                                  .component = UPDATE_PEEL,
                                                  .promotion = next->promotion },
                                      .state = state,
                                      .error = "" };

    for (size_t i = 0; i < next->nodes.n; i++)
        VEC_PUSH_IN(arena, &rollout.node_results.list,
                    (struct update_result){ .node = next->nodes.p[i] });
    VEC_PUSH_IN(arena, &world->rollouts.list, rollout);
}

/* "id: a b", or "nothing". */
static const char *describe_next(struct arena *arena, const struct auto_rollout_world *world,
                                 struct auto_rollout *ret)
{
    const char *text;

    if (!auto_rollout_next(arena, world, UPDATE_PEEL, ret))
        return "nothing";
    text = arena_printf(arena, "%s:", ret->id);
    for (size_t i = 0; i < ret->nodes.n; i++)
        text = arena_printf(arena, "%s %s", text, ret->nodes.p[i]);
    return text;
}

TEST(nodes_that_run_an_older_version_than_the_promoted_one_are_due)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "1.9.0", "amd64", 1);
    add_version(&arena, &world, "1.10.0", "amd64", 1);
    add_version(&arena, &world, "2.0.0", "amd64", 0);
    add_node(&arena, &world, "d", "1.11.0", "amd64"); /* newer: nothing goes back */
    add_node(&arena, &world, "c", "1.10.0", "amd64");
    add_node(&arena, &world, "b", "1.9.0", "amd64");
    add_node(&arena, &world, "a", "1.10.0-rc1", "amd64");
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-1.10.0-r1: a b");
}

TEST(degraded_refusing_and_busy_nodes_and_those_below_the_protocol_are_left_out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    world.manifests.list.p[0].min_protocol = 3;
    add_node(&arena, &world, "a", "1.0", "amd64")->degraded = true;
    add_node(&arena, &world, "b", "1.0", "amd64")->veto = "allow: false";
    add_node(&arena, &world, "c", "1.0", "amd64")->state = UPDATE_SOAKING;
    add_node(&arena, &world, "d", "1.0", "amd64")->protocol = 2;
    add_node(&arena, &world, "e", "1.0", "arm64")->protocol = 3;
    CHECK_STR(describe_next(&arena, &world, &next), "nothing");
    VEC_EACH (&world.nodes.list, node)
        node->protocol = 3;
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: d");
}

TEST(each_system_gets_the_newest_version_that_is_promoted_for_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    add_version(&arena, &world, "1.5", "amd64", 1);
    add_version(&arena, &world, "1.5", "arm64", 1);
    add_node(&arena, &world, "a", "1.0", "amd64");
    add_node(&arena, &world, "b", "1.0", "arm64");
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: a");
    add_rollout(&arena, &world, &next, UPDATE_ROLLOUT_COMPLETED);
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-1.5-r1: b");
}

TEST(a_node_gets_a_version_once_until_it_is_promoted_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    add_node(&arena, &world, "a", "1.0", "amd64"); /* as after a rollback by hand */
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: a");
    add_rollout(&arena, &world, &next, UPDATE_ROLLOUT_COMPLETED);
    CHECK_STR(describe_next(&arena, &world, &next), "nothing");
    add_node(&arena, &world, "b", "1.0", "amd64"); /* a machine that came later */
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r2: b");
    add_rollout(&arena, &world, &next, UPDATE_ROLLOUT_COMPLETED);
    CHECK_STR(describe_next(&arena, &world, &next), "nothing");
    world.manifests.list.p[0].promotions++;
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r3: a b");
}

TEST(an_aborted_rollout_holds_its_version_until_it_is_promoted_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    add_node(&arena, &world, "a", "1.0", "amd64");
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: a");
    add_rollout(&arena, &world, &next, UPDATE_ROLLOUT_ABORTED);
    add_node(&arena, &world, "b", "1.0", "amd64");
    CHECK_STR(describe_next(&arena, &world, &next), "nothing");
    CHECK_STR(auto_rollout_last(&world, UPDATE_PEEL, "2.0")->id, "rol-auto-peel-2.0-r1");
    world.manifests.list.p[0].promotions++;
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r2: a b");
}

TEST(nothing_starts_while_a_rollout_of_the_component_is_under_way)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    add_node(&arena, &world, "a", "1.0", "amd64");
    add_rollout(&arena, &world, &(struct auto_rollout){ .id = "rol-x", .version = "1.0" },
                UPDATE_ROLLOUT_SOAKING);
    CHECK_STR(describe_next(&arena, &world, &next), "nothing");
    world.rollouts.list.p[0].config.component = UPDATE_MASTER;
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: a");
}

TEST(ids_that_only_look_like_one_of_the_version_do_not_count)
{
    static const char *const ids[] = { "rol-auto-",
                                       "rol-auto-peel",
                                       "rol-auto-peel-2.0-r",
                                       "rol-auto-peel-2.0-r0",
                                       "rol-auto-peel-2.0-r-4",
                                       "rol-auto-peel-2.0-rc1-r7",
                                       "rol-auto-master-2.0-r7" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    add_node(&arena, &world, "a", "1.0", "amd64");
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        add_rollout(&arena, &world, &(struct auto_rollout){ .id = ids[i], .version = "2.0" },
                    UPDATE_ROLLOUT_COMPLETED);
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r1: a");
}

TEST(more_nodes_than_a_rollout_has_are_due_again_afterwards)
{
    enum { NODES = ROLLOUT_NODES_MAX + 2 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    struct auto_rollout next;

    add_version(&arena, &world, "2.0", "amd64", 1);
    for (int i = 0; i < NODES; i++)
        add_node(&arena, &world, arena_printf(&arena, "n%05d", i), "1.0", "amd64");
    CHECK(auto_rollout_next(&arena, &world, UPDATE_PEEL, &next));
    CHECK_INT((int)next.nodes.n, ROLLOUT_NODES_MAX);
    add_rollout(&arena, &world, &next, UPDATE_ROLLOUT_COMPLETED);
    CHECK_STR(describe_next(&arena, &world, &next), "rol-auto-peel-2.0-r2: n05000 n05001");
}
