#include "master/metric.h"

static const double job_seconds[] = { 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 0 };

/* clang-format off */
const struct metric master_metrics[MASTER_METRICS] = {
    [MASTER_CONNECTED]    = { "zester_nats_connected", METRIC_GAUGE, "1 while the bus is connected", { NULL }, NULL },
    [MASTER_RECONNECTS]  = { "zester_nats_reconnects_total", METRIC_COUNTER, "connections to the bus that were made again", { NULL }, NULL },
    [MASTER_DISCONNECTS] = { "zester_nats_disconnects_total", METRIC_COUNTER, "connections to the bus that were lost", { NULL }, NULL },
    [MASTER_CONNECTED_PEELS] = { "zester_connected_peels", METRIC_GAUGE, "peels whose heartbeat is fresh", { NULL }, NULL },
    [MASTER_FACTS_SYNCS]  = { "zester_facts_sync_total", METRIC_COUNTER, "facts of peels that were read", { NULL }, NULL },
    [MASTER_JOBS]         = { "zester_jobs_total", METRIC_COUNTER, "jobs that ended", { "status" }, NULL },
    [MASTER_JOB_DURATION] = { "zester_job_duration_seconds", METRIC_HISTOGRAM, "from the dispatch of a job to its end", { "function" }, job_seconds },
    [MASTER_JOB_RECLAIMS] = { "zester_job_reclaims_total", METRIC_COUNTER, "jobs that were taken over from another master", { NULL }, NULL },
    [MASTER_HTTP_REQUESTS] = { "zester_http_requests_total", METRIC_COUNTER, "requests to the HTTPS endpoint", { "status" }, NULL },
    [MASTER_ENROLLMENTS] = { "zester_enrollments_total", METRIC_COUNTER, "enrollments that came into a state", { "state" }, NULL },
    [MASTER_REVOCATION_PUSHES] = { "zester_revocation_pushes_total", METRIC_COUNTER, "lists of revocations that were sent to servers", { "result" }, NULL },
};
/* clang-format on */
