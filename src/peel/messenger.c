#include "peel/messenger.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "local/reply.h"
#include "nats/conn.h"
#include "peel/outbox.h"
#include "sys/clock.h"
#include "wire/exec.h"
#include "wire/subject.h"

/* Room for headers and subject of a message. */
#define REPLY_SLACK ((size_t)4096)
/* What a message may have before there was a connection. */
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

void messenger_ack(struct messenger *messenger, const char *jid)
{
    const struct exec_ack ack = { jid, messenger->peel_id, time_now() };

    publish_record(messenger, SUBJECT_JOB_ACK, jid, &exec_ack_type, &ack);
}

void messenger_progress(struct messenger *messenger, const struct exec_progress *progress)
{
    struct exec_progress whole = *progress;

    whole.peel_id = messenger->peel_id;
    whole.timestamp = time_now();
    publish_record(messenger, SUBJECT_JOB_PROGRESS, whole.jid, &exec_progress_type, &whole);
}

void messenger_return(struct messenger *messenger, const char *jid, struct str payload)
{
    publish_bytes(messenger, SUBJECT_JOB_RETURN, jid, payload);
}

/* --- from workers ----------------------------------------------------------------- */

/* One message on its way to the loop. */
struct news {
    struct errand errand;
    struct messenger *messenger;
    struct arena arena;
    struct exec_progress progress;
};

static void on_news(struct errand *errand)
{
    struct news *news = container_of(errand, struct news, errand);

    messenger_progress(news->messenger, &news->progress);
    arena_done(&news->arena);
    free(news);
}

void messenger_post_progress(struct messenger *messenger, const char *jid,
                             const struct exec_progress *progress, const struct state_result *state)
{
    struct news *news = mem_zalloc(sizeof(*news));

    news->messenger = messenger;
    news->progress = *progress;
    news->progress.jid = arena_strdup(&news->arena, jid);
    if (progress->text)
        news->progress.text = arena_strdup(&news->arena, progress->text);
    if (state) {
        struct exec_result result;
        struct value map;

        reply_state(&news->arena, state, &result);
        map = record_value(&news->arena, &exec_result_type, &result);
        news->progress.result = value_copy(&news->arena, &map);
    }
    errand_send(&messenger->errands, &news->errand, on_news);
}

/* A letter on its way to the loop. */
struct posting {
    struct errand errand;
    struct messenger *messenger;
    uint64_t letter;
};

static void on_posting(struct errand *errand)
{
    struct posting *posting = container_of(errand, struct posting, errand);

    outbox_send(posting->messenger->outbox, posting->letter);
    free(posting);
}

void messenger_post_letter(struct messenger *messenger, uint64_t letter)
{
    struct posting *posting = mem_zalloc(sizeof(*posting));

    posting->messenger = messenger;
    posting->letter = letter;
    errand_send(&messenger->errands, &posting->errand, on_posting);
}

/* --- life ------------------------------------------------------------------------- */

void messenger_init(struct messenger *messenger, const char *peel_id, struct outbox *outbox)
{
    *messenger = (struct messenger){ .peel_id = peel_id,
                                     .outbox = outbox,
                                     .reply_max = REPLY_MAX_DEFAULT - REPLY_SLACK };
}

int messenger_open(struct messenger *messenger, struct loop *loop, struct err *err)
{
    if (errands_open(&messenger->errands, loop, err) < 0)
        return -1;
    messenger->is_open = true;
    return 0;
}

void messenger_close(struct messenger *messenger)
{
    if (messenger->is_open)
        errands_close(&messenger->errands);
    messenger->is_open = false;
}

void messenger_connect(struct messenger *messenger, struct nats_conn *conn)
{
    messenger->conn = conn;
    if (conn && nats_conn_max_payload(conn) > 2 * REPLY_SLACK)
        messenger->reply_max = nats_conn_max_payload(conn) - REPLY_SLACK;
}
