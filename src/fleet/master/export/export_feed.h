/*
 * export_feed - the way of one kind of records to one receiver: a consumer, and requests.
 *
 * The consumer is durable and shared by all masters; the one that holds the lease of the exporter
 * pulls from it. What was pulled waits here, in order, at most twice a batch and FEED_BYTES_MAX of
 * it, and is acknowledged when the receiver has answered with 2xx, or has refused it for good.
 * While the receiver is away, the server hears now and then that we are still at it; when this
 * master ends, the messages go to the next one.
 *
 * The server brings a message again when nobody has acknowledged it for FEED_ACK_WAIT_NS, and goes
 * on with others meanwhile. So after a start and after a reconnect nothing is sent until all have
 * come that were delivered before, or that time is over.
 *
 *     export_feed_init -> { export_feed_start -> export_feed_stop }...
 *
 * Requests block, so workers make them; one at a time for each feed. A feed may be freed when
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
    void (*came_back)(void *self); /* after a stop: something that was under way has ended */
    void (*measured)(void *self);  /* `pending` is known */
    void *self;
};

struct export_feed {
    struct export_feed_options options;
    const struct export_conf *conf; /* who owns the feed replaces it at a reload */
    char consumer[FEED_CONSUMER_MAX];
    bool is_started;
    unsigned starts;
    unsigned generation; /* of the puller, which does not count what came by an earlier one */
    struct nats_puller *puller;
    struct export_item *first; /* by the order of the stream */
    size_t held;
    uint64_t done_seq; /* up to here all is sent */
    struct export_post *post;
    size_t limit; /* of the next request, after one that was refused; 0: none */
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
/* Makes the consumer, and begins. */
void export_feed_start(struct export_feed *feed);
/* Not started is fine. */
void export_feed_stop(struct export_feed *feed);
/* The connection was made again: messages may have been lost with it. */
void export_feed_check(struct export_feed *feed);
/* Ask the server how much is left. */
void export_feed_measure(struct export_feed *feed);

#endif
