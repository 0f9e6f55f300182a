#include "kepler/config/policy.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/suggest.h"

/* clang-format off */
static const struct {
    const char *name, *title;
    unsigned flags;
} words[] = {
    { "no",           "No",          POLICY_NO },
    { "always",       "Always",      POLICY_ALWAYS },
    { "on-failure",   "OnFailure",   POLICY_ON_FAILURE },
    { "on-success",   "OnSuccess",   POLICY_ON_SUCCESS },
    { "on-unhealthy", "OnUnhealthy", POLICY_ON_UNHEALTHY },
};
/* clang-format on */
#define FIRST_SINGLE 2 /* the words from here on stand for one flag each */

static int refuse_policy_word(struct str word, struct err *err)
{
    struct suggest suggest;

    if (str_is(word, "unless-stopped"))
        return err_set(
            err, ERR_INVALID,
            "no restart policy 'unless-stopped' (use 'always': a service that was stopped "
            "stays stopped)");
    if (str_starts(word, STR("on-failure:")))
        return err_set(
            err, ERR_INVALID,
            "no restart policy '%.*s' (use 'on-failure' and 'start_limit: {count: %.*s}')",
            STR_ARG(word), STR_ARG(str_from_offset(word, strlen("on-failure:"))));
    suggest_init(&suggest, word);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        suggest_offer(&suggest, str_from(words[i].name));
    if (suggest_best(&suggest).p)
        return err_set(err, ERR_INVALID, "unknown restart policy '%.*s' (did you mean '%.*s'?)",
                       STR_ARG(word), STR_ARG(suggest_best(&suggest)));
    return err_set(
        err, ERR_INVALID,
        "unknown restart policy '%.*s' (use no, always, on-failure, on-success or on-unhealthy)",
        STR_ARG(word));
}

static int parse_policy_word(struct str word, unsigned *ret_flags, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(word, words[i].name)) {
            *ret_flags = words[i].flags;
            return 0;
        }
    return refuse_policy_word(word, err);
}

int policy_parse(struct str text, unsigned *ret_flags, struct err *err)
{
    struct str rest = text;
    unsigned flags = 0, one = 0;
    bool has_no = false;
    size_t count = 0;

    for (; rest.p; count++) {
        if (parse_policy_word(str_trim(str_cut(&rest, '|')), &one, err) < 0)
            return -1;
        has_no = has_no || one == POLICY_NO;
        flags |= one;
    }
    if (has_no && count > 1)
        return err_set(err, ERR_INVALID, "restart policy 'no' cannot be joined with others: '%.*s'",
                       STR_ARG(text));
    *ret_flags = flags;
    return 0;
}

static void print_policy_flags(unsigned flags, bool title, struct buf *out)
{
    const char *join = "";

    for (size_t i = 0; i < FIRST_SINGLE; i++)
        if (words[i].flags == flags) {
            buf_add_text(out, title ? words[i].title : words[i].name);
            return;
        }
    for (size_t i = FIRST_SINGLE; i < ARRAY_LEN(words); i++)
        if (words[i].flags & flags) {
            buf_printf(out, "%s%s", join, title ? words[i].title : words[i].name);
            join = "|";
        }
}

void policy_print(unsigned flags, struct buf *out)
{
    print_policy_flags(flags, false, out);
}

void policy_print_title(unsigned flags, struct buf *out)
{
    print_policy_flags(flags, true, out);
}

bool policy_find_title(struct str title, unsigned *ret_flags)
{
    struct str rest = title, one;
    unsigned flags = 0;
    bool found = rest.n > 0;

    while (found && rest.p) {
        one = str_cut(&rest, '|');
        found = false;
        for (size_t i = 0; i < ARRAY_LEN(words) && !found; i++) {
            found = str_is(one, words[i].title);
            flags |= found ? words[i].flags : 0;
        }
    }
    if (found)
        *ret_flags = flags;
    return found;
}

bool policy_restarts(const struct policy *policy, bool success)
{
    return policy->flags & (success ? POLICY_ON_SUCCESS : POLICY_ON_FAILURE);
}

int64_t policy_delay(const struct policy *policy, uint32_t restarts)
{
    /* The largest double below INT64_MAX. */
    static const double most = 9.2e18;
    double cap = policy->max_delay > 0 ? (double)policy->max_delay : most;
    double delay = (double)policy->delay;

    if (policy->backoff > 1.0)
        for (uint32_t i = 0; i < restarts && delay > 0 && delay < cap; i++)
            delay *= policy->backoff;
    if (delay < cap)
        return (int64_t)delay;
    return policy->max_delay > 0 ? policy->max_delay : (int64_t)most;
}

int64_t policy_grace(const struct policy *policy, int64_t own, bool restarting)
{
    int64_t first = restarting ? policy->grace_period : own;
    int64_t second = restarting ? own : policy->grace_period;

    if (first >= 0)
        return first;
    return second >= 0 ? second : POLICY_GRACE_DEFAULT;
}
