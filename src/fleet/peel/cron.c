#include "fleet/peel/cron.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/str.h"

#define YEARS_MAX 9 /* a 29th of February on a given weekday may be far */

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                           "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const day_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

struct field {
    const char *name;
    unsigned min, max;
    const char *const *words;
    size_t word_count;
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, NULL, 0 },
    [HOUR] = { "hour", 0, 23, NULL, 0 },
    [DAY] = { "day", 1, 31, NULL, 0 },
    [MONTH] = { "month", 1, 12, month_names, ARRAY_LEN(month_names) },
    [WEEKDAY] = { "weekday", 0, 7, day_names, ARRAY_LEN(day_names) },
};

static const struct {
    const char *word, *text;
} nicknames[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

/* --- reading ---------------------------------------------------------------------- */

static bool read_cron_number(const struct field *field, struct str text, unsigned *ret)
{
    unsigned value = 0;

    for (size_t i = 0; i < field->word_count && text.n == 3; i++)
        if (strncasecmp(text.p, field->words[i], 3) == 0) {
            *ret = (unsigned)i + field->min;
            return true;
        }
    if (text.n == 0 || text.n > 2)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text.p[i] - '0');
    }
    *ret = value;
    return value >= field->min && value <= field->max;
}

/* "5", "1-5", a star, each perhaps with "/2". */
static bool read_cron_range(const struct field *field, struct str text, uint64_t *bits)
{
    struct str step_text = text, range = str_cut(&step_text, '/'), to = range,
               from = str_cut(&to, '-');
    unsigned first = field->min, last = field->max, step = 1;

    if (step_text.p &&
        (!read_cron_number(&(struct field){ "step", 1, 99, NULL, 0 }, step_text, &step)))
        return false;
    if (!str_eq_text(range, "*")) {
        if (!read_cron_number(field, from, &first))
            return false;
        last = step_text.p ? field->max : first;
        if (to.p && (!read_cron_number(field, to, &last) || last < first))
            return false;
    }
    for (unsigned i = first; i <= last; i += step)
        *bits |= UINT64_C(1) << i;
    return true;
}

static int read_cron_field(const struct field *field, struct str text, uint64_t *ret,
                           struct err *err)
{
    struct str rest = text;

    *ret = 0;
    while (rest.p)
        if (!read_cron_range(field, str_cut(&rest, ','), ret))
            return err_set(err, ERR_INVALID, "cron: '%.*s' is not a valid %s", STR_ARG(text),
                           field->name);
    return 0;
}

int cron_parse(const char *text, struct cron *ret_cron, struct err *err)
{
    uint64_t bits[FIELDS];
    struct str rest, words[FIELDS];
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(nicknames); i++)
        if (strcmp(text, nicknames[i].word) == 0)
            text = nicknames[i].text;
    rest = str_trim(str_from(text));
    while (rest.p && rest.n > 0) {
        struct str word = str_cut(&rest, ' ');

        if (word.n == 0)
            continue;
        if (count < FIELDS)
            words[count] = word;
        count++;
    }
    if (count != FIELDS)
        return err_set(err, ERR_INVALID, "cron: '%s' does not have five fields", text);
    for (size_t i = 0; i < FIELDS; i++)
        if (read_cron_field(&fields[i], words[i], &bits[i], err) < 0)
            return -1;
    if (bits[WEEKDAY] & (UINT64_C(1) << 7))
        bits[WEEKDAY] |= 1;
    *ret_cron = (struct cron){ .minutes = bits[MINUTE],
                               .hours = bits[HOUR],
                               .days = bits[DAY],
                               .months = bits[MONTH],
                               .weekdays = bits[WEEKDAY],
                               .any_day = words[DAY].p[0] == '*',
                               .any_weekday = words[WEEKDAY].p[0] == '*' };
    return 0;
}

/* --- the next time ---------------------------------------------------------------- */

static bool has_cron_bit(uint64_t bits, int n)
{
    return bits >> (unsigned)n & 1;
}

static bool is_day(const struct cron *cron, const struct tm *tm)
{
    const bool day = has_cron_bit(cron->days, tm->tm_mday),
               weekday = has_cron_bit(cron->weekdays, tm->tm_wday);

    if (cron->any_day || cron->any_weekday)
        return day && weekday;
    return day || weekday;
}

/* The beginning of the next month, day, hour or minute, normalised. */
static time_t advance_cron(struct tm *tm, const struct cron *cron)
{
    tm->tm_sec = 0;
    tm->tm_isdst = -1;
    if (!has_cron_bit(cron->months, tm->tm_mon + 1)) {
        tm->tm_mon++;
        tm->tm_mday = 1;
        tm->tm_hour = tm->tm_min = 0;
    } else if (!is_day(cron, tm)) {
        tm->tm_mday++;
        tm->tm_hour = tm->tm_min = 0;
    } else if (!has_cron_bit(cron->hours, tm->tm_hour)) {
        tm->tm_hour++;
        tm->tm_min = 0;
    } else {
        tm->tm_min++;
    }
    return mktime(tm);
}

time_t cron_next(const struct cron *cron, time_t now)
{
    time_t at = now - now % 60 + 60;
    struct tm tm;
    int last_year;

    if (!localtime_r(&at, &tm))
        return -1;
    last_year = tm.tm_year + YEARS_MAX;
    while (tm.tm_year <= last_year) {
        if (has_cron_bit(cron->months, tm.tm_mon + 1) && is_day(cron, &tm) &&
            has_cron_bit(cron->hours, tm.tm_hour) && has_cron_bit(cron->minutes, tm.tm_min))
            return mktime(&tm);
        if (advance_cron(&tm, cron) == (time_t)-1)
            return -1;
    }
    return -1;
}
