/*
 * messenger - sends an agent's messages about jobs: acks, progress, returns, replies.
 *
 * Its messages may be lost without a connection; returns must not be, so they go through the outbox
 * (fleet/peel/outbox.h).
 *
 *     messenger_open -> messenger_connect... -> messenger_close
 *
 * Threads: the loop's, except where a function says any.
 */
#ifndef FLEET_PEEL_MESSENGER_H
#define FLEET_PEEL_MESSENGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/sys/loop_message.h"
#include "core/sys/timers.h"

/* Delay of progress, to send it together, in nanoseconds; and the maximum after a quiet time.
 * Workers do not wake the loop for it: most runs end before any of it is sent. */
#define MESSENGER_PAUSE     (INT64_C(20) * 1000000)
#define MESSENGER_PAUSE_MAX (8 * MESSENGER_PAUSE)

/* Delay of an ack. Masters send a request again after five seconds without. */
#define MESSENGER_ACK_PAUSE (INT64_C(250) * 1000000)
/* Maximum number of delayed acks. */
#define MESSENGER_ACKS_MAX 256

struct arena;
struct err;
struct exec_progress;
struct loop;
struct nats_conn;
struct news;
struct outbox;
struct state_result;

struct messenger {
    const char *peel_id;
    struct outbox *outbox;
    struct nats_conn *conn; /* NULL: none */
    struct loop_messages loop_messages;
    struct loop *loop;
    struct timer pause;    /* until the next check of posted progress */
    int64_t length;        /* of the pause */
    struct timer due;      /* for delayed acks */
    VEC(char *) acks;      /* ids of their jobs */
    size_t runs;           /* running jobs that may post progress */
    pthread_mutex_t mutex; /* of the next two */
    struct news *first, **last;
    size_t reply_max; /* bytes of one message */
    bool is_open;
};

/* Before it is opened it knows the message size limit, and publishes nothing. */
void messenger_init(struct messenger *messenger, const char *peel_id, struct outbox *outbox);
int messenger_open(struct messenger *messenger, struct loop *loop, struct err *err);
/* Sends posted messages first. */
void messenger_close(struct messenger *messenger);
void messenger_connect(struct messenger *messenger, struct nats_conn *conn);

/* Acknowledges a job. Sent before anything else about the job, within MESSENGER_ACK_PAUSE: most
 * jobs have ended by then, and ack and return together cost half as much. */
void messenger_ack(struct messenger *messenger, const char *jid);
/* Asks for the request again at that time. */
void messenger_defer(struct messenger *messenger, const char *jid, time_t not_before);
void messenger_progress(struct messenger *messenger, const struct exec_progress *progress);
/* Sends a return that the outbox could not store. */
void messenger_return(struct messenger *messenger, const char *jid, struct str payload);
void messenger_reply(struct messenger *messenger, const char *subject, struct str payload);

/* Subject and size limit of a job's progress; larger progress is dropped. Any thread. */
struct messenger_topic {
    struct str subject; /* in the arena, which outlives delayed progress */
    size_t size_max;
    bool has_left; /* some progress was sent; under the lock */
};
struct messenger_topic messenger_topic(const struct messenger *messenger, struct arena *arena,
                                       const char *jid, size_t size_max);
/* A worker begins a job, and has ended it. */
void messenger_run_begins(struct messenger *messenger);
void messenger_run_ended(struct messenger *messenger);
/* Posts progress of a job, or of one state if `state` is not NULL. Sent within MESSENGER_PAUSE_MAX.
 * Borrows all but the text until the topic is settled. Any thread. */
void messenger_post_progress(struct messenger *messenger, struct messenger_topic *topic,
                             const struct exec_progress *progress,
                             const struct state_result *state);
/* A run has ended. If none of its progress was sent, none will be: the return follows immediately
 * and says everything. Any thread. */
void messenger_settle(struct messenger *messenger, const struct messenger_topic *topic);
/* Sends delayed progress now, since an answer must come after the progress of its job. */
void messenger_send_progress(struct messenger *messenger);
/* Send a message that the outbox has stored. Any thread. */
void messenger_post_stored(struct messenger *messenger, uint64_t number);

#endif
