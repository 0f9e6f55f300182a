/* strftime: a moment as text. Times are UTC: a rendering has no clock and no time zone. */
#include "language/jinja/filters/filter.h"

#include <math.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/scalar.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

#define FORMAT_MAX 1024

/* The format comes from the author on purpose; the compiler accepts it through a pointer. */
static size_t (*const print_time)(char *text, size_t size, const char *format,
                                  const struct tm *tm) = strftime;

/* A date as YAML reads it, or with slashes: 2002/12/25. */
static bool read_filter_date(struct render *render, struct str text, struct value *ret)
{
    char *copy = arena_strndup(render->arena, text.p, text.n);

    for (char *p = copy; *p; p++)
        if (*p == '/')
            *p = '-';
    return scalar_parse_time((struct str){ copy, text.n }, ret);
}

/* Seconds of a time, a number, digits, or a date. */
static int read_filter_moment(struct render *render, const struct value *v, int64_t *ret)
{
    struct value read = value_null();
    struct err err;
    double d;

    if (v->kind == VALUE_TIME) {
        *ret = v->t.seconds;
        return 0;
    }
    if (v->kind == VALUE_INT) {
        *ret = v->i;
        return 0;
    }
    if (v->kind == VALUE_DOUBLE && fabs(v->d) < 0x1p53) {
        *ret = (int64_t)floor(v->d);
        return 0;
    }
    if (v->kind == VALUE_STR && number_parse_double(v->s, &d, &err) == 0 && fabs(d) < 0x1p53) {
        *ret = (int64_t)floor(d);
        return 0;
    }
    if (v->kind == VALUE_STR && read_filter_date(render, v->s, &read)) {
        *ret = read.t.seconds;
        return 0;
    }
    return render_fail(render, RENDER_TYPE,
                       "strftime expects a time, seconds, or a date such as 2024-01-31");
}

static int filter_format_time(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    char text[FORMAT_MAX * 4], format[FORMAT_MAX];
    struct str wanted;
    struct tm tm;
    time_t moment;
    int64_t seconds = 0;
    size_t n;

    if (read_filter_moment(render, &bound->args[0], &seconds) < 0 ||
        argument_text(render, &bound->args[1], &wanted) < 0)
        return -1;
    if (wanted.n + 2 > sizeof(format))
        return render_fail(render, RENDER_LIMIT, "a format has at most %d bytes", FORMAT_MAX - 2);
    moment = (time_t)seconds;
    if (!gmtime_r(&moment, &tm))
        return render_fail(render, RENDER_TYPE, "strftime: no such year");
    /* a leading blank distinguishes an empty result from one that does not fit */
    format[0] = ' ';
    for (size_t i = 0; i < wanted.n; i++)
        format[i + 1] = wanted.p[i];
    format[wanted.n + 1] = '\0';
    n = print_time(text, sizeof(text), format, &tm);
    if (n == 0)
        return render_fail(render, RENDER_LIMIT, "strftime: the result is too long");
    *ret = op_new_str(render, (struct str){ text + 1, n - 1 });
    return 0;
}

/* clang-format off */
const struct function filter_time_functions[] = {
    { "date_format", "value, format='%Y-%m-%d'", filter_format_time, "a moment as text, in UTC" },
    { "strftime", "value, format='%Y-%m-%d'", filter_format_time, "a moment as text, in UTC" },
    { 0 },
};
/* clang-format on */
