#include "fleet/master/operators/operator_rate.h"

struct operator_use {
    struct lru_item item;
    size_t requests;
    size_t refusals; /* since `since` */
    int64_t since;
};

void operator_rate_init(struct operator_rate *rate)
{
    *rate = (struct operator_rate){ 0 };
    lru_init(&rate->each, OPERATOR_RATE_MAX, sizeof(struct operator_use));
}

void operator_rate_done(struct operator_rate *rate)
{
    lru_done(&rate->each);
}

bool operator_rate_begin(struct operator_rate *rate, const char *name)
{
    struct operator_use *use = lru_get(&rate->each, str_from(name));

    return ++use->requests <= OPERATOR_RATE_REQUESTS;
}

void operator_rate_end(struct operator_rate *rate, const char *name)
{
    struct operator_use *use = lru_find(&rate->each, str_from(name));

    if (use && use->requests > 0)
        use->requests--;
}

enum operator_rate_line operator_rate_refuse(struct operator_rate *rate, const char *name,
                                             int64_t now)
{
    struct operator_use *use = lru_get(&rate->each, str_from(name));

    if (use->refusals == 0 || now - use->since >= OPERATOR_RATE_WINDOW_NS) {
        use->refusals = 0;
        use->since = now;
    }
    use->refusals++;
    if (use->refusals < OPERATOR_RATE_REFUSALS)
        return OPERATOR_RATE_LOG;
    return use->refusals == OPERATOR_RATE_REFUSALS ? OPERATOR_RATE_LAST : OPERATOR_RATE_SILENT;
}
