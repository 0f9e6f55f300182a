/*
 * metric - what an agent counts.
 */
#ifndef PEEL_METRIC_H
#define PEEL_METRIC_H

#include "http/metrics.h"

enum peel_metric {
    PEEL_METRIC_CONNECTED,
    PEEL_METRIC_UPTIME,
    PEEL_METRIC_APPLY,
    PEEL_METRIC_APPLY_SECONDS,
    PEEL_METRIC_REQUESTS,
    PEEL_METRIC_FACTS_SYNC,
    PEEL_METRIC_RECONNECTS,
    PEEL_METRIC_DISCONNECTS,
    PEEL_METRIC_OUTBOX,
    PEEL_METRIC_EVENTS,
};
#define PEEL_METRICS (PEEL_METRIC_EVENTS + 1)

extern const struct metric peel_metrics[PEEL_METRICS];

#endif
