/* zester ca: the certificate authority of the fleet. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "fleet/enroll/ca.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define DEFAULT_DIR "/var/lib/zester/auth/ca"
#define KEY_MODE    0600
#define CERT_MODE   0644
#define DAYS_MAX    3650

struct ca_args {
    const char *dir, *out;
    struct param_strs dns, ips;
    int64_t days;
};

#define ARGS struct ca_args
#define DIR_OPTION                                                                                 \
    PARAM("dir", STR, ARGS, dir, "the folder of the authority", .kind_text = "DIR",                \
          .default_text = DEFAULT_DIR)

static const struct param dir_options[] = { DIR_OPTION, { 0 } };

/* clang-format off */
static const struct param issue_options[] = {
    DIR_OPTION,
    PARAM("dns",  STRS, ARGS, dns, "a DNS name of the server, or several with commas; may be repeated", .kind_text = "NAME"),
    PARAM("ip",   STRS, ARGS, ips, "an address of the server, or several with commas; may be repeated", .kind_text = "ADDRESS"),
    PARAM("out",  STR,  ARGS, out, "output folder", .kind_text = "DIR", .default_text = "."),
    PARAM("days", INT,  ARGS, days, "period of validity", PARAM_RANGE(1, DAYS_MAX)),
    { 0 },
};
/* clang-format on */

static int64_t read_ca_clock(void)
{
    return clock_wall() / CLOCK_SECOND;
}

static int run_ca_init(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct ca_args *want = args;
    AUTO_CA struct ca ca = { 0 };
    char pin[CERTIFICATE_PIN_SIZE];
    struct err err;

    (void)operands;
    if (ca_init(want->dir, read_ca_clock(), &err) < 0 ||
        ca_open(cli->arena, want->dir, &ca, &err) < 0)
        return cli_err(cli, &err);
    certificate_pin(&ca.root, pin);
    printf("Created a certificate authority in %s\n"
           "Fingerprint of the root: %s\n"
           "Keep %s/root.key offline: only a new intermediate needs it.\n",
           want->dir, pin, want->dir);
    return CLI_OK;
}

static int run_fingerprint(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct ca_args *want = args;
    AUTO_CA struct ca ca = { 0 };
    char pin[CERTIFICATE_PIN_SIZE];
    struct err err;

    (void)operands;
    if (ca_open(cli->arena, want->dir, &ca, &err) < 0)
        return cli_err(cli, &err);
    certificate_pin(&ca.root, pin);
    puts(pin);
    return CLI_OK;
}

/* --- print ----------------------------------------------------------------------- */

static int print_certificate(struct cli *cli, const char *what,
                             const struct certificate *certificate, struct err *err)
{
    AUTO_BUF struct buf begins = BUF_INIT(BUF_NO_LIMIT), ends = BUF_INIT(BUF_NO_LIMIT);
    struct certificate_facts facts;
    char pin[CERTIFICATE_PIN_SIZE];

    if (certificate_look(certificate, cli->arena, &facts, err) < 0)
        return -1;
    certificate_pin(certificate, pin);
    time_print(&begins, (struct value_time){ .seconds = facts.begins });
    time_print(&ends, (struct value_time){ .seconds = facts.ends });
    printf("%s: %s\n  valid:       %s to %s\n  fingerprint: %s\n", what, facts.subject,
           buf_text(&begins), buf_text(&ends), pin);
    return 0;
}

static int run_print(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct ca_args *want = args;
    AUTO_CA struct ca ca = { 0 };
    struct err err;

    (void)operands;
    if (ca_open(cli->arena, want->dir, &ca, &err) < 0 ||
        print_certificate(cli, "root", &ca.root, &err) < 0 ||
        print_certificate(cli, "intermediate", &ca.intermediate, &err) < 0)
        return cli_err(cli, &err);
    printf("root key:      %s\n%s", ca.has_root_key ? "here" : "offline", ca.root_pem.p);
    return CLI_OK;
}

/* --- issue ----------------------------------------------------------------------- */

struct leaf_file {
    const char *name;
    struct str text;
    mode_t mode;
};

/* Files of each kind of server, and their validity. */
static const struct {
    const char *word, *certificate, *key, *root; /* names of files; root NULL: none */
    int64_t days;
} servers[] = {
    { "nats-server", "nats-server.crt", "nats-server.key", "nats-ca.crt", CA_SERVER_DAYS },
    { "enroll", "enroll.crt", "enroll.key", NULL, CA_ENROLL_DAYS },
};

