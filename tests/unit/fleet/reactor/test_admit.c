#include "fleet/reactor/admit.h"

#include "fleet/reactor/action.h"
#include "fleet/reactor/reaction_run.h"
#include "test.h"
#include "fleet/wire/enrollment.h"

/* What becomes of each decision in each state: a row of the state machine. */
TEST(decisions_follow_the_states_of_an_enrollment)
{
    static const struct {
        enum enrollment_state state;
        const char *results[3]; /* approve, reject, revoke; "" proceeds */
    } rows[] = {
        { ENROLLMENT_PENDING, { "", "", "refused" } },
        { ENROLLMENT_APPROVED, { "duplicate", "refused", "" } },
        { ENROLLMENT_REJECTED, { "refused", "duplicate", "refused" } },
        { ENROLLMENT_ISSUED, { "duplicate", "refused", "" } },
        { ENROLLMENT_ACTIVE, { "duplicate", "refused", "" } },
        { ENROLLMENT_REVOKED, { "refused", "refused", "duplicate" } },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int decision = 0; decision < 3; decision++) {
            const struct action_enroll action = { (enum action_decision)decision, "enr-1", "web-*",
                                                  "" };
            const struct enrollment record = { .peel_id = "web-01", .state = rows[i].state };
            struct reaction_run_answer answer = { 0 };
            const bool proceeds = admit_judge(&action, &record, &answer) == ADMIT_PROCEED;

            CHECK_STR(proceeds ? "" : outcome_result_name(answer.result),
                      rows[i].results[decision]);
        }
}

TEST(a_missing_record_and_another_peel_are_refused)
{
    static const struct {
        const char *pattern, *peel;
        bool proceeds;
    } rows[] = {
        { "web-*", "web-01", true },
        { "web-*", "db-01", false },
        { "web-01", "web-01", true },
        { "web-01", "web-011", false },
        { "*.example.com", "web-01_example_com", true },
        { "web-01_example_com", "web-01_example_com", true },
        { "*.example.com", "web-01", false },
        { "Web-*", "web-01", false },
    };
    struct reaction_run_answer answer = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct action_enroll action = { ACTION_APPROVE, "enr-1", rows[i].pattern, "" };
        const struct enrollment record = { .peel_id = rows[i].peel, .state = ENROLLMENT_PENDING };

        CHECK_INT(admit_judge(&action, &record, &answer) == ADMIT_PROCEED, rows[i].proceeds);
        CHECK_INT(admit_judge(&action, NULL, &answer), ADMIT_ANSWERED);
        CHECK_INT(answer.result, OUTCOME_REFUSED);
    }
}
