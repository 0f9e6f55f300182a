#include "fleet/peel/metric.h"

static const double seconds[] = { 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 0 };

/* clang-format off */
const struct metric peel_metrics[PEEL_METRICS] = {
    [PEEL_METRIC_CONNECTED]     = { "zester_peel_connected", METRIC_GAUGE, "whether the peel is connected to the bus", { 0 }, NULL },
    [PEEL_METRIC_UPTIME]        = { "zester_peel_uptime_seconds", METRIC_GAUGE, "seconds since the peel started", { 0 }, NULL },
    [PEEL_METRIC_APPLY]         = { "zester_peel_state_apply_total", METRIC_COUNTER, "state runs", { "state", "result" }, NULL },
    [PEEL_METRIC_APPLY_SECONDS] = { "zester_peel_state_apply_duration_seconds", METRIC_HISTOGRAM, "duration of state runs", { "state", "result" }, seconds },
    [PEEL_METRIC_REQUESTS]      = { "zester_peel_requests_total", METRIC_COUNTER, "functions that were executed", { "function", "result" }, NULL },
    [PEEL_METRIC_REFUSED]       = { "zester_peel_requests_refused_total", METRIC_COUNTER, "requests without a good signature", { 0 }, NULL },
    [PEEL_METRIC_FACTS_SYNC]    = { "zester_facts_sync_total", METRIC_COUNTER, "facts published", { 0 }, NULL },
    [PEEL_METRIC_RECONNECTS]    = { "zester_nats_reconnects_total", METRIC_COUNTER, "connections after the first one", { 0 }, NULL },
    [PEEL_METRIC_DISCONNECTS]   = { "zester_nats_disconnects_total", METRIC_COUNTER, "connections that were lost", { 0 }, NULL },
    [PEEL_METRIC_SLOW_CONSUMERS] = { "zester_nats_slow_consumers_total", METRIC_COUNTER, "connections that the bus ended because messages were not read fast enough", { 0 }, NULL },
    [PEEL_METRIC_OUTBOX]        = { "zester_peel_outbox_messages", METRIC_GAUGE, "messages that are not stored in the bus yet", { 0 }, NULL },
    [PEEL_METRIC_EVENTS]        = { "zester_peel_local_events", METRIC_GAUGE, "events of programs of this machine that are not stored in the bus yet", { 0 }, NULL },
    [PEEL_METRIC_BEACONS]       = { "zester_peel_beacon_events_total", METRIC_COUNTER, "events of beacons that are stored in the bus", { "beacon" }, NULL },
    [PEEL_METRIC_BEACONS_LOST]  = { "zester_peel_beacon_events_lost_total", METRIC_COUNTER, "events of beacons that had no room while there was no bus", { "beacon" }, NULL },
    [PEEL_METRIC_BEACONS_WAITING] = { "zester_peel_beacon_waiting", METRIC_GAUGE, "events of beacons that wait for a connection", { 0 }, NULL },
    [PEEL_METRIC_TREES_OLD] = { "zester_peel_trees_old", METRIC_GAUGE, "1 while older states or settings are in use because published ones cannot be", { 0 }, NULL },
};
/* clang-format on */
