#include "fleet/master/conf.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "core/http/address.h"
#include "fleet/master/export/export_conf.h"
#include "fleet/master/files/tree_history.h"
#include "fleet/master/secrets/backend.h"
#include "fleet/reactor/breaker.h"
#include "core/sys/clock.h"
#include "language/target/target.h"
#include "fleet/update/rollout.h"

#define ARGS struct master_conf

#define AUTH_DIR "/var/lib/zester/auth"
#define KEPT_DIR "/var/lib/zester/orchestrations"

/* clang-format off */
static const struct param rows[] = {
    PARAM("nats_url",           STR,    ARGS, nats_url, "servers of the bus, separated by commas; tls:// only", .kind_text = "URLS", .default_text = LINK_URL_DEFAULT),
    PARAM("nats_ca",            STR,    ARGS, nats_ca, "CA certificates for the bus; default: NATS_CA_FILE, AUTH_DIR/nats-ca.crt, or the CAs of the system", .kind_text = "FILE"),
    PARAM("auth_dir",           PATH,   ARGS, auth_dir, "keys and credentials", .kind_text = "DIR", .default_text = AUTH_DIR),
    PARAM("jetstream_replicas", INT,    ARGS, jetstream_replicas, "replicas of streams and buckets; 0: one per server, at most three", PARAM_RANGE(0, STORE_REPLICAS_MAX), .default_text = "0"),
    PARAM("jetstream_max_bytes", SIZE,  ARGS, jetstream_max_bytes, "bytes that servers reserve for all streams and buckets, each of which has a share; 0: limits that are there stay, and new ones are shares of 16GiB, or of a half, a quarter, ... where servers have less; 256MiB at least", .default_text = "0"),
    PARAM("health_addr",        STR,    ARGS, health_addr, "where /healthz, /readyz and /metrics are served", .kind_text = "ADDRESS", .default_text = "127.0.0.1:9091"),
    PARAM("log_level",          CHOICE, ARGS, log_level, "the lowest level that is logged", .choices = DAEMON_LOG_LEVELS, .default_text = "info"),
    PARAM("log_format",         CHOICE, ARGS, log_format, "the format of log lines", .choices = DAEMON_LOG_FORMATS, .default_text = "json"),
    PARAM("enroll.addr",            STR,    ARGS, enroll_addr, "where machines enroll over HTTPS", .kind_text = "ADDRESS", .default_text = ":8443"),
    PARAM("enroll.tls_cert",        STR,    ARGS, enroll_tls_cert, "the certificate of that endpoint, if CA_DIR does not issue it (AUTH_DIR/enroll.crt)", .kind_text = "FILE"),
    PARAM("enroll.tls_key",         STR,    ARGS, enroll_tls_key, "its key (AUTH_DIR/enroll.key)", .kind_text = "FILE"),
    PARAM("enroll.rate_burst",      INT,    ARGS, enroll_rate_burst, "requests of one address at once, at most; 0: no limit", PARAM_RANGE(0, 1000000), .default_text = "200"),
    PARAM("enroll.rate_per_minute", INT,    ARGS, enroll_rate_per_minute, "requests of one address per minute, on average", PARAM_RANGE(0, 1000000), .default_text = "1200"),
    PARAM("enroll.pending_per_address", INT, ARGS, enroll_pending_per_address, "pending machines without a token per address; 0: no limit", PARAM_RANGE(0, 1000000), .default_text = "100"),
    PARAM("enroll.pending_max",     INT,    ARGS, enroll_pending_max, "pending machines without a token; 0: no limit", PARAM_RANGE(0, 1000000), .default_text = "2000"),
    PARAM("enroll.pending_expires", DURATION, ARGS, enroll_pending_expires, "reject undecided enrollments after this long; 0: never", PARAM_RANGE(0, INT64_MAX), .default_text = "168h"),
    PARAM("api.docs_enabled", BOOL, ARGS, api_docs_enabled, "serve the manual of the API and its OpenAPI description, without a token", .aliases = "api-docs", .default_text = "false"),
    PARAM("api.tokens",       LIST, ARGS, api_token_list, "tokens of the API over HTTPS: items with `username`, `token_file`, and `operator` or `role`, `target`, `functions` and `approvals`; none: there is no API"),
    PARAM("ca.mode",                CHOICE, ARGS, ca_mode, "issuer of the endpoint's certificate; auto: the CA in CA_DIR, if there is one", .choices = "auto|embedded|external", .default_text = "auto"),
    PARAM("ca.dir",                 STR,    ARGS, ca_dir, "the certificate authority of the fleet (AUTH_DIR/ca)", .kind_text = "DIR"),
    PARAM("ca.enroll_cert_validity", DURATION, ARGS, ca_enroll_cert_validity, "validity of the endpoint's certificate", PARAM_RANGE(CLOCK_SECOND, INT64_MAX), .default_text = "2160h"),
    PARAM("ca.enroll_sans",         STRS,   ARGS, ca_enroll_sans, "additional names and addresses in that certificate", .kind_text = "NAME"),
    PARAM("revocation_sync_interval", DURATION, ARGS, revocation_sync_interval, "how often the list of revoked keys is sent to servers again; negative: never", .default_text = "5m"),
    PARAM("rollout_stale_after",     DURATION, ARGS, rollout_stale_after, "a rollout whose master has not touched its record for this long is taken over; 0: 60s; 20s at least", PARAM_RANGE(0, INT64_MAX / 4), .default_text = "0s"),
    PARAM("rollout_resume_interval", DURATION, ARGS, rollout_resume_interval, "how often rollouts without a master are looked for; 0: 60s", PARAM_RANGE(0, INT64_MAX / 4), .default_text = "0s"),
    PARAM("update_auto_rollout",    BOOL,     ARGS, update_auto_rollout, "roll out promoted versions automatically; `zester update auto` overrides it for the fleet", .default_text = "true"),
    PARAM("update_auto_components", STRS,     ARGS, update_auto_components, "daemons to update automatically: `peel`, `master`", .kind_text = "COMPONENT", .default_text = "peel"),
    PARAM("update_auto_batch_size", INT,      ARGS, update_auto_batch_size, "batch size of an automatic rollout", PARAM_RANGE(1, ROLLOUT_NODES_MAX), .default_text = "5"),
    PARAM("update_auto_soak_time",  DURATION, ARGS, update_auto_soak_time, "how long a version must be ready in a batch before it is confirmed", PARAM_RANGE(CLOCK_MS, INT64_MAX / 4), .default_text = "60s"),
    PARAM("update_auto_max_failed", INT,      ARGS, update_auto_max_failed, "abort it after this many failed nodes", PARAM_RANGE(1, 1000000), .default_text = "1"),
    PARAM("update_auto_interval",   DURATION, ARGS, update_auto_interval, "how often nodes are compared with promoted versions", PARAM_RANGE(CLOCK_SECOND, INT64_MAX / 4), .default_text = "1m"),
    PARAM("nats_advertise_urls",    STRS,   ARGS, nats_advertise_urls, "servers of the bus announced to enrolling peels; none: peels must have nats_url", .kind_text = "URL"),
    PARAM("reactor.enabled",           BOOL,     ARGS, reactor_enabled, "react to events by the rules of the fleet", .aliases = "reactor", .default_text = "true"),
    PARAM("reactor.workers",           INT,      ARGS, reactor_workers, "reactions rendered at the same time", PARAM_RANGE(1, 64), .default_text = "4"),
    PARAM("reactor.orchestrations",    INT,      ARGS, reactor_orchestrations, "orchestrations run at the same time; others wait", PARAM_RANGE(1, 64), .default_text = "4"),
    PARAM("reactor.max_chain_depth",   INT,      ARGS, reactor_max_depth, "longest chain of reactions to reactions", PARAM_RANGE(1, 1000), .default_text = "3"),
    PARAM("reactor.enable_chaining",   BOOL,     ARGS, reactor_chaining, "reactions may send events", .default_text = "true"),
    PARAM("reactor.default_throttle",  DURATION, ARGS, reactor_throttle, "minimum time between two fires of a rule for one source, unless the rule sets it; 0: none", .default_text = "0"),
    PARAM("reactor.source_rate_limit", INT,      ARGS, reactor_source_rate, "events of one source per minute, at most; 0: no limit", PARAM_RANGE(0, 1000000), .default_text = "120"),
    PARAM("reactor.max_event_age",     DURATION, ARGS, reactor_max_age, "drop events older than this; 0: never", .default_text = "1h"),
    PARAM("reactor.storm_rate",        INT,      ARGS, reactor_storm_rate, "fires of one rule per minute before it is suspended; 0: no limit", PARAM_RANGE(0, BREAKER_RATE_MAX), .default_text = "60"),
    PARAM("reactor.breaker_cooldown",  DURATION, ARGS, reactor_cooldown, "how long it is suspended", PARAM_RANGE(1, INT64_MAX), .default_text = "5m"),
    PARAM("basket_expires", DURATION, ARGS, basket_expires, "remove the basket of a peel that was silent for this long; 0: never; 30s at least", PARAM_RANGE(0, INT64_MAX / 4), .default_text = "1h"),
    PARAM("peel_flood", CHOICE, ARGS, peel_flood, "against a peel that writes half of what a stream or bucket has room for within a minute: `revoke` it, or only `report` it; what it wrote there before is removed in any case", .choices = PEEL_FLOODS, .default_text = "revoke"),
    PARAM("presence.events", BOOL,     ARGS, presence_events, "events when peels come and go: `_master/peel/<id>/online`, `offline`", .aliases = "presence", .default_text = "true"),
    PARAM("presence.grace",  DURATION, ARGS, presence_grace, "how long a peel must be silent before it is offline", PARAM_RANGE(15 * CLOCK_SECOND, INT64_MAX / 4), .default_text = "60s"),
    PARAM("states_dir",   PATH, ARGS, states_dir, "the tree of states to publish", .kind_text = "DIR", .default_text = "/var/lib/zester/states"),
    PARAM("settings_dir", PATH, ARGS, settings_dir, "the tree of settings to publish", .kind_text = "DIR", .default_text = "/var/lib/zester/settings"),
    PARAM("reactor.dir",  PATH, ARGS, reactor_dir, "the tree of rules to publish", .kind_text = "DIR", .default_text = "/var/lib/zester/reactor"),
    PARAM("orchestrate_dir", PATH, ARGS, orchestrate_dir, "the folder for copies of published states and settings, for orchestrations of reactions and for targets, and for records of runs (" KEPT_DIR "; with another auth_dir, orchestrations in that)", .kind_text = "DIR"),
    PARAM("files_watch",  BOOL, ARGS, files_watch, "publish trees as soon as a file in them changes", .default_text = "true"),
    PARAM("files_check",  BOOL, ARGS, files_check, "check trees before they are published, and keep the published ones when there are mistakes", .default_text = "true"),
    PARAM("files_mirror", BOOL, ARGS, files_mirror, "a master that does not publish keeps its folders in step with what is published", .default_text = "true"),
    PARAM("files_mirror_after", DURATION, ARGS, files_mirror_after, "how long another master must publish before its files replace those of this one", .default_text = "30s"),
    PARAM("files_republish_interval", DURATION, ARGS, files_republish_interval, "how often trees are compared with what is published; 0: never", .default_text = "30s"),
    PARAM("files_history", INT, ARGS, files_history, "revisions of each tree that are kept, for `zester fileserver rollback`", PARAM_RANGE(1, TREE_HISTORY_KEEP_MAX), .default_text = "10"),
    PARAM("files_keep_unused", DURATION, ARGS, files_keep_unused, "how long a large file stays on the bus after no published tree and no kept revision has it", PARAM_RANGE(CLOCK_SECOND, INT64_MAX / 4), .default_text = "1h"),
    PARAM("gitfs.remotes",  LIST,     ARGS, gitfs_remotes, "git repositories, each a folder of the tree of states: a URL, or a map with `url`, `branch`, `root`, `name`, `ssh_key`, `force_push`"),
    PARAM("gitfs.interval", DURATION, ARGS, gitfs_interval, "how often they are pulled", PARAM_RANGE(CLOCK_SECOND, INT64_MAX / 4), .default_text = "5m"),
    PARAM("gitfs.timeout",  DURATION, ARGS, gitfs_timeout, "how long one of them may take to answer before the others are published without it; a first clone has 5 minutes", PARAM_RANGE(CLOCK_SECOND, INT64_MAX / 4), .default_text = "20s"),
    PARAM("gitfs.ssh_key",  PATH,     ARGS, gitfs_ssh_key, "the private key for those over ssh, unless they have one of their own", .kind_text = "FILE"),
    PARAM("trust.signed_trees", CHOICE, ARGS, signed_trees, "whether trees that other masters published must be signed by the account: `verify` those that are, or were before; `require` it; `ignore` signatures", .choices = TREE_TRUST_MODES, .default_text = "verify"),
    PARAM("sign_requests", BOOL, ARGS, sign_requests, "sign each request to a peel with the account's key, for peels with `require_signed_requests`", .default_text = "false"),
    PARAM("require_signed_requests", BOOL, ARGS, require_signed_requests, "refuse jobs, rollbacks and decisions about enrollments that no operator has signed; `zester` signs all of them", .default_text = "false"),
    PARAM("nodegroups", MAP, ARGS, nodegroups, "names for targets: `N@NAME` means what the expression means; groups may name others"),
    PARAM("secret_backends", MAP, ARGS, secret_backends, "where values with `!secret_from NAME:PATH` in the settings are kept: names of maps with `kind` (`file`, `command`, `http`) and the keys of that kind"),
    PARAM("export", LIST, ARGS, exports, "where events and results of jobs are sent to: a list of maps with `name`, `url`, `match`, `jobs`, `token_file`, `ca`, `timeout`, `batch`, `insecure`"),
    PARAM("publisher_status_file", STR, ARGS, publisher_status_file, "a file for scripts that names the publishing master; empty: none", .kind_text = "FILE", .default_text = "/run/zester/publisher-status"),
    { 0 },
};

