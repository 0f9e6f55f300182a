/*
 * liveness - heartbeats of masters and peels, in buckets whose entries expire.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_LIVENESS_H
#define FLEET_WIRE_LIVENESS_H

#include <stdint.h>

#include "core/data/params.h"
#include "core/data/record.h"

struct liveness_master {
    const char *master_id;
    struct param_strs active_jobs;
    struct value_time timestamp;
    const char *version;
    /* Start of gapless heartbeats in the bucket; 0: not known. */
    struct value_time since;
};
extern const struct record_type liveness_master_type;

struct liveness_peel {
    struct value_time ts;
    const char *version;
    int32_t protocol;
    struct value run; /* a map: the summary of its last run (states/run/lastrun.h); null: none */
};
extern const struct record_type liveness_peel_type;

#endif
