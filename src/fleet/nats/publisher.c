/*
 * Messages stand in one list, in the order in which they came. `unsent` is the first that was never
 * sent on this connection; those before it are under way, or wait in `again`: they were refused for
 * now, or the message before them on their subject was not stored yet. A reconnect puts `unsent`
 * back to the beginning.
 *
 * Once the window is full, nothing is sent until half of it is free: a server that gets many
 * messages at a time needs less time for each than one that gets a few after each of its answers.
 * Pullers of the connection hold back meanwhile (`backlogs` of fleet/nats/core.h).
 */
#include "fleet/nats/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/core.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/request.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* JetStream cannot answer at the moment: no leader, or it is starting. */
#define CODE_UNAVAILABLE 10008

/* Bytes of an id made with a secret. */
#define ID_BYTES 16

struct entry {
    struct nats_publisher *publisher;
    struct entry *next, *prev;
    struct entry *again_next;
    struct entry *follower; /* waits for this one */
    bool sent, waits, is_again;
    uint64_t request;
    int64_t deadline;
    nats_stored_ack_fn *fn;
    void *self;
    size_t size;
    struct str subject, header, payload; /* after the struct */
};

struct nats_publisher {
    struct nats_grave grave;
    struct nats_hub *hub;
    struct nats_js js;
    struct nats_publisher_options options;
    struct nats_listener listener;
    struct entry *first, *last, *unsent;
    struct entry *again, **again_end;
    struct map tails; /* subject to its last entry, when in order */
    struct timer pause, expiry;
    struct timer gather; /* what was never sent waits for more */
    size_t count, bytes, under_way;
    bool full, closed;
    bool holds; /* the window was full, and is not half free yet */
    bool has_backlog;
};

static void pump_publisher(struct nats_publisher *publisher);

/* --- acks --------------------------------------------------------------------------- */

static int refuse_stream(const char *wanted, struct nats_error *error)
{
    nats_error_set(error, NATS_FAULT_PROTOCOL, 0, "JetStream: an ack of another stream than '%s'",
                   wanted);
    return -1;
}

static int decode_slowly(struct str payload, const char *stream, struct nats_stored_ack *ret,
                         struct nats_error *error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value *duplicate;
    const char *stored;
    struct value reply;
    struct err err;
    int64_t seq;

    if (json_decode_lenient(&arena, payload, &reply, &err) < 0) {
        nats_error_set(error, NATS_FAULT_PROTOCOL, 0, "JetStream: %s", err.text);
        return -1;
    }
    if (nats_js_read_error(&reply, error))
        return -1;
    seq = nats_js_number(&reply, "seq", 0);
    if (seq <= 0) {
        nats_error_set(error, NATS_FAULT_PROTOCOL, 0, "JetStream: an ack without a sequence");
        return -1;
    }
    stored = value_get_text(&reply, "stream");
    if (stream && (!stored || strcmp(stored, stream) != 0))
        return refuse_stream(stream, error);
    duplicate = value_get(&reply, "duplicate");
    *ret = (struct nats_stored_ack){ (uint64_t)seq, duplicate && value_is_true(duplicate) };
    return 0;
}

/* `{"stream":"S", "seq":123}`, which is what almost every answer is; the rest is read as JSON. */
int nats_stored_ack_decode(struct str payload, const char *stream, struct nats_stored_ack *ret_ack,
                           struct nats_error *reterr_error)
{
    static const struct str begin = { "{\"stream\":\"", 11 }, middle = { "\", \"seq\":", 9 };
    size_t at;
    uint64_t seq = 0;

    if (!str_starts(payload, begin))
        return decode_slowly(payload, stream, ret_ack, reterr_error);
    at = begin.n;
    while (at < payload.n && payload.p[at] != '"' && payload.p[at] != '\\')
        at++;
    if (stream && !str_eq_text(str_slice(payload, begin.n, at - begin.n), stream))
        return decode_slowly(payload, stream, ret_ack, reterr_error);
    if (!str_starts(str_from_offset(payload, at), middle))
        return decode_slowly(payload, stream, ret_ack, reterr_error);
    for (at += middle.n; at < payload.n && payload.p[at] >= '0' && payload.p[at] <= '9'; at++)
        seq = seq * 10 + (uint64_t)(payload.p[at] - '0');
    if (at + 1 != payload.n || payload.p[at] != '}' || seq == 0)
        return decode_slowly(payload, stream, ret_ack, reterr_error);
    *ret_ack = (struct nats_stored_ack){ seq, false };
    return 0;
}

