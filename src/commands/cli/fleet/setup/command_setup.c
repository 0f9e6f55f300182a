/* zester-master setup: sets up a fleet with one master. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/identity.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/enroll/join_token.h"
#include "commands/cli/fleet/keys/nats_auth.h"
#include "commands/cli/fleet/setup/supervisor.h"
#include "core/data/json.h"
#include "core/http/address.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"
#include "core/sys/program.h"

#define CONF_MODE 0644
/* Folders that the master publishes, beside the keys. Settings hold secrets: others cannot read
 * them. */
static const struct {
    const char *name, *key, *what;
    mode_t mode;
} trees[] = {
    { "states", "states_dir", "folder of states", 0755 },
    { "settings", "settings_dir", "folder of settings", 0700 },
    { "reactor", "reactor:\n  dir", "folder of rules and reactions", 0755 },
};
/* The master's own folder, beside them; the master creates it. */
#define KEPT_FOLDER "orchestrations"
#define STATUS_FILE "publisher-status"
#define AUTH_DIR    "/var/lib/zester/auth"
#define CONF_MAX    ((size_t)64 << 10)
/* Timeout for the server and the master to start. */
#define START_NS (INT64_C(90) * CLOCK_SECOND)
#define PAUSE_US 100000

struct setup_args {
    const char *host, *auth_dir, *config, *nats_conf, *store, *kepler_conf;
    const char *enroll_addr, *health_addr, *listen, *monitor;
    int64_t port, valid;
    enum supervisor_kind supervisor;
};

#define ARGS struct setup_args

/* clang-format off */
static const struct param setup_options[] = {
    PARAM("host",        STR,  ARGS, host, "the name or address by which other machines reach this one (its host name)", .kind_text = "HOST"),
    PARAM("config",      PATH, ARGS, config, "the configuration of the master", .kind_text = "FILE", .aliases = "c", .default_text = FLEET_CONFIG),
    PARAM("auth-dir",    PATH, ARGS, auth_dir, "keys and credentials", .kind_text = "DIR", .default_text = AUTH_DIR),
    PARAM("nats-conf",   PATH, ARGS, nats_conf, "the configuration of nats-server", .kind_text = "FILE", .default_text = "/etc/zester/nats-server.conf"),
    PARAM("jetstream-store", PATH, ARGS, store, "the data folder of nats-server", .kind_text = "DIR", .default_text = "/var/lib/zester/nats"),
    PARAM("nats-host",   STR,  ARGS, listen, "the address nats-server listens on", .kind_text = "ADDRESS", .default_text = "0.0.0.0"),
    PARAM("port",        INT,  ARGS, port, "the port to listen on", PARAM_RANGE(1, 65535), .default_text = "4222"),
    PARAM("monitor-addr", STR, ARGS, monitor, "the address for monitoring pages of nats-server; '': none", .kind_text = "ADDRESS", .default_text = NATS_AUTH_MONITOR),
    PARAM("enroll-addr", STR,  ARGS, enroll_addr, "the address for enrollment", .kind_text = "ADDRESS", .default_text = ":8443"),
    PARAM("health-addr", STR,  ARGS, health_addr, "the address for health and metrics", .kind_text = "ADDRESS", .default_text = "127.0.0.1:9091"),
    PARAM("supervisor",  CHOICE, ARGS, supervisor, "what supervises both; auto: systemd if it runs, else kepler", .choices = SUPERVISOR_WORDS, .default_text = "auto"),
    PARAM("kepler-conf", PATH, ARGS, kepler_conf, "the kepler config for both", .kind_text = "FILE", .default_text = "/etc/zester/kepler.yaml"),
    PARAM("valid",       DURATION, ARGS, valid, "validity of the join token", PARAM_RANGE(CLOCK_SECOND, INT64_MAX), .default_text = "24h"),
    { 0 },
};
/* clang-format on */

struct setup {
    struct cli *cli;
    const struct setup_args *want;
    const char *host;
    struct supervised services[2];
    struct supervisor supervisor;
    bool has_changed;
};

static void print_setup_step(struct setup *setup, bool is_new, const char *what, const char *where)
{
    printf("%s %s (%s)\n", is_new ? "created" : "kept   ", what, where);
    (void)fflush(stdout);
    setup->has_changed = setup->has_changed || is_new;
}

/* --- before anything is made --------------------------------------------------------- */

static int check_port(const char *address, const char *option, struct err *err)
{
    uint16_t port;
    struct err why;
    AUTO_FD int fd = address_listen(address, &port, &why);

    return fd < 0 ? err_set(err, why.code, "%s; choose another with %s", why.text, option) : 0;
}

static bool is_file_missing(const char *path)
{
    return access(path, F_OK) != 0;
}

/* Check that ports are free: a taken port would only be noticed when nothing answers. A second run
 * finds its own services there. */