/* Keys that are read only at the start. */
static const struct {
    const char *key;
    size_t offset;
} fixed_texts[] = {
    { "nats_url", offsetof(ARGS, nats_url) },
    { "nats_ca", offsetof(ARGS, nats_ca) },
    { "auth_dir", offsetof(ARGS, auth_dir) },
    { "health_addr", offsetof(ARGS, health_addr) },
    { "enroll.addr", offsetof(ARGS, enroll_addr) },
    { "states_dir", offsetof(ARGS, states_dir) },
    { "settings_dir", offsetof(ARGS, settings_dir) },
    { "reactor.dir", offsetof(ARGS, reactor_dir) },
    { "orchestrate_dir", offsetof(ARGS, orchestrate_dir) },
};
/* clang-format on */

static const struct {
    const char *key;
    size_t offset;
} fixed_numbers[] = {
    { "jetstream_replicas", offsetof(ARGS, jetstream_replicas) },
    { "jetstream_max_bytes", offsetof(ARGS, jetstream_max_bytes) },
    { "reactor.workers", offsetof(ARGS, reactor_workers) },
    { "reactor.orchestrations", offsetof(ARGS, reactor_orchestrations) },
    { "reactor.max_chain_depth", offsetof(ARGS, reactor_max_depth) },
    { "reactor.default_throttle", offsetof(ARGS, reactor_throttle) },
    { "reactor.source_rate_limit", offsetof(ARGS, reactor_source_rate) },
    { "reactor.max_event_age", offsetof(ARGS, reactor_max_age) },
    { "reactor.storm_rate", offsetof(ARGS, reactor_storm_rate) },
    { "reactor.breaker_cooldown", offsetof(ARGS, reactor_cooldown) },
};

