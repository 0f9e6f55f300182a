/*
 * The life of a connection:
 *
 *     WAITING --pause over--> CONNECTING --PONG--> CONNECTED
 *        ^                        |                    |
 *        +---- attempt failed ----+------ broken ------+        CLOSED: by its user, or after
 *                                                               `attempts_max` failures
 *
 * An attempt is one server: its name is resolved, its addresses are tried one after the other, then
 * INFO, TLS, CONNECT and PING. One timer is the limit of all of that. Everything that ends an
 * attempt or a connection goes through nats_conn_break, which is the only way back to WAITING.
 */
#include "fleet/nats/conn.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/core.h"
#include "fleet/nats/login.h"
#include "fleet/nats/resolve.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* 64 values each: more than 128 bits. */
#define INBOX_LETTERS    22
#define DRAIN_TIMEOUT_NS (INT64_C(30) * 1000000000)

static void begin_attempt(struct nats_conn *conn);

static void set_conn_timer(struct nats_conn *conn, struct timer *timer, int64_t ns, timer_fn *fn)
{
    timer_set(loop_timers(conn->hub->loop), timer, clock_after(clock_now(), ns), fn);
}

static void clear_timer(struct nats_conn *conn, struct timer *timer)
{
    timer_clear(loop_timers(conn->hub->loop), timer);
}

/* --- ends --------------------------------------------------------------------------- */

static void on_reconnect_due(struct timer *timer)
{
    begin_attempt(container_of(timer, struct nats_conn, timer));
}

static void forget_attempt(struct nats_conn *conn)
{
    clear_timer(conn, &conn->timer);
    clear_timer(conn, &conn->ping_timer);
    nats_resolve_cancel(conn->resolve);
    conn->resolve = NULL;
    if (conn->addresses)
        freeaddrinfo(conn->addresses);
    conn->addresses = conn->address = NULL;
    nats_transport_close(&conn->transport);
    conn->step = NATS_LOGIN_NONE;
    conn->pings = 0;
    free(conn->nonce);
    conn->nonce = NULL;
    nats_parser_init(&conn->parser, NATS_PAYLOAD_MAX);
}

static void close_conn(struct nats_conn *conn, const struct nats_error *error)
{
    if (conn->state == NATS_CONN_CLOSED)
        return;
    forget_attempt(conn);
    conn->state = NATS_CONN_CLOSED;
    buf_done(&conn->parked);
    nats_waiters_fail(conn, error);
    nats_tell(conn, NATS_EVENT_CLOSED, error);
}

/* The next attempt comes after a pause, unless another server of this round was not tried yet;
 * after a connection that stood there is always one, since all its clients are looking for a new
 * one. */
static void schedule_attempt(struct nats_conn *conn, bool stood)
{
    bool round_over;
    int64_t pause = 0;

    (void)nats_servers_next(&conn->servers, &round_over);
    if (stood || round_over)
        pause = nats_servers_pause(&conn->servers, conn->options.backoff_min,
                                   conn->options.backoff_max, chance_number());
    set_conn_timer(conn, &conn->timer, pause, on_reconnect_due);
}

void nats_conn_break(struct nats_conn *conn, const struct nats_error *error)
{
    bool stood = conn->state == NATS_CONN_CONNECTED;
    struct nats_error why = conn->broken.code < 0 ? *error : conn->broken;

    if (conn->state == NATS_CONN_CLOSED)
        return;
    forget_attempt(conn);
    conn->broken.code = -1;
    conn->attempts = stood ? 0 : conn->attempts + 1;
    if (conn->drain || (!stood && conn->attempts == conn->options.attempts_max)) {
        close_conn(conn, &why);
        return;
    }
    conn->state = NATS_CONN_WAITING;
    schedule_attempt(conn, stood);
    if (stood) {
        struct nats_error lost = why;

        if (lost.fault == NATS_FAULT_NETWORK || lost.fault == NATS_FAULT_PROTOCOL)
            lost.fault = NATS_FAULT_DISCONNECTED;
        nats_waiters_fail(conn, &lost);
        if (conn->state != NATS_CONN_CLOSED) /* by one of them */
            nats_tell(conn, NATS_EVENT_DISCONNECTED, &lost);
    } else {
        nats_tell(conn, NATS_EVENT_RETRY, &why);
    }
}

