/* zester-master setup: sets up a fleet with one master. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "commands/cli/fleet/setup/reconfigure.h"
#include "commands/cli/fleet/setup/supervisor.h"
#include "core/data/json.h"
#include "core/http/address.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"
#include "core/sys/port_owner.h"
#include "core/sys/program.h"
#include "core/sys/site.h"

#define CONF_MODE 0644
/* The package of nats-server starts this unit by itself. */
#define SERVER_UNIT "nats-server.service"
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
#define DATA_DIR    "/var/lib/zester"
#define AUTH_DIR    DATA_DIR "/auth"
#define KEYS_MODE   0700
/* Others may read what is not secret, such as where the bus is. */
#define CONF_FOLDER_MODE 0755
#define CONF_MAX         ((size_t)64 << 10)
/* Timeout for the server and the master to start. */
#define START_NS (INT64_C(90) * CLOCK_SECOND)
#define PAUSE_US 100000

struct setup_args {
    const char *host, *auth_dir, *config, *nats_conf, *store, *kepler_conf;
    const char *enroll_addr, *health_addr, *listen, *monitor;
    int64_t port, valid;
    enum supervisor_kind supervisor;
    bool change, take_over;
};

#define ARGS struct setup_args

#define LISTEN      "0.0.0.0"
#define PORT        4222
#define ENROLL_ADDR ":8443"
#define HEALTH_ADDR "127.0.0.1:9091"

/* clang-format off */
static const struct param setup_options[] = {
    PARAM("host",        STR,  ARGS, host, "the name or address by which other machines reach this one (its host name)", .kind_text = "HOST"),
    PARAM("config",      PATH, ARGS, config, "the configuration of the master", .kind_text = "FILE", .aliases = "c", .default_text = FLEET_CONFIG),
    PARAM("auth-dir",    PATH, ARGS, auth_dir, "keys and credentials", .kind_text = "DIR", .default_text = AUTH_DIR),
    PARAM("nats-conf",   PATH, ARGS, nats_conf, "the configuration of nats-server", .kind_text = "FILE", .default_text = "/etc/zester/nats-server.conf"),
    PARAM("jetstream-store", PATH, ARGS, store, "the data folder of nats-server", .kind_text = "DIR", .default_text = "/var/lib/zester/nats"),
    PARAM("nats-host",   STR,  ARGS, listen, "the address nats-server listens on (" LISTEN ")", .kind_text = "ADDRESS"),
    PARAM("port",        INT,  ARGS, port, "the port of nats-server (4222)", PARAM_RANGE(1, 65535)),
    PARAM("monitor-addr", STR, ARGS, monitor, "the address for monitoring pages of nats-server; '': none (" NATS_AUTH_MONITOR ")", .kind_text = "ADDRESS"),
    PARAM("enroll-addr", STR,  ARGS, enroll_addr, "the address for enrollment (" ENROLL_ADDR ")", .kind_text = "ADDRESS"),
    PARAM("health-addr", STR,  ARGS, health_addr, "the address for health and metrics (" HEALTH_ADDR ")", .kind_text = "ADDRESS"),
    PARAM("change",      BOOL, ARGS, change, "change the host, addresses and ports of a machine that is set up to those given"),
    PARAM("take-over-nats", BOOL, ARGS, take_over, "stop and disable the " SERVER_UNIT " of the system, which uses the port"),
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
    const char *user; /* who runs both; NULL: root */
    bool is_in_way;   /* SERVER_UNIT has the port, and may be stopped */
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

static uint16_t get_address_port(const char *address)
{
    const char *colon = strrchr(address, ':');

    return colon ? (uint16_t)strtoul(colon + 1, NULL, 10) : 0;
}

/* "'0.0.0.0:4222': Address already in use", and by whom. */
static int explain_port(struct setup *setup, const char *address, const char *option,
                        const struct err *why, struct err *err)
{
    struct port_owner owner;

    if (why->errnum != EADDRINUSE ||
        !port_owner_find(setup->cli->arena, get_address_port(address), &owner))
        return err_set(err, why->code, "%s; choose another with %s", why->text, option);
    return err_set(err, why->code, "%s by %s (process %lld%s%s); choose another with %s%s",
                   why->text, owner.name, (long long)owner.pid, owner.unit ? ", unit " : "",
                   owner.unit ? owner.unit : "", option,
                   owner.unit && strcmp(owner.unit, SERVER_UNIT) == 0
                       ? ", or stop and disable that unit with --take-over-nats"
                       : "");
}

static int check_port(struct setup *setup, const char *address, const char *option, struct err *err)
{
    uint16_t port;
    struct err why;
    AUTO_FD int fd = address_listen(address, &port, &why);

    return fd < 0 ? explain_port(setup, address, option, &why, err) : 0;
}

/* The server that the package starts may be stopped for ours. */
static int check_server_port(struct setup *setup, const char *address, const char *option,
                             struct err *err)
{
    struct port_owner owner;

    if (!setup->want->take_over ||
        !port_owner_find(setup->cli->arena, get_address_port(address), &owner) || !owner.unit ||
        strcmp(owner.unit, SERVER_UNIT) != 0)
        return check_port(setup, address, option, err);
    setup->is_in_way = true;
    return 0;
}

static bool is_file_missing(const char *path)
{
    return access(path, F_OK) != 0;
}

static const char *print_listen(struct arena *arena, const char *host, int64_t port)
{
    return arena_printf(arena, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, (int)port);
}

/* Check that ports are free: a taken port would only be noticed when nothing answers. A second run
 * finds its own services there. */
static int check_ports(struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    const bool has_server = !is_file_missing(want->nats_conf);

    if (!has_server &&
        check_server_port(setup, print_listen(setup->cli->arena, want->listen, want->port),
                          "--port or --nats-host", err) < 0)
        return -1;
    if (!has_server && want->monitor[0] &&
        check_server_port(setup, want->monitor, "--monitor-addr", err) < 0)
        return -1;
    if (!is_file_missing(want->config))
        return 0;
    if (check_port(setup, want->enroll_addr, "--enroll-addr", err) < 0)
        return -1;
    return check_port(setup, want->health_addr, "--health-addr", err);
}

/* A second run may have another name in mind, which it does not get. */
static int check_host(const struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    struct reconfigure before;

    if (!want->host || is_file_missing(want->config) || is_file_missing(want->nats_conf) ||
        reconfigure_read(setup->cli->arena, want->config, want->nats_conf, &before, err) < 0 ||
        strcmp(before.before.host, want->host) == 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "this machine is set up as '%s'; to change that, run 'zester-master setup "
                   "--change --host %s'",
                   before.before.host, want->host);
}

/* --- folders ------------------------------------------------------------------------ */

/* A folder or file beside the keys. */
static const char *find_setup_folder(const struct setup *setup, const char *name)
{
    struct arena *arena = setup->cli->arena;

    return path_join(arena, path_dirname(arena, setup->want->auth_dir), name);
}

static int own_folder(const char *folder, const struct fs_attr *attr, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, folder, SITE_OWN, err) < 0 ? -1 : site_set(&site, attr, err);
}

