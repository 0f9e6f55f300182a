#include "fleet/jobs/claim.h"

#include "core/base/arena.h"
#include "test.h"

static const char *const targets[] = { "a", "b" };

static struct job make_job(enum job_status status, const char *owner)
{
    return (struct job){ .jid = "J",
                         .function = "test.ping",
                         .targets = { 2, targets },
                         .timeout = 5,
                         .status = status,
                         .user = "root",
                         .owner = owner,
                         .state_id = "",
                         .target_expr = "*" };
}

static const struct {
    enum job_status status;
    const char *owner;
    bool lives;
    enum claim_verdict verdict;
} rows[] = {
    { JOB_CLAIMED, "me", true, CLAIM_RESUME },
    { JOB_CLAIMED, "other", true, CLAIM_PENDING },
    { JOB_CLAIMED, "other", false, CLAIM_TAKE },
    { JOB_RUNNING, "me", true, CLAIM_DUPLICATE },
    { JOB_RUNNING, "other", false, CLAIM_DUPLICATE },
    { JOB_COMPLETE, "other", true, CLAIM_DUPLICATE },
};

TEST(a_record_that_is_there_decides_what_may_be_done)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job wanted = make_job(JOB_PENDING, ""),
                   stored = make_job(rows[i].status, rows[i].owner);

        CHECK_INT(claim_judge(&wanted, &stored, "me", rows[i].lives), rows[i].verdict);
    }
}

TEST(other_work_under_the_same_id_is_a_conflict)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job stored = make_job(JOB_COMPLETE, "other");
    struct job wanted = stored;

    wanted.function = "cmd.run";
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_CONFLICT);
    wanted = stored;
    wanted.targets.n = 1;
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_CONFLICT);
    wanted = stored;
    wanted.timeout = 6;
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_CONFLICT);
    wanted = stored;
    wanted.user = "eve";
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_CONFLICT);
    wanted = stored;
    wanted.sealed = value_map(value_map_new(&arena, 1));
    value_map_set(&arena, wanted.sealed.map, value_text("password"), value_text("ENC[]"));
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_CONFLICT);
}

static const struct {
    const char *jid;
    enum job_status status;
    const char *owner;
    bool lives;
    enum claim_verdict verdict;
} drifted_rows[] = {
    { "rxn-1", JOB_CLAIMED, "other", true, CLAIM_PENDING },
    { "rxn-1", JOB_CLAIMED, "other", false, CLAIM_RESUME },
    { "rxn-1", JOB_CLAIMED, "me", true, CLAIM_RESUME },
    { "rxn-1", JOB_RUNNING, "other", false, CLAIM_CONFLICT },
    { "J", JOB_CLAIMED, "other", true, CLAIM_PENDING },
    { "J", JOB_CLAIMED, "other", false, CLAIM_CONFLICT },
    { "J", JOB_CLAIMED, "me", true, CLAIM_CONFLICT },
};

TEST(a_reaction_that_was_never_sent_is_not_lost_when_its_target_means_other_peels_by_now)
{
    for (size_t i = 0; i < ARRAY_LEN(drifted_rows); i++) {
        struct job wanted = make_job(JOB_PENDING, ""),
                   stored = make_job(drifted_rows[i].status, drifted_rows[i].owner);

        wanted.jid = stored.jid = drifted_rows[i].jid;
        wanted.targets.n = 1;
        CHECK_INT(claim_judge(&wanted, &stored, "me", drifted_rows[i].lives),
                  drifted_rows[i].verdict);
    }
}

TEST(the_target_as_it_was_written_is_not_part_of_the_intent)
{
    struct job stored = make_job(JOB_RUNNING, "other");
    struct job wanted = stored;

    wanted.target_expr = "L@a,b";
    CHECK_INT(claim_judge(&wanted, &stored, "me", true), CLAIM_DUPLICATE);
}

TEST(a_job_that_was_sent_keeps_its_epoch_through_every_takeover)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job = make_job(JOB_RUNNING, "a"), second, third;

    CHECK_INT(claim_epoch(&job, 17), 17);
    CHECK(claim_take(&arena, &job, 17, "b", (struct value_time){ 1, 0 }, &second));
    CHECK_STR(second.owner, "b");
    CHECK_INT(second.reclaim_count, 1);
    CHECK_INT(claim_epoch(&second, 20), 17);
    CHECK(claim_take(&arena, &second, 20, "c", (struct value_time){ 2, 0 }, &third));
    CHECK_INT(claim_epoch(&third, 29), 17);
}

