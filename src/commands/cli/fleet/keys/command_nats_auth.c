/* zester nats-auth: the keys of a fleet, and the matching server configuration. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/keyring.h"
#include "fleet/bus/server_conf.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/keys/nats_auth.h"
#include "fleet/enroll/ca.h"
#include "fleet/nats/creds.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define DEFAULT_DIR       "/var/lib/zester/auth"
#define DEFAULT_CONF      "/etc/nats/nats-server.conf"
#define DEFAULT_STORE     "/var/lib/nats/jetstream"
#define DEFAULT_LEAF      "/etc/nats/leaf"
#define DEFAULT_LEAF_DATA "/var/lib/nats/leaf"
#define CONF_MAX          ((size_t)1 << 20)
#define CONF_MODE         0644
#define KEY_MODE          0600

#define ARGS struct nats_auth_args

/* clang-format off */
static const struct param init_options[] = {
    PARAM("dir",             STR,  ARGS, dir, "output folder for keys and credentials", .kind_text = "DIR", .default_text = DEFAULT_DIR),
    PARAM("nats-conf",       STR,  ARGS, conf, "the configuration to write for nats-server", .kind_text = "FILE", .default_text = DEFAULT_CONF),
    PARAM("jetstream-store", STR,  ARGS, store, "the data folder of the server", .kind_text = "DIR", .default_text = DEFAULT_STORE),
    PARAM("nats-cert",       STR,  ARGS, cert, "the server's certificate (default: issued by DIR/ca)", .kind_text = "FILE"),
    PARAM("nats-key",        STR,  ARGS, key, "the key of that certificate", .kind_text = "FILE"),
    PARAM("dns",             STRS, ARGS, dns, "a DNS name for the issued certificate; may be repeated (localhost)", .kind_text = "NAME"),
    PARAM("ip",              STRS, ARGS, ips, "an address for the issued certificate; may be repeated (127.0.0.1)", .kind_text = "ADDRESS"),
    PARAM("name",            STR,  ARGS, name, "the name of the server", .kind_text = "NAME", .default_text = "zester-nats"),
    PARAM("host",            STR,  ARGS, host, "the address to listen on", .kind_text = "ADDRESS", .default_text = "0.0.0.0"),
    PARAM("port",            INT,  ARGS, port, "the port to listen on", PARAM_RANGE(1, 65535), .default_text = "4222"),
    PARAM("monitor-addr",    STR,  ARGS, monitor, "the address for monitoring pages of the server; '': none", .kind_text = "ADDRESS", .default_text = NATS_AUTH_MONITOR),
    PARAM("cluster",         STR,  ARGS, cluster, "the name of the cluster that the server belongs to", .kind_text = "NAME"),
    PARAM("cluster-port",    INT,  ARGS, cluster_port, "the port for the other servers of the cluster", PARAM_RANGE(1, 65535), .default_text = "6222"),
    PARAM("route",           STRS, ARGS, routes, "a server of the cluster: nats-route://HOST:PORT; may be repeated", .kind_text = "URL"),
    PARAM("leaf-port",       INT,  ARGS, leaf_port, "accept leaf nodes on this port; see 'zester nats-auth leaf'", PARAM_RANGE(1, 65535)),
    PARAM("force",           BOOL, ARGS, force, "replace existing ones: they are renamed, and every machine has to enroll again"),
    { 0 },
};

