#include "fleet/peel/bootstrap.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/link.h"
#include "core/data/frame.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "fleet/enroll/https.h"
#include "fleet/peel/conf.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "fleet/wire/cluster_info.h"

#define CACHE_VERSION 1
#define ANCHOR_MODE   0644
#define CACHE_MODE    0600
#define DATA_MODE     0700
#define PEM_BEGIN     "-----BEGIN CERTIFICATE-----"
#define PEM_END       "-----END CERTIFICATE-----"

/* --- what is kept ----------------------------------------------------------------- */

struct cache {
    struct param_strs masters, pins, servers;
};

static const struct record_field cache_fields[] = {
    RECORD("masters", TEXTS, struct cache, masters, 0),
    RECORD("pins", TEXTS, struct cache, pins, 0),
    RECORD("servers", TEXTS, struct cache, servers, 0),
    { 0 },
};
static const struct record_type cache_type =
    RECORD_TYPE("bootstrap", struct cache, cache_fields, 0);

static bool is_same_list(struct param_strs a, struct param_strs b)
{
    for (size_t i = 0; i < a.n && i < b.n; i++)
        if (strcmp(a.p[i], b.p[i]) != 0)
            return false;
    return a.n == b.n;
}

struct param_strs bootstrap_masters(struct arena *arena, const struct peel_conf *conf)
{
    const char **one;

    if (conf->master_urls.n > 0)
        return conf->master_urls;
    one = ARENA_ARRAY(arena, const char *, 1);
    *one = conf->master_url && conf->master_url[0] ? conf->master_url : PEEL_MASTER_URL;
    return (struct param_strs){ 1, one };
}

static int keep_servers(struct arena *arena, const struct peel_conf *conf,
                        struct param_strs servers, struct err *err)
{
    const struct fs_replace_options options = { .attr = { CACHE_MODE, FS_KEEP, FS_KEEP } };
    const struct cache cache = { bootstrap_masters(arena, conf), conf->enroll_ca_pin, servers };
    AUTO_BUF struct buf bytes = BUF_INIT(BOOTSTRAP_MAX);

    if (record_append(&bytes, &cache_type, &cache, CACHE_VERSION, 0, err) < 0 ||
        fs_mkdirs(conf->data_dir, DATA_MODE, err) < 0) /* a machine that joins has none yet */
        return -1;
    return fs_keep(path_join(arena, conf->data_dir, BOOTSTRAP_CACHE), buf_view(&bytes), &options,
                   err);
}

int bootstrap_keep(const struct peel_conf *conf, const struct bootstrap *bootstrap, struct err *err)
{
    const struct fs_replace_options options = { .attr = { ANCHOR_MODE, FS_KEEP, FS_KEEP } };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *bus = path_join(&arena, conf->auth_dir, LINK_CA_FILE);
    struct fs_info info;

    if (bootstrap->anchor_pem.n > 0 && fs_keep(path_join(&arena, conf->auth_dir, BOOTSTRAP_ANCHOR),
                                               bootstrap->anchor_pem, &options, err) < 0)
        return -1;
    if (fs_stat(bus, &info, err) < 0)
        return -1;
    if (bootstrap->anchor_pem.n > 0 && info.kind == FS_NONE &&
        fs_keep(bus, bootstrap->anchor_pem, &options, err) < 0)
        return -1;
    return bootstrap->servers.n > 0 ? keep_servers(&arena, conf, bootstrap->servers, err) : 0;
}

const char *bootstrap_cached_servers(struct arena *arena, const struct peel_conf *conf)
{
    AUTO_BUF struct buf list = BUF_INIT(BOOTSTRAP_MAX);
    struct frame_scan scan = { 0 };
    struct cache cache = { 0 };
    struct frame frame;
    struct err err;

    if (fs_read(arena, path_join(arena, conf->data_dir, BOOTSTRAP_CACHE), BOOTSTRAP_MAX,
                &scan.bytes, &err) < 0 ||
        !scan.bytes.p || frame_next(&scan, &frame) != FRAME_WHOLE ||
        record_decode(arena, &cache_type, frame.version, frame.payload, &cache, &err) < 0 ||
        !is_same_list(cache.masters, bootstrap_masters(arena, conf)) ||
        !is_same_list(cache.pins, conf->enroll_ca_pin) || cache.servers.n == 0)
        return NULL;
    for (size_t i = 0; i < cache.servers.n; i++)
        buf_printf(&list, "%s%s", i > 0 ? "," : "", cache.servers.p[i]);
    return buf_copy(&list, arena).p;
}

/* --- the document ----------------------------------------------------------------- */

static struct param_strs read_servers(struct arena *arena, const struct cluster_info *info)
{
    VEC(const char *) found = VEC_INIT;

    for (size_t i = 0; i < info->nats_urls.n; i++)
        if (str_starts(str_from(info->nats_urls.p[i]), STR("tls://")))
            VEC_PUSH_IN(arena, &found, info->nats_urls.p[i]);
    return (struct param_strs){ found.n, found.p };
}

static int fetch_document(struct arena *arena, const struct https_server *server,
                          const struct cancel *cancel, struct cluster_info *ret, struct err *err)
{
    const struct https_request request = { .method = "GET",
                                           .path = BOOTSTRAP_PATH "/ca",
                                           .size_max = BOOTSTRAP_MAX,
                                           .timeout = BOOTSTRAP_TIMEOUT,
                                           .cancel = cancel };
    struct https_response response;
    struct value document;

    if (https_call(arena, server, &request, &response, err) < 0)
        return -1;
    if (response.status != 200)
        return err_set(err, ERR_BUSY, "'%s' answered %d", server->url, response.status);
    if (json_decode(arena, response.body, &document, err) < 0 || document.kind != VALUE_MAP ||
        record_read(arena, &cluster_info_type, 1, &document, ret, err) < 0)
        return err_set(err, ERR_INVALID, "'%s': the answer is not a bootstrap document",
                       server->url);
    return 0;
}

