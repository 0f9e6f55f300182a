/*
 * recount - which stretch of the stream of events has to be compared with what is on record.
 *
 * A consumer counts the messages that it has delivered by their numbers. Servers of a cluster may
 * number messages differently after one was killed (2.9), and may have messages that others lack:
 * when another server leads the consumer or the stream, events may be passed over. So everything
 * around such a change is looked up by the ids of its events, once nothing of it is on its way. The
 * same when the consumer knows of fewer messages than the stream had at the last look.
 *
 *     { recount_is_ready ? (compare) -> recount_end : recount_note }...    at each look
 *
 * Pure. Threads: one at a time.
 */
#ifndef FLEET_REACTOR_RECOUNT_H
#define FLEET_REACTOR_RECOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Messages before those that are known to be well, and of one comparison. */
#define RECOUNT_MARGIN 1000
#define RECOUNT_MAX    20000
/* Names of two servers. */
#define RECOUNT_LEADERS_MAX 256

struct recount {
    char leaders[RECOUNT_LEADERS_MAX]; /* of the stream and of its consumer; "": not known */
    uint64_t last_seq;                 /* of the stream, at the last look */
    uint64_t from, until;              /* what has to be compared; 0: nothing */
    uint64_t ended;                    /* up to here it was */
    uint64_t begin;                    /* the consumer was never to deliver what is up to here */
};

/* The stream and its consumer, as the servers that lead them say. */
struct recount_look {
    const char *stream_leader, *consumer_leader; /* NULL: one server, or not known */
    uint64_t last_seq;                           /* of the stream */
    uint64_t reach;                              /* of the consumer: delivered, or to be */
    uint64_t floor;                              /* of the consumer: done with */
    bool is_idle;                                /* the consumer has nothing on its way */
};

/* Everything up to `checked` was accounted for by its numbers. True: what the next master has to
 * know has changed. */
bool recount_note(struct recount *recount, const struct recount_look *look, uint64_t checked);

/* Has a look before this one found something to compare, and is nothing of it on its way? */
bool recount_is_ready(const struct recount *recount, const struct recount_look *look);
/* It was compared. */
void recount_end(struct recount *recount);

#endif
