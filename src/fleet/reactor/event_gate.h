/*
 * event gate - checks of an event before rules see it, in a fixed order.
 *
 *     subject    one of the four shapes                        malformed
 *     payload    an event                                      decode
 *     tag        the one of the subject                        spoof
 *     origin     a peel that was not revoked                   revoked
 *     depth      below the cap of chains                       depth
 *     rate       tokens of its source                          ratelimit
 *     age        not too old; any, without a time           stale
 *
 * Sources are origins; job lifecycle events have their own bucket, so that many jobs do not use up
 * the tokens of other events of masters. Events that fail a check are dropped for good.
 *
 * Pure: clocks are handed in. Memory: event_gate_done frees; events live in the arena that is given
 * and borrow from their payload. Threads: one.
 */
#ifndef FLEET_REACTOR_EVENT_GATE_H
#define FLEET_REACTOR_EVENT_GATE_H

#include "core/base/rate.h"
#include "fleet/wire/event.h"

struct arena;

#define EVENT_GATE_SOURCES_MAX 4096
#define EVENT_GATE_BURST       30
/* Longer ids are refused. */
#define EVENT_GATE_ID_MAX 256

enum event_gate_drop {
    EVENT_GATE_PASS,
    EVENT_GATE_MALFORMED,
    EVENT_GATE_DECODE,
    EVENT_GATE_SPOOF,
    EVENT_GATE_REVOKED,
    EVENT_GATE_DEPTH,
    EVENT_GATE_RATELIMIT,
    EVENT_GATE_STALE,
    EVENT_GATE_BACKPRESSURE, /* the workers are busy: a temporary drop, not made here */
};
#define EVENT_GATE_DROPS (EVENT_GATE_BACKPRESSURE + 1)
/* "malformed", ...: the label of metrics. */
const char *event_gate_drop_name(enum event_gate_drop drop);

struct event_gate_options {
    int64_t max_chain_depth;
    int64_t source_rate;                              /* events a minute; 0: no limit */
    int64_t max_event_age;                            /* nanoseconds; 0: no limit */
    bool (*is_revoked)(void *user, const char *peel); /* NULL: none revoked */
    void *user;
};

struct event_gate {
    struct event_gate_options options;
    struct rate sources;
};

/* One delivery. `monotonic` is for rates, `wall` (since 1970) for ages; both in nanoseconds. */
struct event_gate_delivery {
    struct str subject, payload;
    int64_t monotonic, wall;
};

/* Known parts of the event, all if it passed; `source.key` is NULL for a malformed subject,
 * `event.id` if the payload is not an event. */
struct event_gate_event {
    struct event_source source;
    struct event event; /* its depth is never negative */
};

void event_gate_init(struct event_gate *event_gate, const struct event_gate_options *options);
void event_gate_done(struct event_gate *event_gate);

/* Is it a job lifecycle event? */
bool event_gate_is_lifecycle(const struct event_source *source);
/* Does it come with each job or each presence change? */
bool event_gate_is_routine(const struct event_source *source);

enum event_gate_drop event_gate_check(struct event_gate *event_gate, struct arena *arena,
                                      const struct event_gate_delivery *delivery,
                                      struct event_gate_event *ret_event);

#endif
