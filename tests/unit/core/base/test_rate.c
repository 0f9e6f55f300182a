#include "core/base/rate.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "core/base/number.h"
#include "test.h"

#define SECOND NUMBER_NS_PER_S

TEST(a_source_has_its_burst_and_then_waits_for_each_token)
{
    static const struct {
        int64_t at;
        const char *address;
        int64_t wait;
    } steps[] = {
        { 0, "a", 0 },           { 0, "a", 0 },
        { 0, "a", 0 },           { 0, "a", 10 * SECOND },
        { 0, "b", 0 },           { 4 * SECOND, "a", 6 * SECOND },
        { 10 * SECOND, "a", 0 }, { 10 * SECOND, "a", 10 * SECOND },
        { 60 * SECOND, "a", 0 }, { 60 * SECOND, "a", 0 },
        { 60 * SECOND, "a", 0 }, { 60 * SECOND, "a", 10 * SECOND },
    };
    struct rate rate;

    rate_init(&rate, 3, 6);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const struct str source = str_from(steps[i].address);

        CHECK_INT(rate_wait(&rate, source, SECOND + steps[i].at), steps[i].wait);
        CHECK_INT(rate_take(&rate, source, SECOND + steps[i].at), steps[i].wait);
    }
    rate_done(&rate);
}

TEST(a_burst_of_zero_is_no_limit_and_no_tokens_a_minute_is_for_ever)
{
    struct rate rate;

    rate_init(&rate, 0, 0);
    for (int i = 0; i < 100; i++)
        CHECK_INT(rate_take(&rate, STR("a"), 0), 0);
    CHECK_INT(rate_count(&rate), 0);
    rate_done(&rate);
    rate_init(&rate, 2, 0);
    CHECK_INT(rate_take(&rate, STR("a"), SECOND), 0);
    CHECK_INT(rate_take(&rate, STR("a"), SECOND), 0);
    CHECK(rate_take(&rate, STR("a"), 100 * SECOND) == INT64_MAX);
    rate_done(&rate);
}

TEST(sources_are_bounded_and_the_silent_ones_are_forgotten)
{
    struct rate rate;
    char address[32];

    rate_init(&rate, 1, 60);
    for (int i = 0; i < RATE_SOURCES + 100; i++) {
        (void)snprintf(address, sizeof(address), "10.0.%d.%d", i / 256, i % 256);
        CHECK_INT(rate_take(&rate, str_from(address), SECOND), 0);
    }
    CHECK_INT(rate_count(&rate), RATE_SOURCES);
    CHECK_INT(rate_take(&rate, STR("last"), 3 * SECOND), 0);
    CHECK_INT(rate_count(&rate), 1);
    rate_done(&rate);
}
