/*
 * operator_rate - how much of a master one operator may take.
 *
 * A master looks at a number of requests at once; each refusal is answered, and a line in its log.
 * So that nobody takes the place of others, fills the disk, or fills the room for what waits to be
 * sent, each operator has a part of the first, and so many of the second in a minute.
 *
 *     operator_rate_begin -> [operator_rate_refuse] -> operator_rate_end
 *
 * Pure: time is handed in. Memory: operator_rate_done frees. Threads: one.
 */
#ifndef FLEET_MASTER_OPERATORS_OPERATOR_RATE_H
#define FLEET_MASTER_OPERATORS_OPERATOR_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/lru.h"

#define OPERATOR_RATE_REQUESTS  256
#define OPERATOR_RATE_REFUSALS  1000
#define OPERATOR_RATE_WINDOW_NS (INT64_C(60) * 1000000000)
#define OPERATOR_RATE_MAX       1000 /* operators that are known at once */

/* How to treat a refusal: log and answer it; the same, and say that no more follow; nothing. */
enum operator_rate_line { OPERATOR_RATE_LOG, OPERATOR_RATE_LAST, OPERATOR_RATE_SILENT };

struct operator_rate {
    struct lru each;
};

void operator_rate_init(struct operator_rate *rate);
void operator_rate_done(struct operator_rate *rate);

/* A request has come; false: there are too many of this operator already. */
bool operator_rate_begin(struct operator_rate *rate, const char *name);
/* It is over, whatever operator_rate_begin has said. */
void operator_rate_end(struct operator_rate *rate, const char *name);
enum operator_rate_line operator_rate_refuse(struct operator_rate *rate, const char *name,
                                             int64_t now);

#endif
