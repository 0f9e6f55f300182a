/*
 * conf - the configuration of a watchdog: flags, and /etc/zester/watchdog.yaml.
 *
 * `allow` and `trusted_keys` are the decision of the machine's owner: the file is read again before
 * each new version is accepted.
 *
 * Memory: the arena of the values. Threads: any number of readers.
 */
#ifndef FLEET_WATCHDOG_CONF_H
#define FLEET_WATCHDOG_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/bus/daemon_conf.h"
#include "fleet/bus/daemon_log.h"
#include "fleet/update/keeper.h"
#include "fleet/wire/update.h"

struct watchdog_conf {
    enum update_component component;
    const char *id;
    const char *child_config, *program, *slots_dir;
    bool allow;
    struct param_strs trusted_keys;
    int64_t soak, confirm_within, start_within, probe_interval, probe_timeout;
    int64_t backoff_min, backoff_max, degraded_retry, stable_after, status_interval;
    int64_t retries, degraded_after;
    enum daemon_log_level log_level;
    enum daemon_log_format log_format;
};

extern const struct daemon_conf watchdog_daemon_conf;

struct keeper_times watchdog_conf_times(const struct watchdog_conf *conf);

#endif