/* --- the list ----------------------------------------------------------------------- */

static void append_pending(struct nats_publisher *publisher, struct entry *entry)
{
    entry->prev = publisher->last;
    *(publisher->last ? &publisher->last->next : &publisher->first) = entry;
    publisher->last = entry;
    if (!publisher->unsent)
        publisher->unsent = entry;
    publisher->count++;
    publisher->bytes += entry->size;
}

static void queue_again(struct entry *entry)
{
    struct nats_publisher *publisher = entry->publisher;

    if (entry->is_again)
        return;
    entry->is_again = true;
    entry->again_next = NULL;
    *publisher->again_end = entry;
    publisher->again_end = &entry->again_next;
}

static void drop_again(struct nats_publisher *publisher)
{
    for (struct entry *entry = publisher->again; entry; entry = entry->again_next)
        entry->is_again = false;
    publisher->again = NULL;
    publisher->again_end = &publisher->again;
}

static void take_from_again(struct entry *entry)
{
    struct nats_publisher *publisher = entry->publisher;
    struct entry **at = &publisher->again;

    if (!entry->is_again)
        return;
    while (*at != entry)
        at = &(*at)->again_next;
    *at = entry->again_next;
    if (publisher->again_end == &entry->again_next)
        publisher->again_end = at;
    entry->is_again = false;
}

static void free_follower(struct entry *entry)
{
    struct nats_publisher *publisher = entry->publisher;

    if (entry->follower) {
        entry->follower->waits = false;
        queue_again(entry->follower);
    } else if (publisher->options.in_order &&
               map_find(&publisher->tails, entry->subject) == entry) {
        (void)map_remove(&publisher->tails, entry->subject);
    }
}

static void unlink_pending(struct nats_publisher *publisher, struct entry *entry)
{
    take_from_again(entry);
    free_follower(entry);
    if (publisher->unsent == entry)
        publisher->unsent = entry->next;
    *(entry == publisher->first ? &publisher->first : &entry->prev->next) = entry->next;
    *(entry == publisher->last ? &publisher->last : &entry->next->prev) = entry->prev;
    publisher->count--;
    publisher->bytes -= entry->size;
}

static void finish_publish(struct nats_publisher *publisher, struct entry *entry,
                           const struct nats_error *error, const struct nats_stored_ack *ack)
{
    nats_stored_ack_fn *fn = entry->fn;
    void *self = entry->self;

    unlink_pending(publisher, entry);
    free(entry);
    fn(self, error, ack);
}

static void set_backlog(struct nats_publisher *publisher, bool has)
{
    if (publisher->has_backlog == has)
        return;
    publisher->has_backlog = has;
    publisher->js.conn->backlogs += has ? 1 : (size_t)-1;
}

static void note_backlog(struct nats_publisher *publisher)
{
    set_backlog(publisher, publisher->holds && !publisher->closed && publisher->unsent);
}

static void tell_ready(struct nats_publisher *publisher)
{
    note_backlog(publisher);
    if (!publisher->full || publisher->count > publisher->options.queue_max / 2 ||
        publisher->bytes > publisher->options.bytes_max / 2)
        return;
    publisher->full = false;
    if (publisher->options.ready && !publisher->closed)
        publisher->options.ready(publisher->options.self);
}

/* --- sending ------------------------------------------------------------------------ */

static void on_publish_retry(struct timer *timer)
{
    pump_publisher(container_of(timer, struct nats_publisher, pause));
}

static void pause_sending(struct nats_publisher *publisher)
{
    if (!timer_is_set(&publisher->pause))
        timer_set(loop_timers(nats_conn_loop(publisher->js.conn)), &publisher->pause,
                  clock_after(clock_now(), NATS_PUBLISHER_PAUSE_NS), on_publish_retry);
}

/* For now, or for good. */
static bool is_publish_retried(const struct nats_error *error)
{
    return error->fault == NATS_FAULT_TIMEOUT || error->fault == NATS_FAULT_NO_RESPONDERS ||
           error->fault == NATS_FAULT_DISCONNECTED ||
           (error->fault == NATS_FAULT_REFUSED && error->code == CODE_UNAVAILABLE);
}

