/* The tables of the documents about dependencies, each cell with a real engine; and endurance. */
#include "kepler/engine/service.h"

#include <malloc.h>

#include "kepler/engine/fake.h"

static struct fake *fake_with(const char *policy, const char *edge)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "dep %s check\nme <dep:%s\n", policy, edge);
    return fake_new(str_from(text));
}

/* Can the condition come true, once the dependency runs? One cell a policy. */
static const struct {
    const char *condition;
    bool always, on_failure, no;
} reachable[] = {
    { "failed", false, false, true },
    { "stopped", false, true, true },
    { "completed_successfully", false, true, true },
    { "unhealthy", true, true, true },
    { "started", true, true, true },
    { "healthy", true, true, true },
};

static void check_cell(const char *condition, const char *policy, bool can)
{
    struct fake *fake = fake_with(policy, condition);
    enum status status;

    engine_start(fake->engine, ENGINE_ALL, 0);
    fake_settle(fake);
    status = fake_status(fake, "me");
    if ((status == STATUS_SKIPPED) != !can)
        (void)fprintf(stderr, "%s with %s: %s\n", condition, policy, status_name(status));
    CHECK((status == STATUS_SKIPPED) == !can);
    fake_free(fake);
}

TEST(the_table_of_unreachable_conditions_holds_in_all_cells)
{
    for (size_t i = 0; i < ARRAY_LEN(reachable); i++) {
        check_cell(reachable[i].condition, "always", reachable[i].always);
        check_cell(reachable[i].condition, "on-failure", reachable[i].on_failure);
        check_cell(reachable[i].condition, "no", reachable[i].no);
    }
}

/* An exit followed by a policy restart meets no condition. `code` -1 is a manual stop. */
static const struct {
    const char *policy;
    int code;
    const char *condition;
    bool satisfied;
} transient[] = {
    { "always", 1, "failed", false },      { "always", 0, "completed_successfully", false },
    { "always", 1, "stopped", false },     { "on-failure", 1, "stopped", false },
    { "on-failure", 0, "stopped", true },  { "on-failure", 0, "completed_successfully", true },
    { "no", 1, "stopped", true },          { "no", 0, "stopped", true },
    { "no", 1, "failed", true },           { "no", 0, "completed_successfully", true },
    { "on-failure", -1, "stopped", true }, { "on-success", -1, "stopped", true },
    { "no", -1, "stopped", true },
};

TEST(the_table_of_transient_exits_holds_in_all_rows)
{
    for (size_t i = 0; i < ARRAY_LEN(transient); i++) {
        struct fake *fake = fake_with(transient[i].policy, transient[i].condition);
        const uint32_t dep = 0;

        engine_start(fake->engine, ENGINE_ALL, 0);
        fake_settle(fake);
        if (transient[i].code < 0)
            engine_stop(fake->engine, (struct engine_set){ &dep, 1, 0 }, NULL);
        else
            fake_exit(fake, dep, (struct process_status){ transient[i].code, 0 });
        fake_settle(fake);
        if ((fake->services[1].spawned > 0) != transient[i].satisfied)
            (void)fprintf(stderr, "row %zu\n", i);
        CHECK((fake->services[1].spawned > 0) == transient[i].satisfied);
        fake_free(fake);
    }
}

/* A stop by hand of a service that always restarts satisfies whoever began to wait for that before
 * it ran: being stopped is never transient. */
TEST(a_manual_stop_is_never_transient)
{
    struct fake *fake = fake_new(STR("dep always hold hook:pre_start\nme <dep:stopped\n"));
    const uint32_t dep = 0;

    engine_start(fake->engine, ENGINE_ALL, 0);
    fake_settle(fake);
    CHECK_INT(fake_status(fake, "me"), STATUS_WAITING);
    engine_stop(fake->engine, (struct engine_set){ &dep, 1, 0 }, NULL);
    fake_settle(fake);
    CHECK_INT(fake_status(fake, "dep"), STATUS_STOPPED);
    CHECK_INT(fake_status(fake, "me"), STATUS_RUNNING);
    fake_free(fake);
}

TEST(an_hour_of_restarts_takes_a_moment)
{
    struct fake *fake = fake_new(STR("a always delay=1\n"));

    engine_start(fake->engine, ENGINE_ALL, 0);
    for (int i = 0; i < 3600; i++) {
        fake_exit(fake, 0, (struct process_status){ 1, 0 });
        fake_pass(fake, CLOCK_SECOND);
        buf_clear(&fake->acts);
        buf_clear(&fake->changes);
    }
    CHECK_INT(fake->services[0].spawned, 3601);
    CHECK_INT(engine_get(fake->engine, 0)->record.restarts, 3600);
    fake_free(fake);
}

static void cycle(struct fake *fake)
{
    engine_start(fake->engine, ENGINE_ALL, 0);
    fake_settle(fake);
    CHECK(fake_answer(fake, 0, true));
    CHECK_INT(fake_status(fake, "web"), STATUS_RUNNING);
    (void)engine_restart(fake->engine, ENGINE_ALL, 0);
    fake_settle(fake);
    engine_stop(fake->engine, ENGINE_ALL, NULL);
    fake_settle(fake);
    CHECK(engine_is_down(fake->engine, ENGINE_ALL));
    buf_clear(&fake->acts);
    buf_clear(&fake->changes);
}

TEST(ten_thousand_cycles_do_not_grow)
{
    struct fake *fake = fake_new(STR("db always check hook:pre_start hook:post_stop\n"
                                     "web <db:healthy:restart:timeout=30 hook:pre_stop=1\n"));
    size_t before;

    for (int i = 0; i < 100; i++)
        cycle(fake);
    before = mallinfo2().uordblks;
    for (int i = 0; i < 10000; i++)
        cycle(fake);
    CHECK(mallinfo2().uordblks <= before + 1024);
    CHECK_INT(fake->timers.heap.n, 0);
    fake_free(fake);
}

