/*
 * conf - the configuration of the agent: /etc/zester/peel.yaml and flags, by one table.
 *
 * Memory: the arena of the values. Threads: any number of readers.
 */
#ifndef FLEET_PEEL_CONF_H
#define FLEET_PEEL_CONF_H

#include <stdbool.h>

#include "fleet/bus/daemon_conf.h"
#include "fleet/bus/daemon_log.h"
#include "fleet/bus/tree_trust.h"
#include "core/data/params.h"

enum peel_trust { PEEL_TRUST_TOFU, PEEL_TRUST_STRICT };
enum peel_startup { PEEL_STARTUP_NONE, PEEL_STARTUP_HIGHSTATE, PEEL_STARTUP_SLS };

#define PEEL_CONF_FILE "/etc/zester/peel.yaml"
/* Default address of a master; for enrollment only. */
#define PEEL_MASTER_URL "https://zester:8443"

struct peel_conf {
    const char *id;
    const char *environment;
    const char *nats_url, *nats_ca;
    const char *master_url;
    struct param_strs master_urls;
    const char *enroll_ca;
    struct param_strs enroll_ca_pin;
    enum peel_trust enroll_trust;
    const char *auth_dir, *data_dir, *states_cache, *facts_file;
    const char *health_addr;
    enum daemon_log_level log_level;
    enum daemon_log_format log_format;
    bool strict_params;
    enum tree_trust_mode signed_trees;
    bool require_signed_requests;
    const struct value *schedule, *beacons, *maintenance_windows;
    enum peel_startup startup_states;
    struct param_strs startup_sls_list;
};

extern const struct daemon_conf peel_conf_daemon;

/* After a reload: does it name the same servers? */
bool peel_conf_has_same_bus(const struct peel_conf *before, const struct peel_conf *now);
/* Log changed keys that take effect after a restart. */
void peel_conf_warn_fixed(const struct peel_conf *before, const struct peel_conf *now);

#endif
