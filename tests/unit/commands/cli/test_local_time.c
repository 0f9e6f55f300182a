#include "commands/cli/shared/local_time.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "test.h"

/* 2026-11-19 20:03:12 in a zone three hours east of UTC. */
#define NOW (INT64_C(1795107792) * CLOCK_SECOND)

static void use_zone(void)
{
    (void)setenv("TZ", "UTC-3", 1);
    tzset();
}

static int64_t seconds_before(const char *text)
{
    int64_t moment = 0;
    struct err err;

    CHECK_INT(local_time_read(text, NOW, &moment, &err), 0);
    return (NOW - moment) / CLOCK_SECOND;
}

TEST(a_moment_is_shown_in_the_zone_of_this_machine)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    use_zone();
    CHECK_STR(local_time_text(&arena, (struct value_time){ NOW / CLOCK_SECOND, 5 }),
              "2026-11-19 20:03:12");
    CHECK_STR(local_time_text(&arena, (struct value_time){ 0, 0 }), "-");
}

TEST(a_moment_is_read_as_an_age_or_a_time_or_a_date)
{
    use_zone();
    CHECK_INT(seconds_before("2h"), 7200);
    CHECK_INT(seconds_before("20:03"), 12);
    CHECK_INT(seconds_before("20:03:10"), 2);
    CHECK_INT(seconds_before("21:03:12"), 23 * 3600); /* of yesterday */
    CHECK_INT(seconds_before("2026-11-19"), 20 * 3600 + 3 * 60 + 12);
    CHECK_INT(seconds_before("2026-11-19 20:00"), 192);
    CHECK_INT(seconds_before("2026-11-19T20:00:00"), 192);
    CHECK_INT(seconds_before("2026-11-19T17:03:12Z"), 0);
}

TEST(what_is_not_a_moment_is_refused)
{
    static const char *const texts[] = { "", "soon", "20:03x", "2026-13-40", "25:00", "-1h" };
    int64_t moment;
    struct err err;

    use_zone();
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CHECK_INT(local_time_read(texts[i], NOW, &moment, &err), -1);
        CHECK(strstr(err.text, "is neither a duration"));
    }
}
