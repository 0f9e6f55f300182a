/*
 * store - what the fleet keeps in JetStream: streams, consumers, buckets, as rows of tables.
 *
 *     store_ensure(&js, &(struct store_options){ .replicas = 0 }, on_ready, self, err);
 *
 * Every master ensures all of it when it starts: what is missing is made, what differs is changed.
 * What cannot be changed (the storage of a stream, the start of a consumer) is a problem with both
 * values; nothing is ever deleted, so an operator decides. Several masters may do it at once.
 *
 * Without an explicit number of replicas there are as many as the cluster has servers for, three at
 * most. A server that is down does not make them fewer.
 *
 * Each stream and bucket has a limit, its share of a total that the server reserves. Without an
 * explicit total it is STORE_BYTES_DEFAULT, or a half, a quarter, ... of it where servers have
 * less, and a limit that is there already stays. No limit is ever set below what is stored; where
 * servers have no room for one even so, the stream has none.
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
#define STORE_JOB_EVENTS "job-events"      /* stream of what happens to jobs */
#define STORE_FILES      "files"           /* bucket of objects: files too large for a value */
#define STORE_BINARIES   "update-binaries" /* bucket of objects: versions of the daemons */
#define STORE_REACTOR    "reactor"         /* consumer of events, shared by all masters */
#define STORE_EXHAUSTED                                                                            \
    "event-exhausted" /* stream, and consumer: events that the server gave up                      \
                       */
#define STORE_SCHEDULE "schedule-results"
#define STORE_RETURNS  "late-returns" /* consumer of what peels return, shared by all masters */

/* In the bucket of secrets: the key that they are sealed with; and a sealed value, base64 between.
 */
#define STORE_CURVE_KEY    "_master_curve_pub"
#define STORE_SEALED_BEGIN "ENC[nkey,"
#define STORE_SEALED_END   "]"

#define STORE_REPLICAS_MAX 5

/* Of all streams and buckets together, on each server. */
#define STORE_BYTES_DEFAULT ((int64_t)16 << 30)
#define STORE_BYTES_MIN     ((int64_t)256 << 20)
/* Of the facts of a peel, and of one value that it shares. */
#define STORE_FACTS_MAX        ((int64_t)256 << 10)
#define STORE_BASKET_VALUE_MAX ((int64_t)64 << 10)

/* The name of a bucket. */
const char *store_bucket_name(enum store_bucket bucket);
/* How many revisions of a key it keeps. */
unsigned store_bucket_history(enum store_bucket bucket);
/* How long an entry of it lives, in nanoseconds; 0: for ever. */
int64_t store_bucket_ttl(enum store_bucket bucket);

/* The streams of all of it: number 0 to STORE_STREAMS - 1. */
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
    bool only_compare; /* make and change nothing; any number of replicas is right */
};

struct store_result {
    const char *const *problems; /* each names what it is about; in the order of the tables */
    size_t problem_count;
};
typedef void store_fn(void *self, const struct store_result *result);

/* Over a connection that stands. `fn` is called once, also when the connection is freed meanwhile.
 * Fails with ERR_INVALID for a number of replicas that cannot be. */
int store_ensure(const struct nats_js *js, const struct store_options *options, store_fn *fn,
                 void *self, struct err *err);

#endif
