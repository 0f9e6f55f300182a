/*
 * approvals - jobs that wait for a second person (fleet/wire/approval.h), and who decides about
 * them.
 *
 * A decision is a compare-and-swap on the record, so exactly one counts. An approved job is
 * dispatched by the master that recorded the decision; when that one ends in between, another
 * finds the record and dispatches it. The claim of the job's id lets it happen once.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_OPERATORS_APPROVALS_H
#define FLEET_MASTER_OPERATORS_APPROVALS_H

#include "fleet/master/master.h"
#include "fleet/wire/subject.h"

struct approval_request;
struct job;

extern const struct master_service approvals_service;

/* `error` is NULL when it is on record. */
typedef void approvals_fn(void *self, const char *error);

/* Keep a job of `job->user` until somebody decides. `fn` is called once. The same id again is the
 * same job, whose answer got lost. */
void approvals_keep(struct master *master, const struct job *job, approvals_fn *fn, void *self);

enum approvals_outcome {
    APPROVALS_DECIDED, /* it is on record; an approved job is dispatched in a moment */
    APPROVALS_UNKNOWN, /* no such job waits */
    APPROVALS_REFUSED, /* somebody has decided already, or has asked for it; `error` says so */
    APPROVALS_LATER,   /* the bus did not do it */
};
typedef void approvals_decided_fn(void *self, enum approvals_outcome outcome, const char *error);

/* What a person says about a job, who may (fleet/jobs/policy.h): SUBJECT_JOB_APPROVE or
 * SUBJECT_JOB_REJECT. `fn` is called once. */
void approvals_decide(struct master *master, enum subject_kind decision,
                      const struct approval_request *request, approvals_decided_fn *fn, void *self);

#endif
