/*
 * enrollment cache - what the bucket of enrollments says, as it changes: who is issued, who is
 * revoked.
 *
 * A peel whose facts are there while its enrollment is issued becomes active. Facts of a peel whose
 * enrollment is revoked are removed again. Every master does that; a compare-and-swap lets one win.
 *
 *     enrollment_cache_listen(enrollment cache, &mine.listener);      told of each record, first of
 * those that are there
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

/* Before it starts. */
void enrollment_cache_listen(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener);
void enrollment_cache_forget(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener);
/* Has it seen everything that is there? */
bool enrollment_cache_is_complete(const struct enrollment_cache *cache);
/* Has a machine of this name ever enrolled? */
bool enrollment_cache_has(const struct enrollment_cache *cache, struct str peel);
/* Is the current enrollment of this peel revoked? */
bool enrollment_cache_is_revoked(const struct enrollment_cache *cache, struct str peel);

/* Machines without a join token that wait for a decision: those of an address, and all. */
struct enrollment_cache_waiting {
    size_t of_address, all;
};
struct enrollment_cache_waiting enrollment_cache_count_waiting(const struct enrollment_cache *cache,
                                                               const char *address);

/* The curve key ("X...") that was verified when this peel enrolled; NULL: it has no enrollment that
 * is issued or active. Good until the loop turns. */
const char *enrollment_cache_curve_key(const struct enrollment_cache *cache, struct str peel);

#endif
