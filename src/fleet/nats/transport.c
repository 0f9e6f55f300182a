/*
 * TLS runs in memory: what the socket gives is shown to OpenSSL as a view of the hub's buffer, what
 * OpenSSL makes goes into `cipher`. So a turn costs one read and one write, however many records
 * there are, and OpenSSL never sees the socket.
 */
#include "fleet/nats/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/servers.h"
#include "fleet/nats/tls.h"
#include "core/sys/fd.h"

/* Reads of one transport in a turn, so that others have theirs. */
#define ROUNDS_MAX 4
/* Plain bytes that are encrypted at once. */
#define SLICE_SIZE ((size_t)256 << 10)
/* A TLS record, and room to put it. */
#define RECORD_SIZE ((size_t)16 << 10)
/* Sent bytes at the front of a buffer that are worth a move. */
#define SENT_MAX ((size_t)64 << 10)

void nats_transport_init(struct nats_transport *transport, struct nats_hub *hub,
                         const struct nats_transport_events *events, void *self, size_t in_max,
                         size_t out_max)
{
    *transport = (struct nats_transport){
        .hub = hub,
        .events = events,
        .self = self,
        .fd = -1,
        .in = BUF_INIT(in_max + 2 * NATS_HUB_READ),
        .out = BUF_INIT(BUF_NO_LIMIT),
        .out_max = out_max,
        .cipher = BUF_INIT(BUF_NO_LIMIT),
    };
}

static void unlink_dirty(struct nats_transport *transport)
{
    if (!transport->dirty_back)
        return;
    *transport->dirty_back = transport->dirty_next;
    if (transport->dirty_next)
        transport->dirty_next->dirty_back = transport->dirty_back;
    transport->dirty_back = NULL;
}

static void link_dirty(struct nats_transport *transport)
{
    struct nats_hub *hub = transport->hub;

    if (transport->dirty_back)
        return;
    transport->dirty_next = hub->dirty;
    transport->dirty_back = &hub->dirty;
    if (hub->dirty)
        hub->dirty->dirty_back = &transport->dirty_next;
    hub->dirty = transport;
}

void nats_transport_close(struct nats_transport *transport)
{
    transport->epoch++;
    transport->state = NATS_TRANSPORT_CLOSED;
    transport->writing = transport->busy = false;
    transport->out_at = transport->cipher_at = 0;
    transport->wire = (struct str){ NULL, 0 };
    unlink_dirty(transport);
    watch_stop(&transport->watch);
    fd_close(&transport->fd);
    SSL_free(transport->ssl);
    transport->ssl = NULL;
    buf_done(&transport->in);
    buf_done(&transport->out);
    buf_done(&transport->cipher);
}

static void fail_transport(struct nats_transport *transport, const struct err *why)
{
    nats_transport_close(transport);
    transport->events->closed(transport->self, why);
}

static void fail_sys(struct nats_transport *transport, int errnum, const char *what)
{
    struct err err;

    err_sys(&err, errnum, "%s", what);
    fail_transport(transport, &err);
}

static void fail_closed(struct nats_transport *transport)
{
    struct err err;

    err_set(&err, ERR_CANCELED, "the server closed the connection");
    fail_transport(transport, &err);
}

/* The certificate's mistake when it has one, else what the library says. */
static void fail_transport_tls(struct nats_transport *transport, const char *what)
{
    long verdict = SSL_get_verify_result(transport->ssl);
    unsigned long code = ERR_peek_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    struct err err;

    ERR_clear_error();
    if (verdict != X509_V_OK)
        err_set(&err, ERR_INVALID, "%s: certificate: %s", what,
                X509_verify_cert_error_string(verdict));
    else
        err_set(&err, ERR_INVALID, "%s: %s", what, reason ? reason : "connection closed");
    fail_transport(transport, &err);
}

/* --- sending ------------------------------------------------------------------------ */

size_t nats_transport_waiting(const struct nats_transport *transport)
{
    return transport->out.n - transport->out_at + transport->cipher.n - transport->cipher_at;
}

bool nats_transport_is_busy(struct nats_transport *transport)
{
    if (nats_transport_waiting(transport) <= transport->out_max / 2)
        return false;
    transport->busy = true;
    return true;
}

struct buf *nats_transport_begin(struct nats_transport *transport)
{
    struct buf *out = &transport->out;