static int check_ports(const struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    const bool has_colons = strchr(want->listen, ':') != NULL;

    if (is_file_missing(want->nats_conf) &&
        check_port(arena_printf(setup->cli->arena, has_colons ? "[%s]:%d" : "%s:%d", want->listen,
                                (int)want->port),
                   "--port or --nats-host", err) < 0)
        return -1;
    if (is_file_missing(want->nats_conf) && want->monitor[0] &&
        check_port(want->monitor, "--monitor-addr", err) < 0)
        return -1;
    if (!is_file_missing(want->config))
        return 0;
    if (check_port(want->enroll_addr, "--enroll-addr", err) < 0)
        return -1;
    return check_port(want->health_addr, "--health-addr", err);
}

/* --- keys and configuration --------------------------------------------------------- */

static int make_fleet_keys(struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    struct arena *arena = setup->cli->arena;
    const char *seed = path_join(arena, want->auth_dir, identity_file_name(IDENTITY_ACCOUNT_SEED));
    struct hostnames names = { .arena = arena };
    bool is_new = is_file_missing(seed);

    hostnames_add(&names, setup->host);
    hostnames_add_own(&names);
    if (is_new && nats_auth_init(setup->cli,
                                 &(struct nats_auth_args){ .dir = want->auth_dir,
                                                           .conf = want->nats_conf,
                                                           .store = want->store,
                                                           .name = "zester-nats",
                                                           .host = want->listen,
                                                           .monitor = want->monitor,
                                                           .dns = { names.dns.n, names.dns.p },
                                                           .ips = { names.ips.n, names.ips.p },
                                                           .port = want->port },
                                 err) < 0)
        return -1;
    print_setup_step(setup, is_new, "keys, certificates and credentials", want->auth_dir);
    print_setup_step(setup, is_new, "configuration of nats-server", want->nats_conf);
    return 0;
}

static void print_setup_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s: ", key);
    json_print_text(out, str_from(text), JSON_STYLE_COMPACT);
    buf_add_char(out, '\n');
}

/* A folder or file beside the keys. */
static const char *find_setup_folder(const struct setup *setup, const char *name)
{
    struct arena *arena = setup->cli->arena;

    return path_join(arena, path_dirname(arena, setup->want->auth_dir), name);
}

/* A folder that is there is kept as it is. */
static int make_trees(struct setup *setup, struct err *err)
{
    if (!is_file_missing(setup->want->config)) /* which may name others */
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        const char *folder = find_setup_folder(setup, trees[i].name);
        const bool is_new = is_file_missing(folder);

        if (is_new && fs_mkdirs(folder, trees[i].mode, err) < 0)
            return -1;
        print_setup_step(setup, is_new, trees[i].what, folder);
    }
    return 0;
}

static void print_master_conf(const struct setup *setup, struct buf *out)
{
    const struct setup_args *want = setup->want;
    struct arena *arena = setup->cli->arena;
    const bool has_colons = strchr(setup->host, ':') != NULL;

    buf_add_text(out, "# The master of this machine; 'zester-master --help' has all keys.\n");
    print_setup_text(out, "nats_url", arena_printf(arena, "tls://127.0.0.1:%d", (int)want->port));
    print_setup_text(out, "auth_dir", want->auth_dir);
    print_setup_text(out, "health_addr", want->health_addr);
    print_setup_text(out, "orchestrate_dir", find_setup_folder(setup, KEPT_FOLDER));
    if (strcmp(want->auth_dir, AUTH_DIR) != 0) /* another master may use the usual one */
        print_setup_text(out, "publisher_status_file", find_setup_folder(setup, STATUS_FILE));
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        print_setup_text(out, trees[i].key, find_setup_folder(setup, trees[i].name));
    buf_add_text(out, "enroll:\n");
    print_setup_text(out, "  addr", want->enroll_addr);
    buf_add_text(out, "ca:\n  enroll_sans: [");
    json_print_text(out, str_from(setup->host), JSON_STYLE_COMPACT);
    buf_add_text(out, "]\n");
    if (hostnames_is_loopback(setup->host))
        return; /* no other machine can use it */
    buf_add_text(out, "nats_advertise_urls: [");
    json_print_text(out,
                    str_from(arena_printf(arena, has_colons ? "tls://[%s]:%d" : "tls://%s:%d",
                                          setup->host, (int)want->port)),
                    JSON_STYLE_COMPACT);
    buf_add_text(out, "]\n");
}

static int make_conf(struct setup *setup, struct err *err)
{
    const char *path = setup->want->config;
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    struct newfile file = { .name = path_basename(path).p, .mode = CONF_MODE };
    bool is_new = is_file_missing(path);

    print_master_conf(setup, &text);
    file.text = buf_view(&text);
    if (is_new && newfiles_write(path_dirname(setup->cli->arena, path), &file, 1,
                                 "it is never overwritten", err) < 0)
        return -1;
    print_setup_step(setup, is_new, "configuration of the master", path);
    return 0;
}

/* --- running ------------------------------------------------------------------------ */

static const char *find_server_program(struct arena *arena)
{
    const char *found = program_find(arena, "nats-server");

    if (!found && access("/usr/sbin/nats-server", X_OK) == 0)
        return "/usr/sbin/nats-server"; /* where users have no path to */
    return found;
}

