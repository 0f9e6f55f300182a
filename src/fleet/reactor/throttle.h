/*
 * throttle - a pause after a rule has fired for a source, before it may fire again.
 *
 * Two phases: a fire is reserved before and confirmed after, and only a confirmed one starts the
 * pause. So a failed attempt can be repeated without a pause, and of many concurrent events one
 * fires: while a fire is reserved, others of the same rule and source are throttled.
 *
 *     throttle_reserve(rule, source) -> throttle_confirm | throttle_cancel
 *
 * Pure: time is handed in. Memory: throttle_done frees. Threads: one.
 */
#ifndef FLEET_REACTOR_THROTTLE_H
#define FLEET_REACTOR_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/lru.h"

#define THROTTLE_MAX 4096

struct throttle {
    struct lru pauses; /* by rule and source */
};

void throttle_init(struct throttle *throttle);
void throttle_done(struct throttle *throttle);

/* False: throttled. */
bool throttle_reserve(struct throttle *throttle, const char *rule, const char *source, int64_t now);
/* It has fired: pause for `period` nanoseconds. */
void throttle_confirm(struct throttle *throttle, const char *rule, const char *source,
                      int64_t period, int64_t now);
/* It has not fired. */
void throttle_cancel(struct throttle *throttle, const char *rule, const char *source);

#endif
