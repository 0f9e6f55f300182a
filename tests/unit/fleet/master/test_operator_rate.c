#include "fleet/master/operators/operator_rate.h"

#include "test.h"

#define NOW INT64_C(5000000000)

TEST(who_asks_too_much_at_once_takes_no_place_of_another)
{
    struct operator_rate rate;

    operator_rate_init(&rate);
    for (int i = 0; i < OPERATOR_RATE_REQUESTS; i++)
        CHECK(operator_rate_begin(&rate, "alice"));
    CHECK(!operator_rate_begin(&rate, "alice"));
    CHECK(operator_rate_begin(&rate, "bob"));
    operator_rate_end(&rate, "alice");
    CHECK(!operator_rate_begin(&rate, "alice"));
    operator_rate_end(&rate, "alice");
    operator_rate_end(&rate, "alice");
    CHECK(operator_rate_begin(&rate, "alice"));
    operator_rate_done(&rate);
}

TEST(refusals_of_a_minute_are_logged_up_to_a_number_and_then_it_is_said_once)
{
    struct operator_rate rate;

    operator_rate_init(&rate);
    for (int i = 1; i < OPERATOR_RATE_REFUSALS; i++)
        CHECK_INT(operator_rate_refuse(&rate, "alice", NOW), OPERATOR_RATE_LOG);
    CHECK_INT(operator_rate_refuse(&rate, "alice", NOW), OPERATOR_RATE_LAST);
    CHECK_INT(operator_rate_refuse(&rate, "alice", NOW), OPERATOR_RATE_SILENT);
    CHECK_INT(operator_rate_refuse(&rate, "bob", NOW), OPERATOR_RATE_LOG);
    CHECK_INT(operator_rate_refuse(&rate, "alice", NOW + OPERATOR_RATE_WINDOW_NS),
              OPERATOR_RATE_LOG);
    operator_rate_done(&rate);
}
