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
    MASTER_CONNECTED_PEELS,
    MASTER_FACTS_SYNCS,
    MASTER_JOBS,
    MASTER_JOB_DURATION,
    MASTER_JOB_RECLAIMS,
    MASTER_HTTP_REQUESTS,
    MASTER_ENROLLMENTS,
    MASTER_REVOCATION_PUSHES,
};
#define MASTER_METRICS (MASTER_REVOCATION_PUSHES + 1)

extern const struct metric master_metrics[MASTER_METRICS];

#endif