static void refuse_entry(struct entry *entry, const struct nats_error *error)
{
    struct nats_publisher *publisher = entry->publisher;

    if (!is_publish_retried(error) || publisher->closed || clock_now() >= entry->deadline) {
        finish_publish(publisher, entry, error, NULL);
        return;
    }
    if (error->fault == NATS_FAULT_DISCONNECTED)
        return; /* sent again with the next connection */
    queue_again(entry);
    if (error->fault != NATS_FAULT_TIMEOUT)
        pause_sending(publisher);
}

static void on_publish_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct entry *entry = self;
    struct nats_publisher *publisher = entry->publisher;
    struct nats_stored_ack ack;
    struct nats_error refused;

    entry->sent = false;
    publisher->under_way--;
    if (error)
        refuse_entry(entry, error);
    else if (nats_stored_ack_decode(msg->payload, publisher->options.stream, &ack, &refused) < 0)
        refuse_entry(entry, &refused);
    else
        finish_publish(publisher, entry, NULL, &ack);
    if (publisher->closed)
        return;
    tell_ready(publisher);
    if (publisher->unsent || publisher->again)
        pump_publisher(publisher);
}

/* False: not now. */
static bool send_entry(struct entry *entry)
{
    struct nats_publisher *publisher = entry->publisher;
    const struct nats_pub pub = { .subject = entry->subject,
                                  .header = entry->header,
                                  .payload = entry->payload };
    struct nats_error error;
    struct err err;

    if (nats_request(publisher->js.conn, &pub, publisher->options.ack_wait, on_publish_reply, entry,
                     &entry->request, &err) == 0) {
        entry->sent = true;
        publisher->under_way++;
        return true;
    }
    if (err.code == ERR_BUSY)
        return false;
    nats_error_set(&error, NATS_FAULT_REFUSED, 0, "%s", err.text);
    finish_publish(publisher, entry, &error, NULL);
    return true;
}

static bool can_send(const struct nats_publisher *publisher)
{
    return publisher->under_way < publisher->options.window && !publisher->holds &&
           !publisher->closed && nats_conn_state(publisher->js.conn) == NATS_CONN_CONNECTED &&
           !timer_is_set(&publisher->pause);
}

static void send_waiting_entries(struct nats_publisher *publisher)
{
    while (publisher->again && can_send(publisher)) {
        struct entry *entry = publisher->again;

        take_from_again(entry);
        if (!send_entry(entry)) {
            queue_again(entry);
            return;
        }
    }
    while (publisher->unsent && can_send(publisher) && !timer_is_set(&publisher->gather)) {
        struct entry *entry = publisher->unsent;

        publisher->unsent = entry->next;
        if (entry->waits || entry->is_again || entry->sent)
            continue;
        if (!send_entry(entry)) {
            publisher->unsent = entry;
            return;
        }
    }
}

static void pump_publisher(struct nats_publisher *publisher)
{
    if (publisher->under_way <= publisher->options.window / 2)
        publisher->holds = false;
    send_waiting_entries(publisher);
    if (publisher->under_way == publisher->options.window)
        publisher->holds = true;
    note_backlog(publisher);
}

/* --- giving up ---------------------------------------------------------------------- */

static void expire_entries(struct timer *timer);

/* Messages end in the order in which they came: all may take the same time. */
static void watch_expiry(struct nats_publisher *publisher, int64_t earliest)
{
    const struct entry *first = publisher->first;

    if (first && first->deadline != CLOCK_NEVER && !publisher->closed)
        timer_set(loop_timers(nats_conn_loop(publisher->js.conn)), &publisher->expiry,
                  first->deadline > earliest ? first->deadline : earliest, expire_entries);
}

/* Without a connection, waiting messages get no answer; else the answer or its timeout ends them.
 * */
static void expire_entries(struct timer *timer)
{
    struct nats_publisher *publisher = container_of(timer, struct nats_publisher, expiry);
    const int64_t now = clock_now();
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_DISCONNECTED, 0, "there is no connection to the server");
    while (publisher->first && !publisher->first->sent && publisher->first->deadline <= now &&
           nats_conn_state(publisher->js.conn) != NATS_CONN_CONNECTED)
        finish_publish(publisher, publisher->first, &error, NULL);
    tell_ready(publisher);
    watch_expiry(publisher, clock_after(now, NATS_PUBLISHER_PAUSE_NS));
}

