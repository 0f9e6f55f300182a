/* `restart:` - a policy, or a map with a policy and its settings. */
#include "core/base/diag.h"
#include "core/base/err.h"
#include "language/lua/expr.h"
#include "kepler/config/config_read.h"
#include "core/base/pathglob.h"

/* A delay of more than a day is a mistake. */
#define DELAY_MAX (INT64_C(86400) * 1000000000)

struct restart_args {
    const struct value *policy;
    struct param_strs watch;
    int64_t grace_period, delay, max_delay;
    double backoff;
    bool grace_given;
};

#define ARGS struct restart_args
const struct param config_restart_params[] = {
    PARAM("policy", ANY, ARGS, policy, "when it is restarted", .kind_text = "policy"),
    PARAM("watch", STRS, ARGS, watch, "globs of files whose change restarts it"),
    PARAM("grace_period", DURATION, ARGS, grace_period, "between the signal and the kill",
          PARAM_GIVEN(ARGS, grace_given), PARAM_RANGE(0, DELAY_MAX)),
    PARAM("delay", DURATION, ARGS, delay, "pause before a restart", .default_text = "0s",
          PARAM_RANGE(0, DELAY_MAX)),
    PARAM("backoff", DOUBLE, ARGS, backoff, "factor from one pause to the next",
          .default_text = "1.0"),
    PARAM("max_delay", DURATION, ARGS, max_delay, "longest pause; 0s: no limit",
          .default_text = "0s", PARAM_RANGE(0, DELAY_MAX)),
    { 0 },
};
#undef ARGS

static int read_policy(const struct value *v, unsigned *ret_flags, struct diags *diags)
{
    struct err err;

    if (expr_is_dynamic(v)) {
        (void)value_diag(diags, v, "the restart policy cannot be computed");
        diag_hint(diags, "it decides at load which conditions can hold; 'delay', 'backoff', "
                         "'max_delay', 'grace_period' and 'watch' can be");
        return -1;
    }
    if (v->kind != VALUE_STR)
        return value_diag(diags, v,
                          "'restart' must be a policy such as 'on-failure' or a map, got %s",
                          value_describe(v));
    if (policy_parse(v->s, ret_flags, &err) < 0)
        return value_diag(diags, v, "%s", err.text);
    return 0;
}

/* A value that is not a number has already been reported. */
static bool is_below_one(const struct value *v)
{
    return v && ((value_is(v, VALUE_INT) && v->i < 1) || (value_is(v, VALUE_DOUBLE) && v->d < 1.0));
}

static int read_restart_map(struct arena *arena, const struct value *v, const char *owner,
                            struct config_restart *ret, struct diags *warned, struct diags *diags)
{
    struct params_policy policy = config_policy(arena_printf(arena, "'restart' of %s", owner));
    const struct value *raw = config_given(value_get(v, "policy"));
    const struct value *factor = config_given(value_get(v, "backoff"));
    struct restart_args args = { 0 };
    int result = 0;

    policy.unknown = warned;
    if (params_decode(arena, config_restart_params, &policy, config_static(arena, v), &args,
                      diags) < 0)
        result = -1;
    if (raw && read_policy(raw, &ret->policy.flags, diags) < 0)
        result = -1;
    if (is_below_one(factor))
        result = value_diag(diags, factor, "'backoff' must be at least 1.0");
    ret->policy.delay = args.delay;
    ret->policy.backoff = args.backoff;
    ret->policy.max_delay = args.max_delay;
    ret->policy.grace_period = args.grace_given ? args.grace_period : -1;
    ret->watch = args.watch;
    return result;
}

/* Literal patterns only; computed ones are checked when the service starts. */
static int check_patterns(const struct value *watch, struct diags *diags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct pathglob_set set = { .arena = &arena };
    struct err err;
    int result = 0;

    for (size_t i = 0; value_is(watch, VALUE_LIST) && i < watch->list->count; i++) {
        const struct value *pattern = &watch->list->items[i];

        if (value_is(pattern, VALUE_STR) && !expr_is_dynamic(pattern) &&
            pathglob_add(&set, "/", pattern->s, &err) < 0)
            result = value_diag(diags, pattern, "%s", err.text);
    }
    return result;
}

int config_restart_read(struct arena *arena, const struct value *v, const char *owner,
                        struct config_restart *ret, struct diags *warned, struct diags *diags)
{
    const struct value *watch;

    *ret = (struct config_restart){ .policy = { .backoff = 1.0, .grace_period = -1 } };
    if (!v)
        return 0;
    if (v->kind != VALUE_MAP)
        return read_policy(v, &ret->policy.flags, diags);
    ret->computed = expr_is_dynamic(v) ? v : NULL;
    if (read_restart_map(arena, v, owner, ret, warned, diags) < 0)
        return -1;
    watch = value_get(v, "watch");
    if (watch && (ret->watch.n > 0 || expr_is_dynamic(watch)) && ret->policy.flags == POLICY_NO) {
        (void)value_diag(diags, watch, "%s: 'watch' needs a restart policy other than 'no'", owner);
        diag_hint(diags, "set 'policy: on-failure' or another");
        return -1;
    }
    return watch ? check_patterns(watch, diags) : 0;
}
