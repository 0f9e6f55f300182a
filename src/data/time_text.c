#include "data/time_text.h"

#include <inttypes.h>

#include "base/buf.h"
#include "data/value.h"

enum {
    DAY_SECONDS = 86400,
    ERA_DAYS = 146097,    /* of the 400 years after which the calendar repeats */
    EPOCH_SHIFT = 719468, /* days from 0000-03-01 to 1970-01-01 */
    NANO_DIGITS = 9,
};

struct date {
    int64_t year;
    int month, day;
};

/* Years that begin in March put the leap day at their end, which makes months regular. */
static struct date date_of(int64_t days)
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

static void print_fraction(struct buf *out, uint32_t nanoseconds)
{
    int digits = NANO_DIGITS;

    for (; nanoseconds % 10 == 0; nanoseconds /= 10)
        digits--;
    buf_printf(out, ".%0*" PRIu32, digits, nanoseconds);
}

/* After `before`; 0 to 99. */
static void print_two(struct buf *out, char before, int number)
{
    const char text[] = { before, (char)('0' + number / 10), (char)('0' + number % 10) };

    buf_add(out, text, sizeof(text));
}

void time_print(struct buf *out, struct value_time time)
{
    int64_t days = time.seconds / DAY_SECONDS;
    int second = (int)(time.seconds % DAY_SECONDS);

    if (second < 0) {
        second += DAY_SECONDS;
        days--;
    }

    struct date date = date_of(days);
    buf_printf(out, "%04" PRId64, date.year);
    print_two(out, '-', date.month);
    print_two(out, '-', date.day);
    print_two(out, 'T', second / 3600);
    print_two(out, ':', second / 60 % 60);
    print_two(out, ':', second % 60);
    if (time.nanoseconds > 0)
        print_fraction(out, time.nanoseconds);
    buf_add_char(out, 'Z');
}

bool time_is_later(struct value_time a, struct value_time b)
{
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.nanoseconds > b.nanoseconds;
}
