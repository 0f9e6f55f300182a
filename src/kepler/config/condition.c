#include "kepler/config/condition.h"

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/sys/signals.h"

#define EXITS (POLICY_ON_FAILURE | POLICY_ON_SUCCESS)

/* `blocked`: a policy with all of these flags keeps the condition from coming true for good; 0: no
 * policy does. */
/* clang-format off */
static const struct {
    const char *name, *title;
    const char *meaning; /* a short description of what it waits for */
    const char *style;   /* arrow style in drawings; NULL: plain */
    unsigned blocked;
    bool health, codes;
    bool trouble; /* may never come */
} conditions[] = {
    [CONDITION_STARTED] = {
        .name = CONDITION_DEFAULT, .title = "ServiceStarted",
        .meaning = "the dependency is running, healthy or unhealthy" },
    [CONDITION_HEALTHY] = {
        .name = "service_healthy", .title = "ServiceHealthy", .style = "stroke:#06c", .health = true,
        .meaning = "its health check passes" },
    [CONDITION_COMPLETED_SUCCESSFULLY] = {
        .name = "service_completed_successfully", .title = "ServiceCompletedSuccessfully", .style = "stroke:#080",
        .blocked = POLICY_ON_SUCCESS,
        .meaning = "it ended with code 0" },
    [CONDITION_UNHEALTHY] = {
        .name = "service_unhealthy", .title = "ServiceUnhealthy", .style = "stroke:#c00", .health = true, .trouble = true,
        .meaning = "it was healthy and no longer is" },
    [CONDITION_FAILED] = {
        .name = "service_failed", .title = "ServiceFailed", .style = "stroke:#c00",
        .blocked = POLICY_ON_FAILURE, .codes = true, .trouble = true,
        .meaning = "it ended with another code, by a signal, or could not start" },
    [CONDITION_STOPPED] = {
        .name = "service_stopped", .title = "ServiceStopped", .style = "stroke-dasharray:4",
        .blocked = EXITS, .codes = true, .trouble = true,
        .meaning = "it is stopped, ended, killed or failed" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(conditions) == CONDITIONS, "every condition has a name");

const char *condition_name(enum condition condition)
{
    return conditions[condition].name;
}

bool condition_is_end(enum condition condition)
{
    return conditions[condition].codes || condition == CONDITION_COMPLETED_SUCCESSFULLY;
}

const char *condition_title(enum condition condition)
{
    return conditions[condition].title;
}

const char *condition_style(enum condition condition)
{
    return conditions[condition].style;
}

void condition_print_list(struct buf *out)
{
    for (size_t i = 0; i < CONDITIONS; i++)
        buf_printf(out, "  %-30s  %s\n", conditions[i].name, conditions[i].meaning);
}

/* "a, b and c", filtered. */
static void print_condition_names(bool codes, const char *quote, struct buf *out)
{
    size_t left = 0, done = 0;

    for (size_t i = 0; i < CONDITIONS; i++)
        left += !codes || conditions[i].codes;
    for (size_t i = 0; i < CONDITIONS; i++)
        if (!codes || conditions[i].codes) {
            left--;
            buf_printf(out, "%s%s%s%s",
                       done++ == 0 ? ""
                       : left == 0 ? " and "
                                   : ", ",
                       quote, conditions[i].name, quote);
        }
}

void condition_print_names(struct buf *out)
{
    print_condition_names(false, "", out);
}

void condition_print_names_with_codes(struct buf *out)
{
    print_condition_names(true, "'", out);
}

int condition_parse(struct str word, enum condition *ret)
{
    for (size_t i = 0; i < CONDITIONS; i++)
        if (str_is(word, conditions[i].name)) {
            *ret = (enum condition)i;
            return 0;
        }
    return -1;
}

bool condition_needs_health(enum condition condition)
{
    return conditions[condition].health;
}

bool condition_waits_for_trouble(enum condition condition)
{
    return conditions[condition].trouble;
}

bool condition_has_codes(enum condition condition)
{
    return conditions[condition].codes;
}

bool condition_codes_match(const struct condition_codes *codes, int64_t code)
{
    if (!codes || codes->count == 0)
        return true;
    for (size_t i = 0; i < codes->count; i++)
        if (code >= codes->ranges[i].first && code <= codes->ranges[i].last)
            return true;
    return false;
}

/* --- evaluation ----------------------------------------------------------------------- */

static bool exited_with_zero(const struct condition_facts *facts)
{
    return facts->has_exit_code && facts->exit_code == 0;
}

static bool has_run_failed(const struct condition_facts *facts)
{
    return facts->status == STATUS_FAILED || facts->status == STATUS_KILLED ||
           (facts->status == STATUS_EXITED && !exited_with_zero(facts));
}

static bool match_codes(const struct condition_codes *codes, const struct condition_facts *facts)
{
    return condition_codes_match(codes,
                                 facts->has_exit_code ? facts->exit_code : CONDITION_NO_CODE);
}

bool condition_holds(enum condition condition, const struct condition_codes *codes,
                     const struct condition_facts *facts)
{
    switch (condition) {
    case CONDITION_STARTED: return status_is_running(facts->status);
    case CONDITION_HEALTHY: return facts->status == STATUS_HEALTHY;
    case CONDITION_COMPLETED_SUCCESSFULLY:
        return (facts->status == STATUS_EXITED || facts->status == STATUS_STOPPED) &&
               exited_with_zero(facts);
    case CONDITION_UNHEALTHY: return facts->status == STATUS_UNHEALTHY && facts->was_healthy;
    case CONDITION_FAILED: return has_run_failed(facts) && match_codes(codes, facts);
    case CONDITION_STOPPED: return status_is_terminal(facts->status) && match_codes(codes, facts);
    }
    return false;
}

bool condition_will_restart(const struct condition_facts *facts)
{
    if (facts->status != STATUS_EXITED && facts->status != STATUS_KILLED)
        return false;
    return policy_restarts(facts->policy,
                           facts->status == STATUS_EXITED && exited_with_zero(facts));
}

bool condition_may_come(const struct condition_facts *facts)
{
    return facts->status == STATUS_STOPPED && facts->untouched &&
           policy_restarts(facts->policy, false);
}

bool condition_is_unreachable(enum condition condition, const struct policy *policy, bool limited)
{
    unsigned blocked = conditions[condition].blocked;

    if (limited && (condition == CONDITION_FAILED || condition == CONDITION_STOPPED))
        return false;
    return blocked != 0 && (policy->flags & blocked) == blocked;
}

/* --- reasons ---------------------------------------------------------------------------- */

void condition_print_unreachable(enum condition condition, const struct policy *policy,
                                 const char *name, struct buf *out)
{
    static const char *const why[] = {
        [POLICY_NO] = "",
        [POLICY_ON_FAILURE] = "it will restart on failure",
        [POLICY_ON_SUCCESS] = "it will restart on success",
        [EXITS] = "it will always restart",
    };

    buf_printf(out, "`%s` has restart policy `", name);
    policy_print(policy->flags, out);
    buf_printf(out, "` — %s, so `%s` can never be met", why[policy->flags & EXITS],
               condition_name(condition));
}

void condition_print_unchecked(enum condition condition, const char *name, struct buf *out)
{
    buf_printf(out, "`%s` has no healthcheck, so `%s` can never be met", name,
               condition_name(condition));
}

void condition_print_timeout(enum condition condition, const char *service, const char *dependency,
                             struct buf *out)
{
    buf_printf(out, "Dependency timeout: %s timed out waiting for %s to satisfy condition %s",
               service, dependency, condition_title(condition));
}

static void print_run_end(const struct condition_facts *facts, struct buf *out)
{
    static const char *const words[STATUSES] = { [STATUS_STOPPED] = "was stopped",
                                                 [STATUS_FAILED] = "failed to start",
                                                 [STATUS_KILLED] = "was killed",
                                                 [STATUS_EXITED] = "exited with exit code None" };

    if (facts->status == STATUS_EXITED && facts->has_exit_code) {
        buf_printf(out, "exited with exit code Some(%d)", facts->exit_code);
    } else if (facts->status == STATUS_FAILED && facts->has_exit_code) {
        buf_printf(out, "failed with exit code Some(%d)", facts->exit_code);
    } else if (facts->status == STATUS_KILLED && facts->signal > 0) {
        buf_add_text(out, "was killed by ");
        signal_print(facts->signal, out);
    } else if (facts->status == STATUS_STOPPED && facts->untouched) {
        buf_add_text(out, "was not started");
    } else {
        buf_add_text(out, words[facts->status]);
    }
}

static void print_unsatisfied(const struct condition_facts *facts, struct buf *out)
{
    buf_printf(out, "dependency `%s` ", facts->name);
    print_run_end(facts, out);
    buf_add_text(out, ", won't restart (policy: ");
    policy_print_title(facts->policy->flags, out);
    buf_add_char(out, ')');
}

enum condition_verdict condition_judge(enum condition condition,
                                       const struct condition_codes *codes, bool allow_skipped,
                                       const struct condition_facts *facts, struct buf *reason)
{
    bool will_restart = condition_will_restart(facts);

    if (condition_holds(condition, codes, facts))
        return will_restart ? CONDITION_WAIT : CONDITION_HOLDS;
    if (facts->status == STATUS_SKIPPED) {
        if (allow_skipped)
            return CONDITION_HOLDS;
        buf_printf(reason, "dependency `%s` was skipped", facts->name);
        return CONDITION_SKIP;
    }
    if (status_is_terminal(facts->status) && !will_restart && !condition_may_come(facts)) {
        print_unsatisfied(facts, reason);
        return CONDITION_SKIP;
    }
    if (status_is_running(facts->status) &&
        condition_is_unreachable(condition, facts->policy, facts->limited)) {
        condition_print_unreachable(condition, facts->policy, facts->name, reason);
        return CONDITION_SKIP;
    }
    if (status_is_running(facts->status) && facts->unchecked && condition_needs_health(condition)) {
        condition_print_unchecked(condition, facts->name, reason);
        return CONDITION_SKIP;
    }
    return CONDITION_WAIT;
}