TEST(a_thousand_services_in_a_chain_start_and_stop)
{
    AUTO_BUF struct buf text = BUF_INIT((size_t)1 << 20);
    struct fake *fake;

    buf_add_text(&text, "s0\n");
    for (int i = 1; i < 1000; i++)
        buf_printf(&text, "s%d <s%d:restart\n", i, i - 1);
    fake = fake_new(buf_view(&text));
    engine_start(fake->engine, ENGINE_ALL, 0);
    fake_settle(fake);
    CHECK_INT(fake_status(fake, "s999"), STATUS_RUNNING);
    CHECK_INT(engine_restart(fake->engine, (struct engine_set){ (uint32_t[]){ 0 }, 1, 0 }, 0), 1);
    fake_settle(fake);
    CHECK_INT(fake->services[999].spawned, 2);
    CHECK_INT(fake_status(fake, "s999"), STATUS_RUNNING);
    engine_stop(fake->engine, ENGINE_ALL, NULL);
    fake_settle(fake);
    CHECK(engine_is_down(fake->engine, ENGINE_ALL));
    fake_free(fake);
}

TEST(earlier_records_are_restored)
{
    struct fake *fake = fake_new(STR("a\nb <a:completed_successfully\n"));
    const struct service_record ended = { .status = STATUS_EXITED,
                                          .has_exit_code = true,
                                          .initialized = true };
    const struct service_record lost = { .status = STATUS_STOPPED, .restarts = 4 };
    const uint32_t b = 1;

    engine_restore(fake->engine, 0, &ended, NULL);
    engine_restore(fake->engine, 1, &lost, SERVICE_LOST);
    CHECK_INT(fake_status(fake, "a"), STATUS_EXITED);
    CHECK_INT(fake_status(fake, "b"), STATUS_STOPPED);
    CHECK_INT(engine_get(fake->engine, 1)->record.restarts, 0);
    engine_start(fake->engine, (struct engine_set){ &b, 1, 0 }, ENGINE_NAMED);
    fake_settle(fake);
    CHECK_INT(fake_status(fake, "b"), STATUS_RUNNING);
    CHECK_INT(fake->services[0].spawned, 0);
    fake_free(fake);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void disturb(struct fake *fake, uint32_t *seed)
{
    uint32_t service = next_random(seed) % 4, what = next_random(seed) % 12;
    struct engine_set one = { &service, 1, 0 };
    struct fake_service *state = &fake->services[service];

    state->hold_hooks = next_random(seed) % 8 == 0;
    switch (what) {
    case 0: engine_start(fake->engine, ENGINE_ALL, 0); break;
    case 1: engine_start(fake->engine, one, ENGINE_NAMED); break;
    case 2: engine_stop(fake->engine, one, NULL); break;
    case 3: (void)engine_restart(fake->engine, ENGINE_ALL, 0); break;
    case 4: (void)engine_restart(fake->engine, one, 0); break;
    case 5:
    case 6:
        if (state->alive && !state->main_ended)
            fake_exit(fake, service, (struct process_status){ (int)(what - 5), 0 });
        break;
    case 7: (void)fake_answer(fake, service, true); break;
    case 8: (void)fake_answer(fake, service, false); break;
    case 9:
        if (state->watching)
            fake->world.events.files_changed(fake->engine, service, "x");
        break;
    case 10:
        fake_run_state(fake, STR("highstate"), next_random(seed) % 4 > 0, next_random(seed) % 2);
        break;
    default: fake_pass(fake, CLOCK_SECOND * (next_random(seed) % 16)); break;
    }
    if (next_random(seed) % 3)
        fake_settle(fake);
}

static void check_rest(struct fake *fake, int round)
{
    AUTO_BUF struct buf text = BUF_INIT(10000);

    engine_stop(fake->engine, ENGINE_ALL, NULL);
    fake_settle(fake);
    fake_pass(fake, 300 * CLOCK_SECOND);
    fake_show(fake, &text);
    if (!engine_is_down(fake->engine, ENGINE_ALL))
        (void)fprintf(stderr, "round %d: %s\n", round, buf_text(&text));
    CHECK(engine_is_down(fake->engine, ENGINE_ALL));
    CHECK(readiness_is_quiescent(fake->engine));
    for (uint32_t i = 0; i < fake->config.service_count; i++)
        CHECK(!fake->services[i].watches_states);
    CHECK_INT(fake->timers.heap.n, 0);
}

/* Every event in every state, in many orders: the engine must stay consistent, which the checks of
 * the fake world watch, and always be able to come to rest and to start again. */
TEST(any_order_of_events_settles)
{
    static const char services[] =
        "db always check watch delay=1 hook:pre_start hook:post_exit\n"
        "api on-failure <db:healthy:restart:timeout=20 ^highstate:restart:timeout=20 "
        "hook:post_start\n"
        "web no <api:restart <db hook:pre_stop=1 leftovers\n"
        "end <web:stopped\n";
    uint32_t seed = 12345;

    for (int round = 0; round < 500; round++) {
        struct fake *fake = fake_new(str_from(services));

        for (int i = 0; i < 60; i++)
            disturb(fake, &seed);
        check_rest(fake, round);
        for (int i = 0; i < 4; i++)
            fake->services[i].hold_hooks = false;
        engine_start(fake->engine, ENGINE_ALL, 0);
        fake_settle(fake);
        CHECK_INT(fake_status(fake, "db"), STATUS_RUNNING);
        fake_free(fake);
    }
}