    if (!out->p)
        nats_hub_lend(transport->hub, out);
    if (transport->out_at > SENT_MAX && transport->out_at > out->n / 2) {
        buf_consume(out, transport->out_at);
        transport->out_at = 0;
    }
    link_dirty(transport);
    return out;
}

/* Send from `at` on. 1: all is gone; 0: the socket is full; -1: it failed, and all is over. */
static int send_buf(struct nats_transport *transport, struct buf *buf, size_t *at)
{
    while (*at < buf->n) {
        ssize_t n = send(transport->fd, buf->p + *at, buf->n - *at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0) {
            fail_sys(transport, errno, "write to the server");
            return -1;
        }
        *at += (size_t)n;
    }
    *at = 0;
    nats_hub_return(transport->hub, buf);
    return 1;
}

static int encrypt_slice(struct nats_transport *transport)
{
    size_t n = transport->out.n - transport->out_at;

    if (n > SLICE_SIZE)
        n = SLICE_SIZE;
    if (!transport->cipher.p)
        nats_hub_lend(transport->hub, &transport->cipher);
    ERR_clear_error();
    if (SSL_write(transport->ssl, transport->out.p + transport->out_at, (int)n) != (int)n) {
        fail_transport_tls(transport, "TLS");
        return -1;
    }
    transport->out_at += n;
    if (transport->out_at == transport->out.n) {
        transport->out_at = 0;
        nats_hub_return(transport->hub, &transport->out);
    }
    return 0;
}

/* As send_buf, for all that waits. */
static int send_all_output(struct nats_transport *transport)
{
    int result;

    if (transport->state == NATS_TRANSPORT_PLAIN)
        return send_buf(transport, &transport->out, &transport->out_at);
    for (;;) {
        result = send_buf(transport, &transport->cipher, &transport->cipher_at);
        if (result <= 0 || transport->state == NATS_TRANSPORT_HANDSHAKE || transport->out.n == 0)
            return result;
        if (encrypt_slice(transport) < 0)
            return -1;
    }
}

static void want_room(struct nats_transport *transport, bool writing)
{
    struct err err;

    if (transport->writing == writing)
        return;
    transport->writing = writing;
    if (watch_change(&transport->watch, writing ? WATCH_READ | WATCH_WRITE : WATCH_READ, &err) < 0)
        fail_transport(transport, &err);
}

void nats_transport_flush(struct nats_transport *transport)
{
    unsigned epoch = transport->epoch;
    int result;

    unlink_dirty(transport);
    if (transport->state < NATS_TRANSPORT_PLAIN)
        return;
    result = send_all_output(transport);
    if (result < 0)
        return;
    want_room(transport, result == 0);
    if (transport->epoch == epoch && transport->busy &&
        nats_transport_waiting(transport) <= transport->out_max / 2) {
        transport->busy = false;
        transport->events->writable(transport->self);
    }
}

/* --- receiving ---------------------------------------------------------------------- */

/* Where to put what comes: after what is there of a frame. The hub's buffer, or, when the frame is
 * a large one, the transport's own. */
struct room {
    char *p;
    size_t have, size;
};

static struct room find_input_room(struct nats_transport *transport)
{
    struct buf *in = &transport->in;
    char *hub = transport->hub->in;

    if (in->n > NATS_HUB_READ / 2) {
        if (!buf_reserve(in, NATS_HUB_READ))
            return (struct room){ NULL, 0, 0 };
        return (struct room){ in->p, in->n, in->n + NATS_HUB_READ };
    }
    if (in->n > 0)
        memcpy(hub, in->p, in->n);
    return (struct room){ hub, in->n, NATS_HUB_READ };
}

/* Hand over what there is and keep the rest. False: the transport is closed now. */
static bool deliver_input(struct nats_transport *transport, const struct room *room)
{
    unsigned epoch = transport->epoch;
    size_t used = transport->events->input(transport->self, (struct str){ room->p, room->have });

    if (transport->epoch != epoch)
        return false;
    if (room->p == transport->in.p) {
        transport->in.n = room->have;
        buf_consume(&transport->in, used);
    } else {
        buf_clear(&transport->in);
        buf_add(&transport->in, room->p + used, room->have - used);
    }
    if (transport->in.n == 0)
        buf_done(&transport->in);
    return true;
}

