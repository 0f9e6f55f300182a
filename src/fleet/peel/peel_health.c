#include "fleet/peel/peel_health.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/arena.h"
#include "core/base/mem.h"
#include "core/http/health.h"
#include "fleet/peel/event_socket.h"
#include "fleet/peel/heartbeat.h"
#include "fleet/peel/beacon_runner.h"
#include "fleet/peel/metric.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/uplink.h"
#include "core/sys/clock.h"

#define COMPONENT "peel"

struct peel_health {
    struct peel_health_options options;
    struct health_server *health;
};

/* Published files that are torn, that masters have not signed, or that make no settings: those of
 * before are in use. */
static void report_files(const struct peel_health_options *options, struct health_report *report)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *problem = heartbeat_problem(&options->heartbeat->trees, &arena);

    health_report_add(report, "files", problem[0] ? HEALTH_DEGRADED : HEALTH_OK,
                      problem[0] ? problem : NULL);
}

static void report_peel_checks(void *self, struct health_report *report)
{
    const struct peel_health_options *options = &((const struct peel_health *)self)->options;
    const bool connected = uplink_is_connected(options->uplink);

    health_report_add(report, "nats", connected ? HEALTH_OK : HEALTH_DOWN,
                      connected ? NULL : uplink_problem(options->uplink));
    health_report_add(report, "kv",
                      !connected                               ? HEALTH_DOWN
                      : heartbeat_is_heard(options->heartbeat) ? HEALTH_OK
                                                               : HEALTH_DEGRADED,
                      heartbeat_is_heard(options->heartbeat) ? NULL
                                                             : "no heartbeat was stored lately");
    report_files(options, report);
}

static void measure_peel(void *self, struct metrics *metrics)
{
    const struct peel_health_options *options = &((const struct peel_health *)self)->options;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    metrics_set(metrics, PEEL_METRIC_TREES_OLD,
                heartbeat_problem(&options->heartbeat->trees, &arena)[0] != '\0', NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_CONNECTED, uplink_is_connected(options->uplink), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_UPTIME, (double)(clock_now() - options->began) / CLOCK_SECOND,
                NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_OUTBOX, (double)outbox_count(options->outbox), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_EVENTS, (double)event_socket_waiting(options->event_socket),
                NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_BEACONS_WAITING,
                (double)beacon_runner_waiting(options->beacon_runner), NULL, NULL);
}

static void on_health_refused(void *self, const char *why)
{
    (void)self;
    log_warning("health is not served, trying again; health_addr sets another address error=%s",
                why);
}

struct peel_health *peel_health_new(const struct peel_health_options *options, struct err *err)
{
    struct peel_health *peel_health = mem_zalloc(sizeof(*peel_health));

    peel_health->options = *options;
    peel_health->health = health_new(&(struct health_options){ .loop = options->loop,
                                                               .address = options->address,
                                                               .component = COMPONENT,
                                                               .version = ZESTER_VERSION,
                                                               .checks = report_peel_checks,
                                                               .measure = measure_peel,
                                                               .refused = on_health_refused,
                                                               .metrics = options->metrics,
                                                               .self = peel_health },
                                     err);
    if (peel_health->health)
        return peel_health;
    free(peel_health);
    return NULL;
}

void peel_health_free(struct peel_health *peel_health)
{
    if (!peel_health)
        return;
    health_free(peel_health->health);
    free(peel_health);
}
