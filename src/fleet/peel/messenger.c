#include "fleet/peel/messenger.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/view/reply.h"
#include "fleet/nats/conn.h"
#include "fleet/peel/outbox.h"
#include "states/state/outcome.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

/* Room for headers and subject of a message. */
#define REPLY_SLACK ((size_t)4096)
/* Bytes of most progress. */
#define PROGRESS_USUAL ((size_t)500)
/* Message size limit before the first connection. */
#define REPLY_MAX_DEFAULT ((size_t)1 << 20)

static struct value_time time_now(void)
{
    const int64_t now = clock_wall();

    return (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
}

void messenger_reply(struct messenger *messenger, const char *subject, struct str payload)
{
    struct err err;

    if (messenger->conn &&
        nats_publish(messenger->conn,
                     &(struct nats_pub){ .subject = str_from(subject), .payload = payload },
                     &err) < 0)
        log_warning("message not sent subject=%s error=%s", subject, err.text);
}

/* To the subject of a job. */
static void publish_bytes(struct messenger *messenger, enum subject_kind kind, const char *jid,
                          struct str payload)
{
    const struct subject_names names = { .jid = str_from(jid),
                                         .peel = str_from(messenger->peel_id) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct err err;

    if (subject_print(&subject, kind, &names, &err) == 0)
        messenger_reply(messenger, buf_text(&subject), payload);
}

static void publish_record(struct messenger *messenger, enum subject_kind kind, const char *jid,
                           const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf payload = BUF_INIT(messenger->reply_max);
    struct err err;

    if (record_encode(&payload, type, record, &err) == 0)
        publish_bytes(messenger, kind, jid, buf_view(&payload));
}

static void send_acks(struct messenger *messenger)
{
    VEC_EACH (&messenger->acks, jid) {
        const struct exec_ack ack = { *jid, messenger->peel_id, time_now(), { 0 } };

        publish_record(messenger, SUBJECT_JOB_ACK, *jid, &exec_ack_type, &ack);
        free(*jid);
    }
    messenger->acks.n = 0;
    timer_clear(loop_timers(messenger->loop), &messenger->due);
}

static void on_message_due(struct timer *timer)
{
    send_acks(container_of(timer, struct messenger, due));
}

void messenger_ack(struct messenger *messenger, const char *jid)
{
    VEC_PUSH(&messenger->acks, mem_strdup(jid));
    if (messenger->acks.n >= MESSENGER_ACKS_MAX)
        send_acks(messenger);
    else if (!timer_is_set(&messenger->due))
        timer_set(loop_timers(messenger->loop), &messenger->due,
                  clock_after(clock_now(), MESSENGER_ACK_PAUSE), on_message_due);
}

void messenger_defer(struct messenger *messenger, const char *jid, time_t not_before)
{
    const struct exec_ack ack = { jid, messenger->peel_id, time_now(), { .seconds = not_before } };

    publish_record(messenger, SUBJECT_JOB_ACK, jid, &exec_ack_type, &ack);
}

void messenger_progress(struct messenger *messenger, const struct exec_progress *progress)
{
    struct exec_progress whole = *progress;

    whole.peel_id = messenger->peel_id;
    whole.timestamp = time_now();
    send_acks(messenger);
    publish_record(messenger, SUBJECT_JOB_PROGRESS, whole.jid, &exec_progress_type, &whole);
}

void messenger_return(struct messenger *messenger, const char *jid, struct str payload)
{
    publish_bytes(messenger, SUBJECT_JOB_RETURN, jid, payload);
}

/* --- progress, from workers ------------------------------------------------------- */

/* A message that waits for others, so that they leave together: a state that changes nothing takes
 * less time than sending a message about it does. It is encoded when it leaves: most never do. */
struct news {
    struct news *next;
    struct messenger_topic *topic; /* NULL: its run has ended */
    struct exec_progress progress;
    struct state_result state; /* with a name: `progress` is about it */
    struct str subject;
    struct buf payload;
    char text[];
};

static struct news *make_news(struct messenger_topic *topic, const struct exec_progress *progress,
                              const struct state_result *state)
{
    const size_t size = strlen(progress->text) + 1;
    struct news *news = mem_alloc(sizeof(*news) + size);

    *news = (struct news){ .topic = topic,
                           .progress = *progress,
                           .subject = topic->subject,
                           .payload = BUF_INIT(topic->size_max) };
    if (state)
        news->state = *state;
    memcpy(news->text, progress->text, size);
    news->progress.text = news->text;
    return news;
}

static void free_news(struct news *news)
{
    buf_done(&news->payload);
    free(news);
}

/* False: it is too large, and lost. */
static bool encode_news(struct news *news)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_result result;
    struct err err;

