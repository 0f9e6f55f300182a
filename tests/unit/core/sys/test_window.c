#include "core/sys/window.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/data/value.h"
#include "fleet/peel/maintenance_window.h"
#include "test.h"

/* 2026-01-31 is a Saturday. */
static time_t moment(const char *text)
{
    struct tm tm = { 0 };

    CHECK(strptime(text, "%Y-%m-%d %H:%M", &tm) != NULL);
    return timegm(&tm);
}

static const char *print(time_t at)
{
    static char out[32];
    struct tm tm;

    if (at == (time_t)-1)
        return "never";
    CHECK(gmtime_r(&at, &tm) != NULL);
    CHECK(strftime(out, sizeof(out), "%Y-%m-%d %H:%M", &tm) > 0);
    return out;
}

static void use_zone(const char *zone)
{
    CHECK_INT(setenv("TZ", zone, 1), 0);
    tzset();
}

TEST(a_window_is_open_from_start_to_end_and_knows_its_next_opening)
{
    static const struct {
        const char *window, *now;
        bool open;
        const char *next;
    } cases[] = {
        { "01:00-05:00", "2026-01-31 00:59", false, "2026-01-31 01:00" },
        { "01:00-05:00", "2026-01-31 01:00", true, "2026-02-01 01:00" },
        { "01:00-05:00", "2026-01-31 04:59", true, "2026-02-01 01:00" },
        { "01:00-05:00", "2026-01-31 05:00", false, "2026-02-01 01:00" },
        { "Sat,Sun 01:00-05:00", "2026-01-30 03:00", false, "2026-01-31 01:00" },
        { "Sat,Sun 01:00-05:00", "2026-02-01 03:00", true, "2026-02-07 01:00" },
        { "mon-fri 09:00-17:00", "2026-01-31 12:00", false, "2026-02-02 09:00" },
        { "Fri-Mon 09:00-17:00", "2026-02-01 12:00", true, "2026-02-02 09:00" },
        { "Sat 22:00-02:00", "2026-02-01 01:59", true, "2026-02-07 22:00" },
        { "Sat 22:00-02:00", "2026-02-01 02:00", false, "2026-02-07 22:00" },
        { "Sat 22:00-02:00", "2026-01-31 01:00", false, "2026-01-31 22:00" },
        { "Sat 20:00-24:00", "2026-01-31 23:59", true, "2026-02-07 20:00" },
        { "Sat 20:00-24:00", "2026-02-01 00:00", false, "2026-02-07 20:00" },
        { "Sat 01:00-05:00 +02:00", "2026-01-30 23:00", true, "2026-02-06 23:00" },
        { "Sat 01:00-05:00 +02:00", "2026-01-31 03:00", false, "2026-02-06 23:00" },
        { "Sat 01:00-05:00 -05:30", "2026-01-31 06:30", true, "2026-02-07 06:30" },
        { "  Sat   01:00-05:00   utc ", "2026-01-31 04:00", true, "2026-02-07 01:00" },
    };

    use_zone("UTC");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct window window;
        struct err err;

        CHECK_INT(window_parse(str_from(cases[i].window), &window, &err), 0);
        if (window_is_open(&window, moment(cases[i].now)) != cases[i].open)
            fail_msg("%s at %s", cases[i].window, cases[i].now);
        CHECK_STR(print(window_next(&window, moment(cases[i].now))), cases[i].next);
    }
}

/* Central Europe, as a rule: 2026-03-29 has no 02:30, 2026-10-25 has it twice. */
TEST(the_clock_of_the_machine_counts_with_its_summer_time)
{
    struct window window;
    struct err err;

    use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    CHECK_INT(window_parse(STR("01:00-05:00"), &window, &err), 0);
    CHECK(window_is_open(&window, moment("2026-01-31 00:30")));
    CHECK(window_is_open(&window, moment("2026-07-31 23:30")));
    CHECK(!window_is_open(&window, moment("2026-07-31 03:30")));
    CHECK_STR(print(window_next(&window, moment("2026-03-28 12:00"))), "2026-03-29 00:00");
    CHECK_STR(print(window_next(&window, moment("2026-03-29 12:00"))), "2026-03-29 23:00");
    CHECK(window_is_open(&window, moment("2026-03-29 02:59")));
    CHECK(!window_is_open(&window, moment("2026-03-29 03:00")));
    CHECK_INT(window_parse(STR("02:30-02:45"), &window, &err), 0);
    CHECK_STR(print(window_next(&window, moment("2026-03-28 12:00"))), "2026-03-29 01:30");
    use_zone("UTC");
}

TEST(an_invalid_window_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "expected HH:MM-HH:MM" },
        { "Sat", "expected HH:MM-HH:MM" },
        { "Sut 01:00-02:00", "'Sut' is not a day" },
        { "Sat- 01:00-02:00", "'' is not a day" },
        { "1:00-2:00", "expected HH:MM-HH:MM" },
        { "01:00", "expected HH:MM-HH:MM" },
        { "25:00-26:00", "expected HH:MM-HH:MM" },
        { "01:60-02:00", "expected HH:MM-HH:MM" },
        { "01:00-01:00", "expected HH:MM-HH:MM" },
        { "24:00-01:00", "expected HH:MM-HH:MM" },
        { "01:00-02:00 Europe/Vienna", "is not a time zone" },
        { "01:00-02:00 +2", "is not a time zone" },
        { "01:00-02:00 UTC x", "unexpected 'x'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct window window;
        struct err err;

        CHECK_INT(window_parse(str_from(cases[i].text), &window, &err), -1);
        if (!strstr(err.text, cases[i].error))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

TEST(the_earliest_of_several_windows_counts_and_none_is_always)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct maintenance_window maintenance_window = MAINTENANCE_WINDOW_INIT;
    struct value list = value_list(value_list_new(&arena, 2));
    const time_t now = moment("2026-01-30 12:00");

    use_zone("UTC");
    CHECK(maintenance_window_read(&maintenance_window, NULL) == NULL);
    CHECK(maintenance_window_allows(&maintenance_window, now));
    CHECK(maintenance_window_read(&maintenance_window, &list) == NULL);
    CHECK(maintenance_window_allows(&maintenance_window, now));
    value_list_push(&arena, list.list, value_text("Sun 01:00-05:00"));
    value_list_push(&arena, list.list, value_text("Sat 01:00-05:00"));
    CHECK(maintenance_window_read(&maintenance_window, &list) == NULL);
    CHECK(!maintenance_window_allows(&maintenance_window, now));
    CHECK_STR(maintenance_window_describe(&maintenance_window, &arena, now),
              "not run: outside of the maintenance windows of this machine (Sun 01:00-05:00; Sat "
              "01:00-05:00), the next opens Sat 2026-01-31 01:00 UTC");
    value_list_push(&arena, list.list, value_int(5));
    CHECK(strstr(maintenance_window_read(&maintenance_window, &list), "expected a text") != NULL);
    CHECK(!maintenance_window_allows(&maintenance_window, moment("2026-01-31 02:00")));
    CHECK_INT(maintenance_window_next(&maintenance_window, now), -1);
    maintenance_window_done(&maintenance_window);
}
