#include "commands/cli/shared/local_time.h"

#include <time.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/base/str.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "core/sys/clock.h"

#define TIME_TEXT_SIZE 64

const char *local_time_text(struct arena *arena, struct value_time time)
{
    const time_t seconds = (time_t)time.seconds;
    char text[TIME_TEXT_SIZE];
    struct tm parts;

    if (time.seconds <= 0 || !localtime_r(&seconds, &parts) ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts) == 0)
        return "-";
    return arena_strdup(arena, text);
}

const char *local_time_zoned(struct arena *arena, struct value_time time)
{
    const time_t seconds = (time_t)time.seconds;
    char zone[TIME_TEXT_SIZE];
    struct tm parts;

    if (!localtime_r(&seconds, &parts) || strftime(zone, sizeof(zone), "%z", &parts) == 0)
        zone[0] = '\0';
    return arena_printf(arena, "%s %s", local_time_text(arena, time), zone);
}

static bool read_form(const char *text, const char *form, bool has_date, int64_t now,
                      time_t *ret_seconds)
{
    const time_t today = (time_t)(now / CLOCK_SECOND);
    struct tm parts = { 0 };
    const char *end;

    if (!has_date) {
        (void)localtime_r(&today, &parts);
        parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    }
    parts.tm_isdst = -1;
    end = strptime(text, form, &parts);
    if (!end || *end)
        return false;
    *ret_seconds = mktime(&parts);
    if (!has_date && *ret_seconds > today) { /* it was yesterday */
        parts.tm_mday--;
        parts.tm_isdst = -1;
        *ret_seconds = mktime(&parts);
    }
    return *ret_seconds != (time_t)-1;
}

int local_time_read(const char *text, int64_t now, int64_t *ret_ns, struct err *err)
{
    static const struct {
        const char *form;
        bool has_date;
    } forms[] = {
        { "%Y-%m-%d %H:%M:%S", true },
        { "%Y-%m-%dT%H:%M:%S", true },
        { "%Y-%m-%d %H:%M", true },
        { "%Y-%m-%dT%H:%M", true },
        { "%Y-%m-%d", true },
        { "%H:%M:%S", false },
        { "%H:%M", false },
    };
    struct value utc;
    int64_t age;
    time_t seconds;

    if (number_parse_duration(str_from(text), &age, err) == 0 && age >= 0) {
        *ret_ns = age < now ? now - age : 0;
        return 0;
    }
    if (str_ends(str_from(text), STR("Z")) && scalar_parse_time(str_from(text), &utc)) {
        *ret_ns = utc.t.seconds * CLOCK_SECOND + utc.t.nanoseconds;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (read_form(text, forms[i].form, forms[i].has_date, now, &seconds)) {
            *ret_ns = (int64_t)seconds * CLOCK_SECOND;
            return 0;
        }
    return err_set(err, ERR_INVALID,
                   "'%.64s' is neither a duration (2h) nor a time (20:03, 2026-11-19, "
                   "'2026-11-19 20:03')",
                   text);
}
