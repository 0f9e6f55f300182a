/* POST /jobs: dispatches a job from a request body. The job does not depend on the request: the
 * client may disconnect after sending it. */
#include <stdarg.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "fleet/bus/bus_time.h"
#include "fleet/jobs/rollout.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/audit.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/operators/approvals.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "core/sys/clock.h"
#include "language/target/target.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/peel_id.h"

#define BODY struct api_job_body

/* clang-format off */
const struct param api_job_body[] = {
    PARAM("target",       STR,      BODY, target, "target expression, as on the command line", .flags = PARAM_FILLED),
    PARAM("targets",      STRS,     BODY, targets, "peel names, instead of `target`", .flags = PARAM_FILLED),
    PARAM("function",     STR,      BODY, function, "the function: `test.ping`, `state.apply`", .flags = PARAM_REQUIRED),
    PARAM("args",         MAP,      BODY, args, "its arguments, by name"),
    PARAM("state_id",     STR,      BODY, state_id, "its bare argument"),
    PARAM("timeout",      DURATION, BODY, timeout, "how long the job may take", PARAM_GIVEN(BODY, has_timeout), PARAM_RANGE(CLOCK_MS, DISPATCHER_TIMEOUT_MAX), .default_text = "60s"),
    PARAM("metadata",     STRMAP,   BODY, metadata, "texts stored in the record"),
    PARAM("test",         BOOL,     BODY, test, "dry run: report what would change, change nothing"),
    PARAM("batch",        STR,      BODY, batch, "run on this many peels at a time: `5`, `20%`"),
    PARAM("max_failures", INT,      BODY, max_failures, "with `batch`: stop after this many failed peels", PARAM_GIVEN(BODY, has_max_failures), PARAM_RANGE(0, 1000000), .default_text = "0"),
    PARAM("pause",        DURATION, BODY, rollout.pause, "with `batch`: one wave after the other, with a pause between them", PARAM_RANGE(CLOCK_SECOND, ROLLOUT_PAUSE_MAX * CLOCK_SECOND)),
    PARAM("gate",         STR,      BODY, rollout.gate, "with `batch`: what must succeed on the peels of a wave before the next one begins, a function and its argument: `service.status nginx`", .flags = PARAM_FILLED),
    PARAM("revert_on_failure", CHOICE, BODY, rollout.revert, "states: each peel where one fails reverts what the job has changed there; with `wave` or `all` so do all peels of the wave, or of all waves, when too many fail", .choices = FLEET_REVERT_WORDS, .default_text = "none"),
    PARAM("queue",        DURATION, BODY, queue, "keep the job this long for peels that are absent, or outside of their maintenance windows", PARAM_RANGE(CLOCK_SECOND, JOB_QUEUE_MAX * CLOCK_SECOND)),
    PARAM("node_timeout", DURATION, BODY, limits.node_timeout, "cancel the job on each peel that has not finished after this long", PARAM_RANGE(CLOCK_MS, JOB_NODE_TIMEOUT_MAX)),
    PARAM("force_window", BOOL,     BODY, limits.force_window, "run it outside of the maintenance windows of the peels, too"),
    PARAM("jid",          STR,      BODY, jid, "the id of the job, chosen by the client: a request that is repeated runs nothing twice"),
    { 0 },
};
/* clang-format on */

/* Reserved metadata, with the key to use instead. */
static const struct {
    const char *key, *instead; /* NULL: nothing */
} reserved[] = {
    { JOB_BATCH, "batch" },         { JOB_BATCH_FAILURES, "max_failures" },
    { JOB_QUEUE, "queue" },         { JOB_NODE_TIMEOUT, "node_timeout" },
    { JOB_WINDOW, "force_window" }, { JOB_PLAN, NULL },
    { JOB_PAUSE, "pause" },         { JOB_GATE, "gate" },
    { ROLLOUT_STOPPED, NULL },      { JOB_REVERT, "revert_on_failure" },
    { ROLLOUT_JOB, NULL },          { ROLLOUT_OF, NULL },
    { DISPATCHER_DEPTH, NULL },     { JOB_SOURCE, NULL },
    { OPERATOR_METADATA, NULL },    { APPROVAL_METADATA, NULL },
    { API_JOB_TOKEN, NULL },
};

