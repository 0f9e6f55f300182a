#include "fleet/jobs/policy.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "fleet/jobs/reading.h"
#include "fleet/wire/job.h"
#include "test.h"

#define NOW INT64_C(1800000000)

static const char *const functions[] = { "test.*", "state.apply", "schedule.*" };
static const char *const approvals[] = { "state.*", "pkg.*" };
static const char *const inside[] = { "web-01", "web-02" };

static struct operator_policy make_policy(struct arena *arena, enum operator_role role)
{
    struct operator_policy policy = { .name = "alice",
                                      .role = role,
                                      .target = "web*",
                                      .functions = { ARRAY_LEN(functions), functions },
                                      .approvals = { ARRAY_LEN(approvals), approvals } };

    VEC_PUSH_IN(arena, &policy.keys.list,
                (struct operator_key){ .public_key = "U", .expires = { NOW + 10, 0 } });
    return policy;
}

static enum policy_verdict decide(const struct operator_policy *policy, enum subject_kind kind,
                                  const struct job *job, const char *person, struct err *why)
{
    *why = (struct err){ 0 };
    return policy_decide(policy,
                         &(struct policy_question){ .act = policy_find_act(kind),
                                                    .job = job,
                                                    .inside = { ARRAY_LEN(inside), inside },
                                                    .person = person,
                                                    .now = NOW },
                         why);
}

/* --- roles -------------------------------------------------------------------------- */

/* One letter for each of viewer, operator, enroller, admin. */
static const struct {
    enum subject_kind kind;
    const char *name, *roles;
} acts[] = {
    { SUBJECT_RESOLVE, "target.resolve", "voea" },
    { SUBJECT_DISPATCH, "job.dispatch", "-o-a" },
    { SUBJECT_JOB_CANCEL, "job.kill", "-o-a" },
    { SUBJECT_JOB_APPROVE, "job.approve", "-o-a" },
    { SUBJECT_JOB_REJECT, "job.reject", "-o-a" },
    { SUBJECT_EVENT_ADMIN, "event.send", "-o-a" },
    { SUBJECT_REACTOR_TEST, "reactor.test", "vo-a" },
    { SUBJECT_REACTOR_RETRY, "reactor.retry", "---a" },
    { SUBJECT_ENROLL_APPROVE, "enroll.approve", "--ea" },
    { SUBJECT_ENROLL_REJECT, "enroll.reject", "--ea" },
    { SUBJECT_ENROLL_REVOKE, "enroll.revoke", "--ea" },
    { SUBJECT_PEEL_DELETE, "peel.delete", "---a" },
    { SUBJECT_FILES_UPDATE, "fileserver.update", "---a" },
    { SUBJECT_FILES_STATUS, "fileserver.status", "vo-a" },
    { SUBJECT_FILES_ROLLBACK, "fileserver.rollback", "---a" },
    { SUBJECT_FILES_CANARY, "fileserver.canary", "---a" },
    { SUBJECT_SETTINGS_SHOW, "settings.show", "---a" },
    { SUBJECT_UPDATE_START, "update.rollout", "---a" },
    { SUBJECT_UPDATE_ABORT, "update.abort", "---a" },
};

TEST(each_role_may_do_what_the_table_says_and_nothing_else)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    size_t known = 0;

    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        const struct policy_act *act = policy_find_act(acts[i].kind);

        CHECK(act != NULL);
        CHECK_STR(act->name, acts[i].name);
        for (size_t role = 0; role < OPERATOR_ROLES; role++) {
            const struct operator_policy policy = make_policy(&arena, (enum operator_role)role);
            struct err why;

            CHECK_INT(policy_check_role(&policy, act, &why) == 0, acts[i].roles[role] != '-');
        }
    }
    for (int kind = 0; kind < SUBJECT_KINDS; kind++)
        known += policy_find_act((enum subject_kind)kind) != NULL;
    CHECK_INT(known, ARRAY_LEN(acts));
}

