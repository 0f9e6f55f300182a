#include "fleet/update/rollout.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

#define SECOND INT64_C(1000000000)
#define SOAK   (60 * SECOND)
#define ROUNDS 200

/* A node as its watchdog would answer. */
struct fake_node {
    const char *name, *version;
    enum update_state state;
    int64_t soaked; /* seconds */
    bool is_silent, refuses, is_bad, cannot_fetch;
    const char *error, *failed;
};

#define NODES_MAX 8

struct fake_fleet {
    struct arena arena;
    struct update_rollout rollout;
    struct fake_node nodes[NODES_MAX];
    const char *refusals[NODES_MAX];
    size_t count;
    int64_t now;
    size_t most_at_once; /* nodes that were applying or soaking at the same time */
    char orders[2048];
};

static void begin(struct fake_fleet *fleet, size_t count, int32_t size)
{
    static const char *const names[NODES_MAX] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    const struct param_strs nodes = { count, names };
    struct err err;

    *fleet = (struct fake_fleet){ .count = count, .now = 1000 };
    fleet->rollout = (struct update_rollout){
        .id = "rol-1",
        .config = { .version = "2.0", .batch_size = size, .soak_time = SOAK, .max_failed = 1 },
        .error = "",
    };
    for (size_t i = 0; i < count; i++)
        fleet->nodes[i] =
            (struct fake_node){ .name = names[i], .version = "1.0", .error = "", .failed = "" };
    CHECK_INT(rollout_plan(&fleet->arena, &fleet->rollout, &nodes,
                           (struct value_time){ fleet->now, 0 }, &err),
              0);
}

static struct fake_node *find_node(struct fake_fleet *fleet, const char *name)
{
    size_t i = 0;

    while (strcmp(fleet->nodes[i].name, name) != 0)
        i++;
    return &fleet->nodes[i];
}

static struct rollout_view look_at(struct fake_fleet *fleet, struct fake_node *node)
{
    const bool is_pending = node->state != UPDATE_IDLE && node->state != UPDATE_ROLLING_BACK;

    return (struct rollout_view){
        .answered = !node->is_silent,
        .said = { .version = is_pending ? "2.0" : "",
                  .running_version = node->version,
                  .state = node->state,
                  .soak_passed = node->soaked * SECOND >= SOAK,
                  .error = node->error,
                  .failed_version = node->failed },
        .refusal = fleet->refusals[node - fleet->nodes],
    };
}

static void obey(struct fake_fleet *fleet, const struct rollout_order *order)
{
    struct fake_node *node = find_node(fleet, order->node);
    const size_t n = strlen(fleet->orders);

    (void)snprintf(fleet->orders + n, sizeof(fleet->orders) - n, "%s%s %s", n ? ", " : "",
                   update_verb_name(order->verb), order->node);
    if (node->is_silent)
        return;
    if (node->refuses) {
        fleet->refusals[node - fleet->nodes] = "updates are not allowed";
    } else if (order->verb == UPDATE_PREPARE && node->cannot_fetch) {
        node->error = "hash does not match";
        node->failed = "2.0";
    } else if (order->verb == UPDATE_PREPARE) {
        node->state = UPDATE_STAGED;
    } else if (order->verb == UPDATE_APPLY) {
        node->state = UPDATE_SOAKING;
        node->version = "2.0";
        node->soaked = 0;
    } else if (order->verb == UPDATE_CONFIRM) {
        node->state = UPDATE_CONFIRMED;
    } else if (order->verb == UPDATE_ROLLBACK) {
        node->state = UPDATE_IDLE;
        node->version = "1.0";
    }
}

/* Ten seconds go by on all nodes. */
static void pass_time(struct fake_fleet *fleet)
{
    size_t busy = 0;

    fleet->now += 10;
    for (size_t i = 0; i < fleet->count; i++) {
        struct fake_node *node = &fleet->nodes[i];

        if (node->state == UPDATE_SOAKING && node->is_bad) {
            node->state = UPDATE_IDLE;
            node->version = "1.0";
            node->error = "the new version does not stay up";
            node->failed = "2.0";
        }
        busy += node->state == UPDATE_SOAKING;
        node->soaked += node->state == UPDATE_SOAKING ? 10 : 0;
    }
    if (busy > fleet->most_at_once)
        fleet->most_at_once = busy;
}

