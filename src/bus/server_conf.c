#include "bus/server_conf.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "bus/identity.h"

/* The JWT of a peel makes its first line longer than the server's default allows. */
#define MAX_CONTROL_LINE 16384
#define ROUTE_SCHEME     "nats-route://"

static int check_text(const char *what, const char *text, struct err *err)
{
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
            return err_set(err, ERR_INVALID, "%s '%s' has a quote or control character", what,
                           text);
    return 0;
}

static int check_path(const char *what, const char *path, struct err *err)
{
    if (!path || path[0] != '/')
        return err_set(err, ERR_INVALID, "%s '%s' is not an absolute path", what, path ? path : "");
    return check_text(what, path, err);
}

static int check_route(const char *route, struct err *err)
{
    if (strncmp(route, ROUTE_SCHEME, strlen(ROUTE_SCHEME)) != 0 || !route[strlen(ROUTE_SCHEME)])
        return err_set(err, ERR_INVALID, "route '%s': expected " ROUTE_SCHEME "HOST:PORT", route);
    return check_text("route", route, err);
}

static int check_conf(const struct server_conf *conf, struct err *err)
{
    const struct {
        const char *what, *text;
    } texts[] = {
        { "server name", conf->name },          { "host", conf->host },
        { "monitoring address", conf->http },   { "cluster name", conf->cluster_name },
        { "cluster host", conf->cluster_host },
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].text && check_text(texts[i].what, texts[i].text, err) < 0)
            return -1;
    for (size_t i = 0; i < conf->routes.n; i++)
        if (check_route(conf->routes.p[i], err) < 0)
            return -1;
    if (check_path("JetStream store", conf->store_dir, err) < 0 ||
        check_path("certificate", conf->cert_file, err) < 0 ||
        check_path("key", conf->key_file, err) < 0)
        return -1;
    return conf->ca_file ? check_path("CA", conf->ca_file, err) : 0;
}

static void print_tls(struct buf *out, const struct server_conf *conf, const char *indent)
{
    buf_printf(out, "%stls {\n%s  cert_file: \"%s\"\n%s  key_file: \"%s\"\n", indent, indent,
               conf->cert_file, indent, conf->key_file);
    if (conf->ca_file && indent[0])
        buf_printf(out, "%s  ca_file: \"%s\"\n", indent, conf->ca_file);
    buf_printf(out, "%s  timeout: 10\n%s}\n", indent, indent);
}

/* Servers of a cluster know each other by certificates of the same authority. */
static void print_cluster(struct buf *out, const struct server_conf *conf)
{
    if (!conf->cluster_name)
        return;
    buf_printf(out, "cluster {\n  name: \"%s\"\n  listen: \"%s:%lld\"\n", conf->cluster_name,
               conf->cluster_host, (long long)conf->cluster_port);
    print_tls(out, conf, "  ");
    buf_add_text(out, "  routes: [\n");
    for (size_t i = 0; i < conf->routes.n; i++)
        buf_printf(out, "    \"%s\"\n", conf->routes.p[i]);
    buf_add_text(out, "  ]\n}\n");
}

static struct str one_line(struct str text)
{
    return str_trim(text);
}

static void print_accounts(struct buf *out, const struct server_conf *conf,
                           const struct identity *identity)
{
    buf_printf(out,
               "operator: %.*s\n"
               "system_account: %s\n"
               "resolver {\n"
               "  type: full\n"
               "  dir: \"%s/accounts\"\n"
               "  allow_delete: true\n"
               "  interval: \"2m\"\n"
               "}\n"
               "resolver_preload {\n"
               "  %s: %.*s\n"
               "  %s: %s\n"
               "}\n",
               STR_ARG(one_line(identity->files[IDENTITY_OPERATOR_JWT])), identity->system_account,
               conf->store_dir, identity->account,
               STR_ARG(one_line(identity->files[IDENTITY_ACCOUNT_JWT])), identity->system_account,
               identity->system_jwt);
}

int server_conf_print(struct buf *out, const struct server_conf *conf,
                      const struct identity *identity, struct err *err)
{
    if (check_conf(conf, err) < 0)
        return -1;
    buf_printf(out,
               "# nats-server for a zester fleet; written by zester.\n"
               "server_name: \"%s\"\n"
               "host: \"%s\"\n"
               "port: %lld\n",
               conf->name, conf->host, (long long)conf->port);
    if (conf->http)
        buf_printf(out, "http: \"%s\"\n", conf->http);
    buf_printf(out, "max_control_line: %d\n", MAX_CONTROL_LINE);
    print_tls(out, conf, "");
    buf_printf(out, "jetstream {\n  store_dir: \"%s\"\n}\n", conf->store_dir);
    print_cluster(out, conf);
    print_accounts(out, conf, identity);
    return 0;
}
