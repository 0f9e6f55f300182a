#include "kepler/monitor/metric_search.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "kepler/monitor/metric_scan.h"
#include "core/sql/sql_query.h"
#include "core/sys/fs.h"

static const struct sql_bounds no_bounds = {
    .id_min = INT64_MIN, .id_max = INT64_MAX, .time_min = INT64_MIN, .time_max = INT64_MAX
};

/* Results so far: the newest at the end. */
struct finds {
    struct arena arena;
    struct usage_metrics metrics;
    bool cut;
};

/* The metrics of one service in one bucket. */
struct bucket {
    struct arena arena;
    struct usage_metric metric; /* the most memory, the newest processes */
    double cpu;                 /* the sum */
    size_t count;
};

struct searching {
    const struct metric_search *search;
    struct metric_scan_source source;
    struct arena arena;
    const struct log_query *query; /* NULL: none */
    struct finds finds;
    struct map buckets; /* by service */
};

/* --- results -------------------------------------------------------------------------------- */

static struct usage_metric copy_metric(struct arena *arena, const struct usage_metric *metric)
{
    struct usage_metric copy = *metric;

    copy.service = arena_strdup(arena, metric->service);
    copy.pids = value_copy(arena, &metric->pids);
    return copy;
}

/* The newest results, in an arena. */
static struct usage_metrics copy_newest(struct arena *arena, const struct usage_metrics *metrics)
{
    const size_t n = metrics->list.n;
    struct usage_metrics copy = { VEC_INIT };

    for (size_t i = n > METRIC_SEARCH_MAX ? n - METRIC_SEARCH_MAX : 0; i < n; i++)
        VEC_PUSH_IN(arena, &copy.list, copy_metric(arena, &metrics->list.p[i]));
    return copy;
}

/* Memory for twice the limit, however many there are. */
static void add_find(struct finds *finds, const struct usage_metric *metric)
{
    VEC_PUSH_IN(&finds->arena, &finds->metrics.list, copy_metric(&finds->arena, metric));
    if (finds->metrics.list.n > METRIC_SEARCH_MAX)
        finds->cut = true;
    if (finds->metrics.list.n == 2 * METRIC_SEARCH_MAX) {
        struct arena arena = ARENA_INIT;
        const struct usage_metrics newest = copy_newest(&arena, &finds->metrics);

        arena_done(&finds->arena);
        finds->arena = arena;
        finds->metrics = newest;
    }
}

/* --- buckets -------------------------------------------------------------------------------- */

static void end_bucket(struct searching *s, struct bucket *bucket)
{
    if (bucket->count == 0)
        return;
    bucket->metric.cpu_percent = round(bucket->cpu / (double)bucket->count * 100.0) / 100.0;
    add_find(&s->finds, &bucket->metric);
    bucket->count = 0;
}

static struct bucket *open_metric_bucket(struct searching *s, const char *service)
{
    struct bucket *bucket = map_find(&s->buckets, str_from(service));

    if (!bucket) {
        bucket = mem_zalloc(sizeof(*bucket));
        (void)map_set(&s->buckets, arena_str(&s->arena, str_from(service)), bucket);
    }
    return bucket;
}

static int64_t find_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_to_bucket(struct searching *s, const struct usage_metric *metric)
{
    const int64_t start = metric->timestamp - metric->timestamp % s->search->bucket;
    struct bucket *bucket = open_metric_bucket(s, metric->service);
    const struct usage_metric before = bucket->metric;
    struct usage_metric *now = &bucket->metric;

    if (bucket->count > 0 && before.timestamp != start)
        end_bucket(s, bucket);
    arena_clear(&bucket->arena);
    *now = copy_metric(&bucket->arena, metric);
    now->timestamp = start;
    if (bucket->count == 0) {
        bucket->cpu = 0;
    } else {
        now->memory_rss = find_larger(before.memory_rss, metric->memory_rss);
        now->memory_vss = find_larger(before.memory_vss, metric->memory_vss);
    }
    bucket->cpu += metric->cpu_percent;
    bucket->count++;
}

static void add_metric(struct searching *s, const struct usage_metric *metric)
{
    if (s->search->bucket > 0)
        add_to_bucket(s, metric);
    else
        add_find(&s->finds, metric);
}

/* --- reading -------------------------------------------------------------------------------- */

typedef void row_fn(struct searching *s, const struct metric_row *row);

static int read_metric_rows(struct searching *s, int64_t since, row_fn *fn, struct err *err)
{
    struct sql_bounds bounds = no_bounds;
    const struct metric_row *row = NULL;
    struct metric_scan *scan;
    int rc;

    bounds.time_min = since;
    if (metric_scan_open(&s->source, &bounds, &scan, err) < 0)
        return -1;
    while ((rc = metric_scan_next(scan, &row, err)) == 0 && row)
        fn(s, row);
    metric_scan_close(scan);
    return rc;
}

