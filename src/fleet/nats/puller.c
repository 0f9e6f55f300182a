/*
 * One request is under way at a time. The next leaves when all messages of the last have come: a
 * server that hands out messages while it works through the acknowledgements of those before needs
 * a fifth more time for each than one that does one after the other, and a request leaves early
 * enough while half of the batch is still being worked on. With `is_busy` there may be two: then
 * the server fetches the next messages while the user works on the last, which saves more.
 *
 * A request is held back for a while when a publisher of the connection has more to send than its
 * window takes (NATS_PULLER_SHARE_NS): storing and delivering contend for the same locks of the
 * server, and one after the other takes a tenth less time than both at once.
 *
 * A message comes under its own subject and does not say which request it answers; a status comes
 * to the inbox of the request, whose last token is its number. One of a request that is no longer
 * waited for (heartbeats stayed out, and it was made again) is ignored.
 */
#include "fleet/nats/puller.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/core.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/subject.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define DIGITS_MAX 18
#define ASKS_MAX   2
/* How often a request that is held back looks whether it still must be. */
#define YIELD_STEP_NS (INT64_C(2) * 1000000)

/* A request. The server serves the older one first. */
struct pull_request {
    uint64_t number;
    size_t left; /* messages of it that are still to come */
};

struct nats_puller {
    struct nats_grave grave;
    struct nats_hub *hub;
    struct nats_js js;
    struct nats_puller_options options; /* texts are owned by `subject` and `names` */
    struct nats_listener listener;
    struct nats_sub *sub;
    struct timer watchdog, pause;
    char *subject; /* to ask at */
    char *names;   /* "consumer 'c' of stream 's'" */
    char *inbox;   /* with the dot */
    size_t inbox_size;
    uint64_t number;                    /* of the newest request */
    struct pull_request asks[ASKS_MAX]; /* those under way, the oldest first */
    size_t ask_count;
    size_t came;         /* messages since the newest request was made */
    int64_t yield_until; /* the next one is held back; 0: it is not */
    size_t held;         /* messages that the user is not done with */
    bool heard;          /* something came since the watchdog looked */
    bool stopped;        /* for good */
};

static size_t count_asked_messages(const struct nats_puller *puller)
{
    size_t asked = 0;

    for (size_t i = 0; i < puller->ask_count; i++)
        asked += puller->asks[i].left;
    return asked;
}

static void forget_ask(struct nats_puller *puller, size_t at)
{
    puller->ask_count--;
    for (size_t i = at; i < puller->ask_count; i++)
        puller->asks[i] = puller->asks[i + 1];
}

/* --- asking ------------------------------------------------------------------------- */

static struct timers *find_puller_timers(struct nats_puller *puller)
{
    return loop_timers(puller->hub->loop);
}

static void print_ask(const struct nats_puller *puller, size_t count, struct buf *out)
{
    buf_printf(out, "{\"batch\":%zu,\"expires\":%lld,\"idle_heartbeat\":%lld", count,
               (long long)puller->options.expires, (long long)puller->options.heartbeat);
    if (puller->options.max_bytes > 0)
        buf_printf(out, ",\"max_bytes\":%lld", (long long)puller->options.max_bytes);
    buf_add_char(out, '}');
}

static void on_watchdog(struct timer *timer);
static void on_puller_retry(struct timer *timer);

static void arm_watchdog(struct nats_puller *puller)
{
    puller->heard = false;
    timer_set(find_puller_timers(puller), &puller->watchdog,
              clock_after(clock_now(), 2 * puller->options.heartbeat), on_watchdog);
}

static void pause_asking(struct nats_puller *puller, int64_t pause)
{
    timer_set(find_puller_timers(puller), &puller->pause, clock_after(clock_now(), pause),
              on_puller_retry);
}

