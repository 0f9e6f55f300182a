#include "test.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_store.h"
#include "kepler/monitor/metric_search.h"
#include "core/sys/path.h"

static struct arena arena = ARENA_INIT;
static struct err err;

static struct log_store *open_store(void)
{
    struct log_store *store;

    CHECK_INT(log_store_open(path_join(&arena, test_folder(), "monitor"), NULL, &store, &err), 0);
    return store;
}

static void write_text(struct log_store *store, const char *service, struct str text)
{
    struct log_source *source;

    CHECK_INT(log_source_new(store, service, NULL, SEGMENT_STDOUT, true, &source, &err), 0);
    log_source_add(source, text);
    log_source_free(source);
}

static void write_metric(struct log_store *store, const char *service, int64_t time, double cpu)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct usage_metric metric = { .timestamp = time,
                                   .cpu_percent = cpu,
                                   .memory_rss = (int64_t)cpu * 100,
                                   .memory_vss = (int64_t)cpu * 1000,
                                   .pids = value_list(value_list_new(&arena, 1)) };

    value_list_push(&arena, metric.pids.list, value_int(time % 1000));
    CHECK_INT(metric_print(&metric, &line, &err), 0);
    write_text(store, service, buf_view(&line));
}

/* "service@time=cpu/rss" of each, or the error. */
static const char *run(struct metric_search search)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct usage_metrics found;
    bool cut;

    search.folder = path_join(&arena, test_folder(), "monitor");
    if (metric_search_run(&search, &arena, &found, &cut, &err) < 0)
        return arena_strdup(&arena, err.text);
    VEC_EACH (&found.list, metric)
        buf_printf(&out, "%s%s@%" PRId64 "=%g/%" PRId64, out.n ? " " : "", metric->service,
                   metric->timestamp, metric->cpu_percent, metric->memory_rss);
    return buf_copy(&out, &arena).p;
}

#define RUN(...) run((struct metric_search){ __VA_ARGS__ })

static void fill_store(void)
{
    struct log_store *store = open_store();

    write_metric(store, "web", 1000, 10);
    write_metric(store, "db", 1000, 50);
    write_metric(store, "web", 2000, 20);
    write_metric(store, "db", 2000, 40);
    write_metric(store, "web", 3000, 30);
    log_store_free(store);
}

TEST(the_newest_metric_of_each_service_is_found_if_it_matches)
{
    static const char *const web[] = { "web" };

    fill_store();
    CHECK_STR(RUN(.filter = NULL), "db@2000=40/4000 web@3000=30/3000");
    CHECK_STR(RUN(.services = web, .service_count = 1), "web@3000=30/3000");
    CHECK_STR(RUN(.filter = "@cpu_percent:>30"), "db@2000=40/4000");
    CHECK_STR(RUN(.filter = "@cpu_percent:20"), "");
    CHECK_STR(RUN(.filter = "cpu_percent = 20", .is_sql = true), "");
    CHECK_STR(RUN(.filter = "cpu_percent > 30", .is_sql = true), "db@2000=40/4000");
}

TEST(a_history_has_all_matches_in_order_of_time)
{
    fill_store();
    CHECK_STR(RUN(.history = true, .since = 2000),
              "web@2000=20/2000 db@2000=40/4000 web@3000=30/3000");
    CHECK_STR(RUN(.history = true, .filter = "@service:w* @memory_rss:<=2000"),
              "web@1000=10/1000 web@2000=20/2000");
    CHECK_STR(RUN(.history = true, .filter = "service = 'db' AND id > 2", .is_sql = true),
              "db@2000=40/4000");
    CHECK_STR(RUN(.history = true, .filter = "timestamp >= 3000", .is_sql = true),
              "web@3000=30/3000");
    CHECK_STR(RUN(.history = true, .filter = "pids ->> 0 = 0 AND id < 3", .is_sql = true),
              "web@1000=10/1000 db@1000=50/5000");
}

TEST(a_bucket_has_mean_cpu_and_maximum_memory)
{
    fill_store();
    CHECK_STR(RUN(.history = true, .bucket = 2000),
              "web@0=10/1000 db@0=50/5000 web@2000=25/3000 db@2000=40/4000");
    CHECK_STR(RUN(.history = true, .bucket = 10000), "web@0=20/3000 db@0=45/5000");
}

TEST(lines_that_are_not_metrics_are_skipped)
{
    struct log_store *store = open_store();

    write_text(store, "web", STR("nonsense\n{\"timestamp\":1}\n[]\n"));
    write_metric(store, "web", 1000, 10);
    log_store_free(store);
    CHECK_STR(RUN(.history = true), "web@1000=10/1000");
    CHECK_STR(RUN(.history = true, .filter = "1", .is_sql = true), "web@1000=10/1000");
}

TEST(the_newest_of_many_metrics_are_found)
{
    struct log_store *store = open_store();
    struct metric_search search = { .folder = path_join(&arena, test_folder(), "monitor"),
                                    .history = true };
    struct usage_metrics found;
    bool cut;

    for (int i = 1; i <= METRIC_SEARCH_MAX; i++)
        write_metric(store, "web", i, 1);
    CHECK_INT(log_store_flush(store, &err), 0);
    CHECK_INT(metric_search_run(&search, &arena, &found, &cut, &err), 0);
    CHECK(!cut && found.list.n == METRIC_SEARCH_MAX);
    for (int i = 1; i <= METRIC_SEARCH_MAX + 5; i++)
        write_metric(store, "web", METRIC_SEARCH_MAX + i, 1);
    log_store_free(store);
    CHECK_INT(metric_search_run(&search, &arena, &found, &cut, &err), 0);
    CHECK(cut && found.list.n == METRIC_SEARCH_MAX);
    CHECK_INT(found.list.p[0].timestamp, METRIC_SEARCH_MAX + 6);
    CHECK_INT(found.list.p[found.list.n - 1].timestamp, 2 * METRIC_SEARCH_MAX + 5);
}

TEST(failed_searches_are_explained)
{
    CHECK(strstr(RUN(.filter = NULL), "set 'kepler.monitor.interval'"));
    fill_store();
    CHECK(strstr(RUN(.filter = "word"), "column 1: 'word' has no field"));
    CHECK(strstr(RUN(.filter = "@hook:x"), "unknown field 'hook' (use service, timestamp"));
    CHECK(strstr(RUN(.filter = "hook = 1", .is_sql = true), "no such column: hook"));
    CHECK(strstr(RUN(.filter = "1) UNION SELECT (1", .is_sql = true), "not one expression"));
    CHECK(strstr(RUN(.filter = "load_extension('x')", .is_sql = true), "not authorized"));
}
