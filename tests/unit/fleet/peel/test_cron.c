#include "fleet/peel/cron.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "test.h"

static const char *next_of(const char *text, const char *from)
{
    static char out[32];
    struct tm tm = { 0 };
    struct cron cron;
    struct err err;
    time_t at;

    CHECK_INT(setenv("TZ", "UTC", 1), 0);
    CHECK_INT(cron_parse(text, &cron, &err), 0);
    CHECK(strptime(from, "%Y-%m-%d %H:%M:%S", &tm) != NULL);
    at = cron_next(&cron, timegm(&tm));
    if (at == (time_t)-1)
        return "never";
    CHECK(gmtime_r(&at, &tm) != NULL);
    CHECK(strftime(out, sizeof(out), "%Y-%m-%d %H:%M:%S", &tm) > 0);
    return out;
}

TEST(the_next_time_follows_from_the_fields)
{
    static const struct {
        const char *cron, *from, *next;
    } cases[] = {
        { "* * * * *", "2026-01-31 12:00:30", "2026-01-31 12:01:00" },
        { "* * * * *", "2026-01-31 12:00:00", "2026-01-31 12:01:00" },
        { "0 4 * * *", "2026-01-31 12:00:00", "2026-02-01 04:00:00" },
        { "*/15 * * * *", "2026-01-31 12:46:00", "2026-01-31 13:00:00" },
        { "5,35 9-17 * * mon-fri", "2026-01-30 17:36:00", "2026-02-02 09:05:00" },
        { "0 0 29 2 *", "2026-03-01 00:00:00", "2028-02-29 00:00:00" },
        { "0 0 13 * 5", "2026-01-01 00:00:00", "2026-01-02 00:00:00" }, /* the 13th, or a Friday */
        { "0 0 * * 7", "2026-01-01 00:00:00", "2026-01-04 00:00:00" },
        { "0 0 31 12 *", "2026-12-31 00:00:00", "2027-12-31 00:00:00" },
        { "10-20/5 * * * *", "2026-01-01 00:11:00", "2026-01-01 00:15:00" },
        { "@weekly", "2026-01-01 00:00:00", "2026-01-04 00:00:00" },
        { "0 0 30 feb *", "2026-01-01 00:00:00", "never" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(next_of(cases[i].cron, cases[i].from), cases[i].next);
}

TEST(texts_that_are_not_a_schedule_are_refused)
{
    static const char *const cases[] = {
        "",           "* * * *",   "* * * * * *", "60 * * * *",  "* 24 * * *",  "* * 0 * *",
        "* * * 13 *", "* * * * 8", "a * * * *",   "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *"
    };
    struct cron cron;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(cron_parse(cases[i], &cron, &err), -1);
}