/* --- mistakes ----------------------------------------------------------------------- */

static void add_mistake(struct diags *diags, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add_mistake(struct diags *diags, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    (void)diag_add(diags, (struct place){ 0 }, "%s", buf_text(&text));
}

static void check_metadata(const struct api_job_body *body, struct diags *diags)
{
    for (size_t i = 0; i < body->metadata.n; i++)
        for (size_t j = 0; j < ARRAY_LEN(reserved); j++) {
            if (strcmp(body->metadata.p[i].key, reserved[j].key) != 0)
                continue;
            add_mistake(diags, "'metadata': '%s' is reserved", reserved[j].key);
            if (reserved[j].instead)
                diag_hint(diags, "use the key '%s' of the body", reserved[j].instead);
        }
}

static void check_job_names(const struct api_job_body *body, struct diags *diags)
{
    char id[PEEL_ID_SIZE];
    struct err err;

    for (size_t i = 0; i < body->targets.n; i++)
        if (peel_id_read(body->targets.p[i], id, &err) < 0)
            add_mistake(diags, "'targets': %s", err.text);
}

static void check_job_target(struct arena *arena, const struct api_job_body *body,
                             const struct value *given, struct diags *diags)
{
    const struct target_options options = { .any_group = true };
    const bool has_expr = value_get(given, "target"), has_names = value_get(given, "targets");
    const struct target *target;

    if (has_expr == has_names)
        add_mistake(diags, has_expr ? "'target' and 'targets' cannot both be given"
                                    : "one of 'target' and 'targets' is required");
    if (body->target)
        (void)target_parse(arena, str_from(body->target), TARGET_COMPOUND, &options, &target,
                           diags);
    check_job_names(body, diags);
}

/* Returns a key that requires a batch; NULL: none. */
static const char *find_batch_key(const struct fleet_rollout *rollout)
{
    if (rollout->pause > 0)
        return "pause";
    if (rollout->gate)
        return "gate";
    return rollout->revert >= FLEET_REVERT_WAVE ? "revert_on_failure" : NULL;
}

void api_job_check(struct arena *arena, const void *values, const struct value *given,
                   struct diags *diags)
{
    const struct api_job_body *body = values;
    size_t size;
    struct err err;

    check_job_target(arena, body, given, diags);
    if (body->function && !dispatcher_is_function(body->function))
        add_mistake(diags, "'function': '%.128s' is not the name of a function (family.name)",
                    body->function);
    check_metadata(body, diags);
    if (body->batch && fleet_read_batch(body->batch, 1, &size, &err) < 0)
        add_mistake(diags, "'batch': %s", err.text);
    if (!body->batch && body->has_max_failures)
        add_mistake(diags, "'max_failures' requires 'batch'");
    if (body->rollout.revert != FLEET_REVERT_NONE && body->function &&
        !rollout_runs_states(body->function))
        add_mistake(diags, "'revert_on_failure': only runs of states can be reverted");
    if (!body->batch && find_batch_key(&body->rollout))
        add_mistake(diags, "'%s' requires 'batch'", find_batch_key(&body->rollout));
    if (body->has_timeout && body->limits.node_timeout > body->timeout)
        add_mistake(diags, "'node_timeout' is longer than 'timeout', the time of the whole job");
    if (body->jid && !dispatcher_is_jid(body->jid))
        add_mistake(diags, "'jid': '%.64s' is not a valid job id", body->jid);
    else if (body->jid && str_starts(str_from(body->jid), STR(EVENT_JOB_PREFIX)))
        add_mistake(diags,
                    "'jid': ids that begin with '" EVENT_JOB_PREFIX "' are reserved for reactions");
}

/* --- the job ------------------------------------------------------------------------ */

/* Makes the job, before its targets are known. */
static struct job *make_created_job(struct api_call *call)
{
    const struct api_job_body *body = call->body;
    struct arena *arena = &call->arena;
    struct job *job = ARENA_NEW(arena, struct job);
    char jid[KSUID_SIZE];

    ksuid_new(bus_time_seconds(), jid);
    *job = (struct job){ .jid = body->jid ? body->jid : arena_strdup(arena, jid),
                         .function = body->function,
                         .args = body->args ? *body->args : value_map(value_map_new(arena, 1)),
                         .timeout = body->timeout,
                         .user = call->asker.user,
                         .owner = "",
                         .state_id = body->state_id ? body->state_id : "",
                         .target_expr = body->target ? body->target : "",
                         .v = EXEC_PROTOCOL };
    if (body->limits.node_timeout > 0 && !body->has_timeout)
        job->timeout = fleet_limits_timeout(&body->limits);
    if (body->test)
        value_map_set(arena, job->args.map, value_text("test"), value_bool(true));
    for (size_t i = 0; i < body->metadata.n; i++)
        fleet_job_note(arena, job, body->metadata.p[i].key, body->metadata.p[i].value);
    if (call->asker.is_named) {
        fleet_job_note(arena, job, OPERATOR_METADATA, call->asker.user);
        fleet_job_note(arena, job, API_JOB_TOKEN, call->asker.token);
    }
    if (body->queue > 0)
        fleet_note_queue(arena, job, body->queue);
    fleet_note_rollout(arena, job, &body->rollout);
    fleet_note_limits(arena, job, &body->limits);
    return job;
}

/* --- dispatch ----------------------------------------------------------------------- */

static void answer_accepted(struct api_call *call, const struct job *job)
{
    struct arena *arena = &call->arena;
    struct value_map *map = value_map_new(arena, 3);
    const struct value body = value_map(map);

    value_map_set(arena, map, value_text("jid"), value_text(job->jid));
    value_map_set(arena, map, value_text("targets"), fleet_names_value(arena, job->targets));
    value_map_set(arena, map, value_text("status"), value_text(job_status_name(job->status)));
    api_answer(call, API_ACCEPTED, &body);
}

static void on_created_job_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct api_call *call = self;
    struct job *job = call->work;
    const bool accepted = outcome == DISPATCH_SENT || outcome == DISPATCH_DUPLICATE;
    struct audit audit = audit_of_job(&call->arena, job);

    audit.error = accepted ? NULL : text;
    audit_log(&audit);
    switch (outcome) {
    case DISPATCH_SENT:
        job->status = JOB_RUNNING;
        answer_accepted(call, job);
        break;
    case DISPATCH_DUPLICATE: api_job_read_id(call, job->jid, answer_accepted); break;
    case DISPATCH_PENDING: api_fail_later(call, "another master has claimed the job"); break;
    case DISPATCH_CONFLICT: api_fail(call, API_CONFLICT, "job '%s': %s", job->jid, text); break;
    case DISPATCH_INVALID: api_fail(call, API_BAD, "%s", text); break;
    case DISPATCH_FAILED: api_fail_later(call, text); break;
    }
}

