/* zester doctor: each step of the way between this machine and a working fleet, and what to do. */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "bus/claims.h"
#include "bus/link.h"
#include "bus/store.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/fleet/link.h"
#include "enroll/certificate.h"
#include "nats/creds.h"
#include "nats/error.h"
#include "nats/info.h"
#include "nats/kv.h"
#include "nats/servers.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"
#include "wire/liveness.h"

#define PORT_TIMEOUT_MS 5000
#define DAY             INT64_C(86400)
#define SOON            (30 * DAY)
#define SKEW_WARN       (INT64_C(5) * CLOCK_SECOND)
#define SKEW_FAIL       (INT64_C(60) * CLOCK_SECOND)
#define ANSWER_NS       (INT64_C(5) * CLOCK_SECOND)
#define COMPARE_NS      (INT64_C(15) * CLOCK_SECOND)
#define PROBE_KEY       "doctor"
#define VERSION_LEAST   NATS_VERSION(2, 9, 0)

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_FAIL };

struct doctor_args {
    struct fleet_options fleet;
};

#define ARGS struct doctor_args

static const struct param doctor_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

struct finding {
    const char *check;
    enum verdict verdict;
    const char *text, *advice; /* advice NULL: none is needed */
};

struct doctor {
    struct cli *cli;
    struct arena *arena;
    const struct doctor_args *want;
    struct fleet_target target;
    struct fleet *fleet; /* NULL: not connected */
    VEC(struct finding) findings;
};

static void add_finding(struct doctor *doctor, struct finding finding)
{
    VEC_PUSH_IN(doctor->arena, &doctor->findings, finding);
}

static void add_ok(struct doctor *doctor, const char *check, const char *text)
{
    add_finding(doctor, (struct finding){ check, VERDICT_OK, text, NULL });
}

/* --- before there is a connection --------------------------------------------------- */

static bool check_conf(struct doctor *doctor)
{
    struct err err;

    if (fleet_find(doctor->arena, &doctor->want->fleet, &doctor->target, &err) < 0) {
        add_finding(doctor,
                    (struct finding){ "config", VERDICT_FAIL, arena_strdup(doctor->arena, err.text),
                                      "correct the file, or name another with --config" });
        return false;
    }
    add_ok(doctor, "config",
           arena_printf(doctor->arena, "%s: servers %s",
                        doctor->target.file ? doctor->target.file : "no file",
                        doctor->target.urls));
    return true;
}

/* True when something listens there within the time. */
static bool can_connect(const struct addrinfo *address)
{
    AUTO_FD int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd wait = { .fd = fd, .events = POLLOUT };
    int problem = 0;
    socklen_t size = sizeof(problem);

    if (fd < 0)
        return false;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return true;
    return poll(&wait, 1, PORT_TIMEOUT_MS) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
}

static void check_port(struct doctor *doctor, const struct nats_server *server,
                       const struct addrinfo *list)
{
    for (const struct addrinfo *address = list; address; address = address->ai_next)
        if (can_connect(address)) {
            add_ok(doctor, "port",
                   arena_printf(doctor->arena, "%s:%u is open", server->host, server->port));
            return;
        }
    add_finding(doctor,
                (struct finding){ "port", VERDICT_FAIL,
                                  arena_printf(doctor->arena, "%s:%u cannot be reached",
                                               server->host, server->port),
                                  "start nats-server there, or open the port in the firewall" });
}

static void check_server(struct doctor *doctor, const struct nats_server *server)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char port[16];
    int status;

    (void)snprintf(port, sizeof(port), "%u", server->port);
    status = getaddrinfo(server->host, port, &hints, &list);
    if (status != 0) {
        add_finding(doctor,
                    (struct finding){
                        "name", VERDICT_FAIL,
                        arena_printf(doctor->arena, "%s: %s", server->host, gai_strerror(status)),
                        "add it to the DNS or to /etc/hosts, or use its address" });
        return;
    }
    add_ok(doctor, "name", arena_printf(doctor->arena, "%s is known", server->host));
    check_port(doctor, server, list);
    freeaddrinfo(list);
}