/* --- the ladder ------------------------------------------------------------------- */

/* The certificate of a bundle that a pin names; an empty view: none. */
static struct str find_pinned(struct str bundle, struct param_strs pins,
                              char found[static CERTIFICATE_PIN_SIZE])
{
    size_t at = 0;

    while ((at = str_find(bundle, STR(PEM_BEGIN), at)) != STR_NONE) {
        const size_t end = str_find(bundle, STR(PEM_END), at);
        AUTO_CERTIFICATE struct certificate certificate = { 0 };
        struct str pem;
        struct err err;

        if (end == STR_NONE)
            break;
        pem = str_slice(bundle, at, end + strlen(PEM_END) - at);
        at = end;
        if (certificate_parse(pem, &certificate, &err) < 0)
            continue;
        certificate_pin(&certificate, found);
        for (size_t i = 0; i < pins.n; i++)
            if (strcasecmp(pins.p[i], found) == 0)
                return pem;
        if (pins.n == 0)
            return pem; /* the first one */
    }
    return (struct str){ NULL, 0 };
}

static struct str with_line_end(struct arena *arena, struct str pem)
{
    return str_from(arena_printf(arena, "%.*s\n", STR_ARG(str_trim_right(pem))));
}

/* By a certificate that is trusted already. */
static int ask_anchored(struct arena *arena, struct bootstrap *ret, const struct cancel *cancel,
                        struct err *err)
{
    const struct https_server server = { ret->url, HTTPS_TRUST_TEXT, ret->anchor_pem };
    char pin[CERTIFICATE_PIN_SIZE];
    struct cluster_info info = { 0 };

    if (fetch_document(arena, &server, cancel, &info, err) < 0)
        return -1;
    ret->servers = read_servers(arena, &info);
    if (find_pinned(ret->anchor_pem, (struct param_strs){ 0 }, pin).p)
        ret->pin = arena_strdup(arena, pin);
    return 0;
}

/* The master's public certificates: one is chosen, and must then match. */
static int ask_shown(struct arena *arena, struct param_strs pins, struct bootstrap *ret,
                     const struct cancel *cancel, struct err *err)
{
    const struct https_server server = { ret->url, HTTPS_TRUST_NOBODY, { NULL, 0 } };
    char pin[CERTIFICATE_PIN_SIZE];
    struct cluster_info info = { 0 };
    struct str pem;

    if (fetch_document(arena, &server, cancel, &info, err) < 0)
        return -1;
    pem = find_pinned(info.ca_bundle_pem, pins, pin);
    if (!pem.p)
        return err_set(err, ERR_UNSAFE,
                       pins.n > 0 ? "the certificate of '%s' does not match the pin"
                                  : "'%s' shows no certificate that can be trusted",
                       ret->url);
    ret->anchor_pem = with_line_end(arena, pem);
    return ask_anchored(arena, ret, cancel, err);
}

static int ask_system(struct arena *arena, struct bootstrap *ret, const struct cancel *cancel,
                      struct err *err)
{
    const struct https_server server = { ret->url, HTTPS_TRUST_SYSTEM, { NULL, 0 } };
    struct cluster_info info = { 0 };

    if (fetch_document(arena, &server, cancel, &info, err) < 0)
        return -1;
    ret->is_system = true;
    ret->servers = read_servers(arena, &info);
    ret->pin = certificate_is_pin(info.fingerprint) ? info.fingerprint : "";
    if (info.ca_bundle_pem.n > 0)
        ret->anchor_pem = with_line_end(arena, info.ca_bundle_pem);
    return 0;
}

/* A file of certificates; an empty view when it is not there. */
static int read_anchor(struct arena *arena, const char *path, struct str *ret, struct err *err)
{
    if (fs_read(arena, path, CERTIFICATE_PEM_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        *ret = STR("");
    return 0;
}

int bootstrap_ask(struct arena *arena, const struct peel_conf *conf, const char *url,
                  bool has_creds, const struct cancel *cancel, struct bootstrap *ret,
                  bool *reterr_is_other, struct err *err)
{
    *reterr_is_other = true;
    *ret = (struct bootstrap){ .url = url, .pin = "" };
    if (conf->enroll_ca && conf->enroll_ca[0]) {
        if (read_anchor(arena, conf->enroll_ca, &ret->anchor_pem, err) < 0)
            return -1;
        if (ret->anchor_pem.n == 0)
            return err_set(err, ERR_NOT_FOUND, "enroll_ca '%s' does not exist", conf->enroll_ca);
        return ask_anchored(arena, ret, cancel, err);
    }
    if (conf->enroll_ca_pin.n > 0)
        return ask_shown(arena, conf->enroll_ca_pin, ret, cancel, err);
    if (read_anchor(arena, path_join(arena, conf->auth_dir, BOOTSTRAP_ANCHOR), &ret->anchor_pem,
                    err) < 0)
        return -1;
    if (ret->anchor_pem.n > 0)
        return ask_anchored(arena, ret, cancel, err);
    *reterr_is_other = false;
    if (ask_system(arena, ret, cancel, err) == 0)
        return 0;
    if (err->code != ERR_UNSAFE || has_creds || conf->enroll_trust != PEEL_TRUST_TOFU)
        return -1;
    log_warning("trusting the certificate of the first contact url=%s", url);
    return ask_shown(arena, (struct param_strs){ 0 }, ret, cancel, err);
}
