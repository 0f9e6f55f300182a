#include "states/local/revert_wish.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/params.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "states/run/revert.h"

#define ARGS struct revert_wish
/* clang-format off */
static const struct param revert_params[] = {
    PARAM("target", STR,  ARGS, target, "a reference, or a run ID"),
    PARAM("force",  BOOL, ARGS, force,  "also revert what others or later runs have changed"),
    PARAM("all",    BOOL, ARGS, all,    "all runs of the reference"),
    PARAM("since",  STR,  ARGS, since,  "the runs since a time, or a duration ago"),
    PARAM("to",     STR,  ARGS, to,     "the runs after this one"),
    PARAM("yes",    BOOL, ARGS, yes,    "revert many runs without a question"),
    { 0 },
};
/* clang-format on */

/* Listed for suggestions. */
static const char *const read_before[] = { "test", NULL };

int revert_wish_read(struct arena *arena, const struct value *given, const char *word,
                     struct revert_wish *ret, struct diags *diags)
{
    const struct params_policy policy = { .owner = "state.revert", .allowed = read_before };
    struct revert_wish wish = { 0 };

    if (params_decode(arena, revert_params, &policy, given, &wish, diags) < 0)
        return -1;
    if (!wish.target)
        wish.target = word;
    if (revert_wish_check(&wish, diags) < 0)
        return -1;
    *ret = wish;
    return 0;
}

static bool is_given(const char *text)
{
    return text && text[0];
}

/* A variable of a script that is not set must not mean the last run instead of some. */
static bool is_empty(const char *text)
{
    return text && !text[0];
}

/* False: neither a time nor a duration. */
static bool find_start(const char *text, int64_t *ret_seconds)
{
    struct value time;
    struct err ignored;
    int64_t age;

    if (scalar_parse_time(str_from(text), &time)) {
        *ret_seconds = time.t.seconds;
        return true;
    }
    if (number_parse_duration(str_from(text), &age, &ignored) < 0 || age < 0)
        return false;
    *ret_seconds = (clock_wall() - age) / CLOCK_SECOND;
    return true;
}

int revert_wish_check(const struct revert_wish *wish, struct diags *diags)
{
    const struct place none = { 0 };
    int64_t ignored;

    if (is_empty(wish->since) || is_empty(wish->to))
        return diag_add(diags, none, "'%s' is empty", is_empty(wish->since) ? "since" : "to");
    if (wish->all + is_given(wish->since) + is_given(wish->to) > 1)
        return diag_add(diags, none, "'all', 'since' and 'to' cannot be used together");
    if (!wish->target[0] && !is_given(wish->since) && !is_given(wish->to))
        return diag_add(diags, none,
                        wish->all ? "'all' requires a reference; 'since' and 'to' need none"
                                  : "state.revert requires a reference, or the id of a job or run");
    if (is_given(wish->since) && !find_start(wish->since, &ignored)) {
        (void)diag_add(diags, none, "'%s' is neither a time nor a duration", wish->since);
        diag_hint(diags, "write '2h', '2026-11-19' or '2026-11-19T10:00:00Z'");
        return -1;
    }
    return 0;
}

bool revert_wish_is_many(const struct revert_wish *wish)
{
    return wish->all || is_given(wish->since) || is_given(wish->to);
}

int revert_wish_choose(const struct revert_wish *wish, struct revert_options *ret,
                       struct diags *diags)
{
    if (revert_wish_check(wish, diags) < 0)
        return -1;
    *ret = (struct revert_options){ .target = wish->target, .force = wish->force, .to = wish->to };
    if (is_given(wish->to))
        ret->scope = RECORDED_TO;
    else if (is_given(wish->since) && find_start(wish->since, &ret->since))
        ret->scope = RECORDED_SINCE;
    else if (wish->all)
        ret->scope = RECORDED_ALL;
    return 0;
}
