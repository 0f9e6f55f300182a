/* zester doctor: each step of the way between this machine and a working fleet, and what to do. */
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/keyring.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/doctor/doctor.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "fleet/enroll/certificate.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/error.h"
#include "fleet/nats/info.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/kv.h"
#include "fleet/peel/conf.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define SKEW_WARN     (INT64_C(5) * CLOCK_SECOND)
#define SKEW_FAIL     (INT64_C(60) * CLOCK_SECOND)
#define ANSWER_NS     (INT64_C(5) * CLOCK_SECOND)
#define COMPARE_NS    (INT64_C(15) * CLOCK_SECOND)
#define PROBE_KEY     "doctor"
#define VERSION_LEAST NATS_VERSION(2, 9, 0)

struct doctor_args {
    struct fleet_options fleet;
    const char *peel;
};

#define ARGS struct doctor_args

static const struct param doctor_options[] = {
    PARAM("peel", PATH, ARGS, peel,
          "examine the agent of this machine, which has this configuration (" PEEL_CONF_FILE
          ", where nothing else is configured)",
          .kind_text = "FILE"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

/* --- before there is a connection --------------------------------------------------- */

static bool check_client_conf(struct doctor *doctor, const struct fleet_options *options)
{
    struct err err;

    if (fleet_find(doctor->arena, options, &doctor->target, &err) < 0) {
        doctor_add(doctor, (struct doctor_finding){
                               "config", DOCTOR_FAIL, arena_strdup(doctor->arena, err.text),
                               "correct the file, or name another with --config" });
        return false;
    }
    doctor_add_ok(doctor, "config",
                  arena_printf(doctor->arena, "%s: servers %s",
                               doctor->target.file ? doctor->target.file : "no file",
                               doctor->target.urls));
    return true;
}

static int read_own_creds(struct doctor *doctor, struct claims_user *ret, struct err *err)
{
    struct nats_creds creds;
    struct str text;
    int result;

    if (fs_read(doctor->arena, doctor->target.creds, NATS_CREDS_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", doctor->target.creds);
    if (nats_creds_parse(text, &creds, err) < 0)
        return err_wrap(err, "'%s'", doctor->target.creds);
    explicit_bzero((void *)(uintptr_t)text.p, text.n);
    result =
        claims_read_user(doctor->arena, str_from(arena_strdup(doctor->arena, creds.jwt)), ret, err);
    nats_creds_done(&creds);
    return result;
}

/* Named operators cannot fix this themselves. */
static const char *advise_person(const struct doctor *doctor, const char *otherwise)
{
    if (!doctor->person)
        return otherwise;
    return arena_printf(doctor->arena,
                        "ask an administrator: 'zester operator show %s' shows whether they "
                        "expired or were revoked, 'zester operator issue %s' makes new ones",
                        doctor->person, doctor->person);
}

static void check_creds(struct doctor *doctor)
{
    const char *path = doctor->target.creds;
    struct claims_user claims;
    struct fs_info info;
    struct err err;

    if (read_own_creds(doctor, &claims, &err) < 0) {
        doctor_add(doctor, (struct doctor_finding){
                               "credentials", DOCTOR_FAIL, arena_strdup(doctor->arena, err.text),
                               "name the file with --creds; a master has it in "
                               "<auth_dir>/admin.creds, readable by root" });
        return;
    }
    if (grant_is_operator(&claims.publish, claims.head.name))
        doctor->person = claims.head.name;
    doctor_add_term(doctor,
                    &(struct doctor_term){
                        .check = "credentials",
                        .what = arena_printf(doctor->arena, "%s (%s)", path, claims.head.name),
                        .begins = claims.head.exp ? claims.head.iat : 0,
                        .ends = claims.head.exp,
                        .advice = advise_person(doctor, "issue them again") });
    if (fs_stat(path, &info, &err) == 0 && (info.mode & LINK_OTHERS_MODE) != 0)
        doctor_add(doctor, (struct doctor_finding){
                               "credentials", DOCTOR_WARN,
                               arena_printf(doctor->arena, "%s: others can read it", path),
                               arena_printf(doctor->arena, "chmod 600 %s", path) });
}

static void check_ca(struct doctor *doctor)
{
    const char *path = doctor->target.ca && doctor->target.ca[0]
                           ? doctor->target.ca
                           : path_join(doctor->arena, doctor->target.auth_dir, LINK_CA_FILE);
    AUTO_CERTIFICATE struct certificate certificate = { 0 };
    struct certificate_facts facts;
    struct str text;
    struct err err;

    if (fs_read(doctor->arena, path, LINK_CA_MAX, &text, &err) == 0 && !text.p) {
        doctor_add_ok(doctor, "certificate", "the certificates of the system are used");
        return;
    }
    if (!text.p || certificate_parse(text, &certificate, &err) < 0 ||
        certificate_look(&certificate, doctor->arena, &facts, &err) < 0) {
        doctor_add(doctor,
                   (struct doctor_finding){ "certificate", DOCTOR_FAIL,
                                            arena_printf(doctor->arena, "%s: %s", path, err.text),
                                            "copy nats-ca.crt from <auth_dir> of a master" });
        return;
    }
    doctor_add_term(doctor,
                    &(struct doctor_term){ .check = "certificate",
                                           .what = path,
                                           .begins = facts.begins,
                                           .ends = facts.ends,
                                           .advice = "make a new authority: 'zester ca init'" });
}

/* Where the keys of the fleet are: is the signing key of its claims here, too? */
static void check_signing(struct doctor *doctor)
{
    struct arena *arena = doctor->arena;
    const char *dir = doctor->target.auth_dir;
    const char *path = path_join(arena, dir, identity_file_name(IDENTITY_ACCOUNT_JWT));
    char text[NATS_NKEY_TEXT_SIZE] = "";
    struct nats_nkey key;
    struct keyring ring;
    struct str jwt;
    struct err err;

    if (fs_read(arena, path, NATS_JWT_MAX, &jwt, &err) < 0 || !jwt.p ||
        keyring_read_jwt(arena, jwt, &ring, &err) < 0 || ring.keys.n == 0)
        return;
    if (identity_read_key(dir, IDENTITY_SIGNING_SEED, &key, &err) == 0) {
        nats_nkey_print_public(&key, text);
        nats_nkey_done(&key);
    }
    if (strcmp(text, ring.keys.p[0]) != 0)
        doctor_add(doctor, (struct doctor_finding){
                               "signing key", DOCTOR_WARN,
                               arena_printf(arena, "%s is not in %s", ring.keys.p[0],
                                            identity_file_name(IDENTITY_SIGNING_SEED)),
                               "copy that file from the master where 'zester nats-auth rotate' "
                               "was run; if that was here, run it again" });
    else if (ring.keys.n > 1)
        doctor_add(doctor,
                   (struct doctor_finding){
                       "signing key", DOCTOR_WARN,
                       arena_printf(arena, "%zu older still accepted", ring.keys.n - 1),
                       "'zester nats-auth rotate --finish' when all peels have new credentials" });
    else
        doctor_add_ok(doctor, "signing key", ring.keys.p[0]);
}

/* Where the keys of the fleet are: do peels and operators have accounts of their own? */
static void check_accounts(struct doctor *doctor)
{
    struct arena *arena = doctor->arena;
    const char *path =
        path_join(arena, doctor->target.auth_dir, identity_file_name(IDENTITY_ACCOUNT_JWT));
    struct accounts_border border;
    struct claims_account claims;
    struct str jwt;
    struct err err;

    if (fs_read(arena, path, NATS_JWT_MAX, &jwt, &err) < 0 || !jwt.p ||
        accounts_read_jwt(jwt, &border, &err) < 0 ||
        claims_read_account(arena, jwt, &claims, &err) < 0)
        return;
    if (border.version == 0)
        doctor_add(doctor, (struct doctor_finding){
                               "accounts", DOCTOR_WARN,
                               "peels share the account that owns JetStream: one hostile peel can "
                               "destroy what the fleet has stored",
                               "'zester nats-auth rotate' moves peels and operators to accounts of "
                               "their own" });
    else if (border.since > 0 && claims_all_before(&claims) < border.since - 1)
        doctor_add(doctor, (struct doctor_finding){
                               "accounts", DOCTOR_WARN,
                               "credentials from before peels had an account of their own are "
                               "still accepted",
                               "'zester nats-auth rotate --finish' when all peels have new "
                               "credentials" });
    else
        doctor_add_ok(doctor, "accounts", "peels and operators have accounts of their own");
}

/* --- over the connection ------------------------------------------------------------ */

/* It refuses the credentials. */
#define SERVER_SAYS "the server says:"

/* Advice for a failed login, by words of the reason; the last one fits all. */
static const struct {
    const char *words, *advice;
} login_advice[] = {
    { "certificate has expired", "set the clock of this machine if it is wrong; else issue a new "
                                 "certificate for the server with 'zester ca issue'" },
    { "not yet valid", "set the clock of this machine, or that of the machine that issued the "
                       "certificate" },
    { "mismatch", "connect by a name that the certificate has, or issue one for this name with "
                  "'zester ca issue'" },
    { "certificate:", "the server's certificate is from another authority: copy nats-ca.crt from "
                      "<auth_dir> of a master, or name it with --nats-ca" },
    { SERVER_SAYS, "the credentials belong to another fleet, have expired or were revoked: copy "
                   "admin.creds from <auth_dir> of a master" },
    { "TLS", "no nats-server with TLS on this port: see 'zester nats-auth init'" },
    { "credentials", "name the file with --creds" },
    { "", "see the checks above; the log of nats-server says why it refused" },
};

static const char *advise_login(const struct doctor *doctor, const char *reason)
{
    size_t i = 0;

    while (!strstr(reason, login_advice[i].words))
        i++;
    return strcmp(login_advice[i].words, SERVER_SAYS) == 0
               ? advise_person(doctor, login_advice[i].advice)
               : login_advice[i].advice;
}

/* The error of the connection names the step of the login. */
static bool check_login(struct doctor *doctor)
{
    struct err err;
    int version;

    if (fleet_connect(doctor->arena, &doctor->target, &doctor->fleet, &err) < 0) {
        doctor_add(doctor, (struct doctor_finding){ "login", DOCTOR_FAIL,
                                                    arena_strdup(doctor->arena, err.text),
                                                    advise_login(doctor, err.text) });
        return false;
    }
    doctor_add_ok(doctor, "login",
                  arena_printf(doctor->arena, "server '%s' accepts TLS and credentials",
                               nats_conn_server(doctor->fleet->js.conn)));
    version = nats_conn_version(doctor->fleet->js.conn);
    doctor_add(doctor, (struct doctor_finding){
                           "server", version < VERSION_LEAST ? DOCTOR_FAIL : DOCTOR_OK,
                           arena_printf(doctor->arena, "nats-server %d.%d.%d", version / 1000000,
                                        version / 1000 % 1000, version % 1000),
                           version < VERSION_LEAST ? "install version 2.9 or newer" : NULL });
    return true;
}

struct probe {
    bool is_done;
    int64_t time; /* of the server; 0: none */
    struct nats_error error;
    bool has_failed;
};

static void on_probe_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct probe *probe = self;

    (void)revision;
    probe->is_done = true;
    probe->has_failed = error != NULL;
    if (error)
        probe->error = *error;
}

static void on_probe_read(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct probe *probe = self;

    on_probe_written(probe, error, 0);
    if (entry)
        probe->time = entry->time;
}

static int wait_probe(struct doctor *doctor, struct probe *probe, struct err *err)
{
    if (fleet_wait(doctor->fleet, &probe->is_done, ANSWER_NS, err) < 0)
        return -1;
    probe->is_done = false;
    return probe->has_failed ? nats_error_to_err(&probe->error, err) : 0;
}

/* Reads the server's clock from an entry that lives for minutes. */
static int read_server_clock(struct doctor *doctor, int64_t *ret_skew, struct err *err)
{
    const struct nats_kv kv = { .js = doctor->fleet->js,
                                .bucket = store_bucket_name(STORE_ENROLL_CHALLENGES),
                                .indirect = true };
    int64_t before = clock_wall();
    struct probe probe = { 0 };

    if (nats_kv_put(&kv, PROBE_KEY, STR("1"), on_probe_written, &probe, err) < 0 ||
        wait_probe(doctor, &probe, err) < 0 ||
        nats_kv_get(&kv, PROBE_KEY, on_probe_read, &probe, err) < 0 ||
        wait_probe(doctor, &probe, err) < 0)
        return -1;
    if (probe.time < before)
        *ret_skew = before - probe.time;
    else
        *ret_skew = probe.time > clock_wall() ? probe.time - clock_wall() : 0;
    return 0;
}

static void check_clock(struct doctor *doctor)
{
    int64_t skew;
    struct err err;

    if (read_server_clock(doctor, &skew, &err) < 0) {
        doctor_add(doctor, (struct doctor_finding){ "clock", DOCTOR_WARN,
                                                    arena_strdup(doctor->arena, err.text),
                                                    "start a master: it creates what is missing" });
        return;
    }
    doctor_add(doctor,
               (struct doctor_finding){
                   "clock",
                   skew > SKEW_FAIL   ? DOCTOR_FAIL
                   : skew > SKEW_WARN ? DOCTOR_WARN
                                      : DOCTOR_OK,
                   arena_printf(doctor->arena, "differs from the server's by less than %lld s",
                                (long long)(skew / CLOCK_SECOND) + 1),
                   skew > SKEW_WARN ? "synchronise the clocks (chrony, ntpd)" : NULL });
}

struct comparison {
    struct doctor *doctor;
    bool is_done;
};

static void on_compared(void *self, const struct store_result *result)
{
    struct comparison *comparison = self;
    struct doctor *doctor = comparison->doctor;

    comparison->is_done = true;
    for (size_t i = 0; i < result->problem_count; i++)
        doctor_add(doctor,
                   (struct doctor_finding){ "streams", DOCTOR_FAIL,
                                            arena_strdup(doctor->arena, result->problems[i]),
                                            "start a master: it creates what is missing, restores "
                                            "what differs, and logs what it cannot change" });
    if (result->problem_count == 0)
        doctor_add_ok(doctor, "streams", "streams, buckets and consumers are complete");
}

static void check_streams(struct doctor *doctor)
{
    struct comparison *comparison = ARENA_NEW(doctor->arena, struct comparison);
    struct err err;

    *comparison = (struct comparison){ .doctor = doctor };
    if (store_ensure(&doctor->fleet->js, &(struct store_options){ .only_compare = true },
                     on_compared, comparison, &err) < 0 ||
        fleet_wait(doctor->fleet, &comparison->is_done, COMPARE_NS, &err) < 0)
        doctor_add(doctor, (struct doctor_finding){
                               "streams", DOCTOR_FAIL, arena_strdup(doctor->arena, err.text),
                               "enable JetStream for the account: run 'zester "
                               "nats-auth init' for a configuration that does" });
}

/* An operator with a name may neither write to buckets nor look at their configuration: what can be
 * seen is whether a master knows them. */
static void check_operator_role(struct doctor *doctor)
{
    struct param_strs peels;
    struct err err;

    if (fleet_resolve(doctor->fleet, "*", &peels, &err) == 0)
        doctor_add_ok(
            doctor, "operator",
            arena_printf(doctor->arena, "masters know '%s'", doctor->fleet->operator_name));
    else
        doctor_add(doctor, (struct doctor_finding){
                               "operator", DOCTOR_FAIL, arena_strdup(doctor->arena, err.text),
                               err.code == ERR_UNSUPPORTED
                                   ? "ask an administrator: 'zester operator show' has details"
                                   : "start zester-master and check its log" });
}

static void check_fleet(struct doctor *doctor)
{
    if (doctor->fleet->operator_name) {
        check_operator_role(doctor);
        return;
    }
    check_clock(doctor);
    check_streams(doctor);
    doctor_check_room(doctor);
    doctor_check_presence(doctor);
    doctor_check_trees(doctor);
}

/* --- all of it ---------------------------------------------------------------------- */

/* The agent to examine instead of the way to the fleet: on a machine that is a peel and nothing
 * else, its own; NULL: none. */
static const char *find_peel_conf(struct cli *cli, const struct doctor_args *want)
{
    struct fleet_target target;
    struct err err;

    if (want->peel)
        return want->peel;
    if (want->fleet.masters.n > 0 || want->fleet.creds || access(PEEL_CONF_FILE, F_OK) != 0)
        return NULL;
    return fleet_find(cli->arena, &want->fleet, &target, &err) == 0 && !target.file ? PEEL_CONF_FILE
                                                                                    : NULL;
}

static int run_doctor(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct doctor_args *want = args;
    struct doctor doctor = { .arena = cli->arena };
    const char *peel = find_peel_conf(cli, want);

    (void)operands;
    if (peel)
        doctor_check_own_peel(&doctor, peel);
    else if (check_client_conf(&doctor, &want->fleet)) {
        doctor_check_reach(&doctor);
        check_creds(&doctor);
        check_ca(&doctor);
        check_signing(&doctor);
        check_accounts(&doctor);
        if (check_login(&doctor)) {
            check_fleet(&doctor);
            fleet_close(doctor.fleet);
        }
    }
    return doctor_print(&doctor, cli, want->fleet.format);
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "diagnose the connection from this machine to the fleet, and suggest fixes",
    .details =
        "Configuration, names, ports and the certificates presented there, credentials,\n"
        "the authority, the signing key, login, versions, clocks, streams, masters and peels,\n"
        "in this order;\n"
        "each finding comes with advice. Certificates are reported 30 days before they\n"
        "expire, short-lived ones in their last quarter. With the configuration of a master,\n"
        "its enrollment endpoint is checked, too.\n"
        "\n"
        "On a machine that is a peel and nothing else, or with --peel, the agent is examined:\n"
        "configuration, identity, credentials and clock, servers, whether it runs and is\n"
        "connected, states and settings, unsent returns, disk space, and its last run.\n",
    .examples = "  zester doctor\n"
                "  zester doctor --peel /etc/zester/peel.yaml\n",
    .statuses = "0 nothing failed; 1 something did",
    .options = doctor_options,
    .args_size = sizeof(struct doctor_args),
    .run = run_doctor,
};
