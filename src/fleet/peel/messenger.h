/*
 * messenger - what an agent sends about its jobs: acks, progress, returns, replies.
 *
 * What it publishes may be lost when there is no connection; a return that must not be lost is a
 * message of the outbox (fleet/peel/outbox.h).
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

/* Progress is held back that long, to be sent together, in nanoseconds; and as long as this when
 * nothing came for a while. Workers do not wake the loop for it: most runs end before any of it
 * leaves. */
#define MESSENGER_PAUSE     (INT64_C(20) * 1000000)
#define MESSENGER_PAUSE_MAX (8 * MESSENGER_PAUSE)

/* An ack is held back as long as this. Masters send a request again after five seconds without. */
#define MESSENGER_ACK_PAUSE (INT64_C(250) * 1000000)
/* And no more than so many of them. */
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
    struct timer pause;    /* between two looks at the progress that workers have posted */
    int64_t length;        /* of the pause */
    struct timer due;      /* of acks that are held back */
    VEC(char *) acks;      /* of which jobs */
    size_t runs;           /* that may post some */
    pthread_mutex_t mutex; /* of the next two */
    struct news *first, **last;
    size_t reply_max; /* bytes of one message */
    bool is_open;
};

/* Before it is opened it has its size of messages, and publishes nothing. */
void messenger_init(struct messenger *messenger, const char *peel_id, struct outbox *outbox);
int messenger_open(struct messenger *messenger, struct loop *loop, struct err *err);
/* What workers have posted is sent first. */
void messenger_close(struct messenger *messenger);
void messenger_connect(struct messenger *messenger, struct nats_conn *conn);

/* The job is accepted. It leaves before anything else about the job, and within
 * MESSENGER_ACK_PAUSE: most jobs are done by then, and ack and return cost everybody half as much
 * when they go together. */
void messenger_ack(struct messenger *messenger, const char *jid);
/* Ask for the request again, and not before. */
void messenger_defer(struct messenger *messenger, const char *jid, time_t not_before);
void messenger_progress(struct messenger *messenger, const struct exec_progress *progress);
/* A return that the outbox could not keep. */
void messenger_return(struct messenger *messenger, const char *jid, struct str payload);
void messenger_reply(struct messenger *messenger, const char *subject, struct str payload);

/* Where progress of a job goes, and how large it may be; larger is dropped. Any thread. */
struct messenger_topic {
    struct str subject; /* in the arena, which outlives what is held back */
    size_t size_max;
    bool has_left; /* some of it; under the lock */
};
struct messenger_topic messenger_topic(const struct messenger *messenger, struct arena *arena,
                                       const char *jid, size_t size_max);
/* A worker is about to run a job, and has run it. */
void messenger_run_begins(struct messenger *messenger);
void messenger_run_ended(struct messenger *messenger);
/* Progress of a job, of one state when `state` is not NULL. It leaves within MESSENGER_PAUSE_MAX.
 * Borrows all but the text until the topic is settled. Any thread. */
void messenger_post_progress(struct messenger *messenger, struct messenger_topic *topic,
                             const struct exec_progress *progress,
                             const struct state_result *state);
/* A run has ended. When none of its progress has left, none will: the return that comes in a moment
 * says all of it. Any thread. */
void messenger_settle(struct messenger *messenger, const struct messenger_topic *topic);
/* Send now what is held back: an answer comes after the progress of its job. */
void messenger_send_progress(struct messenger *messenger);
/* Send a message that the outbox has stored. Any thread. */
void messenger_post_stored(struct messenger *messenger, uint64_t number);

#endif