static void send_ask(struct nats_puller *puller, size_t count)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX), reply = BUF_INIT(NATS_SUBJECT_MAX);
    struct err err;

    puller->number++;
    print_ask(puller, count, &body);
    buf_printf(&reply, "%s%llu", puller->inbox, (unsigned long long)puller->number);
    if (nats_publish(puller->js.conn,
                     &(struct nats_pub){ .subject = str_from(puller->subject),
                                         .reply = buf_view(&reply),
                                         .payload = buf_view(&body) },
                     &err) < 0) {
        pause_asking(puller, NATS_PULLER_PAUSE_NS); /* too much waits to be sent: soon again */
        return;
    }
    puller->asks[puller->ask_count++] = (struct pull_request){ puller->number, count };
    puller->came = 0;
    if (!timer_is_set(&puller->watchdog))
        arm_watchdog(puller);
}

/* True: publishers go first, and what is free is asked for later. */
static bool yield_turn(struct nats_puller *puller)
{
    const bool must = puller->js.conn->backlogs > 0 && !puller->options.is_busy;
    const int64_t now = clock_now();

    if (must && puller->yield_until == 0)
        puller->yield_until = clock_after(now, (int64_t)puller->came * NATS_PULLER_SHARE_NS);
    if (!must || now >= puller->yield_until) {
        puller->yield_until = 0;
        return false;
    }
    pause_asking(puller, YIELD_STEP_NS);
    return true;
}

/* For what is free, when that is half of the batch. */
static void refill_puller(struct nats_puller *puller)
{
    const size_t taken = puller->held + count_asked_messages(puller);

    if (puller->stopped || puller->ask_count == (puller->options.is_busy ? ASKS_MAX : 1) ||
        taken > puller->options.batch / 2 || timer_is_set(&puller->pause) ||
        nats_conn_state(puller->js.conn) != NATS_CONN_CONNECTED || yield_turn(puller))
        return;
    send_ask(puller, puller->options.batch - taken);
}

static void on_puller_retry(struct timer *timer)
{
    refill_puller(container_of(timer, struct nats_puller, pause));
}

/* --- what is wrong ------------------------------------------------------------------ */

static void tell_fault(nats_done_fn *fn, struct nats_puller *puller, enum nats_fault fault,
                       int code, struct str text)
{
    struct nats_error error;

    if (!fn)
        return;
    nats_error_set(&error, fault, code, "%s: %.*s", puller->names, STR_ARG(text));
    fn(puller->options.self, &error);
}

static void stop_puller(struct nats_puller *puller)
{
    if (puller->stopped)
        return;
    puller->stopped = true;
    timer_clear(find_puller_timers(puller), &puller->watchdog);
    timer_clear(find_puller_timers(puller), &puller->pause);
    nats_unlisten(puller->js.conn, &puller->listener);
    nats_sub_free(puller->sub);
    puller->sub = NULL;
}

static void fail_puller(struct nats_puller *puller, enum nats_fault fault, int code,
                        struct str text)
{
    stop_puller(puller);
    tell_fault(puller->options.failed, puller, fault, code, text);
}

static void on_watchdog(struct timer *timer)
{
    struct nats_puller *puller = container_of(timer, struct nats_puller, watchdog);

    if (puller->ask_count == 0)
        return; /* set again by the next request */
    if (puller->heard) {
        arm_watchdog(puller);
        return;
    }
    puller->ask_count = 0;
    tell_fault(puller->options.trouble, puller, NATS_FAULT_TIMEOUT, 0,
               STR("no heartbeat: the consumer is gone, or pulling is not permitted"));
    refill_puller(puller);
}

/* The number of the request whose inbox it is; 0: none. */
static uint64_t read_pull_number(const struct nats_puller *puller, struct str subject)
{
    uint64_t number = 0;

    if (subject.n <= puller->inbox_size || subject.n > puller->inbox_size + DIGITS_MAX)
        return 0;
    for (size_t i = puller->inbox_size; i < subject.n; i++) {
        if (subject.p[i] < '0' || subject.p[i] > '9')
            return 0;
        number = number * 10 + (uint64_t)(subject.p[i] - '0');
    }
    return number;
}

