/*
 * A reply subject, in the form of the oldest servers and in that of newer ones:
 *
 *     $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>
 *     $JS.ACK.<domain>.<account>.<stream>. ... .<pending>[.<random>]
 */
#include "fleet/nats/ack.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/error.h"
#include "fleet/nats/request.h"

#define SHORT_TOKENS 9
#define LONG_TOKENS  11
#define TOKENS_MAX   12
#define BODY_MAX     64

static int publish_ack(struct nats_conn *conn, struct str reply, struct str body, struct err *err)
{
    return nats_publish(conn, &(struct nats_pub){ .subject = reply, .payload = body }, err);
}

int nats_ack(struct nats_conn *conn, struct str reply, struct err *err)
{
    return publish_ack(conn, reply, STR("+ACK"), err);
}

int nats_nak(struct nats_conn *conn, struct str reply, int64_t delay, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);

    buf_add_text(&body, "-NAK");
    if (delay > 0)
        buf_printf(&body, " {\"delay\":%lld}", (long long)delay);
    return publish_ack(conn, reply, buf_view(&body), err);
}

int nats_ack_progress(struct nats_conn *conn, struct str reply, struct err *err)
{
    return publish_ack(conn, reply, STR("+WPI"), err);
}

int nats_ack_term(struct nats_conn *conn, struct str reply, struct err *err)
{
    return publish_ack(conn, reply, STR("+TERM"), err);
}

struct sync {
    nats_done_fn *fn;
    void *self;
};

static void on_ack_synced(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct sync sync = *(struct sync *)self;

    (void)msg;
    free(self);
    sync.fn(sync.self, error);
}

int nats_ack_sync(struct nats_conn *conn, struct str reply, int64_t timeout, nats_done_fn *fn,
                  void *self, struct err *err)
{
    struct sync *sync = mem_alloc(sizeof(*sync));

    *sync = (struct sync){ fn, self };
    if (nats_request(conn, &(struct nats_pub){ .subject = reply, .payload = STR("+ACK") }, timeout,
                     on_ack_synced, sync, NULL, err) == 0)
        return 0;
    free(sync);
    return -1;
}

static bool read_ack_number(struct str text, uint64_t *ret)
{
    uint64_t number = 0;

    if (text.n == 0 || text.n > 19)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.p[i] - '0');
    }
    *ret = number;
    return true;
}

bool nats_delivery_parse(struct str reply, struct nats_delivery *ret_delivery)
{
    struct str tokens[TOKENS_MAX], rest = reply;
    struct nats_delivery delivery;
    uint64_t time;
    size_t n = 0, first;

    if (!str_starts(reply, STR("$JS.ACK.")))
        return false;
    while (rest.p && n < TOKENS_MAX)
        tokens[n++] = str_cut(&rest, '.');
    if (rest.p || (n != SHORT_TOKENS && n < LONG_TOKENS))
        return false;
    first = n == SHORT_TOKENS ? 2 : 4;
    delivery.stream = tokens[first];
    delivery.consumer = tokens[first + 1];
    if (!read_ack_number(tokens[first + 2], &delivery.deliveries) ||
        !read_ack_number(tokens[first + 3], &delivery.stream_seq) ||
        !read_ack_number(tokens[first + 4], &delivery.consumer_seq) ||
        !read_ack_number(tokens[first + 5], &time) ||
        !read_ack_number(tokens[first + 6], &delivery.pending))
        return false;
    delivery.time = (int64_t)time;
    *ret_delivery = delivery;
    return true;
}