static void fail_large_input(struct nats_transport *transport)
{
    struct err err;

    err_set(&err, ERR_LIMIT, "protocol error: a frame is larger than %zu bytes", transport->in.max);
    fail_transport(transport, &err);
}

/* Bytes, 0: nothing now, -1: the transport is closed. */
static ssize_t receive_bytes(struct nats_transport *transport, char *to, size_t size)
{
    ssize_t n = recv(transport->fd, to, size, MSG_DONTWAIT);

    if (n > 0)
        return n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n == 0 || errno == ECONNRESET)
        fail_closed(transport);
    else
        fail_sys(transport, errno, "read from the server");
    return -1;
}

static void read_plain_input(struct nats_transport *transport)
{
    for (int i = 0; i < ROUNDS_MAX && transport->state == NATS_TRANSPORT_PLAIN; i++) {
        struct room room = find_input_room(transport);
        size_t space = room.size - room.have;
        ssize_t n;

        if (!room.p) {
            fail_large_input(transport);
            return;
        }
        n = receive_bytes(transport, room.p + room.have, space);
        if (n <= 0)
            return;
        room.have += (size_t)n;
        if (!deliver_input(transport, &room) || (size_t)n < space)
            return;
    }
}

/* --- TLS ---------------------------------------------------------------------------- */

static int bio_write(BIO *bio, const char *bytes, int n)
{
    struct nats_transport *transport = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (n > 0)
        buf_add(&transport->cipher, bytes, (size_t)n);
    return n;
}

static int bio_read(BIO *bio, char *to, int size)
{
    struct nats_transport *transport = BIO_get_data(bio);
    size_t n = transport->wire.n < (size_t)size ? transport->wire.n : (size_t)size;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, transport->wire.p, n);
    transport->wire = str_from_offset(transport->wire, n);
    return (int)n;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

/* One for the process, as the library has it with its own kinds. */
static BIO_METHOD *bio_method;
static pthread_once_t bio_once = PTHREAD_ONCE_INIT;

static void make_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "nats transport");
    if (!bio_method)
        return; /* BIO_new will refuse it */
    (void)BIO_meth_set_write(bio_method, bio_write);
    (void)BIO_meth_set_read(bio_method, bio_read);
    (void)BIO_meth_set_ctrl(bio_method, bio_ctrl);
}

static BIO *new_bio(void)
{
    (void)pthread_once(&bio_once, make_bio_method);
    return bio_method ? BIO_new(bio_method) : NULL;
}

