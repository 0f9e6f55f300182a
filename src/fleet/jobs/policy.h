/*
 * policy - decides what an operator may do, by their role, functions and targets.
 *
 * Named operators publish below zester.operator.<name> only. A master takes the name from the
 * subject, which the servers enforce, and asks here. The requested subject follows the name: a
 * table says which subjects may be requested, by which roles, and on what conditions. Reading is
 * permitted by stream.
 *
 *     policy_find_act(kind) -> policy_decide(policy, &question, &why)
 *
 * API tokens have the same policies (fleet/master/api/access.h).
 *
 * A job is judged by everything it can run (fleet/jobs/job_reach.h): the functions it names must be
 * permitted, and so must the gate and the revert of a rollout (fleet/jobs/rollout.h), which masters
 * run for it; a job that can run anything needs REACH_COMMAND. Published states are trusted: an
 * operator who may apply them may do all that they do. A job needs a second person if anything it
 * can run needs one, including published states.
 *
 * Pure. Memory: none is kept. Threads: any.
 */
#ifndef FLEET_JOBS_POLICY_H
#define FLEET_JOBS_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/subject.h"

struct err;
struct job;

/* Conditions beyond the role. */
enum policy_ground {
    POLICY_ROLE,     /* none */
    POLICY_JOB,      /* the function and the targets of the job */
    POLICY_OWNER,    /* the owner of the job */
    POLICY_APPROVAL, /* the waiting job, and who requested it */
    POLICY_EVENT,    /* the function POLICY_EVENT_FUNCTION */
};

/* Events trigger rules, so an operator limited to some functions needs this one, too. */
#define POLICY_EVENT_FUNCTION "event.send"

/* An action that can be requested from a master. */
struct policy_act {
    enum subject_kind kind;
    const char *name; /* as in the audit: "job.dispatch" */
    unsigned roles;   /* 1 << enum operator_role */
    enum policy_ground ground;
};
/* NULL: no named operator may. */
const struct policy_act *policy_find_act(enum subject_kind kind);

/* May a role read the stream? */
bool policy_may_read(enum operator_role role, struct str stream);
/* May a role read this one message of a stream that it may not read? */
struct reading;
bool policy_may_read_one(enum operator_role role, const struct reading *reading);

struct policy_question {
    const struct policy_act *act;
    const struct job *job;    /* POLICY_JOB and POLICY_APPROVAL */
    struct param_strs inside; /* the same: the peels of the policy's target, sorted */
    const char *person;       /* owner of the job; POLICY_APPROVAL: who requested it */
    int64_t now;              /* seconds since 1970 */
    bool has_token;           /* requested with an API token: keys do not matter */
};

enum policy_verdict {
    POLICY_ALLOWED,
    POLICY_REFUSED, /* the reason is in `why` */
    POLICY_WAITS,   /* for a second person's approval */
};

/* Checks that the operator exists and has valid credentials. Fails with the reason. */
int policy_check_person(const struct operator_policy *policy, int64_t now, struct err *why);
/* Checks that the role may do it. Fails with the reason. */
int policy_check_role(const struct operator_policy *policy, const struct policy_act *act,
                      struct err *why);
/* All checks. */
enum policy_verdict policy_decide(const struct operator_policy *policy,
                                  const struct policy_question *question, struct err *why);

#endif
