/*
 * mirror - a tree of files that masters publish, as a folder of this machine.
 *
 *     <bucket>/_revision    news: something has changed
 *
 * Who has `follows` is asked before each fetch whether a canary (fleet/wire/canary.h) means this
 * machine; then its set is fetched in place of the other.
 *
 * After news, and at each connection, files that are not here with the right hash are fetched into
 * a folder beside (fleet/bus/tree_fetch.h), and when all are there and on disk the folders change
 * places in one step. So a run sees the old tree or the new one, also after a power failure. A set
 * that is not whole is fetched anew later; nothing is ever taken over in parts.
 *
 *     mirror_new -> mirror_connect... -> mirror_free
 *
 * Threads: the loop's; a worker touches the disk.
 */
#ifndef FLEET_BUS_MIRROR_H
#define FLEET_BUS_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;
struct loop;
struct mirror;
struct nats_js;
struct tree_trust;

/* News are waited for a little longer, since they come in bursts; at random, so that not all
 * machines come at once. */
#define MIRROR_DEBOUNCE  (INT64_C(2) * 1000000000)
#define MIRROR_JITTER    (INT64_C(5) * 1000000000)
#define MIRROR_RETRY     (INT64_C(1) * 1000000000)
#define MIRROR_RETRY_MAX (INT64_C(30) * 1000000000)

/* The folder is what masters publish. */
struct mirror_sync {
    const char *bucket;
    bool changed; /* it was not before; nothing published is known, too: then it is unchanged */
    size_t files;
    uint64_t canary; /* the revision of the canary that it is; 0: it is the set for all */
};

struct mirror_options {
    struct loop *loop;
    const char *bucket, *folder;
    const struct tree_trust *trust; /* as it is at each fetch; must outlive it */
    void (*synced)(void *self, const struct mirror_sync *sync);
    /* It tries again; called once for each problem. */
    void (*failed)(void *self, const char *bucket, const char *problem);
    /* The last fetch has ended; it may have failed. */
    void (*ended)(void *self);
    /* Does the canary with this record mean us? A NULL view: there is none. NULL: nobody asks. */
    bool (*follows)(void *self, struct str record);
    void *self;
    bool hasty; /* without waiting after news; for tests */
};

struct mirror *mirror_new(const struct mirror_options *options, struct err *err);
/* NULL is fine. */
void mirror_free(struct mirror *mirror);

/* Over this connection, or none. */
void mirror_connect(struct mirror *mirror, const struct nats_js *js);
/* Look at news now that would be looked at later. */
void mirror_hasten(struct mirror *mirror);
/* Fetch now: what `follows` says may have changed. */
void mirror_refresh(struct mirror *mirror);
/* Are files on their way? Then `ended` follows. */
bool mirror_is_busy(const struct mirror *mirror);
/* Why it is not in step with the masters; "": it is, or nobody knows yet. */
const char *mirror_problem(const struct mirror *mirror);
/* Has it been in step with the masters since the start? */
bool mirror_has_synced(const struct mirror *mirror);

#endif
