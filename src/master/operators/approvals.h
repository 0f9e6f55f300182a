/*
 * approvals - jobs that wait for a second person (wire/approval.h), and who decides about them.
 *
 * A decision is a compare-and-swap on the record, so exactly one counts. An approved job is
 * dispatched by the master that recorded the decision; when that one ends in between, another
 * finds the record and dispatches it. The claim of the job's id lets it happen once.
 *
 * Threads: the loop's.
 */
#ifndef MASTER_OPERATORS_APPROVALS_H
#define MASTER_OPERATORS_APPROVALS_H

#include "master/master.h"

struct job;

extern const struct master_service approvals_service;

/* `error` is NULL when it is on record. */
typedef void approvals_fn(void *self, const char *error);

/* Keep a job of `job->user` until somebody decides. `fn` is called once. The same id again is the
 * same job, whose answer got lost. */
void approvals_keep(struct master *master, const struct job *job, approvals_fn *fn, void *self);

#endif
