/*
 * export_feed - sends one kind of records to one receiver: a consumer, and HTTP requests.
 *
 * The consumer is durable and shared by all masters; the holder of the exporter's lease pulls from
 * it. Pulled messages wait here in order, at most two batches and FEED_BYTES_MAX, and are
 * acknowledged when the receiver answers 2xx or refuses them for good. While the receiver is down,
 * they are reported as in progress; when this master stops, they go to the next one.
 *
 * The server redelivers a message that was not acknowledged within FEED_ACK_WAIT_NS, and continues
 * with others meanwhile. So after a start or a reconnect nothing is sent until all earlier messages
 * have come back, or that time is over.
 *
 *     export_feed_init -> { export_feed_start -> export_feed_stop }...
 *
 * Requests block, so workers make them, one at a time per feed. A feed may be freed when
 * `under_way` is 0 after a stop: until then calls come back.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_MASTER_EXPORT_EXPORT_FEED_H
#define FLEET_MASTER_EXPORT_EXPORT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "fleet/master/export/export_record.h"
#include "fleet/nats/js.h"
#include "core/sys/timers.h"

struct background_tasks;
struct export_conf;
struct export_feed;
struct export_item;
struct export_post;
struct metrics;
struct nats_puller;

#define FEED_BYTES_MAX    (INT64_C(32) << 20)
#define FEED_CONSUMER     "export-"
#define FEED_ACK_WAIT_NS  (INT64_C(15) * 1000000000)
#define FEED_CONSUMER_MAX 64

struct export_feed_options {
    struct nats_js js;
    struct background_tasks *background_tasks;
    struct metrics *metrics;
    const char *name; /* of the exporter; borrowed */
    enum export_kind kind;
    void (*came_back)(void *self); /* after a stop: a pending call has ended */
    void (*measured)(void *self);  /* `pending` is known */
    void *self;
};

struct export_feed {
    struct export_feed_options options;
    const struct export_conf *conf; /* replaced by the owner at a reload */
    char consumer[FEED_CONSUMER_MAX];
    bool is_started;
    unsigned starts;
    unsigned generation; /* of the puller; messages of an earlier one are ignored */
    struct nats_puller *puller;
    struct export_item *first; /* in stream order */
    size_t held;
    uint64_t done_seq; /* everything up to here is sent */
    struct export_post *post;
    size_t limit; /* of the next request, after a refusal; 0: none */
    unsigned tries;
    int64_t failing_since; /* clock_now; 0: it is not */
    struct err problem;
    int64_t pending;      /* on the server */
    uint64_t missing_seq; /* up to here messages may still come that others had, */
    size_t missing;       /* so many */
    struct timer retry, progress, ensure, patience;
    size_t under_way;
};

/* "KV_jobs" */
const char *export_feed_stream(enum export_kind kind);

void export_feed_init(struct export_feed *feed, const struct export_feed_options *options);
/* Creates the consumer, and starts. */
void export_feed_start(struct export_feed *feed);
/* Not started is fine. */
void export_feed_stop(struct export_feed *feed);
/* After a reconnect: messages may have been lost. */
void export_feed_check(struct export_feed *feed);
/* Ask the server how much is left. */
void export_feed_measure(struct export_feed *feed);

#endif
