/*
 * mirror - a local copy of a tree of files that masters publish.
 *
 *     <bucket>/_revision    changes with every publication
 *
 * Before each fetch, `follows` says whether a canary (fleet/wire/canary.h) includes this machine;
 * if so, its set is fetched instead.
 *
 * After a change, and at each connection, missing or different files are fetched into a staging
 * folder (fleet/bus/tree_fetch.h). When all are on disk, the folders are exchanged in one step. So
 * a run sees the old tree or the new one, even after a power failure. An incomplete set is fetched
 * again later and never used in parts.
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

/* Delay after a change, since changes come in bursts; random, so that not all machines fetch at
 * once. */
#define MIRROR_DEBOUNCE  (INT64_C(2) * 1000000000)
#define MIRROR_JITTER    (INT64_C(5) * 1000000000)
#define MIRROR_RETRY     (INT64_C(1) * 1000000000)
#define MIRROR_RETRY_MAX (INT64_C(30) * 1000000000)

/* The folder matches the published set. */
struct mirror_sync {
    const char *bucket;
    bool changed; /* it did not match before; false, too, if nothing was published */
    size_t files;
    uint64_t canary; /* the revision of the canary; 0: the set for all machines */
};

struct mirror_options {
    struct loop *loop;
    const char *bucket, *folder;
    const struct tree_trust *trust; /* read at each fetch; must outlive the mirror */
    void (*synced)(void *self, const struct mirror_sync *sync);
    /* Called once for each problem; the mirror retries. */
    void (*failed)(void *self, const char *bucket, const char *problem);
    /* The last fetch has ended, perhaps with a failure. */
    void (*ended)(void *self);
    /* Does the canary with this record include us? A NULL view: no canary. NULL: not asked. */
    bool (*follows)(void *self, struct str record);
    void *self;
    bool hasty; /* no delay after changes; for tests */
};

struct mirror *mirror_new(const struct mirror_options *options, struct err *err);
/* NULL is fine. */
void mirror_free(struct mirror *mirror);

/* Uses this connection; NULL: none. */
void mirror_connect(struct mirror *mirror, const struct nats_js *js);
/* Fetches now if a fetch is delayed. */
void mirror_hasten(struct mirror *mirror);
/* Fetches now, because the answer of `follows` may have changed. */
void mirror_refresh(struct mirror *mirror);
/* Is a fetch under way? Then `ended` follows. */
bool mirror_is_busy(const struct mirror *mirror);
/* Why it is out of sync with the masters; "": in sync, or not known yet. */
const char *mirror_problem(const struct mirror *mirror);
/* The name of the tree that the folder has (fleet/wire/liveness.h); "": none, or not known yet. */
const char *mirror_tree(const struct mirror *mirror);
/* Has it been in sync since the start? */
bool mirror_has_synced(const struct mirror *mirror);

#endif
