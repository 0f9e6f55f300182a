/*
 * reading - the JetStream requests that an operator may send through a master: the last tokens of
 * zester.operator.<name>.js.<verb>.<stream>[.<consumer>].
 *
 * Reading is not harmless. The creator of a consumer chooses the subject of its deliveries, and
 * reading from a master's consumer takes events from the master. So the verbs are limited by a
 * table, consumers must have reader names (fleet/nats/ordered.h), and their configuration is
 * rebuilt from the permitted fields.
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

/* Prefix of reading subjects, after the operator's name. */
#define READING_PREFIX "js"

enum reading_verb {
    READING_STREAM_INFO,
    READING_MESSAGE,         /* one stored message */
    READING_CONSUMER_CREATE, /* for a reader */
    READING_CONSUMER_NEXT,   /* its messages */
    READING_CONSUMER_DELETE,
    READING_CONSUMER_INFO, /* of any consumer */
};
#define READING_VERBS (READING_CONSUMER_INFO + 1)

struct reading {
    enum reading_verb verb;
    struct str stream, consumer; /* `consumer` is empty for verbs without one */
    struct str subject;          /* reading_narrow: only the last message of it; else empty */
};

/* `tokens` follow READING_PREFIX and its dot. False: not permitted. */
bool reading_parse(struct str tokens, struct reading *ret_reading);
/* Narrows a request to one message, the last of a subject, for a stream that may not be read whole.
 * False: the body requests something else. */
bool reading_narrow(struct arena *arena, struct str body, struct reading *reading);
/* Appends the subject of the JetStream request. */
void reading_print_subject(const struct reading *reading, struct buf *out);
/* Appends the body of the request: `body` unchanged, its permitted fields for a consumer, or the
 * narrowed one. Fails with ERR_INVALID. */
int reading_print_body(struct arena *arena, const struct reading *reading, struct str body,
                       struct buf *out, struct err *err);

#endif