static void clear_publisher_timers(struct nats_publisher *publisher)
{
    struct timers *timers = loop_timers(nats_conn_loop(publisher->js.conn));

    timer_clear(timers, &publisher->pause);
    timer_clear(timers, &publisher->expiry);
    timer_clear(timers, &publisher->gather);
}

/* --- the connection ----------------------------------------------------------------- */

static void fail_all_entries(struct nats_publisher *publisher, const struct nats_error *error)
{
    while (publisher->first) {
        struct entry *entry = publisher->first;

        if (entry->sent)
            nats_request_cancel(publisher->js.conn, entry->request);
        finish_publish(publisher, entry, error, NULL);
    }
}

static void on_publisher_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct nats_publisher *publisher = container_of(listener, struct nats_publisher, listener);

    switch (event->kind) {
    case NATS_EVENT_CONNECTED:
        drop_again(publisher);
        publisher->unsent = publisher->first;
        pump_publisher(publisher);
        break;
    case NATS_EVENT_WRITABLE: pump_publisher(publisher); break;
    case NATS_EVENT_CLOSED:
        publisher->closed = true;
        clear_publisher_timers(publisher);
        note_backlog(publisher);
        fail_all_entries(publisher, event->error);
        break;
    default: break;
    }
}

/* --- life --------------------------------------------------------------------------- */

struct nats_publisher *nats_publisher_new(const struct nats_js *js,
                                          const struct nats_publisher_options *options)
{
    struct nats_publisher *publisher = mem_zalloc(sizeof(*publisher));
    struct nats_publisher_options *own = &publisher->options;

    publisher->js = *js;
    publisher->hub = nats_conn_hub(js->conn);
    *own = *options;
    own->window = own->window ? own->window : NATS_PUBLISHER_WINDOW;
    own->queue_max = own->queue_max ? own->queue_max : 4 * own->window;
    own->bytes_max = own->bytes_max ? own->bytes_max : NATS_PUBLISHER_BYTES_MAX;
    own->ack_wait = own->ack_wait ? own->ack_wait : NATS_PUBLISHER_ACK_WAIT_NS;
    publisher->again_end = &publisher->again;
    nats_listen(js->conn, &publisher->listener, on_publisher_event);
    return publisher;
}

static void bury_publisher(struct nats_grave *grave)
{
    struct nats_publisher *publisher = container_of(grave, struct nats_publisher, grave);

    map_done(&publisher->tails);
    free(publisher);
}

void nats_publisher_free(struct nats_publisher *publisher)
{
    struct nats_error error;

    if (!publisher)
        return;
    if (!publisher->closed) {
        publisher->closed = true;
        clear_publisher_timers(publisher);
        note_backlog(publisher);
        nats_unlisten(publisher->js.conn, &publisher->listener);
        nats_error_set(&error, NATS_FAULT_CANCELED, 0, "the publisher is closed");
        fail_all_entries(publisher, &error);
    }
    nats_hub_bury(publisher->hub, &publisher->grave, bury_publisher);
}

size_t nats_publisher_count(const struct nats_publisher *publisher)
{
    return publisher->count;
}

bool nats_publisher_is_closed(const struct nats_publisher *publisher)
{
    return publisher->closed;
}

static int add_expected(struct buf *header, const char *name, int64_t value, struct err *err)
{
    char text[24];
    struct buf digits = BUF_INIT(sizeof(text));
    int result;

    if (value == 0)
        return 0;
    buf_printf(&digits, "%lld", value < 0 ? 0LL : (long long)value);
    result = nats_header_add(header, name, buf_view(&digits), err);
    buf_done(&digits);
    return result;
}

/* A stream remembers the ids of all its writers, and the server does not check the owner of an id.
 * */
static int add_id(const struct nats_js *js, struct buf *header, const char *name, struct str id,
                  struct err *err)
{
    unsigned char digest[SHA256_SIZE];
    char text[HEX_SIZE(ID_BYTES)];

    if (js->id_secret.n == 0)
        return nats_header_add(header, name, id, err);
    sha256_hmac(js->id_secret, id, digest);
    hex_write(digest, ID_BYTES, text);
    return nats_header_add(header, name, str_from(text), err);
}

