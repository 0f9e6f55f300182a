#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/core.h"
#include "fleet/nats/subject.h"

/* "HPUB", blanks, two numbers, line ends. */
#define OVERHEAD   64
#define DIGITS_MAX 20

static char *put_frame_text(char *to, struct str text)
{
    memcpy(to, text.p, text.n);
    return to + text.n;
}

static char *put_frame_number(char *to, size_t number)
{
    char digits[DIGITS_MAX];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *put_line_end(char *to)
{
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

/* The headers' empty line is added here. */
static char *put_pub(char *to, const struct nats_pub *pub)
{
    size_t header = pub->header.n > 0 ? pub->header.n + 2 : 0;

    to = put_frame_text(to, header > 0 ? STR("HPUB ") : STR("PUB "));
    to = put_frame_text(to, pub->subject);
    *to++ = ' ';
    if (pub->reply.n > 0) {
        to = put_frame_text(to, pub->reply);
        *to++ = ' ';
    }
    if (header > 0) {
        to = put_frame_number(to, header);
        *to++ = ' ';
    }
    to = put_line_end(put_frame_number(to, header + pub->payload.n));
    if (header > 0)
        to = put_line_end(put_frame_text(to, pub->header));
    if (pub->payload.n > 0)
        to = put_frame_text(to, pub->payload);
    return put_line_end(to);
}

static int check_pub(const struct nats_conn *conn, const struct nats_pub *pub, struct err *err)
{
    size_t size = pub->header.n + pub->payload.n;

    if (!nats_subject_is_plain(pub->subject))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid subject", STR_ARG(pub->subject));
    if (pub->reply.n > 0 && !nats_subject_is_plain(pub->reply))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid reply subject",
                       STR_ARG(pub->reply));
    if (size > conn->max_payload)
        return err_set(err, ERR_LIMIT, "a message of %zu bytes, the server's limit is %zu", size,
                       conn->max_payload);
    return 0;
}

int nats_publish(struct nats_conn *conn, const struct nats_pub *pub, struct err *err)
{
    size_t need = OVERHEAD + pub->subject.n + pub->reply.n + pub->header.n + pub->payload.n;
    bool connected = conn->state == NATS_CONN_CONNECTED;
    size_t waiting = connected ? nats_transport_waiting(&conn->transport) : conn->parked.n;
    struct buf *out;

    if (check_pub(conn, pub, err) < 0)
        return -1;
    if (conn->state == NATS_CONN_CLOSED)
        return err_set(err, ERR_CANCELED, "the connection is closed");
    if (waiting + need > (connected ? conn->options.out_max : conn->options.parked_max))
        return err_set(err, ERR_BUSY, "%s: %zu bytes wait to be sent",
                       connected ? "the server is slow" : "no connection", waiting);
    out = connected ? nats_transport_begin(&conn->transport) : &conn->parked;
    out->n = (size_t)(put_pub(buf_reserve(out, need), pub) - out->p);
    return 0;
}

bool nats_conn_is_busy(struct nats_conn *conn)
{
    if (conn->state != NATS_CONN_CONNECTED)
        return conn->parked.n > conn->options.parked_max / 2;
    return nats_transport_is_busy(&conn->transport);
}

/* --- PING and PONG ------------------------------------------------------------------ */

void nats_waiters_ping(struct nats_conn *conn, nats_done_fn *fn, void *self)
{
    buf_add_text(nats_transport_begin(&conn->transport), "PING\r\n");
    VEC_PUSH(&conn->waiters, (struct nats_waiter){ fn, self });
}

static bool take_waiter(struct nats_conn *conn, struct nats_waiter *ret)
{
    if (conn->waiter_first == conn->waiters.n)
        return false;
    *ret = conn->waiters.p[conn->waiter_first++];
    if (conn->waiter_first == conn->waiters.n) {
        conn->waiter_first = 0;
        vec_done(&conn->waiters);
    }
    return true;
}

void nats_waiters_pong(struct nats_conn *conn)
{
    struct nats_waiter waiter;

    if (take_waiter(conn, &waiter) && waiter.fn)
        waiter.fn(waiter.self, NULL);
}

void nats_waiters_fail(struct nats_conn *conn, const struct nats_error *error)
{
    size_t left = conn->waiters.n - conn->waiter_first;
    struct nats_waiter waiter;

    while (left-- > 0 && take_waiter(conn, &waiter)) /* those that are added now wait for more */
        if (waiter.fn)
            waiter.fn(waiter.self, error);
}

int nats_flush(struct nats_conn *conn, nats_done_fn *fn, void *self, struct err *err)
{
    if (conn->state == NATS_CONN_CLOSED)
        return err_set(err, ERR_CANCELED, "the connection is closed");
    if (conn->state == NATS_CONN_CONNECTED)
        nats_waiters_ping(conn, fn, self);
    else
        VEC_PUSH(&conn->waiters, (struct nats_waiter){ fn, self }); /* asked after the login */
    return 0;
}
