/*
 * facts publisher - the facts of this machine: collected, kept up to date, published when they
 * change.
 *
 * Facts that do not change while the machine runs are collected once; memory and disks every
 * FACTS_PUBLISHER_MEASURE; names, addresses and the file of the administrator every
 * FACTS_PUBLISHER_LOOK, addresses also soon after they have changed (fleet/peel/netwatch.h), and
 * all of these at once when a fact was set. The bucket is written only when the facts are others
 * than those that it has, or when it has lost them.
 *
 *     facts_publisher_new -> facts_publisher_connect... -> facts_publisher_free
 *
 * Threads: the loop's; collecting is done by a worker.
 */
#ifndef FLEET_PEEL_FACTS_PUBLISHER_H
#define FLEET_PEEL_FACTS_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

struct facts_publisher;
struct err;
struct loop;
struct nats_js;
struct snapshot;

#define FACTS_PUBLISHER_LOOK    (INT64_C(30) * 1000000000)
#define FACTS_PUBLISHER_MEASURE (INT64_C(300) * 1000000000)
/* A write that failed is tried again after this time. */
#define FACTS_PUBLISHER_RETRY (INT64_C(5) * 1000000000)

/* Within this time after a reconnect, the bucket is given the facts again if it has lost them. */
#define FACTS_PUBLISHER_PROBE (INT64_C(10) * 1000000000)

#define FACTS_PUBLISHER_CURVE_KEY "_curve_public_key"

struct facts_publisher_options {
    struct loop *loop;
    const char *peel_id, *facts_file;
    const char *environment;       /* NULL: none */
    const char *curve_key;         /* NULL: none */
    void (*changed)(void *self);   /* there are new facts */
    void (*published)(void *self); /* the bucket has them */
    void *self;
};

/* Collects once, at once: facts are there when it returns. A mistake in the file of the
 * administrator is logged, and its facts are missing. */
struct facts_publisher *facts_publisher_new(const struct facts_publisher_options *options,
                                            struct err *err);
/* NULL is fine. */
void facts_publisher_free(struct facts_publisher *facts_publisher);

/* Published over this connection; NULL: none. */
void facts_publisher_connect(struct facts_publisher *facts_publisher, const struct nats_js *js);
/* Held by the caller. */
struct snapshot *facts_publisher_hold(const struct facts_publisher *facts_publisher);
/* The canary of the states that this machine follows (fleet/wire/canary.h) is a fact; 0: none. */
void facts_publisher_put_canary(struct facts_publisher *facts_publisher, uint64_t revision);
/* The file of the administrator has changed. */
void facts_publisher_refresh(struct facts_publisher *facts_publisher);
/* The bucket has the facts as they are. */
bool facts_publisher_is_published(const struct facts_publisher *facts_publisher);

#endif
