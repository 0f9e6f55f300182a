#include "fleet/reactor/event_gate.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"

/* The buckets of events of the life of jobs, and of peels that come and go: keys that no origin can
 * be. */
#define LIFECYCLE_TAG    "job/"
#define LIFECYCLE_SOURCE EVENT_ORIGIN_MASTER "/job"
#define PRESENCE_TAG     "peel/"
#define PRESENCE_SOURCE  EVENT_ORIGIN_MASTER "/peel"

const char *event_gate_drop_name(enum event_gate_drop drop)
{
    static const char *const names[EVENT_GATE_DROPS] = {
        [EVENT_GATE_PASS] = "",
        [EVENT_GATE_MALFORMED] = "malformed",
        [EVENT_GATE_DECODE] = "decode",
        [EVENT_GATE_SPOOF] = "spoof",
        [EVENT_GATE_REVOKED] = "revoked",
        [EVENT_GATE_DEPTH] = "depth",
        [EVENT_GATE_RATELIMIT] = "ratelimit",
        [EVENT_GATE_STALE] = "stale",
        [EVENT_GATE_BACKPRESSURE] = "backpressure",
    };

    return names[drop];
}

void event_gate_init(struct event_gate *event_gate, const struct event_gate_options *options)
{
    *event_gate = (struct event_gate){ .options = *options };
    rate_init_for(&event_gate->sources, options->source_rate > 0 ? EVENT_GATE_BURST : 0,
                  options->source_rate, EVENT_GATE_SOURCES_MAX);
}

void event_gate_done(struct event_gate *event_gate)
{
    rate_done(&event_gate->sources);
}

bool event_gate_is_lifecycle(const struct event_source *source)
{
    return source->type == EVENT_FROM_MASTER &&
           strncmp(source->tag, LIFECYCLE_TAG, strlen(LIFECYCLE_TAG)) == 0;
}

static bool is_presence(const struct event_source *source)
{
    return source->type == EVENT_FROM_MASTER &&
           strncmp(source->tag, PRESENCE_TAG, strlen(PRESENCE_TAG)) == 0;
}

bool event_gate_is_routine(const struct event_source *source)
{
    return event_gate_is_lifecycle(source) || is_presence(source);
}

/* --- the event gates, in order ------------------------------------------------------------ */

struct passage {
    struct event_gate *event_gate;
    struct arena *arena;
    const struct event_gate_delivery *delivery;
    struct event_gate_event *event;
};

static bool passes_subject(const struct passage *p)
{
    return event_parse_subject(p->arena, p->delivery->subject, &p->event->source);
}

static bool passes_decode(const struct passage *p)
{
    struct event event;
    struct err err;

    if (record_decode(p->arena, &event_type, 0, p->delivery->payload, &event, &err) < 0)
        return false;
    if (event.id && strlen(event.id) > EVENT_GATE_ID_MAX)
        return false;
    event.id = event.id ? event.id : "";
    event.depth = event.depth > 0 ? event.depth : 0; /* a chain cannot be made longer by a debt */
    p->event->event = event;
    return true;
}

static bool passes_tag(const struct passage *p)
{
    const char *tag = p->event->event.tag;

    return tag && strcmp(tag, p->event->source.tag) == 0;
}

static bool passes_origin(const struct passage *p)
{
    const struct event_gate_options *options = &p->event_gate->options;

    return p->event->source.type != EVENT_FROM_PEEL || !options->is_revoked ||
           !options->is_revoked(options->user, p->event->source.origin);
}

static bool passes_depth(const struct passage *p)
{
    return p->event->event.depth < p->event_gate->options.max_chain_depth;
}

/* Frequent events have their own bucket, so they do not block other events of masters. */
static const char *find_bucket(const struct event_source *source)
{
    if (event_gate_is_lifecycle(source))
        return LIFECYCLE_SOURCE;
    return is_presence(source) ? PRESENCE_SOURCE : source->origin;
}

static bool passes_rate(const struct passage *p)
{
    const char *name = find_bucket(&p->event->source);

    return rate_take(&p->event_gate->sources, str_from(name), p->delivery->monotonic) == 0;
}

static bool passes_age(const struct passage *p)
{
    const struct value_time ts = p->event->event.ts;
    const int64_t limit = p->event_gate->options.max_event_age;
    const int64_t now = p->delivery->wall / NUMBER_NS_PER_S;
    int64_t seconds;

    if (limit <= 0 || (ts.seconds == 0 && ts.nanoseconds == 0) || ts.seconds > now)
        return true;
    /* Whole seconds first: a time of the distant past has no number of nanoseconds. */
    if (__builtin_sub_overflow(now, ts.seconds, &seconds) || seconds > limit / NUMBER_NS_PER_S + 1)
        return false;
    return seconds * NUMBER_NS_PER_S + p->delivery->wall % NUMBER_NS_PER_S - ts.nanoseconds <=
           limit;
}

static const struct {
    bool (*passes)(const struct passage *passage);
    enum event_gate_drop drop;
} gates[] = {
    { passes_subject, EVENT_GATE_MALFORMED }, { passes_decode, EVENT_GATE_DECODE },
    { passes_tag, EVENT_GATE_SPOOF },         { passes_origin, EVENT_GATE_REVOKED },
    { passes_depth, EVENT_GATE_DEPTH },       { passes_rate, EVENT_GATE_RATELIMIT },
    { passes_age, EVENT_GATE_STALE },
};

enum event_gate_drop event_gate_check(struct event_gate *event_gate, struct arena *arena,
                                      const struct event_gate_delivery *delivery,
                                      struct event_gate_event *ret_event)
{
    const struct passage passage = { event_gate, arena, delivery, ret_event };

    *ret_event = (struct event_gate_event){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        if (!gates[i].passes(&passage))
            return gates[i].drop;
    return EVENT_GATE_PASS;
}