static void run_round(struct fake_fleet *fleet)
{
    const struct param_strs nodes = rollout_next_nodes(&fleet->arena, &fleet->rollout);
    struct rollout_view views[NODES_MAX];
    struct rollout_orders orders = { 0 };

    for (size_t i = 0; i < nodes.n; i++)
        views[i] = look_at(fleet, find_node(fleet, nodes.p[i]));
    (void)rollout_step(
        &fleet->arena, &fleet->rollout,
        &(struct rollout_round){
            .nodes = &nodes, .views = views, .now = { fleet->now, 0 }, .node_limit = 300 * SECOND },
        &orders);
    VEC_EACH (&orders.list, order)
        obey(fleet, order);
    pass_time(fleet);
}

static void run_to_end(struct fake_fleet *fleet)
{
    for (int i = 0; i < ROUNDS && !update_rollout_is_over(fleet->rollout.state); i++)
        run_round(fleet);
}

static const char *result_of(const struct fake_fleet *fleet, const char *node)
{
    VEC_EACH (&fleet->rollout.node_results.list, result)
        if (strcmp(result->node, node) == 0)
            return update_node_result_name(result->status);
    return "";
}

static const char *state_of(const struct fake_fleet *fleet)
{
    return update_rollout_state_name(fleet->rollout.state);
}

TEST(a_rollout_goes_batch_by_batch_and_confirms_all)
{
    struct fake_fleet fleet;

    begin(&fleet, 5, 2);
    CHECK_INT(fleet.rollout.batches.list->count, 3);
    run_to_end(&fleet);
    CHECK_STR(state_of(&fleet), "completed");
    CHECK_INT(fleet.most_at_once, 2);
    for (size_t i = 0; i < fleet.count; i++) {
        CHECK_STR(fleet.nodes[i].version, "2.0");
        CHECK_STR(result_of(&fleet, fleet.nodes[i].name), "confirmed");
    }
    CHECK(fleet.rollout.finished_at.seconds > 0);
    CHECK(strncmp(fleet.orders, "prepare a, prepare b, apply a, apply b, confirm a, confirm b, ",
                  62) == 0);
    arena_done(&fleet.arena);
}

TEST(a_batch_may_be_a_part_of_all_nodes)
{
    struct fake_fleet fleet;

    begin(&fleet, 5, 0);
    CHECK_INT(fleet.rollout.batches.list->count, 5);
    fleet.rollout.config.batch_percent = 50;
    fleet.rollout.node_results = (struct update_results){ 0 };
    {
        const char *const names[] = { "a", "b", "c", "d", "e" };
        struct err err;

        CHECK_INT(rollout_plan(&fleet.arena, &fleet.rollout, &(struct param_strs){ 5, names },
                               (struct value_time){ 1, 0 }, &err),
                  0);
    }
    CHECK_INT(fleet.rollout.batches.list->count, 2);
    arena_done(&fleet.arena);
}

TEST(a_node_that_runs_the_version_already_is_skipped)
{
    struct fake_fleet fleet;

    begin(&fleet, 2, 1);
    fleet.nodes[0].version = "2.0";
    run_to_end(&fleet);
    CHECK_STR(state_of(&fleet), "completed");
    CHECK_STR(result_of(&fleet, "a"), "skipped");
    CHECK_STR(result_of(&fleet, "b"), "confirmed");
    arena_done(&fleet.arena);
}

