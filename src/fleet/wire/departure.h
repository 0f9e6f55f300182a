/*
 * departure - machines leave the fleet for good: what an operator asks for, and what was removed.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_DEPARTURE_H
#define FLEET_WIRE_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/record.h"

/* Peels of one request. */
#define DEPARTURE_PEELS_MAX 256

struct departure_request {
    struct param_strs peels; /* ids */
    const char *operator, * reason;
    bool force; /* also those that are connected */
};
extern const struct record_type departure_request_type;

/* One peel, with the number of entries that were removed. */
struct departure {
    const char *peel_id;
    const char *err, *warning;
    int32_t revoked;     /* enrollments whose credentials are refused from now on */
    int32_t enrollments; /* that are forgotten: there are no credentials that could be used */
    int32_t facts, secrets, heartbeat, basket, update_status;
};
extern const struct record_type departure_type;

struct departures {
    VEC(struct departure) list;
};

struct departure_reply {
    const char *err; /* nothing was done */
    struct departures peels;
};
extern const struct record_type departure_reply_type;

#endif
