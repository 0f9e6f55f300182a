#include "kepler/config/policy.h"

#include "core/base/err.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

TEST(policy_words_join_and_print_in_one_order)
{
    static const struct {
        const char *text, *name, *title;
    } cases[] = {
        { "no", "no", "No" },
        { "always", "always", "Always" },
        { "on-failure", "on-failure", "OnFailure" },
        { "on-unhealthy | on-failure", "on-failure|on-unhealthy", "OnFailure|OnUnhealthy" },
        { "on-success|on-failure|on-unhealthy", "always", "Always" },
        { "always|on-failure", "always", "Always" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf name = BUF_INIT(BUF_NO_LIMIT), title = BUF_INIT(BUF_NO_LIMIT);
        unsigned flags = 99;
        struct err err;

        CHECK_INT(policy_parse(str_from(cases[i].text), &flags, &err), 0);
        policy_print(flags, &name);
        policy_print_title(flags, &title);
        CHECK_STR(buf_text(&name), cases[i].name);
        CHECK_STR(buf_text(&title), cases[i].title);
    }
}

TEST(invalid_policies_are_explained)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "allways", "unknown restart policy 'allways' (did you mean 'always'?)" },
        { "on_failure", "unknown restart policy 'on_failure' (did you mean 'on-failure'?)" },
        { "sometimes", "unknown restart policy 'sometimes' (use no, always, on-failure, "
                       "on-success or on-unhealthy)" },
        { "no|on-failure", "restart policy 'no' cannot be joined with others: 'no|on-failure'" },
        { "on-failure|", "unknown restart policy '' (use no, always, on-failure, on-success or "
                         "on-unhealthy)" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned flags;
        struct err err;

        CHECK_INT(policy_parse(str_from(cases[i].text), &flags, &err), -1);
        CHECK_STR(err.text, cases[i].error);
    }
}

TEST(exits_restart_by_flag)
{
    CHECK(policy_restarts(&(struct policy){ .flags = POLICY_ON_FAILURE }, false));
    CHECK(!policy_restarts(&(struct policy){ .flags = POLICY_ON_FAILURE }, true));
    CHECK(policy_restarts(&(struct policy){ .flags = POLICY_ON_SUCCESS }, true));
    CHECK(!policy_restarts(&(struct policy){ .flags = POLICY_ON_UNHEALTHY }, false));
    CHECK(policy_restarts(&(struct policy){ .flags = POLICY_ALWAYS }, true));
    CHECK(!policy_restarts(&(struct policy){ .flags = POLICY_NO }, false));
}

TEST(delays_grow_by_the_factor_up_to_the_cap)
{
    static const struct policy growing = { .delay = SECOND, .backoff = 2, .max_delay = 5 * SECOND };
    static const int64_t want[] = { 1, 2, 4, 5, 5 };
    static const struct policy flat = { .delay = SECOND, .backoff = 1 };
    static const struct policy endless = { .delay = SECOND, .backoff = 10 };
    static const struct policy none = { .backoff = 3 };

    for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_INT(policy_delay(&growing, i), want[i] * SECOND);
    CHECK_INT(policy_delay(&flat, UINT32_MAX), SECOND);
    CHECK(policy_delay(&endless, UINT32_MAX) > 1000000 * SECOND);
    CHECK_INT(policy_delay(&none, UINT32_MAX), 0);
}
