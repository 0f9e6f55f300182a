#include "fleet/peel/job.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/facts/facts.h"
#include "fleet/view/reply.h"
#include "states/local/session.h"
#include "states/local/plan_cache.h"
#include "fleet/peel/basket.h"
#include "fleet/peel/fire.h"
#include "fleet/peel/ledger.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/snapshot.h"
#include "fleet/peel/source.h"
#include "states/run/lastrun.h"
#include "core/sys/clock.h"
#include "fleet/wire/subject.h"

/* Bytes of who asked for a run. */
#define USER_MAX 128

/* For the list of runs: "operator ada", "reaction web.restart", "schedule nightly". Reactions and
 * schedules have a prefix (fleet/reactor/reaction_run.h). */
static const char *describe_asker(struct arena *arena, const struct exec_request *request)
{
    static const char *const kinds[][2] = { { "reactor:", "reaction" },
                                            { "schedule:", "schedule" },
                                            { "", "operator" } };
    const struct str user = str_slice(str_from(request->user ? request->user : ""), 0, USER_MAX);
    size_t i = 0;

    if (user.n == 0)
        return "job";
    while (!str_starts(user, str_from(kinds[i][0])))
        i++;
    return arena_printf(arena, "%s %.*s", kinds[i][1],
                        STR_ARG(str_from_offset(user, strlen(kinds[i][0]))));
}

struct peel_job *job_new(struct job_queue *job_queue, const struct job_queue_options *options,
                         const struct exec_request *request)
{
    struct peel_job *job = mem_zalloc(sizeof(*job));

    job->job_queue = job_queue;
    job->options = options;
    job->request = *request;
    job->request.jid = arena_strdup(&job->arena, request->jid);
    job->request.module = arena_strdup(&job->arena, request->module);
    job->request.id = arena_strdup(&job->arena, request->id);
    job->request.args = value_copy(&job->arena, &request->args);
    job->request.window = request->window ? arena_strdup(&job->arena, request->window) : "";
    job->request.plan = request->plan ? arena_strdup(&job->arena, request->plan) : "";
    job->request.user = describe_asker(&job->arena, request);
    job->request.secret_args = value_null(); /* see refuse_secrets of job_queue.c */
    job->class = perform_class(job->request.module);
    job->cancel.fd = -1;
    return job;
}

void job_free(struct peel_job *job)
{
    snapshot_drop(job->facts);
    snapshot_drop(job->settings);
    if (job->cancel.fd >= 0)
        cancel_done(&job->cancel);
    arena_done(&job->arena);
    free(job);
}

/* --- the work --------------------------------------------------------------------- */

static void refuse_job(struct peel_job *job, const char *why)
{
    job->answer = (struct perform_answer){ .error = arena_strdup(&job->arena, why) };
}

static void refuse_diags(struct peel_job *job, const struct diags *diags)
{
    AUTO_BUF struct buf text = BUF_INIT((size_t)1 << 20);

    diags_print(diags, &text);
    refuse_job(job, arena_str(&job->arena, str_trim_right(buf_view(&text))).p);
}

static bool needs_tree(const struct peel_job *job)
{
    return job->class == PERFORM_STATES || job->class == PERFORM_SHOW;
}

/* Which folder, and whether one is needed. */
static int choose_states(struct peel_job *job, const char **ret_folder, enum session_need *ret_need,
                         struct err *err)
{
    const struct source_folders folders = { job->options->states_cache,
                                            job->options->states_baked };
    struct err none;

    *ret_folder = NULL;
    *ret_need = SESSION_TREELESS;
    if (job->class == PERFORM_QUICK)
        return 0;
    if (!needs_tree(job)) {
        /* sources of files may be in the tree; without one most work all the same */
        if (source_is_there(&folders))
            *ret_folder = source_find(&folders, &job->fell_back, &none);
    } else {
        *ret_folder = source_find(&folders, &job->fell_back, err);
        if (!*ret_folder)
            return -1;
    }
    if (*ret_folder)
        *ret_need = needs_tree(job) ? SESSION_TREE : SESSION_NOTHING;
    return 0;
}

/* Values of the answer live in the session, so the message is made before it ends. */
static void make_job_message(struct peel_job *job)
{
    const struct reply_head head = { job->options->peel_id, &job->request, job->reply_max };

    if (job->is_job)
        job->message = reply_return(&job->arena, &head, &job->answer, job->duration, clock_wall());
    else if (job->reply || job->fn)
        job->message = reply_response(&job->arena, &head, &job->answer);
}

const char *job_describe_expiry(struct peel_job *job)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&text, "canceled: not finished after ");
    number_print_duration(job->request.timeout, &text);
    buf_add_text(&text, ", the per-machine time limit");
    return buf_copy(&text, &job->arena).p;
}

static void finish_answer(struct peel_job *job)
{
    if (atomic_load(&job->is_expired) && (!job->answer.success || job->answer.error)) {
        job->answer.success = false;
        job->answer.error = job_describe_expiry(job);
    }
    job->duration = clock_now() - job->began;
    make_job_message(job);
}

/* Functions that read settings would fail without them; others work. */
static bool needs_job_settings(const struct peel_job *job)
{
    const struct str name = str_from(job->request.module);

    return needs_tree(job) || str_starts(name, STR("settings.")) ||
           str_starts(name, STR("pillar."));
}

static int ask_job_basket(const struct state_host *host, const struct state_basket *question,
                          struct arena *arena, struct value *ret, struct err *err)
{
    const struct peel_job *job = host->fire_user;
    const char *scope = value_get_text(&job->settings->value, "basket_scope");