static int read_sql(struct searching *s, row_fn *fn, struct err *err)
{
    const void *row = NULL;
    struct sql_query *query;
    int rc;

    if (sql_query_open(&metric_scan_table, &s->source, str_from(s->search->filter), &query, err) <
        0)
        return -1;
    while ((rc = sql_query_next(query, &row, err)) == 0 && row)
        fn(s, row);
    sql_query_free(query);
    return rc;
}

/* --- the newest ----------------------------------------------------------------------------- */

/* The newest metric of each service; `add` decides whether it is shown. */
struct newest {
    uint64_t id;
    struct arena arena;
    struct usage_metric metric;
    bool matches;
};

static void note_newest(struct searching *s, const struct metric_row *row)
{
    struct newest *newest = map_find(&s->buckets, str_from(row->metric.service));

    if (!newest) {
        newest = mem_zalloc(sizeof(*newest));
        (void)map_set(&s->buckets, arena_str(&s->arena, str_from(row->metric.service)), newest);
    }
    arena_clear(&newest->arena);
    newest->metric = copy_metric(&newest->arena, &row->metric);
    newest->id = row->id;
    newest->matches =
        !s->search->is_sql && (!s->query || metric_query_match(s->query, &newest->metric));
}

static void note_match(struct searching *s, const struct metric_row *row)
{
    struct newest *newest = map_find(&s->buckets, str_from(row->metric.service));

    if (newest && newest->id == row->id)
        newest->matches = true;
}

static int find_newest_metrics(struct searching *s, struct err *err)
{
    int rc = read_metric_rows(s, INT64_MIN, note_newest, err);

    if (rc == 0 && s->search->is_sql)
        rc = read_sql(s, note_match, err);
    MAP_EACH (&s->buckets, entry) {
        struct newest *newest = entry->value;

        if (rc == 0 && newest->matches)
            add_find(&s->finds, &newest->metric);
        arena_done(&newest->arena);
        free(newest);
    }
    return rc;
}

/* --- a history ------------------------------------------------------------------------------ */

static void note_history(struct searching *s, const struct metric_row *row)
{
    if (row->metric.timestamp >= s->search->since &&
        (!s->query || metric_query_match(s->query, &row->metric)))
        add_metric(s, &row->metric);
}

static int find_history(struct searching *s, struct err *err)
{
    int rc = s->search->is_sql ? read_sql(s, note_history, err)
                               : read_metric_rows(s, s->search->since, note_history, err);

    MAP_EACH (&s->buckets, entry) {
        struct bucket *bucket = entry->value;

        end_bucket(s, bucket);
        arena_done(&bucket->arena);
        free(bucket);
    }
    return rc;
}

/* --- public --------------------------------------------------------------------------------- */

static int compare_metrics(const void *a, const void *b)
{
    const struct usage_metric *x = a, *y = b;

    return (x->timestamp > y->timestamp) - (x->timestamp < y->timestamp);
}

static int run_search(struct searching *s, struct err *err)
{
    const struct metric_search *search = s->search;
    struct fs_info info;

    if (fs_stat(search->folder, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return err_set(err, ERR_NOT_FOUND,
                       "no metrics are stored: set 'kepler.monitor.interval' in the config, and "
                       "start a service");
    if (search->filter && !search->is_sql &&
        metric_query_parse(&s->arena, str_from(search->filter), &s->query, err) < 0)
        return err_wrap(err, "the filter '%s'", search->filter);
    if ((search->history ? find_history(s, err) : find_newest_metrics(s, err)) == 0)
        return 0;
    return search->is_sql ? err_wrap(err, "the filter '%s'", search->filter) : -1;
}

int metric_search_run(const struct metric_search *search, struct arena *arena,
                      struct usage_metrics *ret_metrics, bool *ret_cut, struct err *err)
{
    struct searching s = {
        .search = search,
        .source = { search->folder, search->services, search->service_count },
    };
    struct usage_metrics *found = &s.finds.metrics;
    const int rc = run_search(&s, err);

    if (rc == 0) {
        if (found->list.n > 1)
            qsort(found->list.p, found->list.n, sizeof(found->list.p[0]), compare_metrics);
        *ret_metrics = copy_newest(arena, found);
        *ret_cut = s.finds.cut;
    }
    map_done(&s.buckets);
    arena_done(&s.finds.arena);
    arena_done(&s.arena);
    return rc;
}
