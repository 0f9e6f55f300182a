/*
 * claim - ownership of a job: what a master may do if a record with its id exists.
 *
 * A master claims a job by creating its record, so exactly one owns it. A claimed job was not sent
 * yet; a running one may have been. A job may be taken over when its owner's heartbeats stop.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_JOBS_CLAIM_H
#define FLEET_JOBS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/wire/job.h"

/* A job taken over more often fails: it seems to crash masters. */
#define CLAIM_RECLAIMS_MAX 3
/* A queued job outlives many masters. */
#define CLAIM_RECLAIMS_QUEUED_MAX 100
#define CLAIM_FAILED_REASON       "failed_reason"

enum claim_verdict {
    CLAIM_RESUME,    /* ours and not sent, or a reaction's job with new targets: send ours */
    CLAIM_TAKE,      /* its master is gone: take it over and continue */
    CLAIM_PENDING,   /* a living master has not sent it yet: retry later */
    CLAIM_DUPLICATE, /* the same job was already sent */
    CLAIM_CONFLICT,  /* another job with the same id */
};

/* Is it the same job: function, timeout, user, targets, arguments, metadata? */
bool claim_is_same(const struct job *a, const struct job *b);

enum claim_verdict claim_judge(const struct job *wanted, const struct job *stored,
                               const char *master_id, bool owner_lives);

/* The record after `master_id` takes it over. `revision` is that of the entry `job` was read from.
 * Taking over its own job, after a lost answer, does not count. False: taken over too often; the
 * record has failed. */
bool claim_take(struct arena *arena, const struct job *job, uint64_t revision,
                const char *master_id, struct value_time now, struct job *ret_job);
/* The record of a job that is given up, and the reason. */
void claim_fail(struct arena *arena, struct job *job, const char *reason);
/* Both are queued for absent peels, and `newer` does the same kind of work: where both wait, the
 * older one is obsolete. */
bool claim_replaces(const struct job *newer, const struct job *older);

/* The epoch of all requests of a job: the revision that created its record.  Of several masters
 * that create a record, exactly one succeeds. Of several that expect the same later revision at the
 * same moment, a cluster may let all of them succeed: nats-server compares before it replicates. So
 * two masters may both send a job, but never with two epochs, and a peel runs it once. */
uint64_t claim_epoch(const struct job *job, uint64_t revision);

#endif
