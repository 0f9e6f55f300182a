/*
 * census - what the bucket of enrollments says, as it changes: who is issued, who is revoked.
 *
 * A peel whose facts are there while its enrollment is issued becomes active. Facts of a peel whose
 * enrollment is revoked are removed again. Every master does that; a compare-and-swap lets one win.
 *
 *     census_listen(census, &mine.listener);      told of each record, first of those that are
 * there
 *
 * Memory: the service; O(peels). Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_CENSUS_H
#define FLEET_MASTER_ENROLL_CENSUS_H

#include "fleet/master/master.h"
#include "fleet/wire/enrollment.h"

struct census;

struct census_listener {
    void (*changed)(struct census_listener *listener, const struct enrollment *record);
    void (*caught_up)(struct census_listener *listener); /* may be NULL */
    struct census_listener *next;
};

extern const struct master_service census_service;

/* Before it starts. */
void census_listen(struct census *census, struct census_listener *listener);
void census_forget(struct census *census, struct census_listener *listener);
/* Has it seen everything that is there? */
bool census_is_complete(const struct census *census);
/* Has a machine of this name ever enrolled? */
bool census_has(const struct census *census, struct str peel);
/* Is the current enrollment of this peel revoked? */
bool census_is_revoked(const struct census *census, struct str peel);

/* Machines without a join token that wait for a decision: those of an address, and all. */
struct census_waiting {
    size_t of_address, all;
};
struct census_waiting census_count_waiting(const struct census *census, const char *address);

/* The curve key ("X...") that was verified when this peel enrolled; NULL: it has no enrollment that
 * is issued or active. Good until the loop turns. */
const char *census_curve_key(const struct census *census, struct str peel);

#endif
