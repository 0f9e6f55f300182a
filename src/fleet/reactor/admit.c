#include "fleet/reactor/admit.h"

#include <string.h>

#include "core/base/glob.h"
#include "fleet/reactor/action.h"
#include "fleet/reactor/reaction_run.h"
#include "fleet/wire/enrollment.h"
#include "fleet/wire/peel_id.h"

static const enum enrollment_state targets[] = {
    [ACTION_APPROVE] = ENROLLMENT_APPROVED,
    [ACTION_REJECT] = ENROLLMENT_REJECTED,
    [ACTION_REVOKE] = ENROLLMENT_REVOKED,
};

/* An approved machine goes on to get its credentials. */
static bool is_decision_applied(enum action_decision decision, enum enrollment_state state)
{
    return state == targets[decision] ||
           (decision == ACTION_APPROVE &&
            (state == ENROLLMENT_ISSUED || state == ENROLLMENT_ACTIVE));
}

/* The id as it is stored, or as people write it, with dots. */
static bool matches_peel(const char *pattern, const char *peel_id)
{
    char shown[PEEL_ID_SIZE];

    if (glob_match(str_from(pattern), str_from(peel_id)))
        return true;
    if (!peel_id_is_valid(str_from(peel_id)))
        return false;
    peel_id_decode(str_from(peel_id), shown);
    return glob_match(str_from(pattern), str_from(shown));
}

enum admit_verdict admit_judge(const struct action_enroll *action, const struct enrollment *record,
                               struct reaction_run_answer *ret_answer)
{
    struct reaction_run_answer answer = { .result = OUTCOME_REFUSED };

    if (!record)
        answer.message = "no such enrollment";
    else if (!matches_peel(action->require_peel, record->peel_id))
        answer.message = "the peel does not match require_peel";
    else if (is_decision_applied(action->decision, record->state))
        answer = (struct reaction_run_answer){ .result = OUTCOME_DUPLICATE,
                                               .message = enrollment_state_name(record->state) };
    else if (!enrollment_may_follow(record->state, targets[action->decision]))
        answer.message = "not possible in the state of the enrollment";
    else
        return ADMIT_PROCEED;
    *ret_answer = answer;
    return ADMIT_ANSWERED;
}
