#include "fleet/peel/conf.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/value.h"
#include "fleet/enroll/certificate.h"
#include "states/facts/facts.h"
#include "core/http/address.h"
#include "fleet/peel/maintenance_window.h"
#include "fleet/wire/peel_id.h"

#define ARGS struct peel_conf

/* clang-format off */
static const struct param rows[] = {
    PARAM("id",               STR,    ARGS, id, "the name of this machine; default: its full host name, kept in auth_dir/node-id"),
    PARAM("nats_url",         STR,    ARGS, nats_url, "servers of the bus, tls:// only, separated by commas; default: discovered"),
    PARAM("nats_ca",          STR,    ARGS, nats_ca, "file with CA certificates for servers of the bus"),
    PARAM("master_url",       STR,    ARGS, master_url, "address of the master to enroll with"),
    PARAM("master_urls",      STRS,   ARGS, master_urls, "addresses of masters to enroll with, tried in order; overrides master_url"),
    PARAM("enroll_ca",        STR,    ARGS, enroll_ca, "file with CA certificates for masters"),
    PARAM("enroll_ca_pin",    STRS,   ARGS, enroll_ca_pin, "sha256:HEX of the public key of the CA that must have issued masters' certificates"),
    PARAM("enroll_trust",     CHOICE, ARGS, enroll_trust, "tofu trusts the certificate of the first contact; strict requires a CA or a pin", .choices = "tofu|strict", .default_text = "tofu"),
    PARAM("auth_dir",         PATH,   ARGS, auth_dir, "keys and credentials", .default_text = "/var/lib/zester/auth"),
    PARAM("data_dir",         PATH,   ARGS, data_dir, "undo data, unsent returns, caches", .default_text = "/var/lib/zester"),
    PARAM("states_cache",     PATH,   ARGS, states_cache, "the tree of states as masters publish it", .default_text = "/var/cache/zester/states"),
    PARAM("facts_file",       PATH,   ARGS, facts_file, "additional facts, in YAML", .default_text = FACTS_FILE),
    PARAM("health_addr",      STR,    ARGS, health_addr, "where health and metrics are served; empty: nowhere", .default_text = "127.0.0.1:9090"),
    PARAM("log_level",        CHOICE, ARGS, log_level, "the lowest level that is logged", .choices = DAEMON_LOG_LEVELS, .default_text = "info"),
    PARAM("log_format",       CHOICE, ARGS, log_format, "the format of log lines", .choices = DAEMON_LOG_FORMATS, .default_text = "json"),
    PARAM("strict_params",    BOOL,   ARGS, strict_params, "an unknown parameter of a state is an error", .default_text = "true"),
    PARAM("trust.signed_trees", CHOICE, ARGS, signed_trees, "whether published files must be signed by the fleet's account: `verify` those that are, or were before; `require` it; `ignore` signatures", .choices = TREE_TRUST_MODES, .default_text = "verify"),
    PARAM("require_signed_requests", BOOL, ARGS, require_signed_requests, "run only what a master (with `sign_requests`) or an operator has signed", .default_text = "false"),
    PARAM("environment",      STR,    ARGS, environment, "the environment of the top files of states and settings that counts for this machine; default: all of them", .kind_text = "NAME"),
    PARAM("schedule",         MAP,    ARGS, schedule, "what to run when: a map of entries"),
    PARAM("beacons",          MAP,    ARGS, beacons, "what to watch and report as events: a map of sections"),
    PARAM("maintenance_windows", ANY, ARGS, maintenance_windows, "when this machine may be changed, as 'Sat,Sun 01:00-05:00'; default: always. The setting of that name goes before it", .kind_text = "list"),
    PARAM("startup_states",   CHOICE, ARGS, startup_states, "what to apply once at each start", .choices = "none|highstate|sls", .default_text = "none"),
    PARAM("startup_sls_list", STRS,   ARGS, startup_sls_list, "states to apply with startup_states: sls, each in a run of its own"),
    { 0 },
};
/* clang-format on */

static void check_id(const struct peel_conf *conf, const struct value *given, struct diags *diags)
{
    char id[PEEL_ID_SIZE];
    struct err err;

    if (conf->id && peel_id_encode(str_from(conf->id), id, &err) < 0)
        (void)value_diag(diags, value_point(given, "id"), "%s", err.text);
}

static void check_conf_environment(const struct peel_conf *conf, const struct value *given,
                                   struct diags *diags)
{
    if (conf->environment && !conf->environment[0])
        (void)value_diag(diags, value_point(given, "environment"),
                         "expected the name of an environment of the top files");
}

