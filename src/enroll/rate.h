/*
 * rate - how often an address may ask: a bucket of tokens for each.
 *
 * A bucket begins full with `burst` tokens and gets `per_minute` more in a minute. Addresses that
 * were silent long enough for a full bucket are forgotten; when RATE_ADDRESSES are known, the one
 * that was silent longest is.
 *
 *     wait = rate_take(&rate, STR("10.0.0.1"), now);     0: go on; else nanoseconds to wait
 *
 * Pure: time is handed in. Memory: rate_done frees. Threads: one.
 */
#ifndef ENROLL_RATE_H
#define ENROLL_RATE_H

#include <stdint.h>

#include "base/map.h"
#include "base/str.h"

#define RATE_ADDRESSES 5000

struct rate_address;

struct rate {
    int64_t burst, per_minute; /* burst 0: no limit */
    struct map addresses;
    struct rate_address *oldest, *newest; /* by their last request */
};

void rate_init(struct rate *rate, int64_t burst, int64_t per_minute);
void rate_done(struct rate *rate);

/* Take a token, or say how long to wait for one; INT64_MAX: for ever, since none are added. `now`
 * is monotonic. */
int64_t rate_take(struct rate *rate, struct str address, int64_t now);
size_t rate_count(const struct rate *rate);

#endif