static void break_with(struct nats_conn *conn, enum nats_fault fault, const char *text)
{
    const struct nats_server *server = nats_servers_current(&conn->servers);
    struct nats_error error;

    if (server)
        nats_error_set(&error, fault, 0, "%s:%u: %s", server->host, server->port, text);
    else
        nats_error_set(&error, fault, 0, "%s", text);
    nats_conn_break(conn, &error);
}

void nats_conn_reconnect(struct nats_conn *conn)
{
    if (conn->state != NATS_CONN_CONNECTED)
        return;
    break_with(conn, NATS_FAULT_DISCONNECTED, "logging in again");
    if (conn->state == NATS_CONN_WAITING) /* nothing is wrong: no pause is needed */
        set_conn_timer(conn, &conn->timer, 0, on_reconnect_due);
}

static void on_conn_timeout(struct timer *timer)
{
    static const char *const waits[] = {
        [NATS_LOGIN_NONE] = "no connection in time",
        [NATS_LOGIN_INFO] = "no INFO in time",
        [NATS_LOGIN_TLS] = "no TLS handshake in time",
        [NATS_LOGIN_PONG] = "no answer to the login in time",
    };
    struct nats_conn *conn = container_of(timer, struct nats_conn, timer);

    break_with(conn, NATS_FAULT_NETWORK, waits[conn->step]);
}

/* --- attempts ----------------------------------------------------------------------- */

/* The next address of the server; when there is none left, the attempt has failed with `why`. */
static void try_next_address(struct nats_conn *conn, const struct err *why)
{
    struct err err = *why;

    while (conn->address) {
        struct addrinfo *address = conn->address;

        conn->address = address->ai_next;
        if (nats_transport_open(&conn->transport, address->ai_addr, address->ai_addrlen, &err) == 0)
            return;
    }
    break_with(conn, NATS_FAULT_NETWORK, err.text);
}

static void use_addresses(struct nats_conn *conn, struct addrinfo *list)
{
    struct err err;

    conn->addresses = conn->address = list;
    err_set(&err, ERR_NOT_FOUND, "the name has no address");
    try_next_address(conn, &err);
}

static void on_server_resolved(void *self, struct addrinfo *list, const char *error)
{
    struct nats_conn *conn = self;

    conn->resolve = NULL;
    if (list)
        use_addresses(conn, list);
    else
        break_with(conn, NATS_FAULT_NETWORK, error);
}

/* The server was chosen by schedule_attempt. */
static void begin_attempt(struct nats_conn *conn)
{
    const struct nats_server *server = nats_servers_current(&conn->servers);
    struct addrinfo *list = NULL;
    struct err err;

    conn->state = NATS_CONN_CONNECTING;
    set_conn_timer(conn, &conn->timer, conn->options.connect_timeout, on_conn_timeout);
    conn->resolve = nats_resolve_begin(conn->hub, server->host, server->port, on_server_resolved,
                                       conn, &list, &err);
    if (list)
        use_addresses(conn, list);
    else if (!conn->resolve)
        break_with(conn, NATS_FAULT_NETWORK, err.text);
}

static void on_transport_opened(void *self)
{
    struct nats_conn *conn = self;

    conn->step = NATS_LOGIN_INFO;
}

static void on_transport_closed(void *self, const struct err *why)
{
    struct nats_conn *conn = self;

    if (conn->step == NATS_LOGIN_NONE)
        try_next_address(conn, why);
    else
        break_with(conn, NATS_FAULT_NETWORK, why->text);
}

static void on_writable(void *self)
{
    nats_tell(self, NATS_EVENT_WRITABLE, NULL);
}

/* --- login -------------------------------------------------------------------------- */

