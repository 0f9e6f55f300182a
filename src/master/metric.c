#include "master/metric.h"

/* clang-format off */
const struct metric master_metrics[MASTER_METRICS] = {
    [MASTER_CONNECTED]    = { "zester_nats_connected", METRIC_GAUGE, "1 while the bus is connected", { NULL }, NULL },
    [MASTER_RECONNECTS]  = { "zester_nats_reconnects_total", METRIC_COUNTER, "connections to the bus that were made again", { NULL }, NULL },
    [MASTER_DISCONNECTS] = { "zester_nats_disconnects_total", METRIC_COUNTER, "connections to the bus that were lost", { NULL }, NULL },
};
/* clang-format on */