static void check_address(const char *address, const char *key, const struct value *given,
                          struct diags *diags)
{
    struct err err;

    if (address && address_check(address, &err) < 0)
        (void)value_diag(diags, value_point(given, key), "'%s': %s", key, err.text);
}

/* Must be reachable from other machines, and encrypted. */
static void check_advertised(struct arena *arena, const char *url, const struct value *given,
                             struct diags *diags)
{
    static const char *const unreachable[] = { "localhost", "127.", "0.0.0.0", "169.254.",
                                               "[::1]",     "[::]", "[fe80:" };
    const struct value *at = value_point(given, "nats_advertise_urls");
    struct str host = str_from(url);
    struct err err;

    if (link_check_urls(arena, url, &err) < 0) {
        (void)value_diag(diags, at, "'nats_advertise_urls': %s", err.text);
        return;
    }
    host = str_from_offset(host, str_find(host, STR("://"), 0) + strlen("://"));
    for (size_t i = 0; i < ARRAY_LEN(unreachable); i++)
        if (str_starts(host, str_from(unreachable[i])))
            (void)value_diag(diags, at,
                             "'nats_advertise_urls': '%s' cannot be reached from other machines",
                             url);
}

/* Check every group, including groups that it names. */
static void check_peel_groups(struct arena *arena, const struct value *groups, struct diags *diags)
{
    for (size_t i = 0; groups && i < groups->map->count; i++) {
        const struct value *name = &groups->map->pairs[i].key;
        const struct target_options options = { .groups = groups, .where = name };
        const struct target *target;

        if (name->kind != VALUE_STR)
            (void)value_diag(diags, name, "'nodegroups': a name must be text, got %s",
                             value_describe(name));
        else
            (void)target_parse(arena, name->s, TARGET_GROUP, &options, &target, diags);
    }
}