static void on_ping_due(struct timer *timer)
{
    struct nats_conn *conn = container_of(timer, struct nats_conn, ping_timer);

    if (conn->pings >= conn->options.pings_max) {
        break_with(conn, NATS_FAULT_NETWORK, "the server does not answer pings");
        return;
    }
    conn->pings++;
    nats_waiters_ping(conn, NULL, NULL);
    set_conn_timer(conn, &conn->ping_timer, conn->options.ping_interval, on_ping_due);
}

static void send_login(struct nats_conn *conn)
{
    struct buf *out = nats_transport_begin(&conn->transport);
    struct err err;

    if (nats_login_print(&conn->options, str_from(conn->nonce), out, &err) < 0)
        break_with(conn, NATS_FAULT_AUTH, err.text);
    else
        conn->step = NATS_LOGIN_PONG;
}

/* Subscriptions, then what was published meanwhile, then who asked to know that all of it is
 * there. */
static void finish_login(struct nats_conn *conn)
{
    struct buf *out = nats_transport_begin(&conn->transport);

    clear_timer(conn, &conn->timer);
    conn->step = NATS_LOGIN_NONE;
    conn->attempts = 0;
    nats_servers_succeeded(&conn->servers);
    conn->state = NATS_CONN_CONNECTED;
    nats_subs_print(conn, out);
    buf_add_str(out, buf_view(&conn->parked));
    buf_done(&conn->parked);
    for (size_t i = conn->waiter_first; i < conn->waiters.n; i++)
        buf_add_text(out, "PING\r\n");
    set_conn_timer(conn, &conn->ping_timer, conn->options.ping_interval, on_ping_due);
    nats_tell(conn, NATS_EVENT_CONNECTED, NULL);
}

/* TLS as we want it, or an error: the server's INFO is not authenticated and decides nothing. */
static int begin_tls(struct nats_conn *conn, const struct nats_info *info, struct err *err)
{
    const struct nats_server *server = nats_servers_current(&conn->servers);
    const char *name = server->tls_name ? server->tls_name : server->host;

    if (!conn->options.tls)
        return info->tls_required ? err_set(err, ERR_UNSUPPORTED, "the server requires TLS") : 0;
    if (!info->tls_required && !info->tls_available)
        return err_set(err, ERR_UNSUPPORTED, "the server does not offer TLS");
    conn->step = NATS_LOGIN_TLS;
    return nats_transport_secure(&conn->transport, conn->options.tls, name, err);
}

static void keep_conn_text(char **kept, struct str text)
{
    free(*kept);
    *kept = mem_alloc(text.n + 1);
    memcpy(*kept, text.p, text.n);
    (*kept)[text.n] = '\0';
}

static void keep_info(struct nats_conn *conn, const struct nats_info *info)
{
    const struct nats_server *server = nats_servers_current(&conn->servers);

    keep_conn_text(&conn->server_name, info->server_name);
    keep_conn_text(&conn->server_id, info->server_id);
    conn->version = info->version;
    conn->is_clustered = info->cluster.n > 0;
    conn->max_payload = info->max_payload;
    nats_servers_discover(&conn->servers, info->urls, info->url_count,
                          server ? (server->tls_name ? server->tls_name : server->host) : NULL);
}

static void take_first_info(struct nats_conn *conn, const struct nats_info *info)
{
    struct err err;

    free(conn->nonce);
    conn->nonce = mem_strdup(info->nonce.p);
    if (begin_tls(conn, info, &err) < 0)
        break_with(conn, NATS_FAULT_NETWORK, err.text);
    else if (conn->step == NATS_LOGIN_INFO)
        send_login(conn);
}

static void take_info(struct nats_conn *conn, const struct nats_frame *frame)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_server *server;
    struct nats_info info;
    struct err err;

    if (nats_info_decode(&arena, frame->text, &info, &err) < 0) {
        break_with(conn, NATS_FAULT_PROTOCOL, err.text);
        return;
    }
    keep_info(conn, &info);
    server = nats_servers_current(&conn->servers);
    if (info.lame_duck && server)
        server->lame = true;
    if (conn->step == NATS_LOGIN_INFO)
        take_first_info(conn, &info);
    else if (info.lame_duck && conn->state == NATS_CONN_CONNECTED)
        nats_tell(conn, NATS_EVENT_LAME_DUCK, NULL);
}

