/*
 * recount - which part of the stream of events to compare with the records.
 *
 * A consumer tracks delivered messages by their numbers. After a server of a cluster was killed
 * (2.9), servers may number messages differently and have messages that others lack: after a change
 * of the consumer's or stream's leader, events may be skipped. So the events around such a change
 * are looked up by their ids, once none of them is in flight. The same if the consumer knows fewer
 * messages than the stream had at the last look.
 *
 *     { recount_is_ready ? (compare) -> recount_end : recount_note }...    at each look
 *
 * Pure. Threads: one at a time.
 */
#ifndef FLEET_REACTOR_RECOUNT_H
#define FLEET_REACTOR_RECOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Messages before the known good ones, and per comparison. */
#define RECOUNT_MARGIN 1000
#define RECOUNT_MAX    20000
/* Names of two servers. */
#define RECOUNT_LEADERS_MAX 256

struct recount {
    char leaders[RECOUNT_LEADERS_MAX]; /* of the stream and of its consumer; "": not known */
    uint64_t last_seq;                 /* of the stream, at the last look */
    uint64_t from, until;              /* range to compare; 0: none */
    uint64_t ended;                    /* compared up to here */
    uint64_t begin;                    /* the consumer does not deliver messages up to here */
};

/* The stream and its consumer, as reported by their leaders. */
struct recount_look {
    const char *stream_leader, *consumer_leader; /* NULL: one server, or not known */
    uint64_t last_seq;                           /* of the stream */
    uint64_t reach;                              /* of the consumer: last number to deliver */
    uint64_t floor;                              /* of the consumer: acknowledged */
    bool is_idle;                                /* the consumer has nothing in flight */
};

/* Everything up to `checked` was verified by its numbers. True: the state to store for the next
 * master has changed. */
bool recount_note(struct recount *recount, const struct recount_look *look, uint64_t checked);

/* Did an earlier look find a range to compare, with nothing of it in flight? */
bool recount_is_ready(const struct recount *recount, const struct recount_look *look);
/* The range was compared. */
void recount_end(struct recount *recount);

#endif
