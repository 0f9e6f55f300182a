/*
 * gate - what an event must pass before rules see it, in a fixed order.
 *
 *     subject    one of the four shapes                        malformed
 *     payload    an event                                      decode
 *     tag        the one of the subject                        spoof
 *     origin     a peel that was not revoked                   revoked
 *     depth      below the cap of chains                       depth
 *     rate       tokens of its source                          ratelimit
 *     age        not too old; without a time: any               stale
 *
 * Sources are origins; events of the life of jobs have a bucket of their own, so that many jobs do
 * not use up the tokens of other events that masters make. What does not pass is dropped for good.
 *
 * Pure: clocks are handed in. Memory: gate_done frees; events live in the arena that is given and
 * borrow from their payload. Threads: one.
 */
#ifndef FLEET_REACTOR_GATE_H
#define FLEET_REACTOR_GATE_H

#include "core/base/rate.h"
#include "fleet/wire/event.h"

struct arena;

#define GATE_SOURCES_MAX 4096
#define GATE_BURST       30
/* Longer ids are refused. */
#define GATE_ID_MAX 256

enum gate_drop {
    GATE_PASS,
    GATE_MALFORMED,
    GATE_DECODE,
    GATE_SPOOF,
    GATE_REVOKED,
    GATE_DEPTH,
    GATE_RATELIMIT,
    GATE_STALE,
    GATE_BACKPRESSURE, /* the workers are full: not a drop for good, and not made here */
};
#define GATE_DROPS (GATE_BACKPRESSURE + 1)
/* "malformed", ...: the label of metrics. */
const char *gate_drop_name(enum gate_drop drop);

struct gate_options {
    int64_t max_chain_depth;
    int64_t source_rate;                              /* events a minute; 0: no limit */
    int64_t max_event_age;                            /* nanoseconds; 0: no limit */
    bool (*is_revoked)(void *user, const char *peel); /* NULL: none is */
    void *user;
};

struct gate {
    struct gate_options options;
    struct rate sources;
};

/* One delivery. `monotonic` is for rates, `wall` (since 1970) for ages; both in nanoseconds. */
struct gate_delivery {
    struct str subject, payload;
    int64_t monotonic, wall;
};

/* What is known of the event: all of it when it passed; `source.key` is NULL when the subject is
 * malformed, `event.id` when the payload is not an event. */
struct gate_event {
    struct event_source source;
    struct event event; /* its depth is never negative */
};

void gate_init(struct gate *gate, const struct gate_options *options);
void gate_done(struct gate *gate);

/* Is it one of the life of a job? */
bool gate_is_lifecycle(const struct event_source *source);
/* Does it come with each job, or when peels come and go? */
bool gate_is_routine(const struct event_source *source);

enum gate_drop gate_check(struct gate *gate, struct arena *arena,
                          const struct gate_delivery *delivery, struct gate_event *ret_event);

#endif
