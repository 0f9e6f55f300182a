#include "core/base/rate.h"

#include "core/base/mem.h"
#include "core/base/number.h"

#define MINUTE (60 * NUMBER_NS_PER_S)
/* Far enough, and sums of it are still numbers. */
#define NEVER (INT64_MAX / 4)

/* Tokens are kept as the time by which the bucket is full again: one number, no fractions. */
struct rate_source {
    struct lru_item item;
    int64_t full_at;
};

void rate_init_for(struct rate *rate, int64_t burst, int64_t per_minute, size_t sources_max)
{
    *rate = (struct rate){ .burst = burst, .per_minute = per_minute };
    lru_init(&rate->sources, sources_max, sizeof(struct rate_source));
}

void rate_init(struct rate *rate, int64_t burst, int64_t per_minute)
{
    rate_init_for(rate, burst, per_minute, RATE_SOURCES);
}

void rate_done(struct rate *rate)
{
    lru_done(&rate->sources);
}

static void forget_full(struct rate *rate, int64_t now)
{
    while (rate->sources.oldest &&
           container_of(rate->sources.oldest, struct rate_source, item)->full_at <= now)
        lru_remove(&rate->sources, rate->sources.oldest);
}

/* How long until a bucket that is full at `full_at` has a token. `ret_after`: when it is full again
 * after that token was taken. */
static int64_t find_rate_wait(const struct rate *rate, int64_t full_at, int64_t now,
                              int64_t *ret_after)
{
    const int64_t token =
        rate->per_minute > 0 ? MINUTE / rate->per_minute : NEVER / (rate->burst + 1);
    const int64_t limit = now + token * rate->burst;

    *ret_after = (full_at > now ? full_at : now) + token;
    if (*ret_after <= limit)
        return 0;
    return rate->per_minute > 0 ? *ret_after - limit : INT64_MAX;
}

int64_t rate_take(struct rate *rate, struct str source, int64_t now)
{
    struct rate_source *bucket;
    int64_t wait, after;

    if (rate->burst <= 0)
        return 0;
    bucket = lru_find(&rate->sources, source);
    if (!bucket) {
        forget_full(rate, now);
        bucket = lru_get(&rate->sources, source);
    }
    wait = find_rate_wait(rate, bucket->full_at, now, &after);
    if (wait == 0)
        bucket->full_at = after;
    return wait;
}

int64_t rate_wait(struct rate *rate, struct str source, int64_t now)
{
    const struct rate_source *bucket = rate->burst > 0 ? lru_find(&rate->sources, source) : NULL;
    int64_t after;

    return bucket ? find_rate_wait(rate, bucket->full_at, now, &after) : 0;
}

size_t rate_count(const struct rate *rate)
{
    return lru_count(&rate->sources);
}