static void check_component(const char *name, const struct value *given, struct diags *diags)
{
    enum update_component component;

    if (!update_component_parse(name, &component))
        (void)value_diag(
            diags, value_point(given, "update_auto_components"),
            "'update_auto_components': '%s' is not a component: " UPDATE_COMPONENT_WORDS, name);
}

/* Masters of another fleet on this machine must not share this one's state, such as which trees
 * were signed. Fleets have different keys. */
static void place_kept(struct arena *arena, struct master_conf *conf)
{
    if (conf->orchestrate_dir && conf->orchestrate_dir[0])
        return;
    conf->orchestrate_dir = strcmp(conf->auth_dir, AUTH_DIR) == 0
                                ? KEPT_DIR
                                : arena_printf(arena, "%s/orchestrations", conf->auth_dir);
}

static void check_bytes(const struct master_conf *conf, const struct value *given,
                        struct diags *diags)
{
    if (conf->jetstream_max_bytes > 0 && conf->jetstream_max_bytes < STORE_BYTES_MIN)
        (void)value_diag(diags, value_point(given, "jetstream_max_bytes"),
                         "'jetstream_max_bytes' must be 0 or 256MiB at least");
}

static void check_master_conf(struct arena *arena, void *values, const struct value *given,
                              struct diags *diags)
{
    struct master_conf *conf = values;
    struct export_confs exports;
    struct err err;

