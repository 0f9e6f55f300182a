#include "fleet/master/api/access.h"

#include "core/base/err.h"

/* The equivalent on the bus: a stream to read, or a subject to request. Actions with neither have
 * none, since holders of admin.creds write to the bucket. */
static const struct {
    const char *name;
    const char *stream;     /* NULL: not a read */
    enum subject_kind kind; /* for other actions */
    bool is_direct;
} acts[API_ACTS] = {
    [API_ACT_READ_JOBS] = { "job.read", .stream = "KV_jobs" },
    [API_ACT_READ_RETURNS] = { "job.read", .stream = "KV_job-returns" },
    [API_ACT_READ_APPROVALS] = { "job.approvals", .stream = "KV_approvals" },
    [API_ACT_READ_ENROLLMENTS] = { "enroll.read", .stream = "KV_enrollments" },
    [API_ACT_READ_PEELS] = { "peel.read", .stream = "KV_peel-heartbeat" },
    [API_ACT_READ_FACTS] = { "fact.read", .stream = "KV_facts" },
    [API_ACT_READ_SETTINGS] = { "settings.show", .kind = SUBJECT_SETTINGS_SHOW },
    [API_ACT_READ_EVENTS] = { "event.read", .stream = "events" },
    [API_ACT_RESOLVE] = { "target.resolve", .kind = SUBJECT_RESOLVE },
    [API_ACT_RUN_JOB] = { "job.dispatch", .kind = SUBJECT_DISPATCH },
    [API_ACT_CANCEL_JOB] = { "job.kill", .kind = SUBJECT_JOB_CANCEL },
    [API_ACT_APPROVE_JOB] = { "job.approve", .kind = SUBJECT_JOB_APPROVE },
    [API_ACT_REJECT_JOB] = { "job.reject", .kind = SUBJECT_JOB_REJECT },
    [API_ACT_APPROVE_ENROLLMENT] = { "enroll.approve", .kind = SUBJECT_ENROLL_APPROVE },
    [API_ACT_REJECT_ENROLLMENT] = { "enroll.reject", .kind = SUBJECT_ENROLL_REJECT },
    [API_ACT_REVOKE_ENROLLMENT] = { "enroll.revoke", .kind = SUBJECT_ENROLL_REVOKE },
    [API_ACT_PAUSE_ENROLLMENT] = { "enroll.pause", .is_direct = true },
    [API_ACT_SEND_EVENT] = { "event.send", .kind = SUBJECT_EVENT_ADMIN },
};

const char *api_act_name(enum api_act act)
{
    return acts[act].name ? acts[act].name : "api.request";
}

static int check_stream(const struct api_asker *asker, const char *stream, struct err *why)
{
    const struct operator_policy *policy = asker->policy;

    if (policy_may_read(policy->role, str_from(stream)))
        return 0;
    return err_set(why, ERR_UNSUPPORTED, "operator '%s' may not read '%s': the role is '%s'",
                   policy->name, stream, operator_role_name(policy->role));
}

/* As with admin.creds: no role grants it. */
static int check_direct(const struct api_asker *asker, struct err *why)
{
    if (!asker->is_named && asker->policy->role == OPERATOR_ADMIN)
        return 0;
    return err_set(
        why, ERR_UNSUPPORTED,
        "permission denied: '%s' requires admin.creds, or a token with its own 'admin' role",
        asker->user);
}

static enum policy_verdict decide_access(const struct api_asker *asker, enum api_act act,
                                         const struct api_subject *subject, int64_t now,
                                         struct err *why)
{
    return policy_decide(asker->policy,
                         &(struct policy_question){
                             .act = policy_find_act(acts[act].kind),
                             .job = subject->job,
                             .inside = subject->inside,
                             .person = subject->person ? subject->person : "",
                             .now = now,
                             .has_token = !asker->is_named,
                         },
                         why);
}

int api_may_begin(const struct api_asker *asker, enum api_act act, int64_t now, struct err *why)
{
    const struct api_subject nothing = { 0 };
    const struct policy_act *asked;

    if (!asker->policy || !acts[act].name)
        return err_set(why, ERR_UNSUPPORTED, "permission denied");
    if (asker->is_named && policy_check_person(asker->policy, now, why) < 0)
        return -1;
    if (acts[act].is_direct)
        return check_direct(asker, why);
    if (acts[act].stream)
        return check_stream(asker, acts[act].stream, why);
    asked = policy_find_act(acts[act].kind);
    if (!asked)
        return err_set(why, ERR_UNSUPPORTED, "permission denied: requires admin.creds");
    if (asked->ground != POLICY_ROLE && asked->ground != POLICY_EVENT)
        return policy_check_role(asker->policy, asked, why);
    return decide_access(asker, act, &nothing, now, why) == POLICY_ALLOWED ? 0 : -1;
}

enum policy_verdict api_may(const struct api_asker *asker, enum api_act act,
                            const struct api_subject *subject, int64_t now, struct err *why)
{
    if (api_may_begin(asker, act, now, why) < 0)
        return POLICY_REFUSED;
    if (acts[act].stream || acts[act].is_direct)
        return POLICY_ALLOWED;
    return decide_access(asker, act, subject, now, why);
}
