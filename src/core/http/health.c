#include "core/http/health.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "core/http/metrics.h"
#include "core/http/server.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define CONNECTIONS_MAX 64
#define RETRY_NS        (INT64_C(5) * CLOCK_SECOND)

enum { STATUS_READY = 200, STATUS_DOWN = 503 };

struct health_server {
    struct health_options options;
    struct http_server *server; /* NULL: its address is in use */
    struct timer retry;
    char *address;
    int64_t began;
};

struct health_report {
    struct arena arena;
    struct value_map *checks;
    enum health_status worst;
    int64_t since; /* the start of the current check */
};

static const char *const status_names[] = {
    [HEALTH_OK] = "ok",
    [HEALTH_DEGRADED] = "degraded",
    [HEALTH_DOWN] = "down",
};

void health_report_add(struct health_report *report, const char *name, enum health_status status,
                       const char *message)
{
    struct arena *arena = &report->arena;
    struct value_map *check = value_map_new(arena, 3);
    const int64_t now = clock_now();

    value_map_set(arena, check, value_text("status"), value_text(status_names[status]));
    if (message && message[0])
        value_map_set(arena, check, value_text("message"),
                      value_text(arena_strdup(arena, message)));
    value_map_set(arena, check, value_text("latency_ms"),
                  value_double((double)(now - report->since) / (double)CLOCK_MS));
    report->since = now;
    value_map_set(arena, report->checks, value_text(arena_strdup(arena, name)), value_map(check));
    if (status > report->worst)
        report->worst = status;
}

static void on_healthz(void *self, struct http_request *request)
{
    const struct health_server *health = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 3);
    struct value body = value_map(map);

    value_map_set(&arena, map, value_text("status"), value_text(status_names[HEALTH_OK]));
    value_map_set(&arena, map, value_text("component"), value_text(health->options.component));
    value_map_set(&arena, map, value_text("version"), value_text(health->options.version));
    http_answer_value(request, STATUS_READY, &body);
}

static void on_readyz(void *self, struct http_request *request)
{
    const struct health_server *health = self;
    struct health_report report = { .arena = ARENA_INIT };
    struct arena *arena = &report.arena;
    struct value_map *map = value_map_new(arena, 4);
    struct value body = value_map(map);
    double uptime = (double)(clock_now() - health->began) / (double)CLOCK_SECOND;

    report.checks = value_map_new(arena, 8);
    report.since = clock_now();
    health->options.checks(health->options.self, &report);
    value_map_set(arena, map, value_text("status"), value_text(status_names[report.worst]));
    value_map_set(arena, map, value_text("checks"), value_map(report.checks));
    value_map_set(arena, map, value_text("version"), value_text(health->options.version));
    value_map_set(arena, map, value_text("uptime"), value_double(uptime));
    http_answer_value(request, report.worst == HEALTH_DOWN ? STATUS_DOWN : STATUS_READY, &body);
    arena_done(arena);
}

static void on_metrics(void *self, struct http_request *request)
{
    const struct health_server *health = self;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (health->options.measure)
        health->options.measure(health->options.self, health->options.metrics);
    metrics_print(health->options.metrics, &text);
    http_answer(request, &(struct http_answer){ .status = STATUS_READY,
                                                .type = METRICS_TYPE,
                                                .body = buf_view(&text) });
}

static const struct http_route routes[] = {
    { "GET", "/healthz", on_healthz },
    { "GET", "/readyz", on_readyz },
    { "GET", "/metrics", on_metrics },
    { 0 },
};

static int open_health_server(struct health_server *health, struct err *err)
{
    health->server = http_server_new(&(struct http_options){ .loop = health->options.loop,
                                                             .address = health->options.address,
                                                             .routes = routes,
                                                             .self = health,
                                                             .body_max = 1,
                                                             .connections_max = CONNECTIONS_MAX },
                                     err);
    return health->server ? 0 : -1;
}

static void on_retry_due(struct timer *timer)
{
    struct health_server *health = container_of(timer, struct health_server, retry);
    struct err err;

    if (open_health_server(health, &err) < 0)
        timer_set(loop_timers(health->options.loop), timer, clock_after(clock_now(), RETRY_NS),
                  on_retry_due);
}

struct health_server *health_new(const struct health_options *options, struct err *err)
{
    struct health_server *health = mem_zalloc(sizeof(*health));

    health->options = *options;
    health->options.address = health->address = mem_strdup(options->address);
    health->began = clock_now();
    if (open_health_server(health, err) == 0)
        return health;
    if (err->errnum != EADDRINUSE && err->errnum != EADDRNOTAVAIL) {
        free(health->address);
        free(health);
        return NULL;
    }
    options->refused(options->self, err->text);
    timer_set(loop_timers(options->loop), &health->retry, clock_after(clock_now(), RETRY_NS),
              on_retry_due);
    return health;
}

void health_free(struct health_server *health)
{
    if (!health)
        return;
    timer_clear(loop_timers(health->options.loop), &health->retry);
    http_server_free(health->server);
    free(health->address);
    free(health);
}

uint16_t health_port(const struct health_server *health)
{
    return health->server ? http_server_port(health->server) : 0;
}