static const struct param leaf_options[] = {
    PARAM("dir",       STR,  ARGS, dir, "the folder of keys and credentials of the fleet", .kind_text = "DIR", .default_text = DEFAULT_DIR),
    PARAM("out",       STR,  ARGS, out, "the folder to write for the leaf node", .kind_text = "DIR", .default_text = DEFAULT_LEAF),
    PARAM("hub",       STRS, ARGS, hubs, "a server with JetStream: tls://HOST:PORT, its --leaf-port; may be repeated", .kind_text = "URL"),
    PARAM("data",      STR,  ARGS, store, "the data folder of the leaf node", .kind_text = "DIR", .default_text = DEFAULT_LEAF_DATA),
    PARAM("nats-cert", STR,  ARGS, cert, "the leaf node's certificate (default: issued by DIR/ca)", .kind_text = "FILE"),
    PARAM("nats-key",  STR,  ARGS, key, "the key of that certificate", .kind_text = "FILE"),
    PARAM("dns",       STRS, ARGS, dns, "a DNS name for the issued certificate; may be repeated (localhost)", .kind_text = "NAME"),
    PARAM("ip",        STRS, ARGS, ips, "an address for the issued certificate; may be repeated (127.0.0.1)", .kind_text = "ADDRESS"),
    PARAM("host",      STR,  ARGS, host, "the address to listen on", .kind_text = "ADDRESS", .default_text = "0.0.0.0"),
    PARAM("port",      INT,  ARGS, port, "the port to listen on", PARAM_RANGE(1, 65535), .default_text = "4222"),
    { 0 },
};

static const struct param dir_options[] = {
    PARAM("dir", STR, ARGS, dir, "the folder of keys and credentials", .kind_text = "DIR", .default_text = DEFAULT_DIR),
    { 0 },
};
/* clang-format on */

static int64_t read_auth_clock(void)
{
    return clock_wall() / CLOCK_SECOND;
}

/* --- init ------------------------------------------------------------------------ */

/* Everything that goes into DIR. */
struct auth_files {
    struct newfile list[IDENTITY_NAMES + 3];
    size_t n;
};

static const char *add_auth_file(struct cli *cli, const char *dir, struct auth_files *files,
                                 const struct newfile *file)
{
    files->list[files->n++] = *file;
    return path_absolute(cli->arena, path_join(cli->arena, dir, file->name));
}

/* A certificate for the server, issued by the authority in DIR/ca. */
static int issue_bus_certificate(struct cli *cli, const struct nats_auth_args *want,
                                 const char *out, struct auth_files *files,
                                 struct server_conf *conf, struct err *err)
{
    static const char *const localhost[] = { "localhost" }, *const loopback[] = { "127.0.0.1" };
    const char *folder = path_join(cli->arena, want->dir, "ca");
    const struct certificate_spec spec = {
        .name = "nats-server",
        .dns = want->dns.n > 0 ? want->dns : (struct param_strs){ 1, localhost },
        .ips = want->ips.n > 0 ? want->ips : (struct param_strs){ 1, loopback },
        .now = read_auth_clock(),
        .life = CA_SERVER_DAYS * CERTIFICATE_DAY,
    };
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf leaf;

    if (ca_open(cli->arena, folder, &ca, err) < 0 ||
        ca_issue(&ca, &spec, cli->arena, &leaf, err) < 0)
        return -1;
    conf->key_file = add_auth_file(cli, out, files,
                                   &(struct newfile){ "nats-server.key", leaf.key_pem, KEY_MODE });
    conf->ca_file =
        add_auth_file(cli, out, files, &(struct newfile){ "nats-ca.crt", ca.root_pem, CONF_MODE });
    conf->cert_file = add_auth_file(
        cli, out, files, &(struct newfile){ "nats-server.crt", leaf.chain_pem, CONF_MODE });
    return 0;
}

static int ensure_authority(struct cli *cli, const char *dir, struct err *err)
{
    const char *folder = path_join(cli->arena, dir, "ca");
    bool there;

    if (ca_is_there(folder, &there, err) < 0)
        return -1;
    return there ? 0 : ca_init(folder, read_auth_clock(), err);
}

static int write_auth_files(struct cli *cli, const struct nats_auth_args *want,
                            const struct auth_files *files, const struct newfile *conf,
                            struct err *err)
{
    if (newfiles_write(want->dir, files->list, files->n, "keys are never overwritten", err) < 0)
        return -1;
    if (newfiles_write(path_dirname(cli->arena, want->conf), conf, 1, "it is never overwritten",
                       err) < 0) {
        newfiles_remove(want->dir, files->list, files->n);
        return -1;
    }
    return 0;
}