static bool expect_name(SSL *ssl, const char *name)
{
    unsigned char room[sizeof(struct in6_addr)];
    char host[NATS_HOST_MAX + 1]; /* the library asks for one that it could change */

    if (inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    (void)snprintf(host, sizeof(host), "%s", name);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static void shake_transport_hands(struct nats_transport *transport)
{
    int result, why;

    ERR_clear_error();
    result = SSL_do_handshake(transport->ssl);
    why = result == 1 ? SSL_ERROR_NONE : SSL_get_error(transport->ssl, result);
    if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ) {
        (void)send(transport->fd, transport->cipher.p, transport->cipher.n,
                   MSG_NOSIGNAL | MSG_DONTWAIT); /* the alert says why; nothing hangs on it */
        fail_transport_tls(transport, "TLS handshake");
        return;
    }
    if (transport->cipher.n > 0)
        link_dirty(transport);
    if (result != 1)
        return;
    transport->state = NATS_TRANSPORT_SECURE;
    transport->events->secured(transport->self);
}

int nats_transport_secure(struct nats_transport *transport, struct nats_tls *tls, const char *name,
                          struct err *err)
{
    BIO *bio = new_bio();

    transport->ssl = SSL_new(nats_tls_context(tls));
    if (!bio || !transport->ssl || !expect_name(transport->ssl, name)) {
        BIO_free(bio);
        ERR_clear_error();
        return err_set(err, ERR_INVALID, "TLS: '%s' is not a valid host name", name);
    }
    BIO_set_data(bio, transport);
    BIO_set_init(bio, 1);
    SSL_set_bio(transport->ssl, bio, bio);
    SSL_set_connect_state(transport->ssl);
    if (!transport->hub->wire)
        transport->hub->wire = mem_alloc(NATS_HUB_READ);
    transport->state = NATS_TRANSPORT_HANDSHAKE;
    transport->wire = (struct str){ NULL, 0 };
    shake_transport_hands(transport); /* only speaks: nothing has come yet */
    return 0;
}

enum decrypted { DECRYPTED_ALL, DECRYPTED_MORE, DECRYPTED_END, DECRYPTED_BAD };

/* As much as fits, or as there is. What came before an end or an error is in the room. */
static enum decrypted decrypt_input(struct nats_transport *transport, struct room *room)
{
    while (room->size - room->have >= RECORD_SIZE) {
        int n;

        ERR_clear_error();
        n = SSL_read(transport->ssl, room->p + room->have, (int)(room->size - room->have));
        if (n > 0) {
            room->have += (size_t)n;
            continue;
        }
        switch (SSL_get_error(transport->ssl, n)) {
        case SSL_ERROR_WANT_READ: return DECRYPTED_ALL;
        case SSL_ERROR_ZERO_RETURN: return DECRYPTED_END;
        default: return DECRYPTED_BAD;
        }
    }
    return DECRYPTED_MORE;
}

/* The last words of a server say why it ends the connection: they are delivered first. */
static bool decrypt_all(struct nats_transport *transport)
{
    enum decrypted result;

    do {
        struct room room = find_input_room(transport);

        if (!room.p) {
            fail_large_input(transport);
            return false;
        }
        result = decrypt_input(transport, &room);
        if (result == DECRYPTED_BAD) {
            fail_transport_tls(transport, "TLS");
            return false;
        }
        if (!deliver_input(transport, &room))
            return false;
    } while (result == DECRYPTED_MORE);
    if (result == DECRYPTED_END) {
        fail_closed(transport);
        return false;
    }
    if (transport->cipher.n > 0)
        link_dirty(transport); /* the library answers key updates */
    return true;
}

static void read_secure(struct nats_transport *transport)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        unsigned epoch = transport->epoch;
        ssize_t n = receive_bytes(transport, transport->hub->wire, NATS_HUB_READ);

        if (n <= 0)
            return;
        transport->wire = (struct str){ transport->hub->wire, (size_t)n };
        if (transport->state == NATS_TRANSPORT_HANDSHAKE)
            shake_transport_hands(transport);
        if (transport->epoch != epoch)
            return;
        if (transport->state == NATS_TRANSPORT_SECURE && !decrypt_all(transport))
            return;
        if ((size_t)n < NATS_HUB_READ)
            return;
    }
}

/* --- opening ------------------------------------------------------------------------ */

static void finish_transport_connect(struct nats_transport *transport)
{
    socklen_t size = sizeof(int);
    int errnum = 0;
    struct err err;

    if (getsockopt(transport->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0)
        errnum = errno;
    if (errnum != 0) {
        fail_sys(transport, errnum, "connect");
        return;
    }
    if (watch_change(&transport->watch, WATCH_READ, &err) < 0) {
        fail_transport(transport, &err);
        return;
    }
    transport->state = NATS_TRANSPORT_PLAIN;
    transport->events->opened(transport->self);
}

static void on_transport_ready(struct watch *watch, uint32_t events)
{
    struct nats_transport *transport = container_of(watch, struct nats_transport, watch);
    unsigned epoch = transport->epoch;

    if (transport->state == NATS_TRANSPORT_CONNECTING) {
        finish_transport_connect(transport);
        return;
    }
    if (events & WATCH_WRITE)
        nats_transport_flush(transport);
    if (transport->epoch != epoch || !(events & (WATCH_READ | WATCH_HUP | WATCH_ERROR)))
        return;
    if (transport->state == NATS_TRANSPORT_PLAIN)
        read_plain_input(transport);
    else
        read_secure(transport);
}

int nats_transport_open(struct nats_transport *transport, const struct sockaddr *address,
                        socklen_t size, struct err *err)
{
    AUTO_FD int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    if (fd < 0)
        return err_sys(err, errno, "open a socket");
    /* latency is ours to manage; a peer that vanished is found by pings anyway */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (connect(fd, address, size) < 0 && errno != EINPROGRESS)
        return err_sys(err, errno, "connect");
    if (watch_start(&transport->watch, transport->hub->loop, fd, WATCH_WRITE, on_transport_ready,
                    err) < 0)
        return -1;
    transport->fd = fd_take(&fd);
    transport->state = NATS_TRANSPORT_CONNECTING;
    return 0;
}