/* A folder that is there is kept as it is. */
static int make_folder(const struct setup *setup, const char *folder, mode_t mode, bool *ret_is_new,
                       struct err *err)
{
    struct fs_attr attr = { mode, FS_KEEP, FS_KEEP };
    const struct account *account;

    *ret_is_new = is_file_missing(folder);
    if (!*ret_is_new)
        return 0;
    if (fs_mkdirs(folder, mode, err) < 0)
        return -1;
    if (!setup->user)
        return 0;
    if (account_find(setup->cli->arena, setup->user, &account, err) < 0)
        return -1;
    if (!account)
        return err_set(err, ERR_NOT_FOUND, "there is no user '%s'", setup->user);
    attr.uid = account->uid;
    attr.gid = account->gid;
    return own_folder(folder, &attr, err);
}

/* The folder above all others belongs to root, whose own runs keep their data there, too; the
 * master may pass. */
static int open_home(const struct setup *setup, const char *folder, struct err *err)
{
    struct fs_attr attr = { 0750, FS_KEEP, FS_KEEP };
    const struct account *account;

    if (!setup->user || (!is_file_missing(folder) && strcmp(folder, DATA_DIR) != 0))
        return 0;
    if (account_find(setup->cli->arena, setup->user, &account, err) < 0 || !account ||
        fs_mkdirs(folder, attr.mode, err) < 0)
        return account ? -1 : err_set(err, ERR_NOT_FOUND, "there is no user '%s'", setup->user);
    attr.uid = 0;
    attr.gid = account->gid;
    return own_folder(folder, &attr, err);
}