/* Both, or none. */
static int rename_old_files(const struct nats_auth_args *want, const struct auth_files *files,
                            const char *folder, const struct newfile *conf, const char *suffix,
                            struct err *err)
{
    if (newfiles_set_aside(want->dir, files->list, files->n, suffix, err) < 0)
        return -1;
    if (newfiles_set_aside(folder, conf, 1, suffix, err) == 0)
        return 0;
    newfiles_put_back(want->dir, files->list, files->n, suffix);
    return -1;
}

/* Existing files are renamed: without the keys of a fleet, all of it is lost. */
static int replace_files(struct cli *cli, const struct nats_auth_args *want,
                         const struct auth_files *files, const struct newfile *conf,
                         struct err *err)
{
    const char *folder = path_dirname(cli->arena, want->conf), *suffix;
    struct auth_files before = *files;
    int64_t number = read_auth_clock();
    int result;

    for (enum identity_file i = IDENTITY_FILES; i < IDENTITY_NAMES;
         i++) /* signing keys of the older account */
        before.list[before.n++] = (struct newfile){ .name = identity_file_name(i) };
    do {
        suffix = arena_printf(cli->arena, ".%lld", (long long)number++);
        result = rename_old_files(want, &before, folder, conf, suffix, err);
    } while (result < 0 && err->code == ERR_BUSY);
    if (result < 0)
        return -1;
    if (write_auth_files(cli, want, files, conf, err) == 0) {
        printf("Existing files were renamed: their names now end in '%s'\n", suffix);
        return 0;
    }
    newfiles_put_back(folder, conf, 1, suffix);
    newfiles_put_back(want->dir, before.list, before.n, suffix);
    return -1;
}

/* First all texts, then the files in DIR, then the configuration: once it exists, so does
 * everything it names. */
static int init_auth(struct cli *cli, const struct nats_auth_args *want, struct identity *identity,
                     struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    struct newfile conf_file = { .name = path_basename(want->conf).p, .mode = CONF_MODE };
    struct auth_files files = { .n = IDENTITY_FILES };
    struct server_conf conf = {
        .name = want->name,
        .host = want->host,
        .port = want->port,
        .http = want->monitor[0] ? want->monitor : NULL,
        .store_dir = path_absolute(cli->arena, want->store),
        .cert_file = want->cert ? path_absolute(cli->arena, want->cert) : NULL,
        .key_file = want->key ? path_absolute(cli->arena, want->key) : NULL,
        .cluster_name = want->cluster,
        .cluster_host = want->host,
        .cluster_port = want->cluster_port,
        .routes = { want->routes.n, want->routes.p },
        .leaf_port = want->leaf_port,
    };

    identity_list(identity, files.list);
    if (!want->cert && (ensure_authority(cli, want->dir, err) < 0 ||
                        issue_bus_certificate(cli, want, want->dir, &files, &conf, err) < 0))
        return -1;
    if (server_conf_print(&text, &conf, identity, err) < 0)
        return -1;
    conf_file.text = buf_view(&text);
    return want->force ? replace_files(cli, want, &files, &conf_file, err)
                       : write_auth_files(cli, want, &files, &conf_file, err);
}

int nats_auth_init(struct cli *cli, const struct nats_auth_args *want, struct err *err)
{
    struct identity identity;
    int result;

    if (identity_make(cli->arena, read_auth_clock(), &identity, err) < 0)
        return -1;
    result = init_auth(cli, want, &identity, err);
    identity_wipe(&identity);
    return result;
}

/* The server may run elsewhere, so these are warnings. */
static void warn_if_missing(const char *path)
{
    struct fs_info info;
    struct err err;

    if (path && fs_stat(path, &info, &err) == 0 && info.kind == FS_NONE)
        (void)fprintf(stderr, "warning: nats-server needs '%s', which does not exist here\n", path);
}

