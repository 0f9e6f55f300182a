/*
 * claim - whose a job is: what a master may do when a record of that id is there already.
 *
 * A job is claimed by creating its record, so exactly one master has it. A claimed job was sent to
 * nobody; a running one may have been. A job whose owner gives no sign of life may be taken over.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_JOBS_CLAIM_H
#define FLEET_JOBS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/wire/job.h"

/* Taken over more often than this, it fails: something in it ends masters. */
#define CLAIM_RECLAIMS_MAX 3
/* A queued job outlives many masters. */
#define CLAIM_RECLAIMS_QUEUED_MAX 100
#define CLAIM_FAILED_REASON       "failed_reason"

enum claim_verdict {
    CLAIM_RESUME,    /* sent to nobody, and ours, or a reaction that now means others: send ours */
    CLAIM_TAKE,      /* of a master that is gone: take it over, then go on */
    CLAIM_PENDING,   /* of a living master that has not sent it yet: try again later */
    CLAIM_DUPLICATE, /* the same work was sent already */
    CLAIM_CONFLICT,  /* other work under the same id */
};

/* Is it the same work: function, timeout, user, targets, arguments, metadata? */
bool claim_is_same(const struct job *a, const struct job *b);

enum claim_verdict claim_judge(const struct job *wanted, const struct job *stored,
                               const char *master_id, bool owner_lives);

/* The record when `master_id` takes it over. `revision` is that of the entry `job` was read from.
 * What is its own already, because the answer to an earlier try was lost, does not count. False: it
 * was taken over too often, and the record says that it failed. */
bool claim_take(struct arena *arena, const struct job *job, uint64_t revision,
                const char *master_id, struct value_time now, struct job *ret_job);
/* The record of a job that is not carried on, and why. */
void claim_fail(struct arena *arena, struct job *job, const char *reason);
/* Both are kept for absent peels, and `newer` does the same kind of work: where both wait, the
 * older one is no longer needed. */
bool claim_replaces(const struct job *newer, const struct job *older);

/* The epoch that all requests of a job carry: the revision at which its record was created.
 *
 * Of several masters that create a record, exactly one succeeds. Of several that expect the same
 * later revision at the same moment, a cluster may let all of them succeed: nats-server compares
 * before it replicates. So two masters may both send a job, but never with two epochs, and a peel
 * runs it once. */
uint64_t claim_epoch(const struct job *job, uint64_t revision);

#endif