/* The place of the request whose inbox it is; ask_count: it is no longer waited for. */
static size_t find_ask(const struct nats_puller *puller, struct str subject)
{
    const uint64_t number = read_pull_number(puller, subject);
    size_t i = 0;

    while (i < puller->ask_count && puller->asks[i].number != number)
        i++;
    return i;
}

/* Meaning of a status for its request. 409 has many meanings; only the text says which. */
enum verdict { IS_ALIVE, IS_OVER, IS_TROUBLE, IS_FATAL };

static const struct {
    int status;
    const char *words; /* found anywhere */
    enum verdict verdict;
    enum nats_fault fault;
} verdicts[] = {
    { NATS_HEADER_HEARTBEAT, "", IS_ALIVE, NATS_FAULT_PROTOCOL },
    { NATS_HEADER_NOT_FOUND, "", IS_OVER, NATS_FAULT_NOT_FOUND },
    { NATS_HEADER_TIMEOUT, "", IS_OVER, NATS_FAULT_TIMEOUT },
    { NATS_HEADER_CONFLICT, "Consumer Deleted", IS_FATAL, NATS_FAULT_NOT_FOUND },
    { NATS_HEADER_CONFLICT, "Consumer is push based", IS_FATAL, NATS_FAULT_REFUSED },
    { NATS_HEADER_CONFLICT, "Exceeded MaxRequest", IS_FATAL, NATS_FAULT_REFUSED },
    { NATS_HEADER_CONFLICT, "Message Size Exceeds MaxBytes", IS_OVER, NATS_FAULT_REFUSED },
    { NATS_HEADER_CONFLICT, "Batch Completed", IS_OVER, NATS_FAULT_REFUSED },
    { NATS_HEADER_CONFLICT, "", IS_TROUBLE, NATS_FAULT_REFUSED },
    { NATS_HEADER_BAD_REQUEST, "", IS_FATAL, NATS_FAULT_REFUSED },
    { NATS_HEADER_NO_RESPONDERS, "", IS_TROUBLE, NATS_FAULT_NO_RESPONDERS },
    { 0, "", IS_TROUBLE, NATS_FAULT_PROTOCOL }, /* of a server that knows more than we do */
};

static void take_pull_status(struct nats_puller *puller, const struct nats_msg *msg, int status,
                             struct str text)
{
    const size_t ask = find_ask(puller, msg->subject);
    size_t i = 0;

    while (verdicts[i].status != 0 && (verdicts[i].status != status ||
                                       str_find(text, str_from(verdicts[i].words), 0) == STR_NONE))
        i++;
    if (verdicts[i].verdict == IS_ALIVE) {
        if (puller->options.idle)
            puller->options.idle(puller->options.self);
        return;
    }
    if (ask == puller->ask_count)
        return;
    forget_ask(puller, ask);
    if (verdicts[i].verdict == IS_FATAL) {
        fail_puller(puller, verdicts[i].fault, status, text);
        return;
    }
    if (verdicts[i].verdict == IS_TROUBLE) {
        pause_asking(puller, NATS_PULLER_PAUSE_NS);
        tell_fault(puller->options.trouble, puller, verdicts[i].fault, status, text);
    }
    refill_puller(puller);
}

/* --- messages ----------------------------------------------------------------------- */

static void on_puller_message(void *self, const struct nats_msg *msg)
{
    struct nats_puller *puller = self;
    struct str text;
    int status = 0;

    puller->heard = true;
    if (msg->header.n > 0 && msg->reply.n == 0)
        status = nats_header_status(msg->header, &text);
    if (status != 0) {
        take_pull_status(puller, msg, status, text);
        return;
    }
    if (msg->reply.n == 0)
        return; /* not from a consumer: it cannot be acknowledged */
    if (puller->ask_count > 0 && --puller->asks[0].left == 0)
        forget_ask(puller, 0);
    puller->held++;
    puller->came++;
    puller->options.message(puller->options.self, msg);
    refill_puller(puller);
}

void nats_puller_done(struct nats_puller *puller, size_t count)
{
    puller->held -= count < puller->held ? count : puller->held;
    refill_puller(puller);
}