static int find_setup_programs(struct setup *setup, struct err *err)
{
    struct arena *arena = setup->cli->arena;
    struct supervisor *supervisor = &setup->supervisor;

    setup->services[0] = (struct supervised){ "nats",
                                              "zester-nats.service",
                                              "NATS server of zester",
                                              find_server_program(arena),
                                              "-c",
                                              setup->want->nats_conf,
                                              0 };
    setup->services[1] = (struct supervised){ "master",
                                              "zester-master.service",
                                              "Directs the peels of a zester fleet",
                                              program_find_beside(arena, "zester-master"),
                                              "--config",
                                              setup->want->config,
                                              0 };
    *supervisor = (struct supervisor){
        .kind = supervisor_choose(setup->want->supervisor),
        .services = setup->services,
        .count = ARRAY_LEN(setup->services),
        .kepler = program_find_beside(arena, "kepler"),
        .kepler_conf = setup->want->kepler_conf,
    };
    if (!setup->services[0].program)
        return err_set(err, ERR_NOT_FOUND,
                       "nats-server is not installed; install the package 'nats-server'");
    if (!setup->services[1].program)
        return err_set(err, ERR_NOT_FOUND, "no program 'zester-master' beside this one or in PATH");
    if (supervisor->kind == SUPERVISOR_KEPLER && !supervisor->kepler)
        return err_set(err, ERR_NOT_FOUND, "no program 'kepler' beside this one or in PATH");
    return 0;
}

static int start_master_services(struct setup *setup, struct err *err)
{
    struct arena *arena = setup->cli->arena;
    bool is_new;

    if (supervisor_write(arena, &setup->supervisor, &is_new, err) < 0)
        return -1;
    print_setup_step(setup, is_new, "services of nats-server and zester-master",
                     arena_printf(arena, "run by %s", supervisor_name(setup->supervisor.kind)));
    return supervisor_start(arena, &setup->supervisor, err);
}

/* One attempt; the server may not be up yet, or the master not announced. */
static int try_token(struct setup *setup, struct token *ret, struct err *err)
{
    const struct fleet_options options = { .config = setup->want->config };
    struct fleet *fleet;
    int result;

    if (fleet_open(setup->cli->arena, &options, &fleet, err) < 0)
        return -1;
    result = join_token_make(
        fleet, &(struct join_token_want){ .valid = setup->want->valid, .peels = "" }, ret, err);
    fleet_close(fleet);
    return result;
}

static int wait_token(struct setup *setup, struct token *ret, struct err *err)
{
    const int64_t deadline = clock_after(clock_real(), START_NS);

    while (try_token(setup, ret, err) < 0) {
        if (clock_real() >= deadline)
            return err_wrap(err, "the master does not respond; see '%s'",
                            supervisor_hint(setup->cli->arena, &setup->supervisor));
        (void)usleep(PAUSE_US);
    }
    return 0;
}

static int finish_setup(struct setup *setup, struct err *err)
{
    const struct fleet_options options = { .config = setup->want->config };
    struct fleet_target target;
    struct token token;

    if (!setup->has_changed) {
        printf("Nothing to do: this machine is already set up.\n"
               "To add machines: zester-master token\n");
        return 0;
    }
    if (setup->supervisor.kind == SUPERVISOR_NONE) {
        printf("Start: %s -c %s\nThen:  %s --config %s\nThen:  zester-master token\n",
               setup->services[0].program, setup->want->nats_conf, setup->services[1].program,
               setup->want->config);
        return 0;
    }
    if (wait_token(setup, &token, err) < 0 ||
        fleet_find(setup->cli->arena, &options, &target, err) < 0)
        return -1;
    printf("\n"
           "The fleet is ready. To add a peel, run this on it:\n"
           "\n"
           "  %s\n",
           join_token_command(setup->cli->arena, &target, setup->host, &token));
    return 0;
}

static int run_setup(struct cli *cli, const void *args, struct param_strs operands)
{
    struct setup setup = { .cli = cli, .want = args };
    struct err err;

    (void)operands;
    setup.host = setup.want->host ? setup.want->host : hostnames_own(cli->arena);
    if (find_setup_programs(&setup, &err) < 0 || check_ports(&setup, &err) < 0 ||
        make_fleet_keys(&setup, &err) < 0 || make_trees(&setup, &err) < 0 ||
        make_conf(&setup, &err) < 0 || start_master_services(&setup, &err) < 0 ||
        finish_setup(&setup, &err) < 0)
        return cli_err_root(cli, &err);
    return CLI_OK;
}

const struct command command_setup = {
    .name = "setup",
    .operands = "",
    .summary = "set up a fleet: create keys, configure and start nats-server and the master",
    .details =
        "Creates keys and certificates, and the folders of states, settings and reactions beside\n"
        "them; configures nats-server and the master, starts both under\n"
        "systemd or kepler, and prints the command that adds other machines. Existing files\n"
        "are kept; a second run changes nothing.\n",
    .examples = "  zester-master setup\n"
                "  zester-master setup --host master.example.com\n",
    .options = setup_options,
    .args_size = sizeof(struct setup_args),
    .run = run_setup,
};