static int make_publish_header(const struct nats_js *js, const struct nats_store *store,
                               struct buf *header, struct err *err)
{
    buf_add_str(header, store->header);
    if (store->id.n > 0 && add_id(js, header, "Nats-Msg-Id", store->id, err) < 0)
        return -1;
    if (store->expect_stream &&
        nats_header_add(header, "Nats-Expected-Stream", str_from(store->expect_stream), err) < 0)
        return -1;
    if (store->expect_last_id &&
        add_id(js, header, "Nats-Expected-Last-Msg-Id", str_from(store->expect_last_id), err) < 0)
        return -1;
    if (add_expected(header, "Nats-Expected-Last-Sequence", store->expect_last_seq, err) < 0)
        return -1;
    return add_expected(header, "Nats-Expected-Last-Subject-Sequence",
                        store->expect_last_subject_seq, err);
}

static struct str keep_bytes(char **to, struct str bytes)
{
    struct str kept = { *to, bytes.n };

    if (bytes.n > 0)
        memcpy(*to, bytes.p, bytes.n);
    *to += bytes.n;
    return kept;
}

static struct entry *new_entry(struct nats_publisher *publisher, const struct nats_store *store,
                               struct str header)
{
    size_t size = sizeof(struct entry) + store->subject.n + header.n + store->payload.n;
    struct entry *entry = mem_alloc(size);
    char *bytes = (char *)(entry + 1);

    *entry = (struct entry){ .publisher = publisher, .size = size, .deadline = CLOCK_NEVER };
    entry->subject = keep_bytes(&bytes, store->subject);
    entry->header = keep_bytes(&bytes, header);
    entry->payload = keep_bytes(&bytes, store->payload);
    if (publisher->options.give_up > 0)
        entry->deadline = clock_after(clock_now(), publisher->options.give_up);
    return entry;
}

static void on_publish_gathered(struct timer *timer)
{
    pump_publisher(container_of(timer, struct nats_publisher, gather));
}

/* The first that waits sets the time for all that come meanwhile. */
static void begin_gathering(struct nats_publisher *publisher)
{
    if (!timer_is_set(&publisher->gather))
        timer_set(loop_timers(nats_conn_loop(publisher->js.conn)), &publisher->gather,
                  clock_after(clock_now(), publisher->options.linger), on_publish_gathered);
}

void nats_publisher_hurry(struct nats_publisher *publisher)
{
    if (publisher->closed || !timer_is_set(&publisher->gather))
        return;
    timer_clear(loop_timers(nats_conn_loop(publisher->js.conn)), &publisher->gather);
    pump_publisher(publisher);
}

/* The entry waits for the last one of its subject, and is the last now. */
static void follow_subject(struct entry *entry)
{
    struct map *tails = &entry->publisher->tails;
    struct entry *before = map_remove(tails, entry->subject);

    if (before) {
        before->follower = entry;
        entry->waits = true;
    }
    (void)map_set(tails, entry->subject, entry);
}

static int check_publisher_room(struct nats_publisher *publisher, const struct nats_store *store,
                                struct err *err)
{
    size_t size = store->subject.n + store->header.n + store->payload.n;

    if (publisher->closed)
        return err_set(err, ERR_CANCELED, "the connection is closed");
    if (size > nats_conn_max_payload(publisher->js.conn))
        return err_set(err, ERR_LIMIT, "a message of %zu bytes, the server's limit is %zu", size,
                       nats_conn_max_payload(publisher->js.conn));
    if (publisher->count < publisher->options.queue_max &&
        publisher->bytes + size <= publisher->options.bytes_max)
        return 0;
    publisher->full = true;
    return err_set(err, ERR_BUSY, "%zu messages wait to be stored", publisher->count);
}

int nats_publisher_send(struct nats_publisher *publisher, const struct nats_store *store,
                        nats_stored_ack_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX);
    struct entry *entry;

    if (check_publisher_room(publisher, store, err) < 0 ||
        make_publish_header(&publisher->js, store, &header, err) < 0)
        return -1;
    entry = new_entry(publisher, store, buf_view(&header));
    entry->fn = fn;
    entry->self = self;
    append_pending(publisher, entry);
    if (publisher->options.in_order)
        follow_subject(entry);
    if (!timer_is_set(&publisher->expiry))
        watch_expiry(publisher, 0);
    if (publisher->options.linger > 0 && publisher->unsent == entry)
        begin_gathering(publisher);
    pump_publisher(publisher);
    return 0;
}
