#include "fleet/master/operators/operator_rate.h"

struct person {
    struct lru_item item;
    size_t visits;
    size_t refusals; /* since `since` */
    int64_t since;
};

void operator_rate_init(struct operator_rate *rate)
{
    *rate = (struct operator_rate){ 0 };
    lru_init(&rate->each, OPERATOR_RATE_MAX, sizeof(struct person));
}

void operator_rate_done(struct operator_rate *rate)
{
    lru_done(&rate->each);
}

bool operator_rate_begin(struct operator_rate *rate, const char *name)
{
    struct person *person = lru_get(&rate->each, str_from(name));

    return ++person->visits <= OPERATOR_RATE_VISITS;
}

void operator_rate_end(struct operator_rate *rate, const char *name)
{
    struct person *person = lru_find(&rate->each, str_from(name));

    if (person && person->visits > 0)
        person->visits--;
}

enum operator_rate_line operator_rate_refuse(struct operator_rate *rate, const char *name,
                                             int64_t now)
{
    struct person *person = lru_get(&rate->each, str_from(name));

    if (person->refusals == 0 || now - person->since >= OPERATOR_RATE_WINDOW_NS) {
        person->refusals = 0;
        person->since = now;
    }
    person->refusals++;
    if (person->refusals < OPERATOR_RATE_REFUSALS)
        return OPERATOR_RATE_LOG;
    return person->refusals == OPERATOR_RATE_REFUSALS ? OPERATOR_RATE_LAST : OPERATOR_RATE_SILENT;
}
