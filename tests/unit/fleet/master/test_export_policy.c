#include "fleet/master/export/export_policy.h"

#include "test.h"

#define SECOND INT64_C(1000000000)

static const struct {
    const char *name;
    struct export_attempt attempt;
    enum export_verdict verdict;
} cases[] = {
    { "taken", { .has_answer = true, .status = 200, .count = 1, .tries = 1 }, EXPORT_SENT },
    { "taken late", { .has_answer = true, .status = 204, .count = 9, .tries = 99 }, EXPORT_SENT },
    { "nobody there", { .count = 1, .tries = 1 }, EXPORT_AGAIN },
    { "nobody there for days", { .count = 1, .tries = 100000 }, EXPORT_AGAIN },
    { "out of order",
      { .has_answer = true, .status = 503, .count = 1, .tries = 500 },
      EXPORT_AGAIN },
    { "too many requests",
      { .has_answer = true, .status = 429, .count = 1, .tries = 500 },
      EXPORT_AGAIN },
    { "too slow", { .has_answer = true, .status = 408, .count = 1, .tries = 500 }, EXPORT_AGAIN },
    { "refused once", { .has_answer = true, .status = 400, .count = 1, .tries = 1 }, EXPORT_AGAIN },
    { "refused often",
      { .has_answer = true, .status = 400, .count = 1, .tries = EXPORT_TRIES },
      EXPORT_GIVE_UP },
    { "one of many is refused",
      { .has_answer = true, .status = 413, .count = 2, .tries = EXPORT_TRIES },
      EXPORT_SPLIT },
    { "sent elsewhere",
      { .has_answer = true, .status = 302, .count = 1, .tries = EXPORT_TRIES },
      EXPORT_GIVE_UP },
};

TEST(an_answer_decides_whether_records_are_kept_split_or_retried)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t pause = 0;

        if (export_judge(&cases[i].attempt, &pause) != cases[i].verdict)
            CHECK_STR(cases[i].name, "");
        if (cases[i].verdict == EXPORT_AGAIN)
            CHECK(pause >= EXPORT_PAUSE_MIN / 2 && pause <= EXPORT_PAUSE_MAX);
    }
}

static int64_t find_pause(unsigned tries, uint64_t chance, int64_t retry_after)
{
    const struct export_attempt attempt = { .has_answer = true,
                                            .status = 503,
                                            .count = 1,
                                            .tries = tries,
                                            .chance = chance,
                                            .retry_after = retry_after };
    int64_t pause = -1;

    CHECK_INT(export_judge(&attempt, &pause), EXPORT_AGAIN);
    return pause;
}

TEST(pauses_double_up_to_a_minute_with_jitter)
{
    CHECK_INT(find_pause(1, 0, 0), SECOND / 2);
    CHECK_INT(find_pause(2, 0, 0), SECOND);
    CHECK_INT(find_pause(4, 0, 0), 4 * SECOND);
    CHECK_INT(find_pause(7, 0, 0), 30 * SECOND);
    CHECK_INT(find_pause(1000000, 0, 0), 30 * SECOND);
    CHECK_INT(find_pause(2, (uint64_t)SECOND, 0), 2 * SECOND);
    for (uint64_t chance = 1; chance < UINT64_MAX / 3; chance *= 3)
        CHECK(find_pause(9, chance, 0) >= 30 * SECOND && find_pause(9, chance, 0) <= 60 * SECOND);
}

TEST(a_server_can_lengthen_a_pause_but_not_shorten_it)
{
    CHECK_INT(find_pause(1, 0, 20 * SECOND), 20 * SECOND);
    CHECK_INT(find_pause(9, 0, 1 * SECOND), 30 * SECOND);
    CHECK_INT(find_pause(1, 0, INT64_MAX), EXPORT_RETRY_AFTER_MAX);
}