/* Write the key first: a certificate on disk always has its key. */
static int write_ca_leaf(struct cli *cli, const char *out, size_t server, const struct ca *ca,
                         const struct ca_leaf *leaf, struct err *err)
{
    const struct leaf_file outputs[] = {
        { servers[server].key, leaf->key_pem, KEY_MODE },
        { servers[server].root, ca->root_pem, CERT_MODE },
        { servers[server].certificate, leaf->chain_pem, CERT_MODE },
    };

    if (fs_mkdirs(out, 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
        const struct fs_replace_options options = { .attr = { outputs[i].mode, FS_KEEP, FS_KEEP } };
        const char *path;

        if (!outputs[i].name)
            continue;
        path = path_join(cli->arena, out, outputs[i].name);
        if (fs_replace(path, outputs[i].text, &options, err) < 0)
            return -1;
        printf("Wrote %s\n", path);
    }
    return 0;
}

/* Each text may be several, with commas between them, which neither names nor addresses have. */
static struct param_strs split_names(struct arena *arena, struct param_strs texts)
{
    size_t most = texts.n, n = 0;
    const char **names;

    for (size_t i = 0; i < texts.n; i++)
        for (const char *c = strchr(texts.p[i], ','); c; c = strchr(c + 1, ','))
            most++;
    names = ARENA_ARRAY(arena, const char *, most);
    for (size_t i = 0; i < texts.n; i++) {
        struct str rest = str_from(texts.p[i]);

        do {
            const struct str name = str_trim(str_cut(&rest, ','));

            names[n++] = arena_strndup(arena, name.p, name.n);
        } while (rest.p);
    }
    return (struct param_strs){ n, names };
}

static int issue_ca_certificate(struct cli *cli, const struct ca_args *want, size_t server)
{
    const struct certificate_spec spec = {
        .name = servers[server].word,
        .dns = split_names(cli->arena, want->dns),
        .ips = split_names(cli->arena, want->ips),
        .now = read_ca_clock(),
        .life = (want->days > 0 ? want->days : servers[server].days) * CERTIFICATE_DAY,
    };
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf leaf;
    struct err err;

    if (want->dns.n + want->ips.n == 0)
        return cli_usage(cli, "missing server name: use --dns NAME or --ip ADDRESS");
    if (ca_open(cli->arena, want->dir, &ca, &err) < 0 ||
        ca_issue(&ca, &spec, cli->arena, &leaf, &err) < 0 ||
        write_ca_leaf(cli, want->out, server, &ca, &leaf, &err) < 0)
        return cli_err(cli, &err);
    return CLI_OK;
}

static int run_ca_issue(struct cli *cli, const void *args, struct param_strs operands)
{
    for (size_t i = 0; i < ARRAY_LEN(servers); i++)
        if (strcmp(servers[i].word, operands.p[0]) == 0)
            return issue_ca_certificate(cli, args, i);
    return cli_usage(cli, "cannot issue '%s': expected nats-server or enroll", operands.p[0]);
}

/* --- the group ------------------------------------------------------------------- */

static const struct command ca_commands[] = {
    {
        .name = "init",
        .operands = "",
        .summary = "create a certificate authority: root and intermediate",
        .details = "Writes root.crt, root.key, intermediate.crt and intermediate.key into DIR.\n"
                   "Existing files are never overwritten.\n",
        .examples = "  zester ca init\n",
        .options = dir_options,
        .args_size = sizeof(struct ca_args),
        .run = run_ca_init,
    },
    {
        .name = "fingerprint",
        .operands = "",
        .summary = "print the pin of the root: sha256:<hex>",
        .examples = "  zester ca fingerprint\n",
        .details = "The pin is a hash of the root's public key. Peels that have it (enroll_ca_pin) "
                   "trust no\n other authority, not even on first contact.\n",
        .options = dir_options,
        .args_size = sizeof(struct ca_args),
        .run = run_fingerprint,
    },
    {
        .name = "print",
        .operands = "",
        .summary = "show the certificates of the authority",
        .examples = "  zester ca print --dir /root/ca\n",
        .options = dir_options,
        .args_size = sizeof(struct ca_args),
        .run = run_print,
    },
    {
        .name = "issue",
        .operands = "nats-server|enroll",
        .summary = "issue a certificate for a server",
        .details =
            "nats-server  writes nats-server.crt, nats-server.key and nats-ca.crt (365 days)\n"
            "enroll       writes enroll.crt and enroll.key, for the master's HTTPS port\n"
            "             (90 days; a master with the authority at hand issues its own)\n",
        .examples =
            "  zester ca issue nats-server --dns nats.example.com --ip 10.0.0.5 --out /etc/nats\n",
        .options = issue_options,
        .args_size = sizeof(struct ca_args),
        .least = 1,
        .most = 1,
        .run = run_ca_issue,
    },
    { 0 },
};

const struct command command_ca = {
    .name = "ca",
    .operands = "",
    .summary = "manage the certificate authority of the fleet",
    .examples = "  zester ca init\n"
                "  zester ca issue nats-server --dns nats.example.com --out /etc/nats\n",
    .commands = ca_commands,
};
