#include "kepler/config/condition.h"

#include <signal.h>

#include "test.h"

/* --- the tables of the documentation ------------------------------------------------------ */

enum { ALWAYS, ON_FAILURE, NO, DOCUMENTED };

static const struct policy documented[DOCUMENTED] = {
    [ALWAYS] = { .flags = POLICY_ALWAYS },
    [ON_FAILURE] = { .flags = POLICY_ON_FAILURE },
    [NO] = { .flags = POLICY_NO },
};

TEST(the_eighteen_cells_of_unreachable_conditions)
{
    /* clang-format off */
    static const bool reachable[CONDITIONS][DOCUMENTED] = {
        [CONDITION_FAILED]                 = { false, false, true },
        [CONDITION_STOPPED]                = { false, true,  true },
        [CONDITION_COMPLETED_SUCCESSFULLY] = { false, true,  true },
        [CONDITION_UNHEALTHY]              = { true,  true,  true },
        [CONDITION_STARTED]                = { true,  true,  true },
        [CONDITION_HEALTHY]                = { true,  true,  true },
    };
    /* clang-format on */

    for (size_t c = 0; c < CONDITIONS; c++)
        for (size_t p = 0; p < DOCUMENTED; p++)
            CHECK_INT(condition_is_unreachable((enum condition)c, &documented[p], false),
                      !reachable[c][p]);
}

TEST(joined_policies_block_what_their_parts_block)
{
    static const struct policy success = { .flags = POLICY_ON_SUCCESS };
    static const struct policy both = { .flags = POLICY_ON_SUCCESS | POLICY_ON_FAILURE };
    static const struct policy unhealthy = { .flags = POLICY_ON_UNHEALTHY };

    CHECK(condition_is_unreachable(CONDITION_COMPLETED_SUCCESSFULLY, &success, false));
    CHECK(!condition_is_unreachable(CONDITION_FAILED, &success, false));
    CHECK(!condition_is_unreachable(CONDITION_STOPPED, &success, false));
    CHECK(condition_is_unreachable(CONDITION_STOPPED, &both, false));
    for (size_t c = 0; c < CONDITIONS; c++)
        CHECK(!condition_is_unreachable((enum condition)c, &unhealthy, false));
}

TEST(a_start_limit_lets_restarts_end_in_failure_but_not_in_success)
{
    static const struct policy always = { .flags = POLICY_ALWAYS };

    CHECK(!condition_is_unreachable(CONDITION_FAILED, &always, true));
    CHECK(!condition_is_unreachable(CONDITION_STOPPED, &always, true));
    CHECK(condition_is_unreachable(CONDITION_COMPLETED_SUCCESSFULLY, &always, true));
}