/* --- keys and configuration --------------------------------------------------------- */

/* Folders that the daemons fill by themselves. */
static int make_own_folders(struct setup *setup, struct err *err)
{
    const char *const own[] = { setup->want->auth_dir, setup->want->store,
                                find_setup_folder(setup, KEPT_FOLDER) };
    bool is_new;

    if (!setup->user)
        return 0;
    if (open_home(setup, path_dirname(setup->cli->arena, setup->want->auth_dir), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (make_folder(setup, own[i], KEYS_MODE, &is_new, err) < 0)
            return -1;
    return 0;
}

static int make_fleet_keys(struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    struct arena *arena = setup->cli->arena;
    const char *seed = path_join(arena, want->auth_dir, identity_file_name(IDENTITY_ACCOUNT_SEED));
    struct hostnames names = { .arena = arena };
    bool is_new = is_file_missing(seed);

    hostnames_add(&names, setup->host);
    hostnames_add_own(&names);
    if (is_new && fs_mkdirs(path_dirname(arena, want->nats_conf), CONF_FOLDER_MODE, err) < 0)
        return -1;
    if (make_own_folders(setup, err) < 0) /* a restore brings the keys, and not all of these */
        return -1;
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

static int make_trees(struct setup *setup, struct err *err)
{
    if (!is_file_missing(setup->want->config)) /* which may name others */
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        const char *folder = find_setup_folder(setup, trees[i].name);
        bool is_new;

        if (make_folder(setup, folder, trees[i].mode, &is_new, err) < 0)
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
    if (is_new && fs_mkdirs(path_dirname(setup->cli->arena, path), CONF_FOLDER_MODE, err) < 0)
        return -1;
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

    setup->services[0] = (struct supervised){ .name = "nats",
                                              .unit = "zester-nats.service",
                                              .summary = "NATS server of zester",
                                              .program = find_server_program(arena),
                                              .flag = "-c",
                                              .conf = setup->want->nats_conf };
    setup->services[1] =
        (struct supervised){ .name = "master",
                             .unit = "zester-master.service",
                             .summary = "Directs the peels of a zester fleet",
                             .program = program_find_beside(arena, "zester-master"),
                             .flag = "--config",
                             .conf = setup->want->config };
    setup->services[0].origin = setup->services[1].program;
    *supervisor = (struct supervisor){
        .kind = supervisor_choose(setup->want->supervisor),
        .services = setup->services,
        .count = ARRAY_LEN(setup->services),
        .kepler = program_find_beside(arena, "kepler"),
        .kepler_conf = setup->want->kepler_conf,
        .replaces = setup->want->change,
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

/* Sets the user of each service and the folders that it may write to. */
static void describe_sandbox(struct setup *setup)
{
    const struct setup_args *want = setup->want;
    const char *const trees_and_keys[] = {
        want->auth_dir,
        find_setup_folder(setup, trees[0].name),
        find_setup_folder(setup, trees[1].name),
        find_setup_folder(setup, trees[2].name),
        find_setup_folder(setup, KEPT_FOLDER),
        find_setup_folder(setup, STATUS_FILE),
    };
    struct supervised *master = &setup->services[1];

    _Static_assert(ARRAY_LEN(trees_and_keys) <= SUPERVISED_WRITES_MAX, "all folders have room");
    setup->user = supervisor_user(setup->cli->arena, &setup->supervisor);
    for (size_t i = 0; i < ARRAY_LEN(setup->services); i++) {
        setup->services[i].writer = "zester-master setup";
        setup->services[i].user = setup->user;
        setup->services[i].owned = want->auth_dir;
    }
    setup->services[0].writes[0] = want->store;
    if (strcmp(want->auth_dir, AUTH_DIR) != 0)
        memcpy(master->writes, trees_and_keys, sizeof(trees_and_keys));
}

/* Only now, when nothing else can be wrong. */
static int take_over_server(struct setup *setup, struct err *err)
{
    struct arena *arena = setup->cli->arena;

    if (!setup->is_in_way && !(setup->want->take_over && supervisor_has_unit(arena, SERVER_UNIT)))
        return 0;
    if (supervisor_disable_unit(arena, SERVER_UNIT, err) < 0)
        return -1;
    printf("stopped and disabled " SERVER_UNIT "\n");
    setup->has_changed = true;
    return 0;
}

static int start_master_services(struct setup *setup, struct err *err)
{
    struct arena *arena = setup->cli->arena;
    bool is_new;

    if (supervisor_write(arena, &setup->supervisor, &is_new, err) < 0 ||
        take_over_server(setup, err) < 0)
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

/* --- changing ----------------------------------------------------------------------- */

/* Ports that move must be free; the others are in use by our own services. */
static int check_moved_ports(struct setup *setup, const struct reconfigure *old,
                             const struct reconfigure_values *want, struct err *err)
{
    const char *listen = setup->want->listen ? setup->want->listen : LISTEN;

    if (want->port != old->before.port &&
        check_server_port(setup, print_listen(setup->cli->arena, listen, want->port), "--port",
                          err) < 0)
        return -1;
    if (strcmp(want->enroll_addr, old->before.enroll_addr) != 0 &&
        check_port(setup, want->enroll_addr, "--enroll-addr", err) < 0)
        return -1;
    if (strcmp(want->health_addr, old->before.health_addr) == 0)
        return 0;
    return check_port(setup, want->health_addr, "--health-addr", err);
}

static int change_setup(struct setup *setup, struct err *err)
{
    const struct setup_args *want = setup->want;
    struct arena *arena = setup->cli->arena;
    struct reconfigure_values values;
    struct reconfigure old;

    if (reconfigure_read(arena, want->config, want->nats_conf, &old, err) < 0)
        return -1;
    values = old.before;
    values.host = want->host ? want->host : values.host;
    values.port = want->port ? want->port : values.port;
    values.enroll_addr = want->enroll_addr ? want->enroll_addr : values.enroll_addr;
    values.health_addr = want->health_addr ? want->health_addr : values.health_addr;
    values.listen = want->listen;
    values.monitor = want->monitor;
    if (check_moved_ports(setup, &old, &values, err) < 0 ||
        reconfigure_write(&old, &values, err) < 0 || take_over_server(setup, err) < 0)
        return -1;
    setup->host = values.host;
    setup->has_changed = true;
    printf("changed certificate of nats-server (%s)\nchanged configuration (%s, %s)\n",
           old.auth_dir, want->nats_conf, want->config);
    if (supervisor_restart(arena, &setup->supervisor, err) < 0)
        return -1;
    return finish_setup(setup, err);
}

/* --- the command -------------------------------------------------------------------- */

static void fill_defaults(struct setup_args *want)
{
    want->listen = want->listen ? want->listen : LISTEN;
    want->port = want->port ? want->port : PORT;
    want->monitor = want->monitor ? want->monitor : NATS_AUTH_MONITOR;
    want->enroll_addr = want->enroll_addr ? want->enroll_addr : ENROLL_ADDR;
    want->health_addr = want->health_addr ? want->health_addr : HEALTH_ADDR;
}

static int make_setup(struct setup *setup, struct err *err)
{
    if (check_host(setup, err) < 0 || check_ports(setup, err) < 0)
        return -1;
    describe_sandbox(setup);
    if (make_fleet_keys(setup, err) < 0 || make_trees(setup, err) < 0 ||
        make_conf(setup, err) < 0 || start_master_services(setup, err) < 0)
        return -1;
    return finish_setup(setup, err);
}

static int run_setup(struct cli *cli, const void *args, struct param_strs operands)
{
    struct setup_args want = *(const struct setup_args *)args;
    struct setup setup = { .cli = cli, .want = &want };
    struct err err;

    (void)operands;
    setup.host = want.host ? want.host : hostnames_own(cli->arena);
    if (!want.change)
        fill_defaults(&want);
    if (find_setup_programs(&setup, &err) < 0 ||
        (want.change ? change_setup : make_setup)(&setup, &err) < 0)
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
        "are kept; a second run changes nothing.\n"
        "\n"
        "With systemd and installed units, both run as the user 'zester', who owns the keys.\n"
        "\n"
        "With --change, --host, --port, --nats-host, --monitor-addr, --enroll-addr and\n"
        "--health-addr change what is set up: configuration, certificates and the join command\n"
        "follow, and both are restarted. Older names stay in the certificates.\n",
    .examples = "  zester-master setup\n"
                "  zester-master setup --host master.example.com\n"
                "  zester-master setup --take-over-nats\n"
                "  zester-master setup --change --host new.example.com\n",
    .options = setup_options,
    .args_size = sizeof(struct setup_args),
    .run = run_setup,
};
