/*
 * departure - removing machines from the fleet for good: request and result.
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
    bool force; /* even connected peels */
};
extern const struct record_type departure_request_type;

/* One peel, with the number of entries that were removed. */
struct departure {
    const char *peel_id;
    const char *err, *warning;
    int32_t revoked;     /* enrollments whose credentials are revoked */
    int32_t enrollments; /* enrollments removed: they have no usable credentials */
    int32_t facts, secrets, heartbeat, basket, update_status;
};
extern const struct record_type departure_type;

struct departures {
    VEC(struct departure) list;
};

struct departure_reply {
    const char *err; /* the error; nothing was removed */
    struct departures peels;
};
extern const struct record_type departure_reply_type;

#endif
