/*
 * store - the streams, consumers and buckets of the fleet in JetStream, as rows of tables.
 *
 *     store_ensure(&js, &(struct store_options){ .replicas = 0 }, on_ready, self, err);
 *
 * Every master ensures all of it at its start: creates what is missing, updates what differs. A
 * difference that cannot be changed (the storage of a stream, the start of a consumer) is reported
 * with both values. Nothing is ever deleted: an operator decides. Several masters may do it at
 * once. Nothing is ensured while a backup is being restored (STORE_RESTORE): that is the only
 * problem then.
 *
 * By default there are as many replicas as servers, at most three. A server that is down does not
 * reduce them.
 *
 * Each stream and bucket has a limit, its share of a total that the server reserves. The default
 * total is STORE_BYTES_DEFAULT, or a half, a quarter, ... of it where servers have less, and
 * existing limits stay. No limit is ever set below what is stored. If servers have no room even so,
 * the stream has no limit.
 *
 * Memory: a result is valid during its callback. Threads: the loop's.
 */
#ifndef FLEET_BUS_STORE_H
#define FLEET_BUS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct nats_js;

enum store_bucket {
    STORE_FACTS,
    STORE_SETTINGS_FILES,
    STORE_SECRETS,
    STORE_BASKET,
    STORE_JOBS,
    STORE_JOB_RETURNS,
    STORE_MASTER_HEARTBEAT,
    STORE_PEEL_HEARTBEAT,
    STORE_PEEL_PRESENCE,
    STORE_LEASES,
    STORE_ENROLLMENTS,
    STORE_ENROLL_CHALLENGES,
    STORE_STATE_FILES,
    STORE_REACTOR_FILES,
    STORE_MASTER_SETTINGS,
    STORE_EVENT_OUTCOMES,
    STORE_UPDATE_MANIFESTS,
    STORE_UPDATE_STATUS,
    STORE_UPDATE_ROLLOUTS,
    STORE_REACTOR_ACKS,
    STORE_TREE_HISTORY,
    STORE_OPERATORS,
    STORE_APPROVALS,
};
#define STORE_BUCKETS (STORE_APPROVALS + 1)

#define STORE_EVENTS     "events"          /* stream of events */
#define STORE_JOB_EVENTS "job-events"      /* stream of job events */
#define STORE_FILES      "files"           /* bucket of objects: files too large for a value */
#define STORE_BINARIES   "update-binaries" /* bucket of objects: versions of the daemons */
#define STORE_REACTOR    "reactor"         /* consumer of events, shared by all masters */
#define STORE_EXHAUSTED                                                                            \
    "event-exhausted" /* stream, and consumer: events after their last delivery */
#define STORE_SCHEDULE "schedule-results"
#define STORE_RETURNS  "late-returns" /* consumer of peels' returns, shared by all masters */

/* Stream that exists while a backup is restored: its description is the id of the backup. */
#define STORE_RESTORE "zester-restore"

/* In the bucket of secrets: the sealing key; and a sealed value, with base64 between. */
#define STORE_CURVE_KEY    "_master_curve_pub"
#define STORE_SEALED_BEGIN "ENC[nkey,"
#define STORE_SEALED_END   "]"

#define STORE_REPLICAS_MAX 5

/* For all streams and buckets together, on each server. */
#define STORE_BYTES_DEFAULT ((int64_t)16 << 30)
#define STORE_BYTES_MIN     ((int64_t)256 << 20)
/* Bytes of a peel's facts, and of one basket value. */
#define STORE_HEARTBEAT_MAX    ((int64_t)3 << 10)
#define STORE_FACTS_MAX        ((int64_t)256 << 10)
#define STORE_BASKET_VALUE_MAX ((int64_t)64 << 10)

/* The name of a bucket. */
const char *store_bucket_name(enum store_bucket bucket);
/* Revisions it keeps of a key. */
unsigned store_bucket_history(enum store_bucket bucket);
/* Lifetime of an entry in nanoseconds; 0: unlimited. */
int64_t store_bucket_ttl(enum store_bucket bucket);

/* All streams: number 0 to STORE_STREAMS - 1. */
#define STORE_STREAMS (STORE_BUCKETS + 5)
const char *store_stream_name(struct arena *arena, size_t number);
size_t store_bucket_stream(enum store_bucket bucket);
/* The consumers that masters share: number 0 to STORE_CONSUMERS - 1. */
#define STORE_CONSUMERS 4
struct store_consumer {
    const char *stream, *name;
};
struct store_consumer store_consumer(size_t number);

struct store_options {
    int64_t max_bytes; /* of all streams and buckets together; 0: see above */
    int64_t replicas;  /* 0: as many as there are servers, three at most */
    bool only_compare; /* read-only; accepts any number of replicas */
};

struct store_result {
    const char *const *problems; /* each names its object; in the order of the tables */
    size_t problem_count;
};
typedef void store_fn(void *self, const struct store_result *result);

/* Needs an open connection. `fn` is called once, even if the connection is freed meanwhile. Fails
 * with ERR_INVALID for an invalid number of replicas. */
int store_ensure(const struct nats_js *js, const struct store_options *options, store_fn *fn,
                 void *self, struct err *err);

#endif
