/*
 * approval - a job that waits for a second person's decision.
 *
 *     pending -> approved -> dispatched | failed
 *             -> rejected
 *
 * Kept under the id of the job in the bucket `approvals`, for a day. Any master sends a job that is
 * approved but not dispatched; the job id makes sure that this happens once.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_APPROVAL_H
#define FLEET_WIRE_APPROVAL_H

#include "core/data/record.h"
#include "fleet/wire/job.h"

struct err;

enum approval_state {
    APPROVAL_PENDING,
    APPROVAL_APPROVED,
    APPROVAL_REJECTED,
    APPROVAL_DISPATCHED,
    APPROVAL_FAILED, /* no master took the job; `error` says why */
};
#define APPROVAL_STATES (APPROVAL_FAILED + 1)
const char *approval_state_name(enum approval_state state);

/* Job metadata: the operator who approved it. */
#define APPROVAL_METADATA "approved_by"

/* Reasons for which no decision is stored. */
#define APPROVAL_UNKNOWN                                                                           \
    "no such job waits for approval: 'zester job approvals' lists those that do"

struct approval {
    const char *jid;
    enum approval_state state;
    const char *asked_by; /* an operator */
    struct value_time asked;
    const char *decided_by; /* another operator, or OPERATOR_RESERVED; "": undecided */
    struct value_time decided;
    const char *reason, *error;
    struct job job;
};
extern const struct record_type approval_type;

/* Explains why there is no job: it is waiting for approval, or was rejected. */
void approval_explain(const struct approval *approval, struct err *ret_err);

/* A decision, and the answer. */
struct approval_request {
    const char *jid;
    const char *operator; /* who decides, as the operator proxy or the holder of admin.creds says */
    const char *reason;
};
extern const struct record_type approval_request_type;

struct approval_reply {
    const char *err; /* "": success */
};
extern const struct record_type approval_reply_type;

#endif
