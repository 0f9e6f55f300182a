#include "commands/cli/fleet/peels.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/runs.h"
#include "core/data/value.h"
#include "fleet/nats/kv.h"
#include "test.h"
#include "fleet/wire/liveness.h"

static const struct nats_kv_entry facts = { .key = { "web-01", 6 },
                                            .value = { "\x81\xa2os\x81\xa4name\xa6"
                                                       "debian",
                                                       17 } };

static void beat(struct fleet_peels *peels, const struct lastrun *run)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    const struct liveness_peel sign = { .version = "1.0",
                                        .run = run ? record_value(peels->arena, &lastrun_type, run)
                                                   : value_null() };
    struct err err;

    CHECK_INT(record_encode(&bytes, &liveness_peel_type, &sign, &err), 0);
    fleet_peels_take_beat(
        peels, &(struct nats_kv_entry){ .key = facts.key, .value = buf_view(&bytes), .time = 5 });
}

static const struct {
    const char *about;
    struct lastrun run;
    enum drift drift;
    const char *text;
} cases[] = {
    { "a good run", { .success = true, .looked = true, .changed = 3 }, DRIFT_NONE, "none" },
    { "a dry run that would change nothing",
      { .success = true, .test = true },
      DRIFT_NONE,
      "none" },
    { "a run without a look at its end",
      { .success = true, .changed = 3 },
      DRIFT_UNKNOWN,
      "unknown: the last run was not checked" },
    { "a good run, and a change since",
      { .success = true, .looked = true, .stale = true },
      DRIFT_UNKNOWN,
      "unknown: changed since the last run" },
    { "a run that has not converged",
      { .success = true,
        .looked = true,
        .stale = true,
        .again = 3,
        .differs = { 3, (const char *[]){ "a:b", "c:d", "e:f" } } },
      DRIFT_FOUND,
      "3 would change again: a:b, c:d, ..." },
    { "a dry run that would change one",
      { .success = true, .test = true, .changed = 1, .differs = { 1, (const char *[]){ "a:b" } } },
      DRIFT_FOUND,
      "1 differs: a:b" },
    { "a dry run that would change many",
      { .success = true,
        .test = true,
        .changed = 5,
        .differs = { 3, (const char *[]){ "a:b", "c:d", "e:f" } } },
      DRIFT_FOUND,
      "5 differ: a:b, c:d, ..." },
    { "a run that failed",
      { .failed = 1, .differs = { 1, (const char *[]){ "a:b" } } },
      DRIFT_FAILED,
      "1 failed: a:b" },
    { "a run that did not begin",
      { .error = "top.zy:1:1: wrong\nmore" },
      DRIFT_FAILED,
      "failed: top.zy:1:1: wrong" },
};

TEST(the_heartbeat_says_what_the_last_run_came_to)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct fleet_peels peels = FLEET_PEELS_INIT(&arena);
        const struct fleet_peel *peel;

        fleet_peels_take_facts(&peels, &facts);
        beat(&peels, &cases[i].run);
        peel = peels.list.p[0];
        CHECK_STR(peel->os, "debian");
        CHECK_STR(peel->arch, "-");
        CHECK(fleet_peel_is_online(peel, 6));
        CHECK_INT(fleet_peel_drift(peel), cases[i].drift);
        CHECK_STR(fleet_peel_describe_drift(&arena, peel), cases[i].text);
    }
}

TEST(without_a_run_the_drift_is_unknown_and_a_strange_heartbeat_is_no_run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_peels peels = FLEET_PEELS_INIT(&arena);

    fleet_peels_take_facts(&peels, &facts);
    beat(&peels, NULL);
    CHECK_INT(fleet_peel_drift(peels.list.p[0]), DRIFT_UNKNOWN);
    /* {ts: 0, run: {failed: "x"}} */
    fleet_peels_take_beat(&peels, &(struct nats_kv_entry){ .key = facts.key,
                                                           .value = STR("\x81\xa3run\x81\xa6"
                                                                        "failed\xa1x"),
                                                           .time = 7 });
    CHECK_INT(fleet_peel_drift(peels.list.p[0]), DRIFT_UNKNOWN);
    CHECK(!fleet_peel_is_online(peels.list.p[0], 7 + FLEET_PEEL_ONLINE_NS));
}

