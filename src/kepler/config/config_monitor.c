/* `kepler.monitor` - metrics of services: how often, and for how long they are kept. */
#include "kepler/config/config_read.h"

#define MS      INT64_C(1000000)
#define DAY     (INT64_C(86400) * 1000 * MS)
#define AGE_MAX (INT64_C(36500) * DAY)
/* Shorter than this, looking would cost more than it shows. */
#define INTERVAL_MIN (100 * MS)
#define SIZE_MIN     (INT64_C(1) << 20)

#define ARGS struct config_monitor
const struct param config_monitor_params[] = {
    PARAM("interval", DURATION, ARGS, interval, "how often services are sampled",
          .flags = PARAM_REQUIRED, PARAM_RANGE(INTERVAL_MIN, DAY)),
    PARAM("retention_period", DURATION, ARGS, retention_period, "drop older metrics",
          PARAM_RANGE(MS, AGE_MAX)),
    PARAM("cleanup_interval", DURATION, ARGS, cleanup_interval, "how often old metrics are dropped",
          .default_text = "60s", PARAM_RANGE(MS, AGE_MAX)),
    PARAM("max_size", SIZE, ARGS, max_size, "bytes to keep; older metrics are dropped",
          .default_text = "64MB", PARAM_RANGE(SIZE_MIN, INT64_MAX)),
    { 0 },
};
#undef ARGS

int config_monitor_read(struct arena *arena, const struct value *v, struct config_monitor *ret,
                        struct diags *diags)
{
    struct params_policy policy = config_policy("'kepler.monitor'");

    return params_decode(arena, config_monitor_params, &policy, v, ret, diags);
}