/* How a node can fail: the rollout ends, those in flight go back, those before stay. */
TEST(a_failure_ends_the_rollout_and_takes_the_batch_back)
{
    static const struct {
        struct fake_node how;
        const char *result, *error;
    } cases[] = {
        { { .is_bad = true }, "rolled_back", "the new version does not stay up" },
        { { .refuses = true }, "failed", "updates are not allowed" },
        { { .cannot_fetch = true }, "failed", "hash does not match" },
        { { .is_silent = true }, "failed", "does not answer" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_fleet fleet;

        begin(&fleet, 5, 2);
        fleet.nodes[3].is_bad = cases[i].how.is_bad;
        fleet.nodes[3].refuses = cases[i].how.refuses;
        fleet.nodes[3].cannot_fetch = cases[i].how.cannot_fetch;
        fleet.nodes[3].is_silent = cases[i].how.is_silent;
        run_to_end(&fleet);
        CHECK_STR(state_of(&fleet), "aborted");
        CHECK_STR(result_of(&fleet, "d"), cases[i].result);
        CHECK(strstr(fleet.rollout.error, cases[i].error));
        CHECK_STR(result_of(&fleet, "b"), "confirmed");
        CHECK_STR(fleet.nodes[2].version, "1.0");
        CHECK_INT(fleet.nodes[2].state, UPDATE_IDLE);
        CHECK_STR(result_of(&fleet, "c"), "rolled_back");
        CHECK_STR(result_of(&fleet, "e"), "pending");
        arena_done(&fleet.arena);
    }
}

TEST(a_budget_allows_failures)
{
    struct fake_fleet fleet;

    begin(&fleet, 4, 2);
    fleet.rollout.config.max_failed = 2;
    fleet.nodes[1].is_bad = true;
    run_to_end(&fleet);
    CHECK_STR(state_of(&fleet), "completed");
    CHECK_INT(fleet.rollout.failed_count, 1);
    CHECK_STR(result_of(&fleet, "b"), "rolled_back");
    CHECK_STR(result_of(&fleet, "d"), "confirmed");
    arena_done(&fleet.arena);
}

/* The record of each round, and nodes that have gone further than it says: whoever takes over. */
TEST(a_master_that_takes_over_at_any_round_completes_the_rollout)
{
    for (int taken = 0; taken < 20; taken++) {
        struct fake_fleet fleet;
        struct update_rollout old;

        begin(&fleet, 3, 2);
        for (int i = 0; i < taken; i++)
            run_round(&fleet);
        old = fleet.rollout;
        old.node_results.list.p = ARENA_ARRAY(&fleet.arena, struct update_result, fleet.count);
        memcpy(old.node_results.list.p, fleet.rollout.node_results.list.p,
               fleet.count * sizeof(struct update_result));
        run_round(&fleet); /* its record was never stored */
        fleet.rollout = old;
        run_to_end(&fleet);
        CHECK_STR(state_of(&fleet), "completed");
        CHECK_INT(fleet.rollout.failed_count, 0);
        for (size_t i = 0; i < fleet.count; i++)
            CHECK_STR(fleet.nodes[i].version, "2.0");
        arena_done(&fleet.arena);
    }
}

TEST(another_version_that_soaks_is_rolled_back_first)
{
    struct fake_fleet fleet;
    struct rollout_view view;
    struct rollout_orders orders = { 0 };
    struct param_strs nodes;

    begin(&fleet, 1, 1);
    fleet.nodes[0].state = UPDATE_SOAKING;
    nodes = rollout_next_nodes(&fleet.arena, &fleet.rollout);
    view = look_at(&fleet, &fleet.nodes[0]);
    view.said.version = "1.5";
    (void)rollout_step(
        &fleet.arena, &fleet.rollout,
        &(struct rollout_round){
            .nodes = &nodes, .views = &view, .now = { 1001, 0 }, .node_limit = SOAK },
        &orders);
    CHECK_INT(orders.list.n, 1);
    CHECK_INT(orders.list.p[0].verb, UPDATE_ROLLBACK);
    arena_done(&fleet.arena);
}

TEST(an_abort_takes_back_what_is_in_flight_and_nothing_else)
{
    struct fake_fleet fleet;

    begin(&fleet, 4, 2);
    while (fleet.rollout.current_batch == 0 || fleet.rollout.state != UPDATE_ROLLOUT_SOAKING)
        run_round(&fleet);
    rollout_abort(&fleet.arena, &fleet.rollout, "aborted by root");
    run_to_end(&fleet);
    CHECK_STR(state_of(&fleet), "aborted");
    CHECK_STR(fleet.nodes[0].version, "2.0");
    CHECK_STR(fleet.nodes[2].version, "1.0");
    CHECK_STR(result_of(&fleet, "a"), "confirmed");
    CHECK_STR(result_of(&fleet, "c"), "rolled_back");
    CHECK_INT(fleet.rollout.failed_count, 0);
    arena_done(&fleet.arena);
}

TEST(there_is_a_pause_between_batches)
{
    struct fake_fleet fleet;

    begin(&fleet, 2, 1);
    fleet.rollout.config.batch_pause = 1000 * SECOND;
    for (int i = 0; i < 50; i++)
        run_round(&fleet);
    CHECK_STR(result_of(&fleet, "a"), "confirmed");
    CHECK_STR(result_of(&fleet, "b"), "pending");
    run_to_end(&fleet);
    CHECK_STR(state_of(&fleet), "completed");
    arena_done(&fleet.arena);
}
