#include "fleet/jobs/rollout.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "fleet/wire/job.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

static const char *const five[] = { "a", "b", "c", "d", "e" };

struct note {
    const char *key, *text;
};

static struct job make_job(struct arena *arena, const char *function, const struct note *notes)
{
    struct value_map *map = value_map_new(arena, 4);

    for (; notes->key; notes++)
        value_map_set(arena, map, value_text(notes->key), value_text(notes->text));
    return (struct job){
        .jid = "J", .function = function, .targets = { 5, five }, .metadata = value_map(map)
    };
}

TEST(a_batch_alone_has_no_waves)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct note notes[] = { { JOB_BATCH, "2" }, { JOB_BATCH_FAILURES, "1" }, { 0 } };
    const struct job job = make_job(&arena, "test.ping", notes);
    struct rollout rollout;

    rollout_read(&job, &rollout);
    CHECK_INT(rollout.batch, 2);
    CHECK_INT(rollout.failures_max, 1);
    CHECK(!rollout.has_waves);
    CHECK_INT(rollout_time(&job, 10 * SECOND), 30 * SECOND);
}

TEST(a_gate_is_a_function_and_its_argument)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct note notes[] = { { JOB_BATCH, "2" },
                                  { JOB_GATE, "cmd.run  curl -sf localhost" },
                                  { JOB_PAUSE, "3" },
                                  { JOB_REVERT, "all" },
                                  { 0 } };
    const struct job job = make_job(&arena, "state.apply", notes);
    struct rollout rollout;

    rollout_read(&job, &rollout);
    CHECK(rollout.has_waves && rollout.revert == ROLLOUT_ALL);
    CHECK(str_is(rollout.gate_function, "cmd.run"));
    CHECK(str_is(rollout.gate_argument, "curl -sf localhost"));
    CHECK_INT(rollout.pause, 3 * SECOND);
    CHECK_INT(rollout_time(&job, 10 * SECOND), 3 * (10 * SECOND + ROLLOUT_GATE_NS + 3 * SECOND));
}

TEST(what_makes_no_sense_in_a_rollout_is_refused_with_the_reason)
{
    static const struct {
        const char *function;
        struct note notes[4];
        const char *said;
    } cases[] = {
        { "state.apply", { { JOB_GATE, "test.ping" } }, "require a batch" },
        { "state.apply", { { JOB_BATCH, "0" }, { JOB_PAUSE, "1" } }, "require a batch" },
        { "state.apply", { { JOB_BATCH, "1" }, { JOB_PAUSE, "soon" } }, "a day at most" },
        { "state.apply", { { JOB_BATCH, "1" }, { JOB_PAUSE, "86401" } }, "a day at most" },
        { "state.apply", { { JOB_BATCH, "1" }, { JOB_REVERT, "week" } }, "'wave' or 'all'" },
        { "test.ping", { { JOB_BATCH, "1" }, { JOB_REVERT, "wave" } }, "only runs of states" },
        { "state.apply",
          { { JOB_BATCH, "1" }, { JOB_REVERT, "wave" }, { JOB_QUEUE, "60" } },
          "a queue cannot be given" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct job job = make_job(&arena, cases[i].function, cases[i].notes);

        CHECK_INT(rollout_check(&job, &err), -1);
        CHECK_HAS(err.text, cases[i].said);
    }
    CHECK_INT(rollout_check(&(struct job){ .function = "test.ping" }, &err), 0);
}

TEST(the_jobs_of_a_rollout_have_ids_that_follow_from_it)
{
    char one[EVENT_JID_SIZE], two[EVENT_JID_SIZE], again[EVENT_JID_SIZE];

    rollout_gate_id("J", 1, one);
    rollout_gate_id("J", 2, two);
    rollout_gate_id("J", 1, again);
    CHECK_STR(one, again);
    CHECK(strcmp(one, two) != 0);
    rollout_revert_id("J", two);
    CHECK(strcmp(one, two) != 0);
    CHECK(rollout_is_remark(ROLLOUT_STOPPED) && !rollout_is_remark(JOB_GATE));
}
