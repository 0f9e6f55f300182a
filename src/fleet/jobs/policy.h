/*
 * policy - what an operator may do: their role, functions and targets against what they ask for.
 *
 * Operators with a name publish below zester.operator.<name> only; a master derives the name from
 * the subject, which the servers enforce, and asks here. What follows the name is the subject that
 * is meant: rows of a table say which can be asked for, by whom, and what is looked at. Reading is
 * by stream.
 *
 *     policy_find_act(kind) -> policy_decide(policy, &question, &why)
 *
 * Programs have the same policies: what an API token may do is decided here as well
 * (fleet/master/api/access.h).
 *
 * A job is judged by all that it can run (fleet/jobs/job_reach.h): functions that it names must be
 * allowed as its own, and so must the gate and the revert of a rollout (fleet/jobs/rollout.h),
 * which masters run for it; what can run anything needs REACH_COMMAND. Published states are what
 * those who publish them say: who may apply them may do all that they do. A second person is needed
 * for whatever could do what needs one, published states included.
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

/* What a verdict depends on, beyond the role. */
enum policy_ground {
    POLICY_ROLE,     /* nothing */
    POLICY_JOB,      /* the function and the targets of the job */
    POLICY_OWNER,    /* who has dispatched the job */
    POLICY_APPROVAL, /* the job that waits, and who asked for it */
    POLICY_EVENT,    /* the function POLICY_EVENT_FUNCTION */
};

/* An event starts what rules say: whoever is limited to some functions needs this one, too. */
#define POLICY_EVENT_FUNCTION "event.send"

/* Something that can be asked for through a master. */
struct policy_act {
    enum subject_kind kind;
    const char *name; /* as in the audit: "job.dispatch" */
    unsigned roles;   /* 1 << enum operator_role */
    enum policy_ground ground;
};
/* NULL: nobody with a name may. */
const struct policy_act *policy_find_act(enum subject_kind kind);

/* May a role read the stream? */
bool policy_may_read(enum operator_role role, struct str stream);
/* May it read this one message of a stream that it may not read? */
struct reading;
bool policy_may_read_one(enum operator_role role, const struct reading *reading);

struct policy_question {
    const struct policy_act *act;
    const struct job *job;    /* POLICY_JOB and POLICY_APPROVAL */
    struct param_strs inside; /* the same: the peels of the policy's target, sorted */
    const char *person;       /* whose job it is; POLICY_APPROVAL: who asked for it */
    int64_t now;              /* seconds since 1970 */
    bool has_token;           /* it came with a token of the configuration: keys do not count */
};

enum policy_verdict {
    POLICY_ALLOWED,
    POLICY_REFUSED, /* the reason is in `why` */
    POLICY_WAITS,   /* for a second person */
};

/* Is the operator known to us, with credentials that count? Fails with the reason. */
int policy_check_person(const struct operator_policy *policy, int64_t now, struct err *why);
/* May the role do it at all? Fails with the reason. */
int policy_check_role(const struct operator_policy *policy, const struct policy_act *act,
                      struct err *why);
/* All of it. */
enum policy_verdict policy_decide(const struct operator_policy *policy,
                                  const struct policy_question *question, struct err *why);

#endif
