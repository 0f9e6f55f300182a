#include "fleet/nats/request.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/core.h"
#include "fleet/nats/header.h"
#include "fleet/nats/subject.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define REPLY_MAX (NATS_SUBJECT_MAX + 64)
#define DIGITS    16
/* Bytes of chance in each reply subject, as hexadecimal: who has seen one cannot guess the next. */
#define MARK_SIZE   16
#define MARK_DIGITS ((size_t)2 * MARK_SIZE)
/* Fetched from the kernel at once. */
#define MARKS 64

struct pending {
    uint64_t id;
    char mark[MARK_DIGITS];
    nats_reply_fn *fn;
    void *self;
    int64_t deadline;
    struct pending *next, *prev; /* in the order of sending */
    struct str subject;          /* after the struct */
};

struct nats_requests {
    struct nats_conn *conn;
    struct nats_listener listener;
    struct nats_sub *sub;
    struct idmap pending;
    uint64_t next_id;
    struct pending *first, *last;
    struct timer timer; /* for all: comes no later than the first deadline */
    char *prefix;       /* of replies, with the dot */
    size_t prefix_size;
    unsigned char chance[MARKS][MARK_SIZE];
    size_t marks; /* that are left of it */
};

/* --- one ---------------------------------------------------------------------------- */

static void forget_request(struct nats_requests *requests, struct pending *pending)
{
    (void)idmap_remove(&requests->pending, pending->id);
    *(pending == requests->first ? &requests->first : &pending->prev->next) = pending->next;
    *(pending == requests->last ? &requests->last : &pending->next->prev) = pending->prev;
    free(pending);
}

/* It is gone before its callback comes. */
static void finish_request(struct nats_requests *requests, struct pending *pending,
                           const struct nats_error *error, const struct nats_msg *msg)
{
    nats_reply_fn *fn = pending->fn;
    void *self = pending->self;

    forget_request(requests, pending);
    fn(self, error, msg);
}

static void on_request_timeout(struct timer *timer);

/* Most requests are answered long before their deadline, so a timer for each would be set and
 * cleared for nothing. */
static void expect_deadline(struct nats_requests *requests, int64_t deadline)
{
    if (timer_is_set(&requests->timer) && requests->timer.deadline <= deadline)
        return;
    timer_set(loop_timers(requests->conn->hub->loop), &requests->timer, deadline,
              on_request_timeout);
}

static struct pending *find_late(struct nats_requests *requests, int64_t now, uint64_t last)
{
    struct pending *pending = requests->first;

    while (pending && pending->id <= last && pending->deadline > now)
        pending = pending->next;
    return pending && pending->id <= last ? pending : NULL;
}

/* A callback may end others, and add some: begin at the oldest each time. */
static void on_request_timeout(struct timer *timer)
{
    struct nats_requests *requests = container_of(timer, struct nats_requests, timer);
    const int64_t now = clock_now();
    const uint64_t last = requests->next_id;
    struct pending *pending;
    struct nats_error error;

    while ((pending = find_late(requests, now, last))) {
        nats_error_set(&error, NATS_FAULT_TIMEOUT, 0, "no answer from '%.*s' in time",
                       STR_ARG(pending->subject));
        finish_request(requests, pending, &error, NULL);
    }
    for (pending = requests->first; pending; pending = pending->next)
        expect_deadline(requests, pending->deadline);
}

/* `pub` has its reply subject, which ends in the mark. */
static void add_request(struct nats_requests *requests, const struct nats_pub *pub, int64_t timeout,
                        nats_reply_fn *fn, void *self)
{
    struct pending *pending = mem_alloc(sizeof(*pending) + pub->subject.n);
    char *subject = (char *)(pending + 1);

    memcpy(subject, pub->subject.p, pub->subject.n);
    *pending = (struct pending){ .id = requests->next_id,
                                 .fn = fn,
                                 .self = self,
                                 .deadline = clock_after(clock_now(), timeout),
                                 .prev = requests->last,
                                 .subject = { subject, pub->subject.n } };
    memcpy(pending->mark, pub->reply.p + pub->reply.n - MARK_DIGITS, MARK_DIGITS);
    *(requests->last ? &requests->last->next : &requests->first) = pending;
    requests->last = pending;
    idmap_add(&requests->pending, pending->id, pending);
    expect_deadline(requests, pending->deadline);
}

/* --- answers ------------------------------------------------------------------------ */

/* The request that a reply subject belongs to: "<prefix><id>-<mark>"; NULL: none of ours. */
static struct pending *find_request(const struct nats_requests *requests, struct str subject)
{
    const size_t dash = str_find_char(subject, '-', requests->prefix_size);
    struct pending *pending;
    uint64_t id = 0;

    if (dash == STR_NONE || subject.n != dash + 1 + MARK_DIGITS ||
        dash > requests->prefix_size + DIGITS)
        return NULL;
    for (size_t i = requests->prefix_size; i < dash; i++) {
        char c = subject.p[i];

        if (c >= '0' && c <= '9')
            id = id << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            id = id << 4 | (uint64_t)(c - 'a' + 10);
        else
            return NULL;
    }
    pending = idmap_find(&requests->pending, id);
    return pending && memcmp(pending->mark, subject.p + dash + 1, MARK_DIGITS) == 0 ? pending
                                                                                    : NULL;
}