TEST(a_hostile_heartbeat_is_cut_to_the_size_of_a_summary)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_peels peels = FLEET_PEELS_INIT(&arena);
    const char *names[1000];
    char *name = arena_alloc(&arena, 100000);
    struct lastrun run = { .failed = 1000, .differs = { ARRAY_LEN(names), names } };

    memset(name, 'x', 99999);
    name[99999] = '\0';
    run.error = run.function = name;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        names[i] = i < 2 ? name : "a:b";
    {
        AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
        const struct liveness_peel sign = { .version = name,
                                            .run = record_value(&arena, &lastrun_type, &run) };
        struct err err;

        CHECK_INT(record_encode(&bytes, &liveness_peel_type, &sign, &err), 0);
        fleet_peels_take_facts(&peels, &facts);
        fleet_peels_take_beat(&peels, &(struct nats_kv_entry){
                                          .key = facts.key, .value = buf_view(&bytes), .time = 5 });
    }
    CHECK_INT(peels.list.p[0]->run.differs.n, LASTRUN_NAMES);
    CHECK_INT(strlen(peels.list.p[0]->run.differs.p[0]), LASTRUN_TEXT_MAX);
    CHECK_INT(strlen(peels.list.p[0]->run.error), LASTRUN_TEXT_MAX);
    CHECK_INT(strlen(peels.list.p[0]->version), FLEET_PEEL_TEXT_MAX);
}

TEST(a_return_that_is_newer_than_the_heartbeat_counts_and_an_older_one_only_says_when_it_converged)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_peels peels = FLEET_PEELS_INIT(&arena);
    struct fleet_peel *peel = fleet_peels_add(&peels, STR("web-01"));
    struct lastrun run = { .id = "2", .function = "", .error = "", .time = { 20, 0 } };

    fleet_peels_offer_run(&peels, peel, &run);
    CHECK_STR(peel->run.id, "2");
    CHECK_INT(peel->run.converged.seconds, 0);
    run = (struct lastrun){
        .id = "1", .function = "", .error = "", .time = { 10, 0 }, .success = true
    };
    run.converged = run.time;
    fleet_peels_offer_run(&peels, peel, &run);
    CHECK_STR(peel->run.id, "2");
    CHECK_INT(peel->run.converged.seconds, 10);
    run = (struct lastrun){ .id = "3", .function = "", .error = "", .time = { 30, 0 } };
    fleet_peels_offer_run(&peels, peel, &run);
    CHECK_STR(peel->run.id, "3");
    CHECK_INT(peel->run.converged.seconds, 10);
    run.time.seconds = 31; /* the same run, as its return tells it */
    run.failed = 7;
    fleet_peels_offer_run(&peels, peel, &run);
    CHECK_INT(peel->run.failed, 0);
}

static struct value response(struct arena *arena, bool test, const char *error)
{
    struct exec_response all = { .success = !error, .test = test, .looked = true, .error = "" };

    VEC_PUSH_IN(arena, &all.results.list, ((struct exec_result){ .name = "a:b", .changed = true }));
    VEC_PUSH_IN(arena, &all.results.list,
                ((struct exec_result){ .name = "c:d", .error = error ? error : "" }));
    return record_value(arena, &exec_response_type, &all);
}

TEST(a_return_reports_the_same_as_a_heartbeat)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_runs_item run;
    struct exec_return ret = { .jid = "1", .success = true, .error = "", .timestamp = { 9, 0 } };

    ret.return_data = response(&arena, false, NULL);
    CHECK(fleet_runs_summarize(&arena, &ret, "state.apply", &run));
    CHECK_INT(run.summary.converged.seconds, 9);
    CHECK_INT(run.summary.changed, 1);
    CHECK_INT(lastrun_count_differs(&run.summary), 0);
    ret.return_data = response(&arena, true, NULL);
    CHECK(fleet_runs_summarize(&arena, &ret, "state.apply", &run));
    CHECK_INT(run.summary.converged.seconds, 0);
    CHECK_STR(run.summary.differs.p[0], "a:b");
    ret.success = false;
    ret.return_data = response(&arena, false, "boom");
    CHECK(fleet_runs_summarize(&arena, &ret, "state.apply", &run));
    CHECK_INT(run.summary.failed, 1);
    CHECK_STR(run.summary.differs.p[0], "c:d");
    ret.unreachable = true;
    CHECK(!fleet_runs_summarize(&arena, &ret, "state.apply", &run));
}
