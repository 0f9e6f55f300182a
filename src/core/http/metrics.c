#include "core/http/metrics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/base/number.h"

#define OTHER "other"

/* One combination of label values. */
struct series {
    const char *values[METRICS_LABELS];
    double sum;       /* the value of a counter or gauge */
    uint64_t count;   /* number of observations */
    uint64_t *counts; /* for each bucket, not cumulative */
};

struct family {
    const struct metric *row;
    size_t bucket_count;
    struct map series; /* by the values of labels, with a separator */
};

struct metrics {
    struct arena arena;
    struct family *families;
    size_t count;
    struct buf key; /* key of the series to find */
};

static size_t count_buckets(const struct metric *row)
{
    size_t n = 0;

    while (row->buckets && row->buckets[n] > 0)
        n++;
    return n;
}

/* Valid until the next call. */
static struct str make_metric_key(struct metrics *metrics, const char *first, const char *second)
{
    buf_clear(&metrics->key);
    buf_add_text(&metrics->key, first ? first : "");
    buf_add_char(&metrics->key, '\x1f');
    buf_add_text(&metrics->key, second ? second : "");
    return buf_view(&metrics->key);
}

static struct series *add_series(struct metrics *metrics, struct family *family, const char *first,
                                 const char *second)
{
    struct series *series = ARENA_NEW(&metrics->arena, struct series);

    series->values[0] = first ? arena_strdup(&metrics->arena, first) : NULL;
    series->values[1] = second ? arena_strdup(&metrics->arena, second) : NULL;
    if (family->bucket_count > 0)
        series->counts = ARENA_ARRAY(&metrics->arena, uint64_t, family->bucket_count);
    (void)map_set(&family->series,
                  arena_str(&metrics->arena, make_metric_key(metrics, first, second)), series);
    return series;
}

static struct series *find_series(struct metrics *metrics, const struct family *family,
                                  const char *first, const char *second)
{
    return map_find(&family->series, make_metric_key(metrics, first, second));
}

/* The series of these values; when there are too many, the one of all others. */
static struct series *take_series(struct metrics *metrics, size_t row, const char *first,
                                  const char *second)
{
    struct family *family = &metrics->families[row];
    struct series *series = find_series(metrics, family, first, second);

    if (series)
        return series;
    if (map_count(&family->series) < METRICS_SERIES_MAX)
        return add_series(metrics, family, first, second);
    first = first ? OTHER : NULL;
    second = second ? OTHER : NULL;
    series = find_series(metrics, family, first, second);
    return series ? series : add_series(metrics, family, first, second);
}

struct metrics *metrics_new(const struct metric *rows, size_t count)
{
    struct metrics *metrics = mem_zalloc(sizeof(*metrics));

    metrics->arena = (struct arena)ARENA_INIT;
    metrics->key = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    metrics->count = count;
    metrics->families = ARENA_ARRAY(&metrics->arena, struct family, count);
    for (size_t i = 0; i < count; i++) {
        struct family *family = &metrics->families[i];

        family->row = &rows[i];
        family->bucket_count = count_buckets(&rows[i]);
        family->series = (struct map)MAP_INIT_IN(&metrics->arena);
        if (!rows[i].labels[0])
            (void)add_series(metrics, family, NULL, NULL);
    }
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    buf_done(&metrics->key);
    arena_done(&metrics->arena);
    free(metrics);
}

void metrics_add(struct metrics *metrics, size_t row, double amount, const char *first,
                 const char *second)
{
    take_series(metrics, row, first, second)->sum += amount;
}

void metrics_set(struct metrics *metrics, size_t row, double value, const char *first,
                 const char *second)
{
    take_series(metrics, row, first, second)->sum = value;
}

void metrics_observe(struct metrics *metrics, size_t row, double value, const char *first,
                     const char *second)
{
    const struct family *family = &metrics->families[row];
    struct series *series = take_series(metrics, row, first, second);

    series->sum += value;
    series->count++;
    for (size_t i = 0; i < family->bucket_count; i++)
        if (value <= family->row->buckets[i]) {
            series->counts[i]++;
            return;
        }
}

double metrics_value(struct metrics *metrics, size_t row, const char *first, const char *second)
{
    const struct family *family = &metrics->families[row];
    const struct series *series = find_series(metrics, family, first, second);

    if (!series)
        return 0;
    return family->row->kind == METRIC_HISTOGRAM ? (double)series->count : series->sum;
}

/* --- text --------------------------------------------------------------------------- */

static void print_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            buf_add_char(out, '\\');
        if (*text == '\n')
            buf_add_text(out, "\\n");
        else
            buf_add_char(out, *text);
    }
}

static void print_metric_number(struct buf *out, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        buf_printf(out, "%.0f", value);
    else
        number_print_double(value, out);
}

/* {a="x",b="y",le="1"}; nothing when there is none. */
static void print_labels(struct buf *out, const struct metric *row, const struct series *series,
                         const char *bound)
{
    char before = '{';

    for (size_t i = 0; i < METRICS_LABELS && row->labels[i]; i++) {
        buf_printf(out, "%c%s=\"", before, row->labels[i]);
        print_escaped(out, series->values[i] ? series->values[i] : "");
        buf_add_char(out, '"');
        before = ',';
    }
    if (bound)
        buf_printf(out, "%cle=\"%s\"", before, bound);
    if (bound || before == ',')
        buf_add_char(out, '}');
}

static void print_histogram(struct buf *out, const struct family *family,
                            const struct series *series)
{
    const struct metric *row = family->row;
    uint64_t total = 0;

    for (size_t i = 0; i <= family->bucket_count; i++) {
        AUTO_BUF struct buf bound = BUF_INIT(BUF_NO_LIMIT);
        bool is_last = i == family->bucket_count;

        if (is_last)
            buf_add_text(&bound, "+Inf");
        else
            print_metric_number(&bound, row->buckets[i]);
        total = is_last ? series->count : total + series->counts[i];
        buf_printf(out, "%s_bucket", row->name);
        print_labels(out, row, series, buf_text(&bound));
        buf_printf(out, " %llu\n", (unsigned long long)total);
    }
    buf_printf(out, "%s_sum", row->name);
    print_labels(out, row, series, NULL);
    buf_add_char(out, ' ');
    print_metric_number(out, series->sum);
    buf_printf(out, "\n%s_count", row->name);
    print_labels(out, row, series, NULL);
    buf_printf(out, " %llu\n", (unsigned long long)series->count);
}

static void print_series(struct buf *out, const struct family *family, const struct series *series)
{
    if (family->row->kind == METRIC_HISTOGRAM) {
        print_histogram(out, family, series);
        return;
    }
    buf_add_text(out, family->row->name);
    print_labels(out, family->row, series, NULL);
    buf_add_char(out, ' ');
    print_metric_number(out, series->sum);
    buf_add_char(out, '\n');
}

void metrics_print(const struct metrics *metrics, struct buf *out)
{
    static const char *const kinds[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };

    for (size_t i = 0; i < metrics->count; i++) {
        const struct family *family = &metrics->families[i];

        buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", family->row->name, family->row->help,
                   family->row->name, kinds[family->row->kind]);
        MAP_EACH (&family->series, entry)
            print_series(out, family, entry->value);
    }
}
