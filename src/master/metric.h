/*
 * metric - what a master counts: the rows behind /metrics.
 *
 *     metrics_add(master->metrics, MASTER_RECONNECTS, 1, NULL, NULL);
 */
#ifndef MASTER_METRIC_H
#define MASTER_METRIC_H

#include "http/metrics.h"

enum master_metric {
    MASTER_CONNECTED,
    MASTER_RECONNECTS,
    MASTER_DISCONNECTS,
};
#define MASTER_METRICS (MASTER_DISCONNECTS + 1)

extern const struct metric master_metrics[MASTER_METRICS];

#endif