static int run_auth_init(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct nats_auth_args *want = args;
    struct err err;

    (void)operands;
    if (!want->cluster != (want->routes.n == 0))
        return cli_usage(cli, "--cluster and --route must be used together");
    if (!want->cert != !want->key)
        return cli_usage(cli, "--nats-cert and --nats-key must be used together");
    if (nats_auth_init(cli, want, &err) < 0)
        return cli_err(cli, &err);
    printf("Wrote keys and credentials to %s\n"
           "Wrote the server configuration to %s\n"
           "Start the server with: nats-server -c %s\n"
           "Keep %s/operator.seed offline: only a new signing key needs it.\n",
           want->dir, want->conf, want->conf, want->dir);
    warn_if_missing(want->cert);
    warn_if_missing(want->key);
    return CLI_OK;
}

/* --- leaf ------------------------------------------------------------------------ */

#define LEAF_CONF "nats-server.conf"
#define LEAF_WHY  "leaf node files are never overwritten"

/* The credentials with which it connects to its hubs. */
static int add_auth_creds(struct cli *cli, const struct nats_auth_args *want, const char *name,
                          struct auth_files *files, struct server_conf *conf, struct err *err)
{
    const char *sys = identity_file_name(IDENTITY_SYS_CREDS);
    const char *path = path_join(cli->arena, want->dir, sys);
    struct newfile leaf_file = { "leaf.creds", { 0 }, KEY_MODE };
    struct newfile sys_file = { sys, { 0 }, KEY_MODE };
    struct identity_issuer issuer;
    struct accounts accounts;
    bool is_separate;
    int result;

    if (fs_read(cli->arena, path, NATS_CREDS_MAX, &sys_file.text, err) < 0)
        return -1;
    if (!sys_file.text.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (identity_read_accounts(want->dir, &accounts, &is_separate, err) < 0)
        return -1;
    issuer = identity_issuer(&accounts, ACCOUNT_PEELS, is_separate);
    result =
        identity_issue_leaf(cli->arena, &issuer, name, read_auth_clock(), &leaf_file.text, err);
    accounts_done(&accounts);
    if (result < 0)
        return -1;
    conf->leaf_creds = add_auth_file(cli, want->out, files, &leaf_file);
    conf->sys_creds = add_auth_file(cli, want->out, files, &sys_file);
    return 0;
}

/* Key texts are in our own arena memory, which may be wiped. */
static void wipe_secrets(struct auth_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        if (files->list[i].mode == KEY_MODE && files->list[i].text.p)
            ed25519_wipe((char *)(uintptr_t)files->list[i].text.p, files->list[i].text.n);
}

static int write_bus_leaf(struct cli *cli, const struct nats_auth_args *want, const char *name,
                          struct auth_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    struct identity identity;
    struct server_conf conf = {
        .name = name,
        .host = want->host,
        .port = want->port,
        .store_dir = path_absolute(cli->arena, want->store),
        .cert_file = want->cert ? path_absolute(cli->arena, want->cert) : NULL,
        .key_file = want->key ? path_absolute(cli->arena, want->key) : NULL,
        .hubs = want->hubs,
    };

    if (identity_read_claims(cli->arena, want->dir, read_auth_clock(), &identity, err) < 0 ||
        add_auth_creds(cli, want, name, files, &conf, err) < 0 ||
        (!want->cert && issue_bus_certificate(cli, want, want->out, files, &conf, err) < 0) ||
        server_conf_print(&text, &conf, &identity, err) < 0)
        return -1;
    (void)add_auth_file(cli, want->out, files,
                        &(struct newfile){ LEAF_CONF, buf_view(&text), CONF_MODE });
    return newfiles_write(want->out, files->list, files->n, LEAF_WHY, err);
}

static int run_leaf(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct nats_auth_args *want = args;
    struct auth_files files = { .n = 0 };
    struct err err;
    int result;

    if (want->hubs.n == 0)
        return cli_usage(cli, "missing --hub URL");
    if (!want->cert != !want->key)
        return cli_usage(cli, "--nats-cert and --nats-key must be used together");
    result = write_bus_leaf(cli, want, operands.p[0], &files, &err);
    wipe_secrets(&files);
    if (result < 0)
        return cli_err(cli, &err);
    printf("Wrote the leaf node to %s: copy this folder, with its owner and modes, to the same "
           "path there\n"
           "Start it there with: nats-server -c %s/" LEAF_CONF "\n",
           want->out, want->out);
    return CLI_OK;
}

/* --- lint ------------------------------------------------------------------------ */

/* Print what is missing from a list, one per line; returns how many. */
static size_t report_missing_files(const char *file, const char *verb, struct param_strs wanted,
                                   struct param_strs found)
{
    size_t missing = 0;