/* --- authorization ------------------------------------------------------------------ */

static void on_job_kept_for_approval(void *self, const char *error)
{
    struct api_call *call = self;
    const struct job *job = call->work;
    struct audit audit = audit_of_job(&call->arena, job);
    struct value_map *map = value_map_new(&call->arena, 4);
    const struct value body = value_map(map);

    audit.action = "job.wait";
    audit.error = error;
    audit_log(&audit);
    if (error) {
        api_fail_later(call, error);
        return;
    }
    value_map_set(&call->arena, map, value_text("jid"), value_text(job->jid));
    value_map_set(&call->arena, map, value_text("targets"),
                  fleet_names_value(&call->arena, job->targets));
    value_map_set(&call->arena, map, value_text("status"),
                  value_text(job_status_name(JOB_PENDING)));
    value_map_set(&call->arena, map, value_text("approval"),
                  value_text(approval_state_name(APPROVAL_PENDING)));
    api_answer(call, API_ACCEPTED, &body);
}

static void keep_job(struct api_call *call, const struct job *job)
{
    struct err err;

    if (dispatcher_check(job, &err) < 0)
        api_fail(call, API_BAD, "%s", err.text);
    else
        approvals_keep(call->master, job, on_job_kept_for_approval, call);
}

static void judge_created_job(struct api_call *call, const struct param_strs *inside)
{
    const struct api_job_body *body = call->body;
    struct job *job = call->work;
    struct err err;

    api_set_job(call, job->jid);
    switch (api_judge(call, &(struct api_subject){ .job = job, .inside = *inside }, &err)) {
    case POLICY_REFUSED: api_refuse(call, &err, job); break;
    case POLICY_WAITS: keep_job(call, job); break;
    case POLICY_ALLOWED:
        dispatcher_send(master_dispatcher(call->master), job, body->jid != NULL,
                        on_created_job_dispatched, call);
        break;
    }
}

