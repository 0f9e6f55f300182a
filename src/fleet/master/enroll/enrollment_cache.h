/*
 * enrollment cache - a live copy of the enrollments bucket: which peels are issued or revoked.
 *
 * An issued peel that publishes facts becomes active. Facts of revoked peels are removed. Every
 * master does this; a compare-and-swap lets one win.
 *
 *     enrollment_cache_listen(cache, &mine.listener);     called for each record, existing ones
 * first
 *
 * Memory: the service; O(peels). Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_ENROLLMENT_CACHE_H
#define FLEET_MASTER_ENROLL_ENROLLMENT_CACHE_H

#include "fleet/master/master.h"
#include "fleet/wire/enrollment.h"

struct enrollment_cache;

struct enrollment_cache_listener {
    void (*changed)(struct enrollment_cache_listener *listener, const struct enrollment *record);
    void (*caught_up)(struct enrollment_cache_listener *listener); /* may be NULL */
    struct enrollment_cache_listener *next;
};

extern const struct master_service enrollment_cache_service;

/* Must be called before the start. */
void enrollment_cache_listen(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener);
void enrollment_cache_forget(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener);
/* Has it read all existing records? */
bool enrollment_cache_is_complete(const struct enrollment_cache *cache);
/* Has a machine of this name ever enrolled? */
bool enrollment_cache_has(const struct enrollment_cache *cache, struct str peel);
/* Is the current enrollment of this peel revoked? */
bool enrollment_cache_is_revoked(const struct enrollment_cache *cache, struct str peel);

/* Machines without a join token that await a decision: from one address, and in all. */
struct enrollment_cache_waiting {
    size_t of_address, all;
};
struct enrollment_cache_waiting enrollment_cache_count_waiting(const struct enrollment_cache *cache,
                                                               const char *address);

/* The curve key ("X...") verified when this peel enrolled; NULL: it has no issued or active
 * enrollment. Valid until the loop turns. */
const char *enrollment_cache_curve_key(const struct enrollment_cache *cache, struct str peel);

#endif