/* Two masters may both believe that a claim is theirs now: what they send must be the same. */
TEST(a_claim_that_was_not_sent_has_the_epoch_of_its_first_record_whoever_takes_it_over)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job = make_job(JOB_CLAIMED, "a"), second, third;

    CHECK(claim_take(&arena, &job, 17, "b", (struct value_time){ 1, 0 }, &second));
    CHECK_INT(second.status, JOB_CLAIMED);
    CHECK_INT(claim_epoch(&second, 20), 17);
    CHECK(claim_take(&arena, &second, 20, "c", (struct value_time){ 2, 0 }, &third));
    CHECK_INT(claim_epoch(&third, 29), 17);
}

TEST(what_is_its_own_already_does_not_count_as_taken_over)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job = make_job(JOB_RUNNING, "a"), taken;

    job.reclaim_count = CLAIM_RECLAIMS_MAX;
    CHECK(claim_take(&arena, &job, 17, "a", (struct value_time){ 1, 0 }, &taken));
    CHECK_INT(taken.reclaim_count, CLAIM_RECLAIMS_MAX);
}

TEST(a_job_that_is_taken_over_too_often_fails_with_a_reason)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job = make_job(JOB_RUNNING, "a"), taken;

    job.reclaim_count = CLAIM_RECLAIMS_MAX;
    CHECK(!claim_take(&arena, &job, 17, "b", (struct value_time){ 1, 0 }, &taken));
    CHECK_INT(taken.status, JOB_FAILED);
    CHECK_HAS(value_get_text(&taken.metadata, CLAIM_FAILED_REASON), "too often");
}

static struct job make_queued(struct arena *arena, const char *jid, int64_t second)
{
    struct job job = make_job(JOB_RUNNING, "me");

    job.jid = jid;
    job.function = "state.apply";
    job.state_id = "web";
    job.created.seconds = second;
    job.metadata = value_map(value_map_new(arena, 1));
    value_map_set(arena, job.metadata.map, value_text(JOB_QUEUE), value_text("3600"));
    job.args = value_map(value_map_new(arena, 1));
    return job;
}

TEST(newer_work_of_the_same_kind_replaces_what_is_queued)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct job old = make_queued(&arena, "J", 1);
    struct job newer = make_queued(&arena, "K", 2);

    CHECK(claim_replaces(&newer, &old));
    CHECK(!claim_replaces(&old, &newer));
    value_map_set(&arena, newer.args.map, value_text("pillar"), value_text("x"));
    CHECK(claim_replaces(&newer, &old)); /* the same states with other settings */
    value_map_set(&arena, newer.args.map, value_text("test"), value_bool(true));
    CHECK(!claim_replaces(&newer, &old)); /* a dry run does not do the work */
    newer = make_queued(&arena, "K", 2);
    newer.state_id = "db";
    CHECK(!claim_replaces(&newer, &old));
    newer = make_queued(&arena, "K", 2);
    newer.metadata = value_null();
    CHECK(!claim_replaces(&newer, &old)); /* it is not kept for who is absent */
}

TEST(a_command_is_replaced_by_the_same_command_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job old = make_queued(&arena, "J", 1), newer = make_queued(&arena, "K", 2);

    old.function = newer.function = "cmd.run";
    CHECK(claim_replaces(&newer, &old));
    value_map_set(&arena, newer.args.map, value_text("command"), value_text("true"));
    CHECK(!claim_replaces(&newer, &old));
}

TEST(a_queued_job_outlives_many_masters)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job old = make_queued(&arena, "J", 1), taken;

    old.reclaim_count = CLAIM_RECLAIMS_MAX;
    CHECK(claim_take(&arena, &old, 7, "other", (struct value_time){ 0 }, &taken));
    old.reclaim_count = CLAIM_RECLAIMS_QUEUED_MAX;
    CHECK(!claim_take(&arena, &old, 7, "other", (struct value_time){ 0 }, &taken));
}

TEST(what_masters_have_noted_since_makes_no_other_job_of_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job wanted = { .jid = "J", .function = "state.apply", .user = "u", .state_id = "app" };
    struct job stored = wanted;

    stored.metadata = value_map(value_map_new(&arena, 2));
    value_map_set(&arena, stored.metadata.map, value_text("stopped"), value_text("wave 1"));
    value_map_set(&arena, stored.metadata.map, value_text("revert_job"), value_text("R"));
    CHECK(claim_is_same(&wanted, &stored) && claim_is_same(&stored, &wanted));
    value_map_set(&arena, stored.metadata.map, value_text("gate"), value_text("test.ping"));
    CHECK(!claim_is_same(&wanted, &stored) && !claim_is_same(&stored, &wanted));
}
