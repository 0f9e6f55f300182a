#include "commands/cli/fleet/setup/reconfigure.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/edit/edit.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"
#include "core/sys/path.h"
#include "fleet/enroll/ca.h"
#include "fleet/master/conf.h"

#define FILE_MAX    ((size_t)1 << 20)
#define SERVER_CERT "nats-server.crt"
#define SERVER_KEY  "nats-server.key"

/* --- reading ------------------------------------------------------------------------ */

/* "tls://127.0.0.1:4222" */
static int read_url_port(const char *url, int64_t *ret, struct err *err)
{
    const char *colon = strrchr(url, ':');

    if (!colon || number_parse_int(str_from(colon + 1), ret, err) < 0)
        return err_set(err, ERR_INVALID, "nats_url '%s' has no port", url);
    return 0;
}

int reconfigure_read(struct arena *arena, const char *config, const char *nats_conf,
                     struct reconfigure *ret, struct err *err)
{
    const struct daemon_line line = { .file = config };
    struct diags diags = DIAGS_INIT(arena);
    struct master_conf conf = { 0 };
    struct fs_info info;

    if (fs_stat(nats_conf, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' does not exist: this machine is not set up; run setup without "
                       "--change",
                       nats_conf);
    if (daemon_conf_read(&master_daemon_conf, &line, arena, &conf, &diags, &diags) < 0)
        return diags_to_err(&diags, err);
    if (conf.ca_enroll_sans.n == 0)
        return err_set(err, ERR_INVALID,
                       "'%s' has no ca.enroll_sans: it was not written by setup; edit it by hand",
                       config);
    *ret = (struct reconfigure){
        .arena = arena,
        .config = config,
        .nats_conf = nats_conf,
        .auth_dir = conf.auth_dir,
        .before = { .host = conf.ca_enroll_sans.p[0],
                    .enroll_addr = conf.enroll_addr,
                    .health_addr = conf.health_addr },
        .hosts = conf.ca_enroll_sans,
        .urls = conf.nats_advertise_urls,
    };
    return read_url_port(conf.nats_url, &ret->before.port, err);
}

/* --- texts -------------------------------------------------------------------------- */

/* A file with its new text, and the old one in case a later file cannot be written. */
struct edited_file {
    const char *path;
    struct str before, after;
};

/* Set the line that matches; empty: add one. */
static int set_line(struct arena *arena, struct str *text, const char *match, const char *line,
                    struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);
    const struct edit_line edit = { .mode = EDIT_LINE_ENSURE,
                                    .content = str_from(line),
                                    .match = str_from(match) };

    if (edit_line(*text, &edit, &out, err) < 0)
        return -1;
    *text = arena_str(arena, buf_view(&out));
    return 0;
}

static const char *print_pair(struct arena *arena, const char *key, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);

    buf_printf(&out, "%s: ", key);
    json_print_text(&out, str_from(text), JSON_STYLE_COMPACT);
    return arena_strdup(arena, buf_text(&out));
}

static const char *print_list(struct arena *arena, const char *key, struct param_strs list)
{
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);

    buf_printf(&out, "%s: [", key);
    for (size_t i = 0; i < list.n; i++) {
        buf_add_text(&out, i > 0 ? ", " : "");
        json_print_text(&out, str_from(list.p[i]), JSON_STYLE_COMPACT);
    }
    buf_add_char(&out, ']');
    return arena_strdup(arena, buf_text(&out));
}

/* The new name first, then those that were used before. */
static struct param_strs list_hosts(const struct reconfigure *reconfigure, const char *host)
{
    const char **list = arena_alloc(reconfigure->arena, (reconfigure->hosts.n + 1) * sizeof(*list));
    size_t n = 0;

    list[n++] = host;
    for (size_t i = 0; i < reconfigure->hosts.n; i++)
        if (strcmp(reconfigure->hosts.p[i], host) != 0)
            list[n++] = reconfigure->hosts.p[i];
    return (struct param_strs){ n, list };
}

static const char *print_bus_url(struct arena *arena, const char *host, int64_t port)
{
    return arena_printf(arena, strchr(host, ':') ? "tls://[%s]:%d" : "tls://%s:%d", host,
                        (int)port);
}

/* Our own server in the list of those that are announced; the others stay. */
static struct param_strs list_urls(const struct reconfigure *reconfigure,
                                   const struct reconfigure_values *want)
{
    struct arena *arena = reconfigure->arena;
    const char *old = print_bus_url(arena, reconfigure->before.host, reconfigure->before.port);
    const char *new = print_bus_url(arena, want->host, want->port);
    const char **list = arena_alloc(arena, (reconfigure->urls.n + 1) * sizeof(*list));
    size_t n = 0;

    if (!hostnames_is_loopback(want->host)) /* no other machine can use it */
        list[n++] = new;
    for (size_t i = 0; i < reconfigure->urls.n; i++)
        if (strcmp(reconfigure->urls.p[i], old) != 0 && strcmp(reconfigure->urls.p[i], new) != 0)
            list[n++] = reconfigure->urls.p[i];
    return (struct param_strs){ n, list };
}

