#include "fleet/peel/vitals.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "fleet/bus/mirror.h"
#include "core/http/health.h"
#include "fleet/peel/event_door.h"
#include "fleet/peel/heart.h"
#include "fleet/peel/lookout.h"
#include "fleet/peel/metric.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/uplink.h"
#include "core/sys/clock.h"

#define COMPONENT "peel"

struct vitals {
    struct vitals_options options;
    struct health *health;
};

/* Published files that are torn, or that masters have not signed: those of before are in use. */
static void report_files(const struct vitals_options *options, struct health_report *report)
{
    const char *problem = mirror_problem(options->states);

    if (!problem[0])
        problem = mirror_problem(options->settings);
    health_report_add(report, "files", problem[0] ? HEALTH_DEGRADED : HEALTH_OK,
                      problem[0] ? problem : NULL);
}

static void report_checks(void *self, struct health_report *report)
{
    const struct vitals_options *options = &((const struct vitals *)self)->options;
    const bool connected = uplink_is_connected(options->uplink);

    health_report_add(report, "nats", connected ? HEALTH_OK : HEALTH_DOWN,
                      connected ? NULL : uplink_problem(options->uplink));
    health_report_add(report, "kv",
                      !connected                       ? HEALTH_DOWN
                      : heart_is_heard(options->heart) ? HEALTH_OK
                                                       : HEALTH_DEGRADED,
                      heart_is_heard(options->heart) ? NULL : "no heartbeat was stored lately");
    report_files(options, report);
}

static void measure(void *self, struct metrics *metrics)
{
    const struct vitals_options *options = &((const struct vitals *)self)->options;

    metrics_set(metrics, PEEL_METRIC_CONNECTED, uplink_is_connected(options->uplink), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_UPTIME, (double)(clock_now() - options->began) / CLOCK_SECOND,
                NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_OUTBOX, (double)outbox_count(options->outbox), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_EVENTS, (double)event_door_waiting(options->door), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_BEACONS_WAITING, (double)lookout_waiting(options->lookout),
                NULL, NULL);
}

struct vitals *vitals_new(const struct vitals_options *options, struct err *err)
{
    struct vitals *vitals = mem_zalloc(sizeof(*vitals));

    vitals->options = *options;
    vitals->health = health_new(&(struct health_options){ .loop = options->loop,
                                                          .address = options->address,
                                                          .component = COMPONENT,
                                                          .version = ZESTER_VERSION,
                                                          .checks = report_checks,
                                                          .measure = measure,
                                                          .metrics = options->metrics,
                                                          .self = vitals },
                                err);
    if (vitals->health)
        return vitals;
    free(vitals);
    return NULL;
}

void vitals_free(struct vitals *vitals)
{
    if (!vitals)
        return;
    health_free(vitals->health);
    free(vitals);
}
