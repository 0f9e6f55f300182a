/*
 * liveness - signs of life of masters and peels, in buckets that forget what is not renewed.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef WIRE_LIVENESS_H
#define WIRE_LIVENESS_H

#include <stdint.h>

#include "data/params.h"
#include "data/record.h"

struct liveness_master {
    const char *master_id;
    struct param_strs active_jobs;
    struct value_time timestamp;
    const char *version;
    /* Since when the bucket has taken signs of life without a gap; 0: not known. */
    struct value_time since;
};
extern const struct record_type liveness_master_type;

struct liveness_peel {
    struct value_time ts;
    const char *version;
    int32_t protocol;
    struct value run; /* a map: the summary of its last run (run/lastrun.h); null: none */
};
extern const struct record_type liveness_peel_type;

#endif