TEST(what_only_masters_peels_and_admin_creds_say_cannot_be_asked_for)
{
    static const enum subject_kind others[] = {
        SUBJECT_COMMAND,      SUBJECT_JOB_DISPATCH,  SUBJECT_JOB_ACK,      SUBJECT_JOB_RETURN,
        SUBJECT_JOB_STATUS,   SUBJECT_JOB_SCHEDULE,  SUBJECT_JOB_PROGRESS, SUBJECT_EVENT_SEND,
        SUBJECT_EVENT_BEACON, SUBJECT_EVENT_MASTER,  SUBJECT_FACT,         SUBJECT_AUDIT_NOTICE,
        SUBJECT_UPDATE_PEEL,  SUBJECT_UPDATE_MASTER, SUBJECT_OPERATOR,     SUBJECT_OPERATOR_REMOVE,
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK(policy_find_act(others[i]) == NULL);
    CHECK_INT(ARRAY_LEN(others) + ARRAY_LEN(acts), SUBJECT_KINDS);
}

TEST(streams_are_read_by_the_roles_that_the_table_says)
{
    static const struct {
        const char *stream, *roles;
    } rows[] = {
        { "events", "vo-a" },
        { "job-events", "vo-a" },
        { "KV_jobs", "vo-a" },
        { "KV_job-returns", "vo-a" },
        { "KV_approvals", "vo-a" },
        { "KV_facts", "vo-a" },
        { "KV_enrollments", "--ea" },
        { "KV_operators", "---a" },
        { "KV_secrets", "----" },
        { "KV_master-settings", "----" },
        { "KV_settings-files", "----" },
        { "KV_leases", "----" },
        { "KV_enroll-challenges", "----" },
        { "OBJ_update-binaries", "----" },
        { "", "----" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t role = 0; role < OPERATOR_ROLES; role++)
            CHECK_INT(policy_may_read((enum operator_role)role, str_from(rows[i].stream)),
                      rows[i].roles[role] != '-');
}

TEST(whoever_runs_jobs_reads_the_key_that_their_secrets_are_sealed_with_and_nothing_beside_it)
{
    static const struct {
        const char *tokens, *body, *roles;
    } rows[] = {
        { "STREAM.MSG.GET.KV_secrets", "{\"last_by_subj\":\"$KV.secrets._master_curve_pub\"}",
          "-o-a" },
        { "STREAM.MSG.GET.KV_secrets", "{\"last_by_subj\":\"$KV.secrets.web-01\"}", "----" },
        { "STREAM.MSG.GET.KV_secrets", "{\"last_by_subj\":\"$KV.secrets.>\"}", "----" },
        { "STREAM.MSG.GET.KV_secrets", "{\"seq\":1}", "----" },
        { "STREAM.MSG.GET.KV_secrets", "", "----" },
        { "STREAM.MSG.GET.KV_leases", "{\"last_by_subj\":\"$KV.secrets._master_curve_pub\"}",
          "----" },
        { "STREAM.INFO.KV_secrets", "{\"last_by_subj\":\"$KV.secrets._master_curve_pub\"}",
          "----" },
        { "CONSUMER.CREATE.KV_secrets.o1", "{\"last_by_subj\":\"$KV.secrets._master_curve_pub\"}",
          "----" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t role = 0; role < OPERATOR_ROLES; role++) {
            AUTO_ARENA struct arena arena = ARENA_INIT;
            struct reading reading;

            CHECK(reading_parse(str_from(rows[i].tokens), &reading));
            CHECK_INT(reading_narrow(&arena, str_from(rows[i].body), &reading) &&
                          policy_may_read_one((enum operator_role)role, &reading),
                      rows[i].roles[role] != '-');
        }
}

TEST(secrets_are_the_only_buckets_of_peels_that_no_role_reads)
{
    static const char *const hidden[] = { "settings-files", "secrets",           "leases",
                                          "state-files",    "enroll-challenges", "master-settings",
                                          "reactor-acks" };
    size_t n = 0;

    for (int bucket = 0; bucket < STORE_BUCKETS; bucket++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const char *name = store_bucket_name((enum store_bucket)bucket);
        bool is_hidden = false;

        for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
            is_hidden = is_hidden || strcmp(hidden[i], name) == 0;
        n += is_hidden;
        CHECK_INT(policy_may_read(OPERATOR_ADMIN, str_from(arena_printf(&arena, "KV_%s", name))),
                  !is_hidden);
    }
    CHECK_INT(n, ARRAY_LEN(hidden));
}

/* --- jobs --------------------------------------------------------------------------- */

/* A line is an act, and for a job its function and targets; the operator's peels are web-01 and
 * web-02. */
static const struct policy_act *find_act(struct str name)
{
    for (int kind = 0; kind < SUBJECT_KINDS; kind++) {
        const struct policy_act *act = policy_find_act((enum subject_kind)kind);

        if (act && str_is(name, act->name))
            return act;
    }
    fail_msg("no act '%.*s'", STR_ARG(name));
    return NULL;
}

static void run_line(struct arena *arena, const struct operator_policy *policy, struct str line,
                     struct buf *out)
{
    static const char *const verdicts[] = {
        [POLICY_ALLOWED] = "allowed", [POLICY_REFUSED] = "refused", [POLICY_WAITS] = "waits  "
    };
    struct str rest = line;
    const struct policy_act *act = find_act(str_cut(&rest, ' '));
    struct job job = { .function = arena_str(arena, str_cut(&rest, ' ')).p };
    VEC(const char *) targets = VEC_INIT;
    enum policy_verdict verdict;
    struct err why;

    while (rest.p)
        VEC_PUSH_IN(arena, &targets, arena_str(arena, str_cut(&rest, ' ')).p);
    job.targets = (struct param_strs){ targets.n, targets.p };
    verdict = decide(policy, act->kind, &job, "", &why);
    buf_printf(out, "%s %.*s\n", verdicts[verdict], STR_ARG(line));
    if (verdict == POLICY_REFUSED)
        buf_printf(out, "    %s\n", why.text);
}

static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct str rest = golden_section(golden, "input");
    struct operator_policy policy;
    struct value written;
    struct err err;

    CHECK_INT(yaml_parse(&arena, "case", golden_section(golden, "policy"), NULL, &written, &diags),
              0);
    CHECK_INT(record_read(&arena, &operator_policy_type, 1, &written, &policy, &err), 0);
    policy.keys = make_policy(&arena, OPERATOR_ADMIN).keys;
    while (rest.p && rest.n > 0)
        run_line(&arena, &policy, str_cut(&rest, '\n'), out);
    return 0;
}

TEST(a_request_is_decided_by_role_function_and_every_target)
{
    test_golden("fleet/jobs/policy.txt", run_case);
}

static struct job make_schedule(struct arena *arena, const char *function, const char *key,
                                const char *kept)
{
    struct job job = { .function = function, .args = value_map(value_map_new(arena, 1)) };

    value_map_set(arena, job.args.map, value_text(key), value_text(kept));
    job.targets = (struct param_strs){ 1, inside };
    return job;
}

TEST(a_function_that_is_kept_for_later_must_be_allowed_as_well)
{
    static const struct {
        const char *function, *key, *kept;
        enum policy_verdict verdict;
    } rows[] = {
        { "schedule.add", "function", "test.ping", POLICY_ALLOWED },
        { "schedule.add", "function", "cmd.run", POLICY_REFUSED },
        { "schedule.add", "module", "cmd.run", POLICY_REFUSED },
        { "schedule.modify", "function", "cmd.run", POLICY_REFUSED },
        { "schedule.add", "function", "state.apply", POLICY_WAITS },
        { "schedule.delete", "function", "cmd.run", POLICY_ALLOWED }, /* it keeps nothing */
        { "test.echo", "function", "cmd.run", POLICY_ALLOWED },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct operator_policy policy = make_policy(&arena, OPERATOR_OPERATOR);
        const struct job job = make_schedule(&arena, rows[i].function, rows[i].key, rows[i].kept);
        struct err why;

        CHECK_INT(decide(&policy, SUBJECT_DISPATCH, &job, "", &why), rows[i].verdict);
    }
}

TEST(many_targets_outside_are_counted_not_listed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct operator_policy policy = make_policy(&arena, OPERATOR_OPERATOR);
    const char *targets[1000];
    const struct job job = { .function = "test.ping", .targets = { ARRAY_LEN(targets), targets } };
    struct err why;

    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        targets[i] = arena_printf(&arena, "db-%03zu", i);
    CHECK_INT(decide(&policy, SUBJECT_DISPATCH, &job, "", &why), POLICY_REFUSED);
    CHECK_HAS(why.text, "db-000, db-001, ");
    CHECK_HAS(why.text, "db-009 and others");
}

/* --- persons ------------------------------------------------------------------------ */

TEST(only_admins_cancel_jobs_of_others)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct operator_policy own = make_policy(&arena, OPERATOR_OPERATOR);
    const struct operator_policy admin = make_policy(&arena, OPERATOR_ADMIN);
    struct err why;

    CHECK_INT(decide(&own, SUBJECT_JOB_CANCEL, NULL, "alice", &why), POLICY_ALLOWED);
    CHECK_INT(decide(&own, SUBJECT_JOB_CANCEL, NULL, "bob", &why), POLICY_REFUSED);
    CHECK_INT(decide(&own, SUBJECT_JOB_CANCEL, NULL, "", &why), POLICY_REFUSED);
    CHECK_INT(decide(&admin, SUBJECT_JOB_CANCEL, NULL, "bob", &why), POLICY_ALLOWED);
}

TEST(who_asked_for_a_job_cannot_approve_it_and_others_must_be_allowed_to_run_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct operator_policy policy = make_policy(&arena, OPERATOR_OPERATOR);
    const struct job job = { .function = "state.apply", .targets = { 1, inside } };
    const struct job other = { .function = "cmd.run", .targets = { 1, inside } };
    struct err why;

    CHECK_INT(decide(&policy, SUBJECT_JOB_APPROVE, &job, "bob", &why), POLICY_ALLOWED);
    CHECK_INT(decide(&policy, SUBJECT_JOB_APPROVE, &job, "alice", &why), POLICY_REFUSED);
    CHECK_HAS(why.text, "another person has to decide");
    CHECK_INT(decide(&policy, SUBJECT_JOB_APPROVE, &other, "bob", &why), POLICY_REFUSED);
    CHECK_INT(decide(&policy, SUBJECT_JOB_REJECT, &job, "alice", &why), POLICY_REFUSED);
}

TEST(nobody_without_a_key_that_counts_is_allowed_anything)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct operator_policy policy = make_policy(&arena, OPERATOR_ADMIN);
    struct err why;

    CHECK_INT(decide(&policy, SUBJECT_FILES_UPDATE, NULL, "", &why), POLICY_ALLOWED);
    policy.keys.list.p[0].expires.seconds = NOW;
    CHECK_INT(decide(&policy, SUBJECT_FILES_UPDATE, NULL, "", &why), POLICY_REFUSED);
    CHECK_HAS(why.text, "have expired");
    policy.keys.list.p[0].expires.seconds = NOW + 1;
    policy.keys.list.p[0].revoked.seconds = NOW - 1;
    CHECK_INT(decide(&policy, SUBJECT_FILES_UPDATE, NULL, "", &why), POLICY_REFUSED);
    policy.keys.list.p[0].revoked.seconds = 0;
    policy.removed = true;
    CHECK_INT(decide(&policy, SUBJECT_FILES_UPDATE, NULL, "", &why), POLICY_REFUSED);
    CHECK_HAS(why.text, "was removed");
}

TEST(the_gate_and_the_revert_of_a_rollout_must_be_allowed_as_well)
{
    static const struct {
        const char *key, *text;
        enum policy_verdict verdict;
        const char *said;
    } rows[] = {
        { "gate", "test.ping", POLICY_ALLOWED, "" },
        { "gate", "cmd.run id", POLICY_REFUSED, "may not run 'cmd.run'" },
        { "gate", "state.apply health", POLICY_WAITS, "" },
        { "revert", "wave", POLICY_REFUSED, "may not run 'state.revert'" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct operator_policy policy = make_policy(&arena, OPERATOR_OPERATOR);
    struct err why;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job job = { .function = "test.ping", .targets = { 2, inside } };

        job.metadata = value_map(value_map_new(&arena, 2));
        value_map_set(&arena, job.metadata.map, value_text("batch"), value_text("1"));
        value_map_set(&arena, job.metadata.map, value_text(rows[i].key), value_text(rows[i].text));
        CHECK_INT(decide(&policy, SUBJECT_DISPATCH, &job, "", &why), rows[i].verdict);
        CHECK_HAS(why.text, rows[i].said);
    }
}
