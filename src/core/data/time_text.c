#include "core/data/time_text.h"

#include <inttypes.h>

#include "core/base/buf.h"
#include "core/data/value.h"

enum {
    DAY_SECONDS = 86400,
    ERA_DAYS = 146097,    /* the 400 years after which the calendar repeats */
    EPOCH_SHIFT = 719468, /* days from 0000-03-01 to 1970-01-01 */
    NANO_DIGITS = 9,
    YEAR_DIGITS = 4,
    YEAR_MAX = 9999,
};

struct date {
    int64_t year;
    int month, day;
};

/* Years that begin in March put the leap day at their end, which makes months regular. */
static struct date convert_days_to_date(int64_t days)
{
    int64_t shifted = days + EPOCH_SHIFT;
    int64_t era = (shifted >= 0 ? shifted : shifted - (ERA_DAYS - 1)) / ERA_DAYS;
    int day = (int)(shifted - era * ERA_DAYS);
    int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int day_of_year = day - (365 * year + year / 4 - year / 100);
    int march_month = (5 * day_of_year + 2) / 153;
    int month = march_month < 10 ? march_month + 3 : march_month - 9;

    return (struct date){
        .year = era * 400 + year + (month <= 2),
        .month = month,
        .day = day_of_year - (153 * march_month + 2) / 5 + 1,
    };
}

/* The last digits of a number, with zeros in front. */
static void put_digits(char *text, size_t digits, uint32_t number)
{
    for (; digits > 0; number /= 10)
        text[--digits] = (char)('0' + number % 10);
}

static void print_fraction(struct buf *out, uint32_t nanoseconds)
{
    char text[1 + NANO_DIGITS] = ".";
    size_t size = sizeof(text);

    put_digits(text + 1, NANO_DIGITS, nanoseconds);
    while (text[size - 1] == '0')
        size--;
    buf_add(out, text, size);
}

static void print_year(struct buf *out, int64_t year)
{
    char text[YEAR_DIGITS];

    if (year < 0 || year > YEAR_MAX) {
        buf_printf(out, "%04" PRId64, year);
        return;
    }
    put_digits(text, YEAR_DIGITS, (uint32_t)year);
    buf_add(out, text, YEAR_DIGITS);
}

void time_print(struct buf *out, struct value_time time)
{
    int64_t days = time.seconds / DAY_SECONDS;
    int second = (int)(time.seconds % DAY_SECONDS);
    char rest[] = "-MM-DDThh:mm:ss";

    if (second < 0) {
        second += DAY_SECONDS;
        days--;
    }

    const struct date date = convert_days_to_date(days);
    const int parts[] = { date.month, date.day, second / 3600, second / 60 % 60, second % 60 };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        put_digits(rest + 1 + 3 * i, 2, (uint32_t)parts[i]);
    print_year(out, date.year);
    buf_add(out, rest, sizeof(rest) - 1);
    if (time.nanoseconds > 0)
        print_fraction(out, time.nanoseconds);
    buf_add_char(out, 'Z');
}

const char *time_text(struct arena *arena, struct value_time time)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    time_print(&text, time);
    return buf_copy(&text, arena).p;
}

bool time_is_later(struct value_time a, struct value_time b)
{
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.nanoseconds > b.nanoseconds;
}
