/*
 * event - what the engine reports to listeners: the daemon, its clients, a test.
 *
 * A sink gets events in the order in which they happened. It may query the engine, but the engine
 * changes only after the sink has returned.
 *
 * Memory: an event and its texts are valid during the call. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_EVENT_H
#define KEPLER_ENGINE_EVENT_H

#include <stdint.h>

#include "kepler/config/config.h"
#include "kepler/config/status.h"

enum event_kind {
    EVENT_STATUS,            /* from, to, cause, reason */
    EVENT_HOOK_STARTED,      /* phase */
    EVENT_HOOK_COMPLETED,    /* phase */
    EVENT_HOOK_FAILED,       /* phase, reason */
    EVENT_CLEAR_LOGS,        /* retention clears its stored lines */
    EVENT_UNHANDLED_FAILURE, /* failed for good, and no other service handles that */
    EVENT_CLEANED,           /* its pre_cleanup hooks have finished */
    EVENT_SETTLED,           /* all consequences are done; `service` is unused */
};

struct engine_event {
    enum event_kind kind;
    uint32_t service;
    const char *name; /* the service's; NULL for EVENT_SETTLED */
    enum status from, to;
    enum hook_phase phase;
    const char *cause;  /* never NULL for EVENT_STATUS */
    const char *reason; /* for skipped and failed; "" when there is none */
    int64_t wall;
};

typedef void event_fn(void *self, const struct engine_event *event);

struct event_sink {
    event_fn *fn; /* NULL: no listener */
    void *self;
};

#endif