    if (news->payload.n > 0)
        return true;
    if (news->state.name) {
        reply_state(&arena, &news->state, &result);
        news->progress.result = record_value(&arena, &exec_result_type, &result);
    }
    (void)buf_reserve(&news->payload, PROGRESS_USUAL);
    return record_encode(&news->payload, &exec_progress_type, &news->progress, &err) == 0;
}

static void publish_news(struct messenger *messenger, struct news *news)
{
    struct nats_pub message = { .subject = news->subject };
    struct err err;

    if (news->topic)
        news->topic->has_left = true;
    if (!messenger->conn || !encode_news(news))
        return;
    message.payload = buf_view(&news->payload);
    if (nats_publish(messenger->conn, &message, &err) < 0)
        log_warning("message not sent subject=%.*s error=%s", STR_ARG(message.subject), err.text);
}

/* Under the lock: what is not encoded yet is borrowed from runs, which settle under it. */
void messenger_send_progress(struct messenger *messenger)
{
    struct news *news;

    send_acks(messenger);
    (void)pthread_mutex_lock(&messenger->mutex);
    while ((news = messenger->first)) {
        messenger->first = news->next;
        publish_news(messenger, news);
        free_news(news);
    }
    messenger->last = &messenger->first;
    (void)pthread_mutex_unlock(&messenger->mutex);
}

static bool has_unsent_news(struct messenger *messenger)
{
    bool has;

    (void)pthread_mutex_lock(&messenger->mutex);
    has = messenger->first != NULL;
    (void)pthread_mutex_unlock(&messenger->mutex);
    return has;
}

static void on_pause(struct timer *timer);

static void begin_pause(struct messenger *messenger, int64_t length)
{
    messenger->length = length;
    timer_set(loop_timers(messenger->loop), &messenger->pause, clock_after(clock_now(), length),
              on_pause);
}

/* Quiet runs are polled less often. */
static void on_pause(struct timer *timer)
{
    struct messenger *messenger = container_of(timer, struct messenger, pause);
    const bool has = has_unsent_news(messenger);

    if (has)
        messenger_send_progress(messenger);
    if (messenger->runs == 0)
        return;
    begin_pause(messenger, has                                           ? MESSENGER_PAUSE
                           : 2 * messenger->length < MESSENGER_PAUSE_MAX ? 2 * messenger->length
                                                                         : MESSENGER_PAUSE_MAX);
}

void messenger_run_begins(struct messenger *messenger)
{
    messenger->runs++;
    begin_pause(messenger, MESSENGER_PAUSE);
}

void messenger_run_ended(struct messenger *messenger)
{
    messenger->runs--;
}

static void post_news(struct messenger *messenger, struct news *news)
{
    (void)pthread_mutex_lock(&messenger->mutex);
    *messenger->last = news;
    messenger->last = &news->next;
    (void)pthread_mutex_unlock(&messenger->mutex);
}

struct messenger_topic messenger_topic(const struct messenger *messenger, struct arena *arena,
                                       const char *jid, size_t size_max)
{
    const struct subject_names names = { .jid = str_from(jid),
                                         .peel = str_from(messenger->peel_id) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct err ignored; /* it has none then */

    (void)subject_print(&subject, SUBJECT_JOB_PROGRESS, &names, &ignored);
    return (struct messenger_topic){ .subject = buf_copy(&subject, arena), .size_max = size_max };
}

void messenger_post_progress(struct messenger *messenger, struct messenger_topic *topic,
                             const struct exec_progress *progress, const struct state_result *state)
{
    struct exec_progress whole = *progress;

    if (topic->subject.n == 0)
        return;
    whole.peel_id = messenger->peel_id;
    whole.timestamp = time_now();
    post_news(messenger, make_news(topic, &whole, state));
}

/* True: it stays, and borrows its subject alone. */
static bool settle_news(struct news *news)
{
    if (!news->topic->has_left || !encode_news(news))
        return false;
    news->topic = NULL;
    return true;
}

void messenger_settle(struct messenger *messenger, const struct messenger_topic *topic)
{
    struct news **at = &messenger->first, *news;

    (void)pthread_mutex_lock(&messenger->mutex);
    while ((news = *at)) {
        if (news->topic != topic || settle_news(news)) {
            at = &news->next;
            continue;
        }
        *at = news->next;
        free_news(news);
    }
    messenger->last = at;
    (void)pthread_mutex_unlock(&messenger->mutex);
}

/* --- stored messages, from workers -------------------------------------------------------- */

/* Number of a stored message, for the loop. */
struct stored_post {
    struct loop_message loop_message;
    struct messenger *messenger;
    uint64_t number;
};

static void on_stored_post(struct loop_message *loop_message)
{
    struct stored_post *stored_post = container_of(loop_message, struct stored_post, loop_message);

    outbox_send(stored_post->messenger->outbox, stored_post->number);
    free(stored_post);
}

void messenger_post_stored(struct messenger *messenger, uint64_t number)
{
    struct stored_post *stored_post = mem_zalloc(sizeof(*stored_post));

    stored_post->messenger = messenger;
    stored_post->number = number;
    loop_message_send(&messenger->loop_messages, &stored_post->loop_message, on_stored_post);
}

/* --- life ------------------------------------------------------------------------- */

void messenger_init(struct messenger *messenger, const char *peel_id, struct outbox *outbox)
{
    *messenger = (struct messenger){ .peel_id = peel_id,
                                     .outbox = outbox,
                                     .last = &messenger->first,
                                     .reply_max = REPLY_MAX_DEFAULT - REPLY_SLACK };
}

int messenger_open(struct messenger *messenger, struct loop *loop, struct err *err)
{
    if (loop_messages_open(&messenger->loop_messages, loop, err) < 0)
        return -1;
    (void)pthread_mutex_init(&messenger->mutex, NULL);
    messenger->loop = loop;
    messenger->is_open = true;
    return 0;
}

void messenger_close(struct messenger *messenger)
{
    if (!messenger->is_open)
        return;
    loop_messages_close(&messenger->loop_messages);
    timer_clear(loop_timers(messenger->loop), &messenger->pause);
    messenger_send_progress(messenger);
    vec_done(&messenger->acks);
    (void)pthread_mutex_destroy(&messenger->mutex);
    messenger->is_open = false;
}

void messenger_connect(struct messenger *messenger, struct nats_conn *conn)
{
    messenger->conn = conn;
    if (conn && nats_conn_max_payload(conn) > 2 * REPLY_SLACK)
        messenger->reply_max = nats_conn_max_payload(conn) - REPLY_SLACK;
}