static void check_servers(struct doctor *doctor)
{
    struct str rest = str_from(doctor->target.urls);
    struct nats_servers servers;
    struct err err;

    nats_servers_init(&servers);
    while (rest.p)
        if (nats_servers_add(&servers, str_trim(str_cut(&rest, ',')), &err) < 0)
            add_finding(doctor, (struct finding){ "name", VERDICT_FAIL,
                                                  arena_strdup(doctor->arena, err.text),
                                                  "an address looks like tls://host:4222" });
    VEC_EACH (&servers.list, server)
        check_server(doctor, server);
    nats_servers_done(&servers);
}

/* When something ends: fine, soon, or over. */
static void add_end(struct doctor *doctor, const char *check, const char *what, int64_t ends,
                    const char *advice)
{
    int64_t left = ends - clock_wall() / CLOCK_SECOND;
    enum verdict verdict = left <= 0 ? VERDICT_FAIL : left < SOON ? VERDICT_WARN : VERDICT_OK;

    if (ends == 0)
        add_ok(doctor, check, arena_printf(doctor->arena, "%s: without an end", what));
    else if (left <= 0)
        add_finding(doctor,
                    (struct finding){ check, verdict,
                                      arena_printf(doctor->arena, "%s: expired", what), advice });
    else
        add_finding(doctor, (struct finding){ check, verdict,
                                              arena_printf(doctor->arena, "%s: good for %lld days",
                                                           what, (long long)(left / DAY)),
                                              verdict == VERDICT_OK ? NULL : advice });
}

static int read_creds(struct doctor *doctor, struct claims_user *ret, struct err *err)
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