static void send_created_job(struct api_call *call, const struct param_strs *peels)
{
    const struct api_job_body *body = call->body;
    struct job *job = call->work;
    size_t size;
    struct err err;

    job->targets = *peels;
    if (peels->n == 0) {
        api_fail(call, API_UNFIT, "no peels matched the target expression '%s'", job->target_expr);
    } else if (job_is_orchestration(job)) {
        api_fail(call, API_BAD, "use 'zester orchestrate' instead");
    } else {
        if (body->batch && fleet_read_batch(body->batch, peels->n, &size, &err) == 0)
            (void)fleet_note_batch(&call->arena, job, size, body->max_failures);
        api_resolve_inside(call, judge_created_job);
    }
}

/* --- names -------------------------------------------------------------------------- */

/* Sorted, without duplicates. */
static struct param_strs encode_names(struct api_call *call)
{
    const struct api_job_body *body = call->body;
    const char **ids = ARENA_ARRAY(&call->arena, const char *, body->targets.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < body->targets.n; i++) {
        char id[PEEL_ID_SIZE];
        struct err err;

        if (peel_id_read(body->targets.p[i], id, &err) == 0)
            ids[i] = arena_strdup(&call->arena, id);
    }
    api_sort(ids, body->targets.n);
    for (size_t i = 0; i < body->targets.n; i++)
        if (n == 0 || strcmp(ids[n - 1], ids[i]) != 0)
            ids[n++] = ids[i];
    return (struct param_strs){ n, ids };
}

/* A misspelt name is an error, not a peel that never answers. */
static bool check_known(struct api_call *call, const struct param_strs *peels)
{
    const struct roster *roster = master_roster(call->master);
    struct diags diags = DIAGS_INIT(&call->arena);

    for (size_t i = 0; i < peels->n; i++)
        if (!roster_facts(roster, str_from(peels->p[i])))
            add_mistake(&diags, "'targets': no such peel: '%s'",
                        peel_id_name(&call->arena, peels->p[i]));
    if (diags_count(&diags) == 0)
        return true;
    api_fail_mistakes(call, API_UNFIT, &diags);
    return false;
}

/* The target as shown in the record. */
static const char *print_target_names(struct api_call *call, const struct param_strs *peels)
{
    AUTO_BUF struct buf out = BUF_INIT(TARGET_TEXT_MAX);

    buf_add_text(&out, "L@");
    for (size_t i = 0; i < peels->n; i++)
        buf_printf(&out, "%s%s", i > 0 ? "," : "", peel_id_name(&call->arena, peels->p[i]));
    return out.full ? arena_printf(&call->arena, "%zu peels by name", peels->n)
                    : buf_copy(&out, &call->arena).p;
}

static void send_to_names(struct api_call *call)
{
    const struct param_strs peels = encode_names(call);
    struct job *job = call->work;

    if (!roster_is_seeded(master_roster(call->master))) {
        api_fail_later(call, "this master has not read all facts yet");
    } else if (check_known(call, &peels)) {
        job->target_expr = print_target_names(call, &peels);
        send_created_job(call, &peels);
    }
}

void api_create_job(struct api_call *call)
{
    const struct api_job_body *body = call->body;

    call->work = make_created_job(call);
    if (body->target)
        api_resolve(call, body->target, send_created_job);
    else
        send_to_names(call);
}