    return basket_ask(job->options->basket,
                      &(struct basket_question){ .target = question->target,
                                                 .type = question->type,
                                                 .name = question->name,
                                                 .scope = scope ? scope : "",
                                                 .cancel = &job->cancel },
                      arena, ret, err);
}

static bool has_run(void *self, const char *jid)
{
    return ledger_has(self, jid);
}

/* For who reports the run to others. A single state or a revert makes the last run stale. */
static void note_job_outcome(struct peel_job *job)
{
    AUTO_BUF struct buf outcome = BUF_INIT(LASTRUN_MAX);
    struct lastrun run;
    struct err ignored;

    if (job->answer.last_run)
        run = *job->answer.last_run;
    else if (job->answer.result.changed == 0 ||
             lastrun_read(&job->arena, job->options->data_dir, &run, &ignored) < 0)
        return;
    lastrun_print_outcome(&outcome, &run);
    job->outcome = buf_copy(&outcome, &job->arena);
}

static void perform_job(struct peel_job *job, const struct run_sink *sink)
{
    struct diags diags = DIAGS_INIT(&job->arena);
    const struct perform_request request = {
        .function = job->request.module,
        .id = job->request.id,
        .args = job->request.args,
        .by = job->request.user,
        .job = job->is_job ? job->request.jid : NULL,
        .has_run = has_run,
        .self = job->options->ledger,
        .plan = job->request.plan[0] ? job->request.plan : NULL,
    };
    struct session_options options = {
        .data_dir = job->options->data_dir,
        .id = job->options->peel_id,
        .facts_file = job->options->facts_file,
        .facts = &job->facts->value,
        .environment = facts_environment(&job->facts->value),
        .grains = job->facts->grains,
        .plan_cache = job->options->plan_cache,
        .facts_version = job->facts->version,
        .cancel = &job->cancel,
        .loose = job->options->loose_params,
        .fire = fire,
        .fire_user = job,
        .send_event = fire_send,
        .basket = ask_job_basket,
    };
    struct session session;
    enum session_need need;
    struct err err;

    if (!job->settings && !needs_job_settings(job))
        job->settings = snapshot_new();
    if (choose_states(job, &options.states_dir, &need, &err) < 0 || !job->settings) {
        refuse_job(job, job->settings ? err.text : job->settings_error);
        finish_answer(job);
        return;
    }
    options.settings = &job->settings->value;
    options.settings_version = job->settings->version;
    if (session_init(&session, &options, need, &diags) < 0)
        refuse_diags(job, &diags);
    else
        perform(&session, &request, sink, &job->answer);
    note_job_outcome(job);
    job->is_old_plan = plan_cache_is_old(session.held);
    if (job->answer.trouble)
        job->trouble = arena_strdup(&job->arena, job->answer.trouble);
    finish_answer(job);
    if (job->fn)
        job->answer = (struct perform_answer){
            .success = job->answer.success,
            .test = job->answer.test,
            .error = job->answer.error ? arena_strdup(&job->arena, job->answer.error) : NULL,
        };
    session_done(&session);
}

/* --- what lasts ------------------------------------------------------------------- */

/* May it change something? Then what is written about it is on disk before we go on. */
static bool must_last(const struct peel_job *job)
{
    return job->class == PERFORM_ACT || job->class == PERFORM_STATES;
}

static void note_trouble(struct peel_job *job, const struct err *err)
{
    job->trouble = arena_strdup(&job->arena, err->text);
}

static void keep_return(struct peel_job *job)
{
    const struct subject_names names = { .jid = str_from(job->request.jid),
                                         .peel = str_from(job->options->peel_id) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    struct outbox_message message = { .about = job->request.jid, .payload = job->message };
    struct err err;

    if (subject_print(&subject, SUBJECT_JOB_RETURN, &names, &err) < 0) {
        note_trouble(job, &err);
        return;
    }
    message.subject = buf_text(&subject);
    message.id = arena_printf(&job->arena, "%s.%s.%llu", job->request.jid, job->options->peel_id,
                              (unsigned long long)job->request.epoch);
    if (outbox_keep(job->options->outbox, &message, must_last(job), &job->outbox_number, &err) <
            0 ||
        ledger_finish(job->options->ledger, job->request.jid, &err) < 0)
        note_trouble(job, &err);
}

bool job_begin(struct peel_job *job)
{
    struct err err;

    job->began = clock_now();
    if (!job->is_job || job->class == PERFORM_QUICK || job->class == PERFORM_READ ||
        ledger_begin(job->options->ledger, job->request.jid, must_last(job), &err) == 0)
        return true;
    /* it could run twice: better not at all */
    note_trouble(job, &err);
    job_refuse(job,
               arena_printf(&job->arena, "cannot record the job before it runs: %s", err.text));
    return false;
}

void job_refuse(struct peel_job *job, const char *why)
{
    job->began = job->began ? job->began : clock_now();
    refuse_job(job, why);
    finish_answer(job);
    if (job->is_job)
        keep_return(job);
}

void job_say(struct peel_job *job, const struct value *result, const char *error)
{
    struct state_result one = { .name = job->request.module, .outcome = OUTCOME_UNCHANGED };

    if (error) {
        refuse_job(job, error);
    } else {
        one.details = value_map_new(&job->arena, 1);
        value_map_set(&job->arena, one.details, value_text("result"),
                      value_copy(&job->arena, result));
        VEC_PUSH_IN(&job->arena, &job->answer.result.states, one);
        job->answer.success = true;
    }
    finish_answer(job);
    if (job->is_job)
        keep_return(job);
}

void job_work(struct peel_job *job, const struct run_sink *sink)
{
    if (!job_begin(job))
        return;
    perform_job(job, sink);
    if (job->is_job)
        keep_return(job);
}