/* --- frames ------------------------------------------------------------------------- */

static void take_err(struct nats_conn *conn, const struct nats_frame *frame)
{
    nats_complaint_take(conn, frame->text);
}

static void take_ping(struct nats_conn *conn, const struct nats_frame *frame)
{
    (void)frame;
    if (nats_transport_waiting(&conn->transport) > conn->options.out_max)
        break_with(conn, NATS_FAULT_NETWORK, "the server sends pings and reads no answers");
    else
        buf_add_text(nats_transport_begin(&conn->transport), "PONG\r\n");
}

static void take_pong(struct nats_conn *conn, const struct nats_frame *frame)
{
    (void)frame;
    if (conn->step == NATS_LOGIN_PONG)
        finish_login(conn);
    else
        nats_waiters_pong(conn);
}

static void take_ok(struct nats_conn *conn, const struct nats_frame *frame)
{
    (void)conn;
    (void)frame;
}

static void (*const takers[])(struct nats_conn *conn, const struct nats_frame *frame) = {
    [NATS_FRAME_MSG] = nats_sub_dispatch,
    [NATS_FRAME_INFO] = take_info,
    [NATS_FRAME_PING] = take_ping,
    [NATS_FRAME_PONG] = take_pong,
    [NATS_FRAME_OK] = take_ok,
    [NATS_FRAME_ERR] = take_err,
};

/* Before the login only INFO and complaints make sense. */
static bool is_expected(const struct nats_conn *conn, enum nats_frame_kind kind)
{
    if (conn->step == NATS_LOGIN_INFO || conn->step == NATS_LOGIN_TLS)
        return kind == NATS_FRAME_INFO || kind == NATS_FRAME_ERR;
    return kind != NATS_FRAME_MSG || conn->state == NATS_CONN_CONNECTED;
}

static size_t on_conn_input(void *self, struct str bytes)
{
    struct nats_conn *conn = self;
    unsigned epoch = conn->transport.epoch;
    struct nats_frame frame;
    size_t used = 0, n;
    struct err err;

    conn->pings = 0;
    for (;;) {
        if (nats_parser_next(&conn->parser, str_from_offset(bytes, used), &frame, &n, &err) < 0) {
            break_with(conn, NATS_FAULT_PROTOCOL, err.text);
            return used;
        }
        if (frame.kind == NATS_FRAME_NONE)
            return used;
        if (!is_expected(conn, frame.kind)) {
            break_with(conn, NATS_FAULT_PROTOCOL, "protocol error: unexpected operation");
            return used;
        }
        used += n;
        takers[frame.kind](conn, &frame);
        if (conn->transport.epoch != epoch)
            return used;
        if (conn->transport.state == NATS_TRANSPORT_HANDSHAKE && used < bytes.n) {
            break_with(conn, NATS_FAULT_PROTOCOL, "protocol error: data between INFO and TLS");
            return used;
        }
    }
}

static void on_secured(void *self)
{
    send_login(self);
}

static const struct nats_transport_events transport_events = {
    .opened = on_transport_opened,
    .secured = on_secured,
    .input = on_conn_input,
    .writable = on_writable,
    .closed = on_transport_closed,
};

/* --- draining ----------------------------------------------------------------------- */

static void on_conn_drained(void *self, const struct nats_error *error)
{
    struct nats_conn *conn = self;
    struct nats_error done;

    if (error)
        return; /* it broke, and closes for that */
    if (conn->drain == NATS_DRAIN_INPUT) {
        conn->drain = NATS_DRAIN_OUTPUT;
        nats_waiters_ping(conn, on_conn_drained, conn);
        return;
    }
    nats_error_set(&done, NATS_FAULT_CANCELED, 0, "drained");
    close_conn(conn, &done);
}

