#include "fleet/jobs/policy.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "fleet/jobs/job_reach.h"
#include "fleet/jobs/reading.h"
#include "fleet/wire/job.h"

#define V (1U << OPERATOR_VIEWER)
#define O (1U << OPERATOR_OPERATOR)
#define E (1U << OPERATOR_ENROLLER)
#define A (1U << OPERATOR_ADMIN)

/* Targets that a refusal names. */
#define NAMED_MAX 10
#define NAMES_MAX 512

/* clang-format off */
static const struct policy_act acts[] = {
    { SUBJECT_RESOLVE,        "target.resolve",      V | O | E | A, POLICY_ROLE },
    { SUBJECT_DISPATCH,       "job.dispatch",        O | A,     POLICY_JOB },
    { SUBJECT_JOB_CANCEL,     "job.kill",            O | A,     POLICY_OWNER },
    { SUBJECT_JOB_APPROVE,    "job.approve",         O | A,     POLICY_APPROVAL },
    { SUBJECT_JOB_REJECT,     "job.reject",          O | A,     POLICY_APPROVAL },
    { SUBJECT_EVENT_ADMIN,    "event.send",          O | A,     POLICY_EVENT },
    { SUBJECT_REACTOR_TEST,   "reactor.test",        V | O | A, POLICY_ROLE },
    { SUBJECT_REACTOR_RETRY,  "reactor.retry",       A,         POLICY_ROLE },
    { SUBJECT_ENROLL_APPROVE, "enroll.approve",      E | A,     POLICY_ROLE },
    { SUBJECT_ENROLL_REJECT,  "enroll.reject",       E | A,     POLICY_ROLE },
    { SUBJECT_ENROLL_REVOKE,  "enroll.revoke",       E | A,     POLICY_ROLE },
    { SUBJECT_PEEL_DELETE,    "peel.delete",         A,         POLICY_ROLE },
    { SUBJECT_FILES_UPDATE,   "fileserver.update",   A,         POLICY_ROLE },
    { SUBJECT_FILES_STATUS,   "fileserver.status",   V | O | A, POLICY_ROLE },
    { SUBJECT_FILES_ROLLBACK, "fileserver.rollback", A,         POLICY_ROLE },
    { SUBJECT_FILES_CANARY,   "fileserver.canary",   A,         POLICY_ROLE },
    { SUBJECT_SETTINGS_SHOW,  "settings.show",       A,         POLICY_ROLE },
    { SUBJECT_UPDATE_START,   "update.rollout",      A,         POLICY_ROLE },
    { SUBJECT_UPDATE_ABORT,   "update.abort",        A,         POLICY_ROLE },
};

/* No role reads the others: secrets, sealed settings, leases. */
static const struct {
    const char *stream;
    unsigned roles;
} streams[] = {
    { "events",              V | O | A },
    { "job-events",          V | O | A },
    { "KV_jobs",             V | O | A },
    { "KV_job-returns",      V | O | A },
    { "KV_approvals",        V | O | A },
    { "KV_facts",            V | O | A },
    { "KV_basket",           V | O | A },
    { "KV_peel-heartbeat",   V | O | A },
    { "KV_peel-presence",    V | O | A },
    { "KV_master-heartbeat", V | O | A },
    { "KV_event-outcomes",   V | O | A },
    { "KV_enrollments",      E | A },
    { "KV_operators",        A },
    { "KV_reactor-files",    A },
    { "KV_tree-history",     A },
    { "KV_update-manifests", A },
    { "KV_update-status",    A },
    { "KV_update-rollouts",  A },
};

/* Single entries of those: the public key that secret arguments of a job are sealed with. */
static const struct {
    const char *stream, *subject;
    unsigned roles;
} entries[] = {
    { "KV_secrets", "$KV.secrets._master_curve_pub", O | A },
};
/* clang-format on */

const struct policy_act *policy_find_act(enum subject_kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(acts); i++)
        if (acts[i].kind == kind)
            return &acts[i];
    return NULL;
}

bool policy_may_read(enum operator_role role, struct str stream)
{
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (str_is(stream, streams[i].stream))
            return (streams[i].roles & (1U << (unsigned)role)) != 0;
    return false;
}

bool policy_may_read_one(enum operator_role role, const struct reading *reading)
{
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        if (str_is(reading->stream, entries[i].stream) &&
            str_is(reading->subject, entries[i].subject))
            return (entries[i].roles & (1U << (unsigned)role)) != 0;
    return false;
}

/* --- the person --------------------------------------------------------------------- */

int policy_check_person(const struct operator_policy *policy, int64_t now, struct err *why)
{
    if (policy->removed)
        return err_set(why, ERR_INVALID, "operator '%s' was removed", policy->name);
    if (!operator_has_key(policy, now))
        return err_set(why, ERR_INVALID, "the credentials of operator '%s' have expired",
                       policy->name);
    return 0;
}

