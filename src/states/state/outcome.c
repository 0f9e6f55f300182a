#include "states/state/outcome.h"

#include "core/base/mem.h"

static const char *const reason_texts[] = {
    [SKIP_NONE] = "",
    [SKIP_REQUIRE_FAILED] = "require_failed",
    [SKIP_ONCHANGES_NOT_MET] = "onchanges_not_met",
    [SKIP_ONFAIL_NOT_MET] = "onfail_not_met",
    [SKIP_PREREQ_NOT_MET] = "prereq_not_met",
    [SKIP_FAILHARD_ABORT] = "failhard_abort",
    [SKIP_CANCELED] = "",
};
_Static_assert(ARRAY_LEN(reason_texts) == SKIP_REASONS, "every reason has a text");

const char *skip_reason_text(enum skip_reason reason)
{
    return reason_texts[reason];
}

bool state_result_is_broken(const struct state_result *result)
{
    static const bool broken[SKIP_REASONS] = {
        [SKIP_REQUIRE_FAILED] = true,
        [SKIP_FAILHARD_ABORT] = true,
        [SKIP_CANCELED] = true,
    };

    if (result->outcome == OUTCOME_SKIPPED)
        return broken[result->skip_reason];
    return result->outcome == OUTCOME_FAILED;
}

enum state_outcome outcome_merge(enum state_outcome a, enum state_outcome b)
{
    static const int weight[] = {
        [OUTCOME_SKIPPED] = 0,
        [OUTCOME_UNCHANGED] = 1,
        [OUTCOME_CHANGED] = 2,
        [OUTCOME_FAILED] = 3,
    };

    return weight[a] > weight[b] ? a : b;
}

void run_result_count(struct run_result *result)
{
    result->changed = result->failed = result->skipped = result->would_change = 0;
    result->handled = result->again = 0;
    VEC_EACH (&result->states, state) {
        result->changed += state->outcome == OUTCOME_CHANGED;
        result->failed += state->outcome == OUTCOME_FAILED;
        result->handled += state->outcome == OUTCOME_FAILED && state->handler;
        result->skipped += state->outcome == OUTCOME_SKIPPED;
        result->would_change += state->would_change;
        result->again += state->again != NULL;
        result->canceled |= state->skip_reason == SKIP_CANCELED;
    }
}

bool run_result_is_success(const struct run_result *result)
{
    return result->failed == result->handled && !result->canceled;
}

bool run_result_is_converged(const struct run_result *result)
{
    return result->looked > 0 && result->again == 0;
}