static void on_drain_timeout(struct timer *timer)
{
    break_with(container_of(timer, struct nats_conn, timer), NATS_FAULT_TIMEOUT,
               "not drained in time");
}

void nats_conn_drain(struct nats_conn *conn)
{
    struct nats_error done;

    if (conn->state != NATS_CONN_CONNECTED) {
        nats_error_set(&done, NATS_FAULT_CANCELED, 0, "drained");
        close_conn(conn, &done);
        return;
    }
    if (conn->drain)
        return;
    conn->drain = NATS_DRAIN_INPUT;
    set_conn_timer(conn, &conn->timer, DRAIN_TIMEOUT_NS, on_drain_timeout);
    nats_subs_print_unsub(conn, nats_transport_begin(&conn->transport));
    nats_waiters_ping(conn, on_conn_drained, conn);
}

/* --- life --------------------------------------------------------------------------- */

static void bury_conn(struct nats_grave *grave)
{
    struct nats_conn *conn = container_of(grave, struct nats_conn, grave);

    nats_requests_free(conn->requests);
    nats_subs_done(conn);
    nats_servers_done(&conn->servers);
    vec_done(&conn->waiters);
    nats_options_done(&conn->options);
    free(conn->server_name);
    free(conn->server_id);
    free(conn);
}

struct nats_conn *nats_conn_new(struct nats_hub *hub, const struct nats_options *options,
                                struct err *err)
{
    struct nats_conn *conn = mem_zalloc(sizeof(*conn));

    conn->hub = hub;
    conn->max_payload = NATS_PAYLOAD_MAX; /* until the server says less */
    conn->broken.code = -1;
    conn->parked = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    nats_servers_init(&conn->servers);
    if (nats_options_check(options, &conn->servers, err) < 0) {
        nats_servers_done(&conn->servers);
        free(conn);
        return NULL;
    }
    nats_options_copy(&conn->options, options);
    if (!options->ordered)
        nats_servers_shuffle(&conn->servers, chance_number());
    nats_parser_init(&conn->parser, NATS_PAYLOAD_MAX);
    nats_transport_init(&conn->transport, hub, &transport_events, conn,
                        NATS_PAYLOAD_MAX + NATS_LINE_MAX, conn->options.out_max);
    conn->requests = nats_requests_new(conn);
    schedule_attempt(conn, false);
    return conn;
}

void nats_conn_free(struct nats_conn *conn)
{
    struct nats_error error;

    if (!conn)
        return;
    nats_error_set(&error, NATS_FAULT_CANCELED, 0, "the connection is closed");
    close_conn(conn, &error);
    while (conn->listeners)
        nats_unlisten(conn, conn->listeners);
    nats_hub_bury(conn->hub, &conn->grave, bury_conn);
}

enum nats_conn_state nats_conn_state(const struct nats_conn *conn)
{
    return conn->state;
}

int nats_conn_version(const struct nats_conn *conn)
{
    return conn->version;
}

const char *nats_conn_server(const struct nats_conn *conn)
{
    return conn->server_name ? conn->server_name : "";
}

const char *nats_conn_server_id(const struct nats_conn *conn)
{
    return conn->server_id ? conn->server_id : "";
}

bool nats_conn_is_clustered(const struct nats_conn *conn)
{
    return conn->is_clustered;
}

size_t nats_conn_max_payload(const struct nats_conn *conn)
{
    return conn->max_payload;
}

struct loop *nats_conn_loop(const struct nats_conn *conn)
{
    return conn->hub->loop;
}

struct nats_hub *nats_conn_hub(const struct nats_conn *conn)
{
    return conn->hub;
}

/* The next inbox cannot be guessed from this one. */
void nats_inbox_print(struct nats_conn *conn, struct buf *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char chance[INBOX_LETTERS];

    chance_bytes(chance, sizeof(chance));
    buf_printf(out, "%s.", conn->options.inbox_prefix);
    for (size_t i = 0; i < sizeof(chance); i++)
        buf_add_char(out, letters[chance[i] % 64]);
}
