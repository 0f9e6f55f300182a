/*
 * local_event - an event that a local program raises through the agent.
 *
 * One packet to the agent (core/runs/agent.h) with a tag and data, and one with the answer: the
 * stream has the event, or it is on disk until there is a connection.
 *
 * Memory: the arena. Threads: any; local_event_raise blocks.
 */
#ifndef FLEET_PEEL_LOCAL_EVENT_H
#define FLEET_PEEL_LOCAL_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/data/record.h"

struct arena;
struct err;
struct unixsock;

/* Wait for the stream before the agent answers that the event is on disk. */
#define LOCAL_EVENT_STORE_NS (INT64_C(10) * 1000000000)
/* A client that sends nothing for this long is refused. */
#define LOCAL_EVENT_SILENCE_NS (INT64_C(10) * 1000000000)

struct local_event {
    const char *tag;
    struct value data; /* a map; null: none */
};
extern const struct record_type local_event_type;

enum local_event_status { LOCAL_EVENT_STORED, LOCAL_EVENT_BUFFERED, LOCAL_EVENT_REFUSED };

struct local_event_answer {
    enum local_event_status status;
    const char *id, *tag, *key, *subject;
    const char *error; /* of a refused one */
};
extern const struct record_type local_event_answer_type;
/* "stored", "buffered", "refused". */
const char *local_event_status_name(enum local_event_status status);

/* Fails with ERR_NOT_FOUND without an agent; a refusal by the agent is an error, too. */
int local_event_raise(struct arena *arena, const struct unixsock *socket,
                      const struct local_event *event, struct local_event_answer *ret_answer,
                      struct err *err);

#endif
