#include "fleet/master/metric.h"

static const double job_seconds[] = { 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 0 };

static const double render_seconds[] = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 0 };

/* clang-format off */
const struct metric master_metrics[MASTER_METRICS] = {
    [MASTER_CONNECTED]    = { "zester_nats_connected", METRIC_GAUGE, "1 while the bus is connected", { NULL }, NULL },
    [MASTER_RECONNECTS]  = { "zester_nats_reconnects_total", METRIC_COUNTER, "reconnections to the bus", { NULL }, NULL },
    [MASTER_DISCONNECTS] = { "zester_nats_disconnects_total", METRIC_COUNTER, "lost connections to the bus", { NULL }, NULL },
    [MASTER_SLOW_CONSUMERS] = { "zester_nats_slow_consumers_total", METRIC_COUNTER, "connections that the bus ended because messages were not read fast enough", { NULL }, NULL },
    [MASTER_CONNECTED_PEELS] = { "zester_connected_peels", METRIC_GAUGE, "peels with a recent heartbeat", { NULL }, NULL },
    [MASTER_FACTS_SYNCS]  = { "zester_facts_sync_total", METRIC_COUNTER, "peel facts read", { NULL }, NULL },
    [MASTER_JOBS]         = { "zester_jobs_total", METRIC_COUNTER, "jobs that ended", { "status" }, NULL },
    [MASTER_JOB_DURATION] = { "zester_job_duration_seconds", METRIC_HISTOGRAM, "time from the dispatch of a job to its end", { "function" }, job_seconds },
    [MASTER_JOB_RECLAIMS] = { "zester_job_reclaims_total", METRIC_COUNTER, "jobs taken over from another master", { NULL }, NULL },
    [MASTER_JOB_DROPPED] = { "zester_job_messages_dropped_total", METRIC_COUNTER, "dropped acks and returns of jobs", { "reason" }, NULL },
    [MASTER_HTTP_REQUESTS] = { "zester_http_requests_total", METRIC_COUNTER, "requests to the HTTPS endpoint", { "status" }, NULL },
    [MASTER_ENROLLMENTS] = { "zester_enrollments_total", METRIC_COUNTER, "enrollments by new state", { "state" }, NULL },
    [MASTER_REVOCATION_PUSHES] = { "zester_revocation_pushes_total", METRIC_COUNTER, "revocation lists sent to servers", { "result" }, NULL },
    [MASTER_REACTOR_EVENTS]    = { "zester_reactor_events_total", METRIC_COUNTER, "events received by the reactor", { "origin_type" }, NULL },
    [MASTER_REACTOR_DROPPED]   = { "zester_reactor_events_dropped_total", METRIC_COUNTER, "events dropped by a gate", { "reason" }, NULL },
    [MASTER_REACTOR_UNMATCHED] = { "zester_reactor_events_unmatched_total", METRIC_COUNTER, "events that matched no rule", { NULL }, NULL },
    [MASTER_REACTOR_EXHAUSTED] = { "zester_reactor_events_exhausted_total", METRIC_COUNTER, "events that failed in all deliveries", { NULL }, NULL },
    [MASTER_REACTIONS]         = { "zester_reactor_reactions_total", METRIC_COUNTER, "reactions by result", { "rule", "result" }, NULL },
    [MASTER_REACTOR_RENDER]    = { "zester_reactor_render_duration_seconds", METRIC_HISTOGRAM, "time to render a reaction", { NULL }, render_seconds },
    [MASTER_REACTOR_BREAKER]   = { "zester_reactor_breaker_open", METRIC_GAUGE, "1 while a rule is suspended because it fired too often", { "rule" }, NULL },
    [MASTER_REACTOR_LAG]       = { "zester_reactor_lag", METRIC_GAUGE, "events that no master has taken yet", { NULL }, NULL },
    [MASTER_REACTOR_WAITING]   = { "zester_reactor_events_waiting", METRIC_GAUGE, "events that wait for a job", { NULL }, NULL },
    [MASTER_REACTOR_ORCHESTRATIONS] = { "zester_reactor_orchestrations", METRIC_GAUGE, "running orchestrations on this master", { NULL }, NULL },
    [MASTER_REACTOR_RULE_ERRORS] = { "zester_reactor_rule_errors_total", METRIC_COUNTER, "rules that could not be loaded", { NULL }, NULL },
    [MASTER_REACTOR_RULES]     = { "zester_reactor_rules_loaded", METRIC_GAUGE, "pairs of a pattern and a reaction", { NULL }, NULL },
    [MASTER_PUBLISHER_LEADER] = { "zester_master_publisher_leader", METRIC_GAUGE, "1 while this master publishes trees", { NULL }, NULL },
    [MASTER_GITFS_PULLS] = { "zester_gitfs_pulls_total", METRIC_COUNTER, "pulls of git repositories of states", { "result" }, NULL },
    [MASTER_EXPORT_SENT]    = { "zester_export_sent_total", METRIC_COUNTER, "records accepted by a receiver", { "exporter" }, NULL },
    [MASTER_EXPORT_FAILED]  = { "zester_export_failed_total", METRIC_COUNTER, "failed requests to a receiver", { "exporter" }, NULL },
    [MASTER_EXPORT_DROPPED] = { "zester_export_dropped_total", METRIC_COUNTER, "records refused by a receiver", { "exporter" }, NULL },
    [MASTER_EXPORT_LAG]     = { "zester_export_lag", METRIC_GAUGE, "messages not exported yet, on the exporting master", { "exporter" }, NULL },
    [MASTER_SECRET_FAILURES] = { "zester_secret_failures_total", METRIC_COUNTER, "failed fetches from a secret back-end", { "backend" }, NULL },
    [MASTER_RECORDS_DAMAGED] = { "zester_records_damaged_total", METRIC_COUNTER, "bucket entries overwritten with a server's answer", { "bucket", "result" }, NULL },
    [MASTER_PEEL_OVERUSE] = { "zester_peel_overuse_total", METRIC_COUNTER, "minutes in which a peel wrote more than its share to a stream or bucket", { "peel", "place" }, NULL },
    [MASTER_PEEL_DROPPED] = { "zester_peel_dropped_total", METRIC_COUNTER, "peel data refused as too large or too much", { "peel", "what" }, NULL },
    [MASTER_QUESTIONS_REFUSED] = { "zester_target_questions_refused_total", METRIC_COUNTER, "target questions refused: the asker has used its share, or it took too long", { "reason" }, NULL },
    [MASTER_PEELS_OLD] = { "zester_peels_old", METRIC_GAUGE, "connected peels that use older states or settings because they cannot use the published ones", { NULL }, NULL },
    [MASTER_TREE_REFUSED] = { "zester_tree_refused", METRIC_GAUGE, "1 while a folder of this master is not published because it has mistakes", { "tree" }, NULL },
};
/* clang-format on */