int policy_check_role(const struct operator_policy *policy, const struct policy_act *act,
                      struct err *why)
{
    if (act->roles & (1U << (unsigned)policy->role))
        return 0;
    return err_set(why, ERR_INVALID, "operator '%s' may not do this (%s): the role is '%s'",
                   policy->name, act->name, operator_role_name(policy->role));
}

/* --- jobs --------------------------------------------------------------------------- */

static bool matches_policy_globs(const struct param_strs *globs, const char *function)
{
    for (size_t i = 0; i < globs->n; i++)
        if (glob_match(str_from(globs->p[i]), str_from(function)))
            return true;
    return false;
}

static int check_policy_function(const struct operator_policy *policy, const char *function,
                                 struct err *why)
{
    if (matches_policy_globs(&policy->functions, function))
        return 0;
    return err_set(why, ERR_INVALID, "operator '%s' may not run '%.128s'", policy->name, function);
}

/* Each function that the job can run by name; and what runs anything needs the right to run
 * commands, which is the same. */
static int check_functions(const struct operator_policy *policy, const struct job *job,
                           struct err *why)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct reached reached;

    job_reach_trace(&arena, job, &reached);
    VEC_EACH (&reached.functions, function)
        if (check_policy_function(policy, *function, why) < 0)
            return -1;
    if (!reached.anything || matches_policy_globs(&policy->functions, REACH_COMMAND))
        return 0;
    return err_set(why, ERR_INVALID,
                   "operator '%s' may not run '" REACH_COMMAND "', which '%.128s' can with these "
                   "arguments",
                   policy->name, job->function);
}

static int compare_peel_names(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

static bool is_peel_inside(const struct param_strs *inside, const char *peel)
{
    return inside->n > 0 &&
           bsearch(peel, inside->p, inside->n, sizeof(inside->p[0]), compare_peel_names) != NULL;
}

/* All or nothing; the reason names those outside. */
static int check_targets(const struct operator_policy *policy,
                         const struct policy_question *question, struct err *why)
{
    const struct param_strs *targets = &question->job->targets;
    AUTO_BUF struct buf names = BUF_INIT(NAMES_MAX);
    size_t outside = 0;

    for (size_t i = 0; i < targets->n; i++) {
        if (is_peel_inside(&question->inside, targets->p[i]))
            continue;
        if (outside < NAMED_MAX)
            buf_printf(&names, "%s%.64s", outside ? ", " : "", targets->p[i]);
        outside++;
    }
    if (outside == 0)
        return 0;
    return err_set(why, ERR_INVALID, "operator '%s' is limited to '%.128s', which leaves out %s%s",
                   policy->name, policy->target, buf_text(&names),
                   outside > NAMED_MAX ? " and others" : "");
}

static int check_job(const struct operator_policy *policy, const struct policy_question *question,
                     struct err *why)
{
    if (check_functions(policy, question->job, why) < 0)
        return -1;
    return check_targets(policy, question, why);
}

static bool needs_approval(const struct operator_policy *policy, const struct job *job)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct reached reached;

    job_reach_trace(&arena, job, &reached);
    return job_reach_meets(&reached, &policy->approvals);
}

/* --- grounds ------------------------------------------------------------------------ */

static int check_policy_owner(const struct operator_policy *policy, const char *owner,
                              struct err *why)
{
    if (policy->role == OPERATOR_ADMIN || strcmp(owner, policy->name) == 0)
        return 0;
    return err_set(why, ERR_INVALID, "operator '%s' may cancel only jobs of their own",
                   policy->name);
}

static int check_approver(const struct operator_policy *policy,
                          const struct policy_question *question, struct err *why)
{
    if (strcmp(question->person, policy->name) == 0)
        return err_set(why, ERR_INVALID,
                       "operator '%s' asked for this job: another person has to decide",
                       policy->name);
    return check_job(policy, question, why);
}

enum policy_verdict policy_decide(const struct operator_policy *policy,
                                  const struct policy_question *question, struct err *why)
{
    int result = question->has_token ? 0 : policy_check_person(policy, question->now, why);

    if (result == 0)
        result = policy_check_role(policy, question->act, why);
    if (result < 0)
        return POLICY_REFUSED;
    switch (question->act->ground) {
    case POLICY_ROLE: break;
    case POLICY_JOB: result = check_job(policy, question, why); break;
    case POLICY_OWNER: result = check_policy_owner(policy, question->person, why); break;
    case POLICY_APPROVAL: result = check_approver(policy, question, why); break;
    case POLICY_EVENT: result = check_policy_function(policy, POLICY_EVENT_FUNCTION, why); break;
    }
    if (result < 0)
        return POLICY_REFUSED;
    return question->act->ground == POLICY_JOB && needs_approval(policy, question->job)
               ? POLICY_WAITS
               : POLICY_ALLOWED;
}