TEST(transient_exits_do_not_meet_conditions)
{
    static const struct {
        enum status status;
        int code;
        int policy;
        bool restarts;
    } rows[] = {
        { STATUS_EXITED, 1, ALWAYS, true },     { STATUS_EXITED, 0, ALWAYS, true },
        { STATUS_EXITED, 1, ON_FAILURE, true }, { STATUS_EXITED, 0, ON_FAILURE, false },
        { STATUS_EXITED, 0, NO, false },        { STATUS_EXITED, 1, NO, false },
        { STATUS_STOPPED, 0, ALWAYS, false },   { STATUS_STOPPED, 1, ON_FAILURE, false },
        { STATUS_STOPPED, 1, NO, false },       { STATUS_KILLED, 0, ALWAYS, true },
        { STATUS_KILLED, 0, ON_FAILURE, true }, { STATUS_KILLED, 0, NO, false },
        { STATUS_FAILED, 0, ALWAYS, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf reason = BUF_INIT(BUF_NO_LIMIT);
        struct condition_facts facts = {
            .status = rows[i].status,
            .has_exit_code = rows[i].status == STATUS_EXITED || rows[i].status == STATUS_STOPPED,
            .exit_code = rows[i].code,
            .policy = &documented[rows[i].policy],
            .name = "dep",
        };

        CHECK_INT(condition_will_restart(&facts), rows[i].restarts);
        CHECK_INT(condition_judge(CONDITION_STOPPED, NULL, false, &facts, &reason),
                  rows[i].restarts ? CONDITION_WAIT : CONDITION_HOLDS);
        CHECK_STR(buf_text(&reason), "");
    }
}

/* --- which statuses hold -------------------------------------------------------------------- */

/* A letter for each status in the order of enum status: y holds, n does not. */
TEST(conditions_hold_in_the_listed_statuses)
{
    /* clang-format off */
    static const struct {
        enum condition condition;
        int code;
        const char *holds;
    } rows[] = {
        /*                                       stopped waiting starting running healthy unhealthy
                                                 stopping restarting exited killed failed skipped */
        { CONDITION_STARTED,                0, "nnnyyynnnnnn" },
        { CONDITION_HEALTHY,                0, "nnnnynnnnnnn" },
        { CONDITION_UNHEALTHY,              0, "nnnnnynnnnnn" },
        { CONDITION_COMPLETED_SUCCESSFULLY, 0, "ynnnnnnnynnn" },
        { CONDITION_COMPLETED_SUCCESSFULLY, 1, "nnnnnnnnnnnn" },
        { CONDITION_FAILED,                 0, "nnnnnnnnnyyn" },
        { CONDITION_FAILED,                 3, "nnnnnnnnyyyn" },
        { CONDITION_STOPPED,                0, "ynnnnnnnyyyn" },
        { CONDITION_STOPPED,                9, "ynnnnnnnyyyn" },
    };
    /* clang-format on */

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char got[STATUSES + 1] = "";

        for (size_t s = 0; s < STATUSES; s++) {
            struct condition_facts facts = {
                .status = (enum status)s,
                .has_exit_code = s == STATUS_STOPPED || s == STATUS_EXITED,
                .exit_code = rows[i].code,
                .was_healthy = true,
                .policy = &documented[NO],
            };

            got[s] = condition_holds(rows[i].condition, NULL, &facts) ? 'y' : 'n';
        }
        CHECK_STR(got, rows[i].holds);
    }
}

TEST(unhealthy_means_it_was_healthy_before)
{
    struct condition_facts facts = { .status = STATUS_UNHEALTHY, .policy = &documented[NO] };

    CHECK(!condition_holds(CONDITION_UNHEALTHY, NULL, &facts));
    facts.was_healthy = true;
    CHECK(condition_holds(CONDITION_UNHEALTHY, NULL, &facts));
}

TEST(exit_code_filters_match_values_and_inclusive_ranges)
{
    static const struct condition_range ranges[] = { { 1, 1 }, { 5, 10 } };
    const struct condition_codes codes = { ranges, ARRAY_LEN(ranges) };
    struct condition_facts facts = { .status = STATUS_EXITED,
                                     .has_exit_code = true,
                                     .policy = &documented[NO] };

    for (int code = 0; code < 13; code++) {
        facts.exit_code = code;
        CHECK_INT(condition_holds(CONDITION_FAILED, &codes, &facts),
                  code == 1 || (code >= 5 && code <= 10));
    }
    facts = (struct condition_facts){ .status = STATUS_KILLED, .policy = &documented[NO] };
    CHECK(!condition_holds(CONDITION_FAILED, &codes, &facts));
    CHECK(condition_holds(CONDITION_FAILED, NULL, &facts));
}

/* --- reasons ---------------------------------------------------------------------------------- */

static const char *reason_for(enum condition condition, struct condition_facts facts)
{
    static char text[400];
    AUTO_BUF struct buf reason = BUF_INIT(sizeof(text) - 1);

    facts.name = facts.name ? facts.name : "redis";
    if (condition_judge(condition, NULL, false, &facts, &reason) != CONDITION_SKIP)
        return "not skipped";
    memcpy(text, buf_text(&reason), reason.n + 1);
    return text;
}