static void check_conf_url(const char *url, const char *key, const struct value *given,
                           struct diags *diags)
{
    if (strncmp(url, "https://", strlen("https://")) != 0)
        (void)value_diag(diags, value_point(given, key), "'%s': expected 'https://HOST:PORT'", url);
}

/* The servers of the bus are checked when the connection is made; that they are encrypted, at
 * once. */
static void check_conf_servers(const struct peel_conf *conf, const struct value *given,
                               struct diags *diags)
{
    struct str rest = str_from(conf->nats_url ? conf->nats_url : "");

    while (rest.p) {
        struct str url = str_trim(str_cut(&rest, ','));

        if (url.n > 0 && !str_starts(url, STR("tls://")))
            (void)value_diag(
                diags, value_point(given, "nats_url"),
                "'%.*s': expected 'tls://HOST:PORT': without TLS, anyone on the network can "
                "read and change everything",
                STR_ARG(url));
    }
}

static void check_windows(const struct peel_conf *conf, const struct value *given,
                          struct diags *diags)
{
    struct maintenance_window maintenance_window = MAINTENANCE_WINDOW_INIT;
    const char *problem = maintenance_window_read(&maintenance_window, conf->maintenance_windows);

    if (problem)
        (void)value_diag(diags, value_point(given, "maintenance_windows"), "%s", problem);
    maintenance_window_done(&maintenance_window);
}

static void check_peel_conf(struct arena *arena, void *values, const struct value *given,
                            struct diags *diags)
{
    const struct peel_conf *conf = values;
    struct err err;

    (void)arena;
    check_id(conf, given, diags);
    check_conf_environment(conf, given, diags);
    check_conf_servers(conf, given, diags);
    check_windows(conf, given, diags);
    if (conf->master_url)
        check_conf_url(conf->master_url, "master_url", given, diags);
    for (size_t i = 0; i < conf->master_urls.n; i++)
        check_conf_url(conf->master_urls.p[i], "master_urls", given, diags);
    for (size_t i = 0; i < conf->enroll_ca_pin.n; i++)
        if (!certificate_is_pin(conf->enroll_ca_pin.p[i]))
            (void)value_diag(diags, value_point(given, "enroll_ca_pin"),
                             "'%s' is not a pin: expected sha256: and 64 digits",
                             conf->enroll_ca_pin.p[i]);
    if (conf->health_addr && conf->health_addr[0] && address_check(conf->health_addr, &err) < 0)
        (void)value_diag(diags, value_point(given, "health_addr"), "%s", err.text);
    if (conf->startup_states == PEEL_STARTUP_SLS && conf->startup_sls_list.n == 0)
        (void)value_diag(diags, value_point(given, "startup_states"),
                         "startup_states: sls requires startup_sls_list");
}

const struct daemon_conf peel_conf_daemon = {
    .program = "zester-peel",
    .summary =
        "The agent of a fleet: runs jobs on this machine, reports facts and events.\n"
        "\n"
        "'zester-peel join HOST TOKEN' makes this machine a peel, 'zester-peel call FUNCTION' "
        "runs\n"
        "a function here with its states and settings, 'zester-peel event TAG' raises an event "
        "of\n"
        "it, and 'zester-peel health' says whether its agent is ready. Each has a --help of\n"
        "its own.",
    .file = PEEL_CONF_FILE,
    .rows = rows,
    .size = sizeof(struct peel_conf),
    .check = check_peel_conf,
};

static bool is_same_or_null(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool peel_conf_has_same_bus(const struct peel_conf *before, const struct peel_conf *now)
{
    return is_same_or_null(before->nats_url, now->nats_url) &&
           is_same_or_null(before->nats_ca, now->nats_ca);
}

void peel_conf_warn_fixed(const struct peel_conf *before, const struct peel_conf *now)
{
    const struct {
        const char *key, *before, *now;
    } fixed[] = {
        { "id", before->id, now->id },
        { "auth_dir", before->auth_dir, now->auth_dir },
        { "data_dir", before->data_dir, now->data_dir },
        { "states_cache", before->states_cache, now->states_cache },
        { "facts_file", before->facts_file, now->facts_file },
        { "environment", before->environment, now->environment },
        { "health_addr", before->health_addr, now->health_addr },
    };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (!is_same_or_null(fixed[i].before, fixed[i].now))
            log_warning("configuration key takes effect after a restart key=%s", fixed[i].key);
}
