#include "fleet/bus/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "fleet/bus/accounts.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/tls.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define TLS_SCHEME "tls://"

struct link {
    struct arena arena;
    const char *ca_path; /* NULL: CAs of the system */
    bool is_ca_optional; /* found where it is by default: may go again */
    struct buf ca_pem;   /* as it was read last */
    const char *creds_file;
    const char *user, *inbox;
    bool is_operator;
    char fleet[NATS_NKEY_TEXT_SIZE]; /* the account that requests come from; "": our own */
    int64_t expires;
    struct nats_tls *tls;
    struct nats_conn *conn;
    struct nats_listener listener;
};

/* --- addresses ---------------------------------------------------------------------- */

struct urls {
    VEC(const char *) list;
};

static int check_server_url(struct str url, struct err *err)
{
    size_t scheme = str_find(url, STR("://"), 0);

    if (str_starts(url, STR(TLS_SCHEME)))
        return 0;
    if (str_starts(url, STR("nats://")))
        return err_set(err, ERR_INVALID,
                       "'%.*s': refused: without TLS, anyone on the network can read and change "
                       "everything; use '" TLS_SCHEME "%.*s'",
                       STR_ARG(url), STR_ARG(str_from_offset(url, strlen("nats://"))));
    if (scheme == STR_NONE)
        return err_set(err, ERR_INVALID, "'%.*s': expected '" TLS_SCHEME "HOST:PORT'",
                       STR_ARG(url));
    return err_set(err, ERR_INVALID, "'%.*s': unknown scheme '%.*s', expected '" TLS_SCHEME "'",
                   STR_ARG(url), STR_ARG(str_slice(url, 0, scheme)));
}

static int split_urls(struct arena *arena, const char *text, struct urls *ret, struct err *err)
{
    struct str rest = str_from(text ? text : "");

    while (rest.p) {
        struct str url = str_trim(str_cut(&rest, ','));

        if (url.n == 0)
            continue;
        if (check_server_url(url, err) < 0)
            return -1;
        VEC_PUSH_IN(arena, &ret->list, arena_strndup(arena, url.p, url.n));
    }
    if (ret->list.n == 0)
        return err_set(err, ERR_INVALID, "no server address");
    return 0;
}

int link_check_urls(struct arena *arena, const char *urls, struct err *err)
{
    struct urls list = { .list = VEC_INIT };

    return split_urls(arena, urls, &list, err);
}

/* --- trust ------------------------------------------------------------------ */

static void choose_ca(struct link *link, const struct link_options *options)
{
    const char *variable = getenv(LINK_CA_VARIABLE);

    if (options->ca_file && options->ca_file[0])
        link->ca_path = arena_strdup(&link->arena, options->ca_file);
    else if (variable && variable[0])
        link->ca_path = arena_strdup(&link->arena, variable);
    else if (options->auth_dir) {
        link->ca_path = path_join(&link->arena, options->auth_dir, LINK_CA_FILE);
        link->is_ca_optional = true;
    }
}

/* A NULL view: the CAs of the system. */
static int read_ca(struct link *link, struct arena *arena, struct str *ret_pem, struct err *err)
{
    *ret_pem = (struct str){ NULL, 0 };
    if (!link->ca_path)
        return 0;
    if (fs_read(arena, link->ca_path, LINK_CA_MAX, ret_pem, err) < 0)
        return -1;
    if (!ret_pem->p && !link->is_ca_optional)
        return err_set(err, ERR_NOT_FOUND, "CA file '%s' does not exist", link->ca_path);
    return 0;
}

static void keep_ca(struct link *link, struct str pem)
{
    buf_clear(&link->ca_pem);
    buf_add_str(&link->ca_pem, pem);
}

static int open_tls(struct link *link, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str pem;

    if (read_ca(link, &arena, &pem, err) < 0)
        return -1;
    link->tls = nats_tls_new(&(struct nats_tls_options){ .ca_pem = pem }, err);
    if (!link->tls)
        return pem.p ? err_wrap(err, "CA file '%s'", link->ca_path) : -1;
    keep_ca(link, pem);
    return 0;
}

/* Before the next attempt: a file that cannot be used leaves the trust as it was. */
static void on_link_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct link *link = container_of(listener, struct link, listener);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str pem;
    struct err err;

    if (event->kind != NATS_EVENT_DISCONNECTED && event->kind != NATS_EVENT_RETRY)
        return;
    if (read_ca(link, &arena, &pem, &err) < 0 || str_eq(pem, buf_view(&link->ca_pem)))
        return;
    if (nats_tls_change(link->tls, &(struct nats_tls_options){ .ca_pem = pem }, &err) == 0)
        keep_ca(link, pem);
}

/* --- who we are --------------------------------------------------------------------- */