TEST(reasons_match_the_documentation)
{
    CHECK_STR(
        reason_for(CONDITION_FAILED, (struct condition_facts){ .status = STATUS_RUNNING,
                                                               .policy = &documented[ALWAYS] }),
        "`redis` has restart policy `always` — it will always restart, so `service_failed` "
        "can never be met");
    CHECK_STR(
        reason_for(CONDITION_FAILED, (struct condition_facts){ .status = STATUS_HEALTHY,
                                                               .policy = &documented[ON_FAILURE] }),
        "`redis` has restart policy `on-failure` — it will restart on failure, so "
        "`service_failed` can never be met");
    CHECK_STR(reason_for(CONDITION_FAILED, (struct condition_facts){ .status = STATUS_EXITED,
                                                                     .has_exit_code = true,
                                                                     .policy = &documented[NO] }),
              "dependency `redis` exited with exit code Some(0), won't restart (policy: No)");
    CHECK_STR(reason_for(CONDITION_STARTED, (struct condition_facts){ .status = STATUS_SKIPPED,
                                                                      .name = "web",
                                                                      .policy = &documented[NO] }),
              "dependency `web` was skipped");
    CHECK_STR(reason_for(CONDITION_STARTED, (struct condition_facts){ .status = STATUS_KILLED,
                                                                      .signal = SIGKILL,
                                                                      .policy = &documented[NO] }),
              "dependency `redis` was killed by SIGKILL, won't restart (policy: No)");
    CHECK_STR(reason_for(CONDITION_STARTED,
                         (struct condition_facts){ .status = STATUS_STOPPED,
                                                   .policy = &documented[ON_FAILURE] }),
              "dependency `redis` was stopped, won't restart (policy: OnFailure)");
    CHECK_STR(reason_for(CONDITION_HEALTHY, (struct condition_facts){ .status = STATUS_FAILED,
                                                                      .policy = &documented[NO] }),
              "dependency `redis` failed to start, won't restart (policy: No)");
}

TEST(unreachable_is_reported_only_once_the_dependency_runs)
{
    static const enum status before[] = { STATUS_WAITING, STATUS_STARTING, STATUS_RESTARTING,
                                          STATUS_STOPPING };

    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        AUTO_BUF struct buf reason = BUF_INIT(BUF_NO_LIMIT);
        struct condition_facts facts = { .status = before[i], .policy = &documented[ALWAYS] };

        CHECK_INT(condition_judge(CONDITION_FAILED, NULL, false, &facts, &reason), CONDITION_WAIT);
    }
}

TEST(a_spawn_failure_meets_service_failed_under_any_policy)
{
    AUTO_BUF struct buf reason = BUF_INIT(BUF_NO_LIMIT);
    struct condition_facts facts = { .status = STATUS_FAILED, .policy = &documented[ALWAYS] };

    CHECK_INT(condition_judge(CONDITION_FAILED, NULL, false, &facts, &reason), CONDITION_HOLDS);
}

TEST(an_edge_may_allow_a_skipped_dependency)
{
    AUTO_BUF struct buf reason = BUF_INIT(BUF_NO_LIMIT);
    struct condition_facts facts = { .status = STATUS_SKIPPED,
                                     .policy = &documented[NO],
                                     .name = "web" };

    CHECK_INT(condition_judge(CONDITION_STARTED, NULL, true, &facts, &reason), CONDITION_HOLDS);
    CHECK_STR(buf_text(&reason), "");
}

TEST(a_timeout_names_the_condition_by_its_title)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    condition_print_timeout(CONDITION_HEALTHY, "backend", "database", &out);
    CHECK_STR(buf_text(&out), "Dependency timeout: backend timed out waiting for database to "
                              "satisfy condition ServiceHealthy");
}

TEST(names_read_back)
{
    for (size_t i = 0; i < CONDITIONS; i++) {
        enum condition got = CONDITION_STARTED;

        CHECK_INT(condition_parse(str_from(condition_name((enum condition)i)), &got), 0);
        CHECK_INT(got, i);
    }
    for (size_t i = 0; i < STATUSES; i++) {
        enum status got = STATUS_STOPPED;

        CHECK_INT(status_parse(str_from(status_name((enum status)i)), &got), 0);
        CHECK_INT(got, i);
    }
    CHECK_INT(condition_parse(STR("service_health"), &(enum condition){ 0 }), -1);
    CHECK_INT(status_parse(STR("Running"), &(enum status){ 0 }), -1);
}