static void on_puller_sub_failed(void *self, const struct nats_error *error)
{
    fail_puller(self, error->fault, error->code, str_from(error->text));
}

static void on_puller_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct nats_puller *puller = container_of(listener, struct nats_puller, listener);

    switch (event->kind) {
    case NATS_EVENT_CONNECTED: refill_puller(puller); break;
    case NATS_EVENT_DISCONNECTED: puller->ask_count = 0; break;
    case NATS_EVENT_DENIED:
        if (!str_is(event->subject, puller->subject))
            break;
        *event->handled = true;
        fail_puller(puller, NATS_FAULT_DENIED, 0, str_from(event->error->text));
        break;
    case NATS_EVENT_CLOSED:
        puller->sub = NULL; /* gone with the connection */
        fail_puller(puller, event->error->fault, event->error->code, str_from(event->error->text));
        break;
    default: break;
    }
}

/* --- life --------------------------------------------------------------------------- */

static int check_puller_options(const struct nats_puller_options *options, struct err *err)
{
    if (!options->stream || !nats_subject_is_token(str_from(options->stream)))
        return err_set(err, ERR_INVALID, "not a valid stream name");
    if (!options->consumer || !nats_subject_is_token(str_from(options->consumer)))
        return err_set(err, ERR_INVALID, "not a valid consumer name");
    return 0;
}

static void set_puller_options(struct nats_puller *puller,
                               const struct nats_puller_options *options)
{
    struct nats_puller_options *own = &puller->options;
    struct buf text = BUF_INIT(BUF_NO_LIMIT);

    *own = *options;
    own->stream = own->consumer = NULL;
    own->batch = own->batch ? own->batch : NATS_PULLER_BATCH;
    own->expires = own->expires ? own->expires : NATS_PULLER_EXPIRES_NS;
    own->heartbeat = own->heartbeat ? own->heartbeat : NATS_PULLER_HEARTBEAT_NS;
    if (own->heartbeat > own->expires / 2)
        own->heartbeat = own->expires / 2;
    buf_printf(&text, "%s.CONSUMER.MSG.NEXT.%s.%s", nats_js_prefix(&puller->js), options->stream,
               options->consumer);
    puller->subject = buf_take(&text);
    buf_printf(&text, "consumer '%s' of stream '%s'", options->consumer, options->stream);
    puller->names = buf_take(&text);
    nats_inbox_print(puller->js.conn, &text);
    buf_add_char(&text, '.');
    puller->inbox_size = text.n;
    puller->inbox = buf_take(&text);
}

static void bury_puller(struct nats_grave *grave)
{
    struct nats_puller *puller = container_of(grave, struct nats_puller, grave);

    free(puller->subject);
    free(puller->names);
    free(puller->inbox);
    free(puller);
}

struct nats_puller *nats_puller_new(const struct nats_js *js,
                                    const struct nats_puller_options *options, struct err *err)
{
    AUTO_BUF struct buf pattern = BUF_INIT(NATS_SUBJECT_MAX);
    struct nats_puller *puller;

    if (check_puller_options(options, err) < 0)
        return NULL;
    puller = mem_zalloc(sizeof(*puller));
    puller->js = *js;
    puller->hub = nats_conn_hub(js->conn);
    set_puller_options(puller, options);
    buf_printf(&pattern, "%s*", puller->inbox);
    puller->sub = nats_sub_new(js->conn,
                               &(struct nats_sub_options){ .subject = buf_text(&pattern),
                                                           .message = on_puller_message,
                                                           .failed = on_puller_sub_failed,
                                                           .self = puller },
                               err);
    if (!puller->sub) {
        bury_puller(&puller->grave);
        return NULL;
    }
    nats_listen(js->conn, &puller->listener, on_puller_event);
    refill_puller(puller);
    return puller;
}

void nats_puller_free(struct nats_puller *puller)
{
    if (!puller)
        return;
    stop_puller(puller);
    nats_hub_bury(puller->hub, &puller->grave, bury_puller);
}
