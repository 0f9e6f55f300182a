/*
 * conf - the configuration of a master: /etc/zester/master.yaml and flags, by one table.
 *
 * A key gets its row together with its feature. Memory: texts live as long as the values; see
 * fleet/master/master.h for how they are replaced.
 */
#ifndef FLEET_MASTER_CONF_H
#define FLEET_MASTER_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/bus/daemon_conf.h"
#include "fleet/bus/daemon_log.h"
#include "fleet/bus/tree_trust.h"
#include "fleet/gitfs/remote.h"
#include "fleet/master/api/token.h"

enum master_ca_mode { MASTER_CA_AUTO, MASTER_CA_EMBEDDED, MASTER_CA_EXTERNAL };

enum peel_flood { PEEL_FLOOD_REVOKE, PEEL_FLOOD_REPORT };
#define PEEL_FLOODS "revoke|report"

struct master_conf {
    const char *nats_url, *nats_ca, *auth_dir;
    const char *states_dir, *settings_dir, *reactor_dir, *orchestrate_dir;
    bool files_watch, files_check, files_mirror;
    int64_t files_mirror_after;        /* nanoseconds */
    int64_t files_republish_interval;  /* nanoseconds; 0: never */
    int64_t files_history;             /* revisions kept per tree */
    int64_t files_keep_unused;         /* nanoseconds */
    const struct value *gitfs_remotes; /* as written; NULL: none */
    struct remotes gitfs;              /* the same */
    int64_t gitfs_interval;            /* nanoseconds */
    int64_t gitfs_timeout;             /* the same */
    const char *gitfs_ssh_key;         /* NULL: none */
    const char *publisher_status_file;
    enum tree_trust_mode signed_trees;
    enum peel_flood peel_flood;
    bool sign_requests, require_signed_requests;
    int64_t jetstream_replicas, jetstream_max_bytes;
    const struct value *nodegroups;      /* name -> expression; NULL: none */
    const struct value *secret_backends; /* a map, see fleet/master/secrets/backend.h; NULL: none */
    const struct value *exports; /* a list, see fleet/master/export/export_conf.h; NULL: none */
    const char *health_addr;
    enum daemon_log_level log_level;
    enum daemon_log_format log_format;

    const char *enroll_addr, *enroll_tls_cert, *enroll_tls_key;
    int64_t enroll_rate_burst, enroll_rate_per_minute;
    int64_t enroll_pending_per_address, enroll_pending_max;
    int64_t enroll_pending_expires; /* nanoseconds */
    bool api_docs_enabled;
    const struct value *api_token_list; /* as written; NULL: none */
    struct api_tokens api_tokens;
    enum master_ca_mode ca_mode;
    const char *ca_dir;
    int64_t ca_enroll_cert_validity; /* nanoseconds */
    struct param_strs ca_enroll_sans;
    struct param_strs nats_advertise_urls;
    int64_t rollout_stale_after, rollout_resume_interval; /* nanoseconds; 0: the default */
    bool update_auto_rollout;
    struct param_strs update_auto_components;
    int64_t update_auto_batch_size, update_auto_max_failed;
    int64_t update_auto_soak_time, update_auto_interval; /* nanoseconds */
    int64_t revocation_sync_interval; /* nanoseconds; 0: the default; negative: never */

    int64_t basket_expires; /* nanoseconds; 0: never */
    bool presence_events;
    int64_t presence_grace; /* nanoseconds */
    bool reactor_enabled, reactor_chaining;
    int64_t reactor_workers, reactor_max_depth;
    int64_t reactor_orchestrations;
    int64_t reactor_source_rate, reactor_storm_rate;             /* a minute; 0: no limit */
    int64_t reactor_throttle, reactor_max_age, reactor_cooldown; /* nanoseconds */
};

extern const struct daemon_conf master_daemon_conf;

/* Returns the first changed key that needs a restart; NULL: none. */
const char *master_conf_restart_key(const struct master_conf *before,
                                    const struct master_conf *after);

#endif