    if (conf->nats_url && link_check_urls(arena, conf->nats_url, &err) < 0)
        (void)value_diag(diags, value_point(given, "nats_url"), "'nats_url': %s", err.text);
    check_address(conf->health_addr, "health_addr", given, diags);
    check_address(conf->enroll_addr, "enroll.addr", given, diags);
    check_peel_groups(arena, conf->nodegroups, diags);
    check_bytes(conf, given, diags);
    place_kept(arena, conf);
    (void)remote_read_list(arena, conf->gitfs_remotes, conf->gitfs_ssh_key, &conf->gitfs, diags);
    (void)export_conf_read(arena, conf->exports, &exports, diags);
    backends_drop(backends_read(conf->secret_backends, diags));
    api_tokens_read(arena, conf->api_token_list, &conf->api_tokens, diags);
    for (size_t i = 0; i < conf->nats_advertise_urls.n; i++)
        check_advertised(arena, conf->nats_advertise_urls.p[i], given, diags);
    for (size_t i = 0; i < conf->update_auto_components.n; i++)
        check_component(conf->update_auto_components.p[i], given, diags);
}

const struct daemon_conf master_daemon_conf = {
    .program = "zester-master",
    .summary = "The control plane of a fleet: enrolls peels, dispatches jobs, reacts to events.\n"
               "\n"
               "commands, each with a --help of its own:\n"
               "  zester-master setup    make this machine the first of a fleet\n"
               "  zester-master token    let other machines join\n"
               "  zester-master health   check whether the master on this machine is ready",
    .file = "/etc/zester/master.yaml",
    .rows = rows,
    .size = sizeof(struct master_conf),
    .lenient = true,
    .check = check_master_conf,
};

static const char *get_conf_text(const struct master_conf *conf, size_t offset)
{
    const char *const *field = (const char *const *)(const void *)((const char *)conf + offset);

    return *field ? *field : "";
}

static int64_t get_conf_number(const struct master_conf *conf, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)conf + offset);
}

const char *master_conf_restart_key(const struct master_conf *before,
                                    const struct master_conf *after)
{
    for (size_t i = 0; i < ARRAY_LEN(fixed_texts); i++)
        if (strcmp(get_conf_text(before, fixed_texts[i].offset),
                   get_conf_text(after, fixed_texts[i].offset)) != 0)
            return fixed_texts[i].key;
    for (size_t i = 0; i < ARRAY_LEN(fixed_numbers); i++)
        if (get_conf_number(before, fixed_numbers[i].offset) !=
            get_conf_number(after, fixed_numbers[i].offset))
            return fixed_numbers[i].key;
    if (before->reactor_enabled != after->reactor_enabled)
        return "reactor.enabled";
    if (before->presence_events != after->presence_events)
        return "presence.events";
    if (before->signed_trees != after->signed_trees)
        return "trust.signed_trees";
    return before->reactor_chaining != after->reactor_chaining ? "reactor.enable_chaining" : NULL;
}