    for (size_t i = 0; i < wanted.n; i++) {
        size_t j = 0;

        while (j < found.n && strcmp(found.p[j], wanted.p[i]) != 0)
            j++;
        if (j < found.n)
            continue;
        printf("%s: no permission to %s '%s'\n", file, verb, wanted.p[i]);
        missing++;
    }
    return missing;
}

static int lint_creds(struct cli *cli, const char *dir, enum identity_file file,
                      enum grant_role role, size_t *problems, struct err *err)
{
    const char *path = path_join(cli->arena, dir, identity_file_name(file));
    struct nats_creds creds;
    struct claims_user claims;
    struct grants grants;
    struct str text;
    int result;

    if (fs_read(cli->arena, path, NATS_CREDS_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (nats_creds_parse(text, &creds, err) < 0)
        return err_wrap(err, "'%s'", path);
    result =
        claims_read_user(cli->arena, str_from(arena_strdup(cli->arena, creds.jwt)), &claims, err);
    nats_creds_done(&creds);
    if (result < 0 || grant_list(cli->arena, role, NULL, &grants, err) < 0)
        return err_wrap(err, "'%s'", path);
    *problems += report_missing_files(path, "publish", grants.allow[GRANT_PUBLISH], claims.publish);
    *problems +=
        report_missing_files(path, "subscribe to", grants.allow[GRANT_SUBSCRIBE], claims.subscribe);
    return 0;
}

static int lint_account(struct cli *cli, const char *dir, struct err *err)
{
    const char *operator_path =
        path_join(cli->arena, dir, identity_file_name(IDENTITY_OPERATOR_JWT));
    const char *account_path = path_join(cli->arena, dir, identity_file_name(IDENTITY_ACCOUNT_JWT));
    struct str operator_jwt, account_jwt;
    struct nats_nkey key;
    char account[NATS_NKEY_TEXT_SIZE];

    if (identity_read_key(dir, IDENTITY_ACCOUNT_SEED, &key, err) < 0)
        return -1;
    nats_nkey_print_public(&key, account);
    nats_nkey_done(&key);
    if (fs_read(cli->arena, operator_path, CONF_MAX, &operator_jwt, err) < 0 ||
        fs_read(cli->arena, account_path, CONF_MAX, &account_jwt, err) < 0)
        return -1;
    if (!operator_jwt.p || !account_jwt.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist",
                       operator_jwt.p ? account_path : operator_path);
    return claims_verify_account(cli->arena, operator_jwt, account_jwt, account, err);
}

/* Once there is a signing key, credentials of peels are issued with it. */
static int lint_signing(struct cli *cli, const char *dir, struct err *err)
{
    const char *path = path_join(cli->arena, dir, identity_file_name(IDENTITY_ACCOUNT_JWT));
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey key;
    struct keyring ring;
    struct str jwt;

    if (fs_read(cli->arena, path, CONF_MAX, &jwt, err) < 0 ||
        keyring_read_jwt(cli->arena, jwt, &ring, err) < 0)
        return -1;
    if (ring.keys.n == 0)
        return 0;
    if (identity_read_key(dir, IDENTITY_SIGNING_SEED, &key, err) < 0)
        return -1;
    nats_nkey_print_public(&key, text);
    nats_nkey_done(&key);
    if (strcmp(text, ring.keys.p[0]) == 0)
        return 0;
    return err_set(err, ERR_INVALID, "'%s/%s' is %s, expected the key in use, %s", dir,
                   identity_file_name(IDENTITY_SIGNING_SEED), text, ring.keys.p[0]);
}

static int run_lint(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct nats_auth_args *want = args;
    size_t problems = 0;
    struct err err;

    (void)operands;
    if (lint_account(cli, want->dir, &err) < 0 || lint_signing(cli, want->dir, &err) < 0 ||
        lint_creds(cli, want->dir, IDENTITY_MASTER_CREDS, GRANT_MASTER, &problems, &err) < 0 ||
        lint_creds(cli, want->dir, IDENTITY_ADMIN_CREDS, GRANT_ADMIN, &problems, &err) < 0 ||
        lint_creds(cli, want->dir, IDENTITY_SYS_CREDS, GRANT_SYSTEM, &problems, &err) < 0)
        return cli_err(cli, &err);
    if (problems > 0)
        return cli_error(cli, "%zu grant%s missing: issue these credentials again", problems,
                         problems == 1 ? " is" : "s are");
    printf("%s: keys, claims and grants are complete\n", want->dir);
    return CLI_OK;
}

/* --- the group ------------------------------------------------------------------- */

static const struct command auth_commands[] = {
    {
        .name = "init",
        .operands = "",
        .summary = "create keys, credentials and a server configuration",
        .details =
            "Writes operator, account and user keys with their JWTs into DIR, and a configuration\n"
            "for nats-server: TLS only, operator mode, JetStream. Without --nats-cert a\n"
            "certificate authority (DIR/ca) and a certificate for the server are created as well.\n"
            "Existing files are never overwritten; with --force they are renamed, and the\n"
            "certificate authority stays.\n",
        .examples =
            "  zester nats-auth init --dns nats.example.com --ip 10.0.0.5\n"
            "  zester nats-auth init --dir ./auth --nats-conf ./nats.conf --jetstream-store ./js\n",
        .options = init_options,
        .args_size = sizeof(struct nats_auth_args),
        .run = run_auth_init,
    },
    {
        .name = "leaf",
        .operands = "NAME",
        .summary = "create the files of a leaf node, a server in front of many peels",
        .details =
            "A leaf node is a nats-server without JetStream near the peels: they connect to it,\n"
            "and it has one connection to the servers of the fleet, which were made with\n"
            "--leaf-port. Writes its configuration, certificate and credentials into --out.\n"
            "It may do what any peel may do, and read the system account.\n",
        .examples =
            "  zester nats-auth leaf rack-7 --hub tls://nats.example.com:7422 --dns rack-7\n",
        .options = leaf_options,
        .args_size = sizeof(struct nats_auth_args),
        .least = 1,
        .most = 1,
        .run = run_leaf,
    },
    {
        .name = "rotate",
        .operands = "",
        .summary = "replace the signing key of peels' credentials, without enrolling them again",
        .details =
            "Makes a new signing key of the account (DIR/account-signing.seed), tells all\n"
            "servers, and issues credentials with it from then on. Peels renew theirs by\n"
            "themselves, spread over --spread; older keys are accepted until --finish, which\n"
            "refuses while peels depend on them. Run it where the keys of the fleet are, and\n"
            "copy account-signing.seed to the other masters. A run that was interrupted goes on\n"
            "when it is repeated. Credentials of masters, operators and leaf nodes, and the\n"
            "account's own key, stay as they are.\n",
        .examples = "  zester nats-auth rotate\n"
                    "  zester nats-auth rotate --status\n"
                    "  zester nats-auth rotate --finish\n",
        .options = nats_auth_rotate_options,
        .args_size = sizeof(struct nats_auth_rotate_args),
        .run = nats_auth_run_rotate,
    },
    {
        .name = "lint",
        .operands = "",
        .summary = "check that keys match and credentials have all grants",
        .examples = "  zester nats-auth lint\n",
        .options = dir_options,
        .args_size = sizeof(struct nats_auth_args),
        .run = run_lint,
    },
    { 0 },
};

const struct command command_nats_auth = {
    .name = "nats-auth",
    .operands = "",
    .summary = "manage keys, credentials and the server configuration of a fleet",
    .examples = "  zester nats-auth init --dns nats.example.com\n",
    .commands = auth_commands,
};
