/*
 * dossier - the facts of this machine: collected, kept up to date, published when they change.
 *
 * What does not change while the machine runs is collected once; memory and disks every
 * DOSSIER_MEASURE; names, addresses and the file of the administrator every DOSSIER_LOOK, addresses
 * also soon after they have changed (fleet/peel/netwatch.h), and all of these at once when a fact
 * was set. The bucket is written only when the facts are others than those that it has, or when it
 * has lost them.
 *
 *     dossier_new -> dossier_connect... -> dossier_free
 *
 * Threads: the loop's; collecting is done by a worker.
 */
#ifndef FLEET_PEEL_DOSSIER_H
#define FLEET_PEEL_DOSSIER_H

#include <stdbool.h>
#include <stdint.h>

struct dossier;
struct err;
struct loop;
struct nats_js;
struct snapshot;

#define DOSSIER_LOOK    (INT64_C(30) * 1000000000)
#define DOSSIER_MEASURE (INT64_C(300) * 1000000000)
/* A write that failed is tried again after this time. */
#define DOSSIER_RETRY (INT64_C(5) * 1000000000)

/* Within this time after a reconnect, the bucket is given the facts again if it has lost them. */
#define DOSSIER_PROBE (INT64_C(10) * 1000000000)

#define DOSSIER_CURVE_KEY "_curve_public_key"

struct dossier_options {
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
struct dossier *dossier_new(const struct dossier_options *options, struct err *err);
/* NULL is fine. */
void dossier_free(struct dossier *dossier);

/* Published over this connection; NULL: none. */
void dossier_connect(struct dossier *dossier, const struct nats_js *js);
/* Held by the caller. */
struct snapshot *dossier_hold(const struct dossier *dossier);
/* The canary of the states that this machine follows (fleet/wire/canary.h) is a fact; 0: none. */
void dossier_put_canary(struct dossier *dossier, uint64_t revision);
/* The file of the administrator has changed. */
void dossier_refresh(struct dossier *dossier);
/* The bucket has the facts as they are. */
bool dossier_is_published(const struct dossier *dossier);

#endif
