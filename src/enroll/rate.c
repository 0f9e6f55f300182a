#include "enroll/rate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

#define MINUTE (60 * NUMBER_NS_PER_S)
/* Far enough, and sums of it are still numbers. */
#define NEVER (INT64_MAX / 4)

/* Tokens are kept as the time by which the bucket is full again: one number, no fractions. */
struct rate_address {
    struct rate_address *older, *newer;
    int64_t full_at;
    size_t n;
    char text[];
};

void rate_init(struct rate *rate, int64_t burst, int64_t per_minute)
{
    *rate = (struct rate){ .burst = burst, .per_minute = per_minute };
}

static void unlink_address(struct rate *rate, struct rate_address *address)
{
    *(address->older ? &address->older->newer : &rate->oldest) = address->newer;
    *(address->newer ? &address->newer->older : &rate->newest) = address->older;
}

static void link_newest(struct rate *rate, struct rate_address *address)
{
    address->older = rate->newest;
    address->newer = NULL;
    *(rate->newest ? &rate->newest->newer : &rate->oldest) = address;
    rate->newest = address;
}

static void forget_oldest(struct rate *rate)
{
    struct rate_address *address = rate->oldest;

    unlink_address(rate, address);
    (void)map_remove(&rate->addresses, (struct str){ address->text, address->n });
    free(address);
}

void rate_done(struct rate *rate)
{
    while (rate->oldest)
        forget_oldest(rate);
    map_done(&rate->addresses);
}

static struct rate_address *find_address(struct rate *rate, struct str text, int64_t now)
{
    struct rate_address *address = map_find(&rate->addresses, text);

    if (address) {
        unlink_address(rate, address);
        link_newest(rate, address);
        return address;
    }
    while (rate->oldest && rate->oldest->full_at <= now)
        forget_oldest(rate);
    if (map_count(&rate->addresses) >= RATE_ADDRESSES)
        forget_oldest(rate);
    address = mem_zalloc(sizeof(*address) + text.n);
    address->full_at = now;
    address->n = text.n;
    memcpy(address->text, text.p, text.n);
    (void)map_set(&rate->addresses, (struct str){ address->text, address->n }, address);
    link_newest(rate, address);
    return address;
}

int64_t rate_take(struct rate *rate, struct str text, int64_t now)
{
    struct rate_address *address;
    int64_t token, full_at, limit;

    if (rate->burst <= 0)
        return 0;
    address = find_address(rate, text, now);
    token = rate->per_minute > 0 ? MINUTE / rate->per_minute : NEVER / (rate->burst + 1);
    full_at = (address->full_at > now ? address->full_at : now) + token;
    limit = now + token * rate->burst;
    if (full_at > limit)
        return rate->per_minute > 0 ? full_at - limit : INT64_MAX;
    address->full_at = full_at;
    return 0;
}

size_t rate_count(const struct rate *rate)
{
    return map_count(&rate->addresses);
}
