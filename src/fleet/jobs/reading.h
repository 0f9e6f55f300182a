/*
 * reading - what an operator may ask of JetStream, through a master: the last tokens of
 * zester.operator.<name>.js.<verb>.<stream>[.<consumer>].
 *
 * Reading is not harmless as it is. Whoever makes a consumer says on which subject the server
 * publishes what it delivers, and whoever takes from a consumer of masters takes events from them.
 * So verbs are those of a table, consumers have the names that readers choose
 * (fleet/nats/ordered.h), and the configuration of one is written anew from what may be chosen.
 *
 *     reading_parse -> policy_may_read(role, reading.stream)
 *                   -> reading_narrow -> policy_may_read_one(role, &reading)
 *                   -> reading_print_subject, reading_print_body
 *
 * Pure. Memory: views of what was given; the arena. Threads: any.
 */
#ifndef FLEET_JOBS_READING_H
#define FLEET_JOBS_READING_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct buf;
struct err;

/* What the subjects of reading begin with, after the name of the operator. */
#define READING_PREFIX "js"

enum reading_verb {
    READING_STREAM_INFO,
    READING_MESSAGE,         /* one that is stored */
    READING_CONSUMER_CREATE, /* for a reader */
    READING_CONSUMER_NEXT,   /* messages of it */
    READING_CONSUMER_DELETE,
    READING_CONSUMER_INFO, /* of any consumer */
};
#define READING_VERBS (READING_CONSUMER_INFO + 1)

struct reading {
    enum reading_verb verb;
    struct str stream, consumer; /* `consumer` is empty for verbs without one */
    struct str subject;          /* reading_narrow: only the last message of it; else empty */
};

/* `tokens` follow READING_PREFIX and its dot. False: nothing that may be asked for. */
bool reading_parse(struct str tokens, struct reading *ret_reading);
/* Of a stream that is not read whole, one message may be: the last of a subject. False: the body
 * asks for something else. */
bool reading_narrow(struct arena *arena, struct str body, struct reading *reading);
/* Append the subject to ask JetStream at. */
void reading_print_subject(const struct reading *reading, struct buf *out);
/* Append the body to ask with: `body` as it is, or for a consumer what may be chosen of it, or what
 * was narrowed. Fails with ERR_INVALID. */
int reading_print_body(struct arena *arena, const struct reading *reading, struct str body,
                       struct buf *out, struct err *err);

#endif
