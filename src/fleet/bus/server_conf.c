#include "fleet/bus/server_conf.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/identity.h"

/* The JWT of a peel makes its first line longer than the server's default allows. */
#define MAX_CONTROL_LINE 16384
#define ROUTE_SCHEME     "nats-route://"
#define HUB_SCHEME       "tls://"

static int check_server_text(const char *what, const char *text, struct err *err)
{
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
            return err_set(err, ERR_INVALID, "%s '%s' has a quote or control character", what,
                           text);
    return 0;
}

static int check_server_path(const char *what, const char *path, struct err *err)
{
    if (!path || path[0] != '/')
        return err_set(err, ERR_INVALID, "%s '%s' is not an absolute path", what, path ? path : "");
    return check_server_text(what, path, err);
}

static int check_urls(const char *what, const char *scheme, struct param_strs urls, struct err *err)
{
    for (size_t i = 0; i < urls.n; i++) {
        const char *url = urls.p[i];

        if (strncmp(url, scheme, strlen(scheme)) != 0 || !url[strlen(scheme)])
            return err_set(err, ERR_INVALID, "%s '%s': expected %sHOST:PORT", what, url, scheme);
        if (check_server_text(what, url, err) < 0)
            return -1;
    }
    return 0;
}

static int check_leaf(const struct server_conf *conf, struct err *err)
{
    if (conf->hubs.n == 0)
        return 0;
    if (check_urls("hub", HUB_SCHEME, conf->hubs, err) < 0 ||
        check_server_path("credentials", conf->leaf_creds, err) < 0)
        return -1;
    return check_server_path("credentials", conf->sys_creds, err);
}

static int check_server_conf(const struct server_conf *conf, struct err *err)
{
    const struct {
        const char *what, *text;
    } texts[] = {
        { "server name", conf->name },          { "host", conf->host },
        { "monitoring address", conf->http },   { "cluster name", conf->cluster_name },
        { "cluster host", conf->cluster_host },
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].text && check_server_text(texts[i].what, texts[i].text, err) < 0)
            return -1;
    if (check_urls("route", ROUTE_SCHEME, conf->routes, err) < 0 || check_leaf(conf, err) < 0)
        return -1;
    if (check_server_path("JetStream store", conf->store_dir, err) < 0 ||
        check_server_path("certificate", conf->cert_file, err) < 0 ||
        check_server_path("key", conf->key_file, err) < 0)
        return -1;
    return conf->ca_file ? check_server_path("CA", conf->ca_file, err) : 0;
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

static void print_remote(struct buf *out, const struct server_conf *conf, const char *account,
                         const char *creds)
{
    buf_add_text(out, "    {\n      urls: [");
    for (size_t i = 0; i < conf->hubs.n; i++)
        buf_printf(out, "%s\"%s\"", i > 0 ? ", " : "", conf->hubs.p[i]);
    buf_printf(out, "]\n      account: %s\n      credentials: \"%s\"\n", account, creds);
    if (conf->ca_file)
        buf_printf(out, "      tls {\n        ca_file: \"%s\"\n      }\n", conf->ca_file);
    buf_add_text(out, "    }\n");
}

/* Leaf nodes serve peels alone. */
static const char *peel_account(const struct identity *identity)
{
    const char *derived = identity->derived[ACCOUNT_PEELS].key;

    return derived ? derived : identity->account;
}

/* The link of the system account brings revocations. Without a default domain, both sides keep
 * requests to JetStream from each other. */
static void print_leafnodes(struct buf *out, const struct server_conf *conf,
                            const struct identity *identity)
{
    if (conf->leaf_port == 0 && conf->hubs.n == 0)
        return;
    buf_add_text(out, "leafnodes {\n");
    if (conf->leaf_port > 0) {
        buf_printf(out, "  listen: \"%s:%lld\"\n", conf->host, (long long)conf->leaf_port);
        print_tls(out, conf, "  ");
    }
    if (conf->hubs.n > 0) {
        buf_add_text(out, "  remotes: [\n");
        print_remote(out, conf, peel_account(identity), conf->leaf_creds);
        print_remote(out, conf, identity->system_account, conf->sys_creds);
        buf_add_text(out, "  ]\n");
    }
    buf_printf(out, "}\ndefault_js_domain {\n  %s: \"\"\n}\n", peel_account(identity));
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
               "  %s: %s\n",
               STR_ARG(one_line(identity->files[IDENTITY_OPERATOR_JWT])), identity->system_account,
               conf->store_dir, identity->account,
               STR_ARG(one_line(identity->files[IDENTITY_ACCOUNT_JWT])), identity->system_account,
               identity->system_jwt);
    for (size_t i = 0; i < ACCOUNT_ROLES; i++)
        if (identity->derived[i].jwt)
            buf_printf(out, "  %s: %s\n", identity->derived[i].key, identity->derived[i].jwt);
    buf_add_text(out, "}\n");
}

int server_conf_print(struct buf *out, const struct server_conf *conf,
                      const struct identity *identity, struct err *err)
{
    if (check_server_conf(conf, err) < 0)
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
    if (conf->hubs.n == 0)
        buf_printf(out, "jetstream {\n  store_dir: \"%s\"\n}\n", conf->store_dir);
    print_cluster(out, conf);
    print_leafnodes(out, conf, identity);
    print_accounts(out, conf, identity);
    return 0;
}
