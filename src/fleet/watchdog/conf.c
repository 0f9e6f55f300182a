#include "fleet/watchdog/conf.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"

#define ARGS     struct watchdog_conf
#define POSITIVE PARAM_RANGE(CLOCK_MS, INT64_MAX / 4)

/* clang-format off */
static const struct param rows[] = {
    PARAM("component",       CHOICE,   ARGS, component, "the daemon that it runs", .choices = UPDATE_COMPONENT_WORDS, .default_text = "peel"),
    PARAM("allow",           BOOL,     ARGS, allow, "accept new versions; false: this machine keeps what it has, whatever masters say", .default_text = "true"),
    PARAM("trusted_keys",    STRS,     ARGS, trusted_keys, "public keys whose signatures are accepted, as 'zester update keygen' prints them; none: no version is"),
    PARAM("child_config",    PATH,     ARGS, child_config, "the configuration of the daemon (/etc/zester/peel.yaml or master.yaml)"),
    PARAM("program",         PATH,     ARGS, program, "binary until the first update; default: the installed daemon"),
    PARAM("slots_dir",       PATH,     ARGS, slots_dir, "where versions are kept", .default_text = "/var/lib/zester/update"),
    PARAM("id",              STR,      ARGS, id, "the name of a master's machine in rollouts; default: its full host name. That of a peel is the peel's"),
    PARAM("soak",            DURATION, ARGS, soak, "how long a new version must be ready, unless the rollout says so", POSITIVE, .default_text = "60s"),
    PARAM("confirm_within",  DURATION, ARGS, confirm_within, "an unconfirmed version is rolled back after this; 0: three soak times, five minutes at least", PARAM_RANGE(0, INT64_MAX / 4), .default_text = "0s"),
    PARAM("start_within",    DURATION, ARGS, start_within, "a new version must be ready for the first time within this", POSITIVE, .default_text = "30s"),
    PARAM("probe_interval",  DURATION, ARGS, probe_interval, "interval of readiness checks of a new version", POSITIVE, .default_text = "5s"),
    PARAM("probe_timeout",   DURATION, ARGS, probe_timeout, "how long it may take to answer", POSITIVE, .default_text = "10s"),
    PARAM("retries",         INT,      ARGS, retries, "a new version that is not ready, or ends, so often in a row is rolled back", PARAM_RANGE(1, 1000), .default_text = "3"),
    PARAM("backoff_min",     DURATION, ARGS, backoff_min, "pause before the first restart of the daemon; doubles each time", POSITIVE, .default_text = "1s"),
    PARAM("backoff_max",     DURATION, ARGS, backoff_max, "the longest such pause", POSITIVE, .default_text = "60s"),
    PARAM("degraded_after",  INT,      ARGS, degraded_after, "consecutive exits after which the node is degraded", PARAM_RANGE(1, 1000000), .default_text = "10"),
    PARAM("degraded_retry",  DURATION, ARGS, degraded_retry, "pause before each restart of a degraded node", POSITIVE, .default_text = "10m"),
    PARAM("stable_after",    DURATION, ARGS, stable_after, "a daemon that ran this long begins a new row of failures", POSITIVE, .default_text = "30s"),
    PARAM("status_interval", DURATION, ARGS, status_interval, "how often the status of this node is published, which is forgotten after 60s", PARAM_RANGE(CLOCK_MS, 30 * CLOCK_SECOND), .default_text = "30s"),
    PARAM("log_level",       CHOICE,   ARGS, log_level, "the lowest level that is logged", .choices = DAEMON_LOG_LEVELS, .default_text = "info"),
    PARAM("log_format",      CHOICE,   ARGS, log_format, "the format of log lines", .choices = DAEMON_LOG_FORMATS, .default_text = "json"),
    { 0 },
};
/* clang-format on */

static void check_watchdog_conf(struct arena *arena, void *values, const struct value *given,
                                struct diags *diags)
{
    const struct watchdog_conf *conf = values;
    struct nats_nkey key;
    struct err err;

    (void)arena;
    for (size_t i = 0; i < conf->trusted_keys.n; i++)
        if (nats_nkey_parse_public(str_from(conf->trusted_keys.p[i]), &key, &err) < 0)
            (void)value_diag(diags, value_point(given, "trusted_keys"), "'%s': %s",
                             conf->trusted_keys.p[i], err.text);
}

const struct daemon_conf watchdog_daemon_conf = {
    .program = "zester-watchdog",
    .summary =
        "Runs a peel or a master as its child, and replaces it by new versions that masters\n"
        "roll out: signed ones only, and a version that does not work is rolled back.",
    .file = "/etc/zester/watchdog.yaml",
    .rows = rows,
    .size = sizeof(struct watchdog_conf),
    .check = check_watchdog_conf,
};

struct keeper_times watchdog_conf_times(const struct watchdog_conf *conf)
{
    return (struct keeper_times){
        .soak = conf->soak,
        .confirm_within = conf->confirm_within,
        .start_within = conf->start_within,
        .probe_interval = conf->probe_interval,
        .backoff_min = conf->backoff_min,
        .backoff_max = conf->backoff_max,
        .degraded_retry = conf->degraded_retry,
        .stable_after = conf->stable_after,
        .degraded_after = (int32_t)conf->degraded_after,
        .retries = (int32_t)conf->retries,
    };
}