/* Credentials may have been replaced by those of another account. */
static int find_fleet(struct link *link, const struct nats_creds *creds, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_user claims = { 0 };
    const char *fleet;

    if (claims_read_user(&arena, str_from(creds->jwt), &claims, err) < 0 ||
        accounts_find_fleet(&arena, &claims, &fleet, err) < 0)
        return -1;
    link->fleet[0] = '\0';
    if (accounts_is_separate(&claims))
        (void)snprintf(link->fleet, sizeof(link->fleet), "%s", fleet);
    return 0;
}

static int read_link_creds(const struct link *link, struct nats_creds *ret_creds, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text;
    int result;

    if (fs_read(&arena, link->creds_file, NATS_CREDS_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "credentials file '%s' does not exist",
                       link->creds_file);
    result = nats_creds_parse(text, ret_creds, err);
    ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    return result < 0 ? err_wrap(err, "credentials file '%s'", link->creds_file) : 0;
}

/* For each login. */
static int on_link_login(void *self, struct nats_creds *ret_creds, struct err *err)
{
    struct link *link = self;
    struct nats_creds creds = { 0 };

    if (read_link_creds(link, &creds, err) < 0)
        return -1;
    if (find_fleet(link, &creds, err) < 0) {
        nats_creds_done(&creds);
        return err_wrap(err, "credentials file '%s'", link->creds_file);
    }
    *ret_creds = creds;
    return 0;
}

/* The subscribe permission has the inbox for replies: "_INBOX.web-01.>". */
static const char *find_inbox(struct arena *arena, struct param_strs subscribe)
{
    for (size_t i = 0; i < subscribe.n; i++) {
        struct str grant = str_from(subscribe.p[i]);

        if (str_starts(grant, STR(GRANT_INBOX)) && str_ends(grant, STR(".>")))
            return arena_strndup(arena, grant.p, grant.n - strlen(".>"));
    }
    return GRANT_INBOX;
}

static int read_claims(struct link *link, struct err *err)
{
    struct nats_creds creds;
    struct claims_user claims;
    int result;

    if (read_link_creds(link, &creds, err) < 0)
        return -1;
    result = claims_read_user(&link->arena, str_from(arena_strdup(&link->arena, creds.jwt)),
                              &claims, err);
    nats_creds_done(&creds);
    if (result < 0)
        return err_wrap(err, "credentials file '%s'", link->creds_file);
    link->user = claims.head.name;
    link->expires = claims.head.exp;
    link->is_operator = grant_is_operator(&claims.publish, claims.head.name);
    link->inbox = find_inbox(&link->arena, claims.subscribe);
    return 0;
}

/* --- life --------------------------------------------------------------------------- */

static int open_link_conn(struct link *link, struct nats_hub *hub,
                          const struct link_options *options, struct err *err)
{
    struct urls urls = { 0 };

    link->creds_file = arena_strdup(&link->arena, options->creds_file);
    choose_ca(link, options);
    if (split_urls(&link->arena, options->urls, &urls, err) < 0 || read_claims(link, err) < 0 ||
        open_tls(link, err) < 0)
        return -1;
    link->conn = nats_conn_new(hub,
                               &(struct nats_options){
                                   .servers = urls.list.p,
                                   .server_count = urls.list.n,
                                   .name = options->name,
                                   .tls = link->tls,
                                   .creds = on_link_login,
                                   .creds_self = link,
                                   .inbox_prefix = link->inbox,
                                   .attempts_max = options->attempts_max,
                               },
                               err);
    if (!link->conn)
        return -1;
    nats_listen(link->conn, &link->listener, on_link_event);
    return 0;
}

struct link *link_new(struct nats_hub *hub, const struct link_options *options, struct err *err)
{
    struct link *link = mem_zalloc(sizeof(*link));

    link->ca_pem.max = LINK_CA_MAX;
    if (open_link_conn(link, hub, options, err) == 0)
        return link;
    link_free(link);
    return NULL;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    nats_conn_free(link->conn);
    nats_tls_free(link->tls);
    buf_done(&link->ca_pem);
    arena_done(&link->arena);
    free(link);
}

struct nats_conn *link_conn(const struct link *link)
{
    return link->conn;
}

int link_read_creds(const struct link *link, struct nats_creds *ret_creds, struct err *err)
{
    return read_link_creds(link, ret_creds, err);
}

bool link_has_shared_creds(const struct link *link)
{
    struct fs_info info;
    struct err err;

    return fs_stat(link->creds_file, &info, &err) == 0 && (info.mode & LINK_OTHERS_MODE) != 0;
}

bool link_is_from_fleet(const struct link *link, struct str header)
{
    return !link->fleet[0] || accounts_is_from(header, link->fleet);
}

const char *link_user(const struct link *link)
{
    return link->user;
}

int64_t link_expires(const struct link *link)
{
    return link->expires;
}

const char *link_operator(const struct link *link)
{
    return link->is_operator ? link->user : NULL;
}
