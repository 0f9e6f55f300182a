/*
 * approvals - jobs that need a second person (fleet/wire/approval.h), and the decisions about them.
 *
 * A decision is a compare-and-swap on the record, so exactly one wins. The master that recorded the
 * decision dispatches an approved job; if it dies before, another one finds the record and does.
 * The claim of the job id makes it happen once.
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

/* `error` is NULL when it is recorded. */
typedef void approvals_fn(void *self, const char *error);

/* Keep a job of `job->user` until it is decided. `fn` is called once. The same id again is the same
 * job: the answer got lost. */
void approvals_keep(struct master *master, const struct job *job, approvals_fn *fn, void *self);

enum approvals_outcome {
    APPROVALS_DECIDED, /* recorded; an approved job is dispatched soon */
    APPROVALS_UNKNOWN, /* no such job */
    APPROVALS_REFUSED, /* already decided, or requested by the same person; see `error` */
    APPROVALS_LATER,   /* bus error */
};
typedef void approvals_decided_fn(void *self, enum approvals_outcome outcome, const char *error);

/* Record an authorized decision (fleet/jobs/policy.h): SUBJECT_JOB_APPROVE or SUBJECT_JOB_REJECT.
 * `fn` is called once. */
void approvals_decide(struct master *master, enum subject_kind decision,
                      const struct approval_request *request, approvals_decided_fn *fn, void *self);

#endif
