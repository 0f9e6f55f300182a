/*
 * rate - a rate limit for each source: a bucket of tokens.
 *
 * A bucket starts full with `burst` tokens and gains `per_minute` each minute. A source is
 * forgotten when its bucket is full again; at `sources_max` the longest silent one goes.
 *
 *     wait = rate_take(&rate, STR("10.0.0.1"), now);     0: go on; else nanoseconds to wait
 *
 * Pure: time is handed in. Memory: rate_done frees. Threads: one.
 */
#ifndef CORE_BASE_RATE_H
#define CORE_BASE_RATE_H

#include <stdint.h>

#include "core/base/lru.h"
#include "core/base/str.h"

/* The default of the owner. */
#define RATE_SOURCES 5000

struct rate {
    int64_t burst, per_minute; /* burst 0: no limit */
    struct lru sources;        /* by their last request */
};

void rate_init(struct rate *rate, int64_t burst, int64_t per_minute);
/* The same for another number of sources. */
void rate_init_for(struct rate *rate, int64_t burst, int64_t per_minute, size_t sources_max);
void rate_done(struct rate *rate);

/* Take a token, or return how long to wait for one; INT64_MAX: forever, since none are added. `now`
 * is monotonic. */
int64_t rate_take(struct rate *rate, struct str source, int64_t now);
/* The same without taking one. */
int64_t rate_wait(struct rate *rate, struct str source, int64_t now);
size_t rate_count(const struct rate *rate);

#endif
