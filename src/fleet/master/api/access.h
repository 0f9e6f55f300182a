/*
 * api_access - authorizes the requests of the API, in this one place.
 *
 * A token has a policy, as a named operator has, and the same rules apply (fleet/jobs/policy.h):
 * HTTPS allows nothing that the bus forbids.
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_MASTER_API_ACCESS_H
#define FLEET_MASTER_API_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/jobs/policy.h"

struct err;

/* The action of a request. */
enum api_act {
    API_ACT_NONE, /* never allowed */
    API_ACT_READ_JOBS,
    API_ACT_READ_RETURNS,
    API_ACT_READ_APPROVALS,
    API_ACT_READ_ENROLLMENTS,
    API_ACT_READ_PEELS,
    API_ACT_READ_FACTS,
    API_ACT_READ_SETTINGS,
    API_ACT_READ_EVENTS,
    API_ACT_RESOLVE,
    API_ACT_RUN_JOB,
    API_ACT_CANCEL_JOB,
    API_ACT_APPROVE_JOB,
    API_ACT_REJECT_JOB,
    API_ACT_APPROVE_ENROLLMENT,
    API_ACT_REJECT_ENROLLMENT,
    API_ACT_REVOKE_ENROLLMENT,
    API_ACT_PAUSE_ENROLLMENT,
    API_ACT_SEND_EVENT,
};
#define API_ACTS (API_ACT_SEND_EVENT + 1)
/* The name in the audit log: "job.dispatch". */
const char *api_act_name(enum api_act act);

struct api_asker {
    const char *user;                     /* "api:<username>", or the name of the operator */
    const char *token;                    /* its username */
    const struct operator_policy *policy; /* NULL: caller unknown */
    bool is_named;                        /* the policy belongs to an operator */
};

/* Describes the job; all NULL or empty for other requests, and until it is known. */
struct api_subject {
    const struct job *job;
    struct param_strs inside; /* peels of the policy's target, sorted */
    const char *person;       /* the owner of the job */
};

/* The checks that need no job; they come before anything else. `now` in seconds since 1970. Fails
 * with the reason. */
int api_may_begin(const struct api_asker *asker, enum api_act act, int64_t now, struct err *why);
/* All checks, when the job and its targets are known. */
enum policy_verdict api_may(const struct api_asker *asker, enum api_act act,
                            const struct api_subject *subject, int64_t now, struct err *why);

#endif