static void check_creds(struct doctor *doctor)
{
    const char *path = doctor->target.creds;
    struct claims_user claims;
    struct fs_info info;
    struct err err;

    if (read_creds(doctor, &claims, &err) < 0) {
        add_finding(doctor, (struct finding){ "credentials", VERDICT_FAIL,
                                              arena_strdup(doctor->arena, err.text),
                                              "name the file with --creds; a master has it in "
                                              "<auth_dir>/admin.creds, readable by root" });
        return;
    }
    add_end(doctor, "credentials", arena_printf(doctor->arena, "%s (%s)", path, claims.head.name),
            claims.head.exp, "issue them again");
    if (fs_stat(path, &info, &err) == 0 && (info.mode & LINK_OTHERS_MODE) != 0)
        add_finding(doctor,
                    (struct finding){ "credentials", VERDICT_WARN,
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
        add_ok(doctor, "certificate", "the certificates of the system are used");
        return;
    }
    if (!text.p || certificate_parse(text, &certificate, &err) < 0 ||
        certificate_look(&certificate, doctor->arena, &facts, &err) < 0) {
        add_finding(doctor, (struct finding){ "certificate", VERDICT_FAIL,
                                              arena_printf(doctor->arena, "%s: %s", path, err.text),
                                              "copy nats-ca.crt from <auth_dir> of a master" });
        return;
    }
    add_end(doctor, "certificate", path, facts.ends, "make a new authority: 'zester ca init'");
}

/* --- over the connection ------------------------------------------------------------ */

/* What to do about a login that failed, by words of the reason; the last fits all. */
static const struct {
    const char *words, *advice;
} login_advice[] = {
    { "certificate has expired", "set the clock of this machine if it is wrong; else issue a new "
                                 "certificate for the server with 'zester ca issue'" },
    { "not yet valid", "set the clock of this machine, or that of the machine that issued the "
                       "certificate" },
    { "mismatch", "connect by a name that the certificate has, or issue one for this name with "
                  "'zester ca issue'" },
    { "certificate:", "the server's certificate is of another authority: copy nats-ca.crt from "
                      "<auth_dir> of a master, or name it with --nats-ca" },
    { "the server says:", "the credentials are of another fleet, expired or revoked: copy "
                          "admin.creds from <auth_dir> of a master" },
    { "TLS", "the port is not that of a nats-server with TLS: see 'zester nats-auth init'" },
    { "credentials", "name the file with --creds" },
    { "", "see the checks above; the log of nats-server says why it refused" },
};

static const char *advise_login(const char *reason)
{
    size_t i = 0;

    while (!strstr(reason, login_advice[i].words))
        i++;
    return login_advice[i].advice;
}

/* The error of the connection names the step of the login. */
static bool check_login(struct doctor *doctor)
{
    struct err err;
    int version;

    if (fleet_connect(doctor->arena, &doctor->target, &doctor->fleet, &err) < 0) {
        add_finding(doctor,
                    (struct finding){ "login", VERDICT_FAIL, arena_strdup(doctor->arena, err.text),
                                      advise_login(err.text) });
        return false;
    }
    add_ok(doctor, "login",
           arena_printf(doctor->arena, "server '%s' accepts TLS and credentials",
                        nats_conn_server(doctor->fleet->js.conn)));
    version = nats_conn_version(doctor->fleet->js.conn);
    add_finding(doctor, (struct finding){
                            "server", version < VERSION_LEAST ? VERDICT_FAIL : VERDICT_OK,
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

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    struct probe *probe = self;

    (void)revision;
    probe->is_done = true;
    probe->has_failed = error != NULL;
    if (error)
        probe->error = *error;
}

static void on_got(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct probe *probe = self;

    on_put(probe, error, 0);
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

/* What a server stamps on an entry that lives for minutes. */
static int read_server_clock(struct doctor *doctor, int64_t *ret_skew, struct err *err)
{
    const struct nats_kv kv = { .js = doctor->fleet->js,
                                .bucket = store_bucket_name(STORE_ENROLL_CHALLENGES),
                                .indirect = true };
    int64_t before = clock_wall();
    struct probe probe = { 0 };

    if (nats_kv_put(&kv, PROBE_KEY, STR("1"), on_put, &probe, err) < 0 ||
        wait_probe(doctor, &probe, err) < 0 ||
        nats_kv_get(&kv, PROBE_KEY, on_got, &probe, err) < 0 || wait_probe(doctor, &probe, err) < 0)
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
        add_finding(doctor,
                    (struct finding){ "clock", VERDICT_WARN, arena_strdup(doctor->arena, err.text),
                                      "start a master, which makes what is missing" });
        return;
    }
    add_finding(doctor,
                (struct finding){
                    "clock",
                    skew > SKEW_FAIL   ? VERDICT_FAIL
                    : skew > SKEW_WARN ? VERDICT_WARN
                                       : VERDICT_OK,
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
        add_finding(doctor,
                    (struct finding){
                        "streams", VERDICT_FAIL, arena_strdup(doctor->arena, result->problems[i]),
                        "start a master, which makes what is missing and changes back what "
                        "differs; its log names what it could not change" });
    if (result->problem_count == 0)
        add_ok(doctor, "streams", "streams, buckets and consumers are complete");
}

static void check_streams(struct doctor *doctor)
{
    struct comparison *comparison = ARENA_NEW(doctor->arena, struct comparison);
    struct err err;

    *comparison = (struct comparison){ .doctor = doctor };
    if (store_ensure(&doctor->fleet->js, &(struct store_options){ .only_compare = true },
                     on_compared, comparison, &err) < 0 ||
        fleet_wait(doctor->fleet, &comparison->is_done, COMPARE_NS, &err) < 0)
        add_finding(doctor, (struct finding){ "streams", VERDICT_FAIL,
                                              arena_strdup(doctor->arena, err.text),
                                              "enable JetStream for the account: run 'zester "
                                              "nats-auth init' for a configuration that does" });
}

/* --- who is there ------------------------------------------------------------------- */

struct roll {
    struct doctor *doctor;
    bool is_done;
    size_t count, others; /* others: of another version */
};

static void on_master(void *self, const struct nats_kv_entry *entry)
{
    (void)entry;
    ((struct roll *)self)->count++;
}

static void on_peel(void *self, const struct nats_kv_entry *entry)
{
    struct roll *roll = self;
    struct liveness_peel peel;
    struct err err;

    roll->count++;
    if (record_decode(roll->doctor->arena, &liveness_peel_type, 1,
                      arena_str(roll->doctor->arena, entry->value), &peel, &err) == 0 &&
        peel.version && peel.version[0] && strcmp(peel.version, ZESTER_VERSION) != 0)
        roll->others++;
}

static void on_all(void *self)
{
    ((struct roll *)self)->is_done = true;
}

static int count_bucket(struct doctor *doctor, enum store_bucket bucket,
                        void (*entry)(void *self, const struct nats_kv_entry *entry),
                        struct roll *ret, struct err *err)
{
    const struct nats_kv kv = { .js = doctor->fleet->js, .bucket = store_bucket_name(bucket) };
    struct nats_kv_watch *watch;
    int result;

    *ret = (struct roll){ .doctor = doctor };
    watch = nats_kv_watch_new(
        &kv,
        &(struct nats_kv_watch_options){
            .without_deletes = true, .entry = entry, .caught_up = on_all, .self = ret },
        err);
    if (!watch)
        return -1;
    result = fleet_wait(doctor->fleet, &ret->is_done, ANSWER_NS, err);
    nats_kv_watch_free(watch);
    return result;
}

static void check_masters(struct doctor *doctor)
{
    struct roll roll;
    struct err err;

    if (count_bucket(doctor, STORE_MASTER_HEARTBEAT, on_master, &roll, &err) == 0 && roll.count > 0)
        add_ok(doctor, "masters", arena_printf(doctor->arena, "%zu running", roll.count));
    else
        add_finding(doctor,
                    (struct finding){ "masters", VERDICT_FAIL, "no master runs",
                                      "start zester-master; its log says why it does not start" });
}

static void check_peels(struct doctor *doctor)
{
    struct roll roll;
    struct err err;

    if (count_bucket(doctor, STORE_PEEL_HEARTBEAT, on_peel, &roll, &err) < 0)
        return; /* reported by the streams */
    if (roll.count == 0)
        add_finding(doctor,
                    (struct finding){ "peels", VERDICT_WARN, "no peel is connected",
                                      "join machines with what 'zester-master token' prints" });
    else
        add_finding(doctor, (struct finding){
                                "peels", roll.others > 0 ? VERDICT_WARN : VERDICT_OK,
                                arena_printf(doctor->arena,
                                             "%zu connected, %zu of another version than "
                                             "this one (" ZESTER_VERSION ")",
                                             roll.count, roll.others),
                                roll.others > 0 ? "install the same version everywhere" : NULL });
}

/* --- the report --------------------------------------------------------------------- */

static const char *const verdict_words[] = {
    [VERDICT_OK] = "ok",
    [VERDICT_WARN] = "warn",
    [VERDICT_FAIL] = "fail",
};

static void print_text(const struct doctor *doctor)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&doctor->findings, finding) {
        buf_printf(&out, "%-5s %-12s ", verdict_words[finding->verdict], finding->check);
        columns_print_text(&out, finding->text);
        if (finding->advice)
            buf_printf(&out, "\n                   -> %s", finding->advice);
        buf_add_char(&out, '\n');
    }
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
}

static int print_value(struct doctor *doctor)
{
    struct arena *arena = doctor->arena;
    struct value_list *list = value_list_new(arena, doctor->findings.n);
    const struct value result = value_list(list);

    VEC_EACH (&doctor->findings, finding) {
        struct value_map *map = value_map_new(arena, 4);

        value_map_set(arena, map, value_text("check"), value_text(finding->check));
        value_map_set(arena, map, value_text("status"),
                      value_text(verdict_words[finding->verdict]));
        value_map_set(arena, map, value_text("message"), value_text(finding->text));
        if (finding->advice)
            value_map_set(arena, map, value_text("advice"), value_text(finding->advice));
        value_list_push(arena, list, value_map(map));
    }
    return fleet_print(doctor->cli, doctor->want->fleet.format, &result);
}

static int run_doctor(struct cli *cli, const void *args, struct param_strs operands)
{
    struct doctor doctor = { .cli = cli, .arena = cli->arena, .want = args };
    int status = CLI_OK;

    (void)operands;
    if (check_conf(&doctor)) {
        check_servers(&doctor);
        check_creds(&doctor);
        check_ca(&doctor);
        if (check_login(&doctor)) {
            check_clock(&doctor);
            check_streams(&doctor);
            check_masters(&doctor);
            check_peels(&doctor);
            fleet_close(doctor.fleet);
        }
    }
    if (doctor.want->fleet.format == FLEET_TEXT)
        print_text(&doctor);
    else
        status = print_value(&doctor);
    VEC_EACH (&doctor.findings, finding)
        if (finding->verdict == VERDICT_FAIL)
            status = CLI_ERROR;
    return status;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "diagnose the connection from this machine to the fleet, and suggest fixes",
    .details = "Configuration, names, ports, credentials, certificates, login, versions, clocks,\n"
               "streams, masters and peels, in this order; each finding comes with advice.\n",
    .examples = "  zester doctor\n",
    .statuses = "0 nothing failed; 1 something did",
    .options = doctor_options,
    .args_size = sizeof(struct doctor_args),
    .run = run_doctor,
};
