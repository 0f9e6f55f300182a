#include "core/sys/window.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"

#define DAY_MINUTES 1440
#define ALL_DAYS    0x7fu
#define WEEK        7

static const char *const day_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

/* --- reading ------------------------------------------------------------------------ */

static bool is_window_word(struct str text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

static int find_day(struct str text, unsigned *ret, struct err *err)
{
    for (unsigned i = 0; i < ARRAY_LEN(day_names); i++)
        if (is_window_word(text, day_names[i])) {
            *ret = i;
            return 0;
        }
    return err_set(err, ERR_INVALID,
                   "'%.*s' is not a day: expected Mon, Tue, Wed, Thu, Fri, Sat or Sun",
                   STR_ARG(text));
}

static int read_window_days(struct str text, unsigned *ret, struct err *err)
{
    unsigned days = 0;

    while (text.p) {
        struct str item = str_cut(&text, ','), last = item;
        struct str first = str_cut(&last, '-');
        unsigned from, to;

        if (find_day(first, &from, err) < 0 || find_day(last.p ? last : first, &to, err) < 0)
            return -1;
        for (unsigned day = from;; day = (day + 1) % WEEK) {
            days |= 1u << day;
            if (day == to)
                break;
        }
    }
    *ret = days;
    return 0;
}

/* "HH:MM", in minutes. */
static bool read_clock_minutes(struct str text, int *ret)
{
    int number[2] = { 0 };

    if (text.n != 5 || text.p[2] != ':')
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (i == 2)
            continue;
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        number[i / 3] = number[i / 3] * 10 + (text.p[i] - '0');
    }
    *ret = number[0] * 60 + number[1];
    return number[1] < 60 && *ret <= DAY_MINUTES;
}

static int read_window_times(struct str text, struct window *ret, struct err *err)
{
    struct str end = text;
    const struct str begin = str_cut(&end, '-');

    if (!end.p || !read_clock_minutes(begin, &ret->begin) || !read_clock_minutes(end, &ret->end) ||
        ret->begin == DAY_MINUTES || ret->begin == ret->end)
        return err_set(err, ERR_INVALID, "'%.*s' is not a time of the day: expected HH:MM-HH:MM",
                       STR_ARG(text));
    if (ret->end < ret->begin)
        ret->end += DAY_MINUTES;
    return 0;
}

static int read_window_zone(struct str text, struct window *ret, struct err *err)
{
    int minutes;

    ret->is_fixed = true;
    if (is_window_word(text, "utc"))
        return 0;
    if (text.n == 0 || (text.p[0] != '+' && text.p[0] != '-') ||
        !read_clock_minutes(str_slice(text, 1, text.n), &minutes))
        return err_set(err, ERR_INVALID,
                       "'%.*s' is not a time zone: expected UTC or an offset such as +02:00",
                       STR_ARG(text));
    ret->offset = (text.p[0] == '-' ? -60 : 60) * minutes;
    return 0;
}

/* The next word, without blanks; empty at the end. */
static struct str next_window_word(struct str *rest)
{
    *rest = str_trim(*rest);
    return rest->n > 0 ? str_cut(rest, ' ') : (struct str){ "", 0 };
}

int window_parse(struct str text, struct window *ret, struct err *err)
{
    struct window window = { .days = ALL_DAYS };
    struct str rest = text, word = next_window_word(&rest);

    if (word.n > 0 && (word.p[0] < '0' || word.p[0] > '9')) {
        if (read_window_days(word, &window.days, err) < 0)
            return -1;
        word = next_window_word(&rest);
    }
    if (read_window_times(word, &window, err) < 0)
        return -1;
    word = next_window_word(&rest);
    if (word.n > 0 && read_window_zone(word, &window, err) < 0)
        return -1;
    word = next_window_word(&rest);
    if (word.n > 0)
        return err_set(err, ERR_INVALID, "unexpected '%.*s' after the time zone", STR_ARG(word));
    *ret = window;
    return 0;
}

/* --- the calendar ------------------------------------------------------------------- */

static bool read_local_date(const struct window *window, time_t now, struct tm *ret)
{
    const time_t shifted = now + window->offset;

    return window->is_fixed ? gmtime_r(&shifted, ret) != NULL : localtime_r(&now, ret) != NULL;
}

/* A minute of the day that many days after the date. */
static time_t find_window_moment(const struct window *window, const struct tm *date, int days,
                                 int minute)
{
    struct tm tm = { .tm_year = date->tm_year,
                     .tm_mon = date->tm_mon,
                     .tm_mday = date->tm_mday + days,
                     .tm_min = minute,
                     .tm_isdst = -1 };

    return window->is_fixed ? timegm(&tm) - window->offset : mktime(&tm);
}

static bool has_day(const struct window *window, const struct tm *date, int days)
{
    return window->days >> (unsigned)((date->tm_wday + WEEK + days) % WEEK) & 1;
}

bool window_is_open(const struct window *window, time_t now)
{
    struct tm date;

    if (!read_local_date(window, now, &date))
        return false;
    for (int days = -1; days <= 0; days++) /* yesterday's may still be open */
        if (has_day(window, &date, days) &&
            find_window_moment(window, &date, days, window->begin) <= now &&
            now < find_window_moment(window, &date, days, window->end))
            return true;
    return false;
}

time_t window_next(const struct window *window, time_t now)
{
    struct tm date;

    if (!read_local_date(window, now, &date))
        return -1;
    for (int days = 0; days <= WEEK; days++) {
        const time_t at = find_window_moment(window, &date, days, window->begin);

        if (has_day(window, &date, days) && at > now)
            return at;
    }
    return -1;
}