static void on_request_reply(void *self, const struct nats_msg *msg)
{
    struct nats_requests *requests = self;
    struct pending *pending = find_request(requests, msg->subject);
    struct nats_error error;

    if (!pending)
        return; /* too late, or a guess */
    if (msg->header.n > 0 && msg->payload.n == 0 &&
        nats_header_status(msg->header, NULL) == NATS_HEADER_NO_RESPONDERS) {
        nats_error_set(&error, NATS_FAULT_NO_RESPONDERS, NATS_HEADER_NO_RESPONDERS,
                       "no responders on '%.*s'", STR_ARG(pending->subject));
        finish_request(requests, pending, &error, NULL);
        return;
    }
    finish_request(requests, pending, NULL, msg);
}

/* Those that a callback adds are left alone. */
static void fail_all_requests(struct nats_requests *requests, const struct nats_error *error)
{
    uint64_t last = requests->next_id;

    while (requests->first && requests->first->id <= last)
        finish_request(requests, requests->first, error, NULL);
    if (!requests->first)
        timer_clear(loop_timers(requests->conn->hub->loop), &requests->timer);
}

static void on_inbox_failed(void *self, const struct nats_error *error)
{
    fail_all_requests(self, error);
}

/* By the subject, or by the reply when that is what the server names. */
static struct pending *find_denied(struct nats_requests *requests, struct str subject)
{
    struct pending *pending = requests->first;

    if (requests->prefix &&
        str_starts(subject, (struct str){ requests->prefix, requests->prefix_size }))
        return find_request(requests, subject);
    while (pending && !str_eq(pending->subject, subject))
        pending = pending->next;
    return pending;
}

static void on_requests_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct nats_requests *requests = container_of(listener, struct nats_requests, listener);
    struct pending *pending;

    if (event->kind == NATS_EVENT_DISCONNECTED || event->kind == NATS_EVENT_CLOSED)
        fail_all_requests(requests, event->error);
    if (event->kind != NATS_EVENT_DENIED)
        return;
    pending = find_denied(requests, event->subject);
    if (!pending)
        return;
    *event->handled = true;
    finish_request(requests, pending, event->error, NULL);
}

/* --- life --------------------------------------------------------------------------- */

struct nats_requests *nats_requests_new(struct nats_conn *conn)
{
    struct nats_requests *requests = mem_zalloc(sizeof(*requests));

    requests->conn = conn;
    nats_listen(conn, &requests->listener, on_requests_event);
    return requests;
}

void nats_requests_free(struct nats_requests *requests)
{
    nats_unlisten(requests->conn, &requests->listener);
    idmap_done(&requests->pending);
    free(requests->prefix);
    free(requests);
}

static int subscribe_inbox(struct nats_requests *requests, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (requests->sub)
        return 0;
    nats_inbox_print(requests->conn, &subject);
    buf_add_text(&subject, ".*");
    requests->sub = nats_sub_new(requests->conn,
                                 &(struct nats_sub_options){ .subject = buf_text(&subject),
                                                             .message = on_request_reply,
                                                             .failed = on_inbox_failed,
                                                             .self = requests },
                                 err);
    if (!requests->sub)
        return -1;
    buf_cut(&subject, subject.n - 1);
    requests->prefix_size = subject.n;
    requests->prefix = buf_take(&subject);
    return 0;
}

static void print_mark(struct nats_requests *requests, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes;

    if (requests->marks == 0) {
        chance_bytes(requests->chance, sizeof(requests->chance));
        requests->marks = MARKS;
    }
    bytes = requests->chance[--requests->marks];
    for (size_t i = 0; i < MARK_SIZE; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* The prefix, the next id, and a mark. */
static struct str make_reply(struct nats_requests *requests, char *room)
{
    static const char digits[] = "0123456789abcdef";
    char text[DIGITS];
    size_t n = 0, size = requests->prefix_size;
    uint64_t id = ++requests->next_id;

    do
        text[n++] = digits[id & 15];
    while ((id >>= 4) > 0);
    memcpy(room, requests->prefix, size);
    while (n > 0)
        room[size++] = text[--n];
    room[size++] = '-';
    print_mark(requests, room + size);
    return (struct str){ room, size + MARK_DIGITS };
}

int nats_request(struct nats_conn *conn, const struct nats_pub *pub, int64_t timeout_ns,
                 nats_reply_fn *fn, void *self, uint64_t *ret_id, struct err *err)
{
    struct nats_requests *requests = conn->requests;
    struct nats_pub with_reply = *pub;
    char reply[REPLY_MAX];

    if (subscribe_inbox(requests, err) < 0)
        return -1;
    with_reply.reply = make_reply(requests, reply);
    if (nats_publish(conn, &with_reply, err) < 0)
        return -1;
    add_request(requests, &with_reply, timeout_ns, fn, self);
    if (ret_id)
        *ret_id = requests->next_id;
    return 0;
}

void nats_request_cancel(struct nats_conn *conn, uint64_t id)
{
    struct pending *pending = idmap_find(&conn->requests->pending, id);

    if (pending)
        forget_request(conn->requests, pending);
}