/* A file that somebody has written in another way may not have these lines. */
static int check_master_text(const struct reconfigure *reconfigure, struct str text,
                             const char *host, struct err *err)
{
    struct diags diags = DIAGS_INIT(reconfigure->arena);
    const struct value *ca, *sans;
    struct value conf;

    if (yaml_parse(reconfigure->arena, reconfigure->config, text, NULL, &conf, &diags) == 0) {
        ca = value_get(&conf, "ca");
        sans = ca && ca->kind == VALUE_MAP ? value_get(ca, "enroll_sans") : NULL;
        if (sans && sans->kind == VALUE_LIST && sans->list->count > 0 &&
            sans->list->items[0].kind == VALUE_STR && str_eq_text(sans->list->items[0].s, host))
            return 0;
    }
    return err_set(err, ERR_INVALID,
                   "'%s' is not laid out as setup writes it; change it by hand, and restart the "
                   "master",
                   reconfigure->config);
}

static int edit_master_conf(const struct reconfigure *reconfigure,
                            const struct reconfigure_values *want, struct edited_file *change,
                            struct err *err)
{
    struct arena *arena = reconfigure->arena;
    const struct reconfigure_values *before = &reconfigure->before;
    const struct {
        const char *match, *line;
        bool is_wanted;
    } lines[] = {
        { "^nats_url:",
          print_pair(arena, "nats_url", print_bus_url(arena, "127.0.0.1", want->port)),
          want->port != before->port },
        { "^health_addr:", print_pair(arena, "health_addr", want->health_addr),
          strcmp(want->health_addr, before->health_addr) != 0 },
        { "^  addr:", print_pair(arena, "  addr", want->enroll_addr),
          strcmp(want->enroll_addr, before->enroll_addr) != 0 },
        { "^  enroll_sans:",
          print_list(arena, "  enroll_sans", list_hosts(reconfigure, want->host)), true },
        { "^nats_advertise_urls:",
          print_list(arena, "nats_advertise_urls", list_urls(reconfigure, want)), true },
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (lines[i].is_wanted &&
            set_line(arena, &change->after, lines[i].match, lines[i].line, err) < 0)
            return -1;
    return check_master_text(reconfigure, change->after, want->host, err);
}

static int edit_server_conf(const struct reconfigure *reconfigure,
                            const struct reconfigure_values *want, struct edited_file *change,
                            struct err *err)
{
    struct arena *arena = reconfigure->arena;
    const char *port = arena_printf(arena, "port: %d", (int)want->port);

    if (want->port != reconfigure->before.port &&
        set_line(arena, &change->after, "^port:", port, err) < 0)
        return -1;
    if (want->listen &&
        set_line(arena, &change->after, "^host:", print_pair(arena, "host", want->listen), err) < 0)
        return -1;
    if (!want->monitor)
        return 0;
    return set_line(
        arena, &change->after,
        "^http:", want->monitor[0] ? print_pair(arena, "http", want->monitor) : "# http: off", err);
}

/* Both files of a certificate for all names, by the authority of the fleet. */
static int issue_server_certificate(const struct reconfigure *reconfigure, const char *host,
                                    struct edited_file *key, struct edited_file *cert,
                                    struct err *err)
{
    struct arena *arena = reconfigure->arena;
    const struct param_strs hosts = list_hosts(reconfigure, host);
    struct hostnames names = { .arena = arena };
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf leaf;

    for (size_t i = 0; i < hosts.n; i++)
        hostnames_add(&names, hosts.p[i]);
    hostnames_add_own(&names);
    if (ca_open(arena, path_join(arena, reconfigure->auth_dir, "ca"), &ca, err) < 0 ||
        ca_issue(&ca,
                 &(struct certificate_spec){ .name = "nats-server",
                                             .dns = { names.dns.n, names.dns.p },
                                             .ips = { names.ips.n, names.ips.p },
                                             .now = clock_wall() / CLOCK_SECOND,
                                             .life = CA_SERVER_DAYS * CERTIFICATE_DAY },
                 arena, &leaf, err) < 0)
        return -1;
    key->after = leaf.key_pem;
    cert->after = leaf.chain_pem;
    return 0;
}

/* --- writing ------------------------------------------------------------------------ */

static int read_edited_files(struct arena *arena, struct edited_file *changes, size_t count,
                             struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (fs_read(arena, changes[i].path, FILE_MAX, &changes[i].before, err) < 0)
            return -1;
        if (!changes[i].before.p)
            return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", changes[i].path);
        changes[i].after = changes[i].before;
    }
    return 0;
}

static int write_edited_files(const struct edited_file *changes, size_t count, struct err *err)
{
    const struct fs_replace_options options = { .attr = FS_ATTR_KEEP };
    struct err ignored;
    size_t done = 0;

    while (done < count && fs_replace(changes[done].path, changes[done].after, &options, err) == 0)
        done++;
    if (done == count)
        return 0;
    while (done-- > 0)
        (void)fs_replace(changes[done].path, changes[done].before, &options, &ignored);
    return -1;
}

int reconfigure_write(const struct reconfigure *reconfigure, const struct reconfigure_values *want,
                      struct err *err)
{
    struct arena *arena = reconfigure->arena;
    struct edited_file changes[] = {
        { .path = path_join(arena, reconfigure->auth_dir, SERVER_KEY) },
        { .path = path_join(arena, reconfigure->auth_dir, SERVER_CERT) },
        { .path = reconfigure->nats_conf },
        { .path = reconfigure->config },
    };

    if (read_edited_files(arena, changes, ARRAY_LEN(changes), err) < 0 ||
        issue_server_certificate(reconfigure, want->host, &changes[0], &changes[1], err) < 0 ||
        edit_server_conf(reconfigure, want, &changes[2], err) < 0 ||
        edit_master_conf(reconfigure, want, &changes[3], err) < 0)
        return -1;
    return write_edited_files(changes, ARRAY_LEN(changes), err);
}
