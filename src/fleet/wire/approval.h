/*
 * approval - a job that waits for a second person, and what was decided about it.
 *
 *     pending -> approved -> dispatched | failed
 *             -> rejected
 *
 * Kept under the id of the job in the bucket `approvals`, for a day. One that is approved and not
 * dispatched is sent by whichever master finds it; the id of the job lets that happen once.
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

/* In the metadata of a job: who let it go. */
#define APPROVAL_METADATA "approved_by"

/* Why nothing was decided. */
#define APPROVAL_UNKNOWN                                                                           \
    "no such job waits for approval: 'zester job approvals' lists those that do"

struct approval {
    const char *jid;
    enum approval_state state;
    const char *asked_by; /* an operator */
    struct value_time asked;
    const char *decided_by; /* another one, or OPERATOR_RESERVED; "": nobody yet */
    struct value_time decided;
    const char *reason, *error;
    struct job job;
};
extern const struct record_type approval_type;

/* Why there is no job: it waits, or somebody has decided against it. */
void approval_explain(const struct approval *approval, struct err *ret_err);

/* A decision, and the answer. */
struct approval_request {
    const char *jid;
    const char *operator; /* who decides: the gate's word, or that of whoever has admin.creds */
    const char *reason;
};
extern const struct record_type approval_request_type;

struct approval_reply {
    const char *err; /* "": it is done */
};
extern const struct record_type approval_reply_type;

#endif
