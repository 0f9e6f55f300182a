#include "fleet/peel/job_queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/rate.h"
#include "fleet/bus/request_signature.h"
#include "core/data/json.h"
#include "states/local/perform.h"
#include "states/local/plan_cache.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/publisher.h"
#include "fleet/peel/maintenance_window.h"
#include "fleet/peel/event_send.h"
#include "fleet/peel/job.h"
#include "fleet/peel/job_pool.h"
#include "fleet/peel/ledger.h"
#include "fleet/peel/messenger.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/reporter.h"
#include "fleet/peel/schedule_admin.h"
#include "core/sys/child_registry.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/subject.h"

#define ACT_WORKERS 1
#define DRY_WORKERS 1
/* An event that the stream has not taken then has failed. */
#define EVENT_WAIT (INT64_C(20) * 1000000000)
/* Warnings a minute about unsigned requests. */
#define WARNINGS_MINUTE 10
#define UNSIGNED_HINT                                                                              \
    "(this peel has require_signed_requests: set sign_requests: true in master.yaml of all "       \
    "masters)"

enum job_pool_kind { POOL_READ, POOL_DRY, POOL_ACT };
#define POOLS (POOL_ACT + 1)

struct job_queue {
    struct job_queue_options options;
    struct background_tasks background_tasks;
    struct messenger messenger;
    struct nats_sub *commands, *cancels;
    struct nats_publisher *events; /* NULL: no connection */
    struct job_pool pools[POOLS];
    struct request_signature_memory *unsigned_warnings; /* NULL: nothing was verified yet */
    struct rate warnings;
    struct cancel spare_cancel; /* of a job that has ended; its fd is -1: there is none */
    bool is_stopping;
};

/* --- job pools ------------------------------------------------------------------------ */

static bool is_event_send(const struct peel_job *job)
{
    return strcmp(job->request.module, EVENT_SEND) == 0;
}

/* An event waits its turn among runs that change the machine: earlier changes must be complete when
 * a rule reacts to it. A dry run changes nothing and waits for other dry runs only. */
static struct job_pool *find_pool(struct job_queue *job_queue, const struct peel_job *job)
{
    const bool acts = job->class == PERFORM_ACT || job->class == PERFORM_STATES;
    const bool is_dry = maintenance_window_is_dry_run(job->request.module, &job->request.args);

    return &job_queue->pools[is_event_send(job) ? POOL_ACT
                             : !acts            ? POOL_READ
                             : is_dry           ? POOL_DRY
                                                : POOL_ACT];
}

static void run_job_work(struct background_task *background_task)
{
    struct peel_job *job = container_of(background_task, struct peel_job, background_task);

    reporter_work(job, &job->job_queue->messenger);
}

static void finish_job_work(struct background_task *background_task);
static void end_job(struct peel_job *job);

/* Events are not kept for a connection that may come. */
static struct nats_publisher *find_publisher(const struct job_queue *job_queue)
{
    const struct nats_conn *conn = job_queue->messenger.conn;

    return conn && nats_conn_state(conn) == NATS_CONN_CONNECTED ? job_queue->events : NULL;
}

static void begin_job_work(struct job_queue *job_queue, const struct job_pool *job_pool,
                           struct peel_job *job)
{
    job->settings = job_queue->options.settings(job_queue->options.self, &job->settings_error);
    if (is_event_send(job)) {
        event_send(job, find_publisher(job_queue), end_job);
        return;
    }
    job->facts = job_queue->options.facts(job_queue->options.self);
    job->is_running = true;
    if (job_pool == &job_queue->pools[POOL_ACT] && job_queue->options.acts)
        job_queue->options.acts(job_queue->options.self, &job->request);
    messenger_run_begins(&job_queue->messenger);
    background_task_begin(&job_queue->background_tasks, &job->background_task, run_job_work,
                          finish_job_work);
}

/* Must the job pool wait until the files of the next run are here? */
static bool hold_for_files(struct job_queue *job_queue, struct job_pool *job_pool)
{
    struct peel_job *next = job_pool->first;

    if (job_pool->is_held)
        return true;
    if (!next || job_pool->busy >= job_pool->limit || next->class != PERFORM_STATES ||
        next->is_caught_up)
        return false;
    next->is_caught_up = true;
    job_pool->is_held = !job_queue->options.catch_up(job_queue->options.self);
    return job_pool->is_held;
}

/* Must the job pool wait until beacons have seen what others changed before the next run? */
static bool hold_for_look(struct job_queue *job_queue, struct job_pool *job_pool)
{
    struct peel_job *next = job_pool->first;

    if (job_pool->is_looked_at)
        return true;
    if (job_pool != &job_queue->pools[POOL_ACT] || !next || job_pool->busy >= job_pool->limit ||
        next->is_announced || is_event_send(next) || !job_queue->options.look_first)
        return false;
    next->is_announced = true;
    job_pool->is_looked_at = !job_queue->options.look_first(job_queue->options.self);
    return job_pool->is_looked_at;
}

static void start_next(struct job_queue *job_queue, struct job_pool *job_pool)
{
    struct peel_job *job;

    while (!job_queue->is_stopping && !hold_for_files(job_queue, job_pool) &&
           !hold_for_look(job_queue, job_pool) && (job = job_pool_start(job_pool)))
        begin_job_work(job_queue, job_pool, job);
}

void job_queue_looked(struct job_queue *job_queue)
{
    job_queue->pools[POOL_ACT].is_looked_at = false;
    start_next(job_queue, &job_queue->pools[POOL_ACT]);
}

void job_queue_go_on(struct job_queue *job_queue)
{
    for (size_t i = 0; i < POOLS; i++) {
        job_queue->pools[i].is_held = false;
        start_next(job_queue, &job_queue->pools[i]);
    }
}

/* The answer goes out, or to who asked inside. */
static void deliver_job_answer(struct peel_job *job)
{
    struct job_queue *job_queue = job->job_queue;

    if (job->trouble)
        log_error("job trouble jid=%s function=%s error=%s", job->request.jid, job->request.module,
                  job->trouble);
    if (job->fell_back)
        log_warning("state-file cache dir empty or missing after retries, falling back to baked "
                    "states dir");
    if (job->is_old_plan)
        log_debug("plan of an earlier run used jid=%s function=%s", job->request.jid,
                  job->request.module);
    if (job->is_job)
        messenger_send_progress(&job_queue->messenger);
    if (job->is_job && job->outbox_number > 0)
        outbox_send(job_queue->options.outbox, job->outbox_number);
    else if (job->is_job) /* no room on the disk: better once than never */
        messenger_return(&job_queue->messenger, job->request.jid, job->message);
    else if (job->reply)
        messenger_reply(&job_queue->messenger, job->reply, job->message);
    if (job_queue->options.ended)
        job_queue->options.ended(
            job_queue->options.self, &job->request,
            &(struct job_queue_end){ .success = job->answer.success && !job->answer.error,
                                     .duration = job->duration,
                                     .outcome = job->outcome });
    if (strcmp(job->request.module, "facts.set") == 0 ||
        strcmp(job->request.module, "grains.set") == 0)
        job_queue->options.facts_changed(job_queue->options.self);
    if (job->fn)
        job->fn(job->self, &job->answer, job->message, job->duration);
    timer_clear(loop_timers(job_queue->options.loop), &job->limit);
    if (job->cancel.fd >= 0 && job_queue->spare_cancel.fd < 0 && !cancel_is_raised(&job->cancel))
        cancel_move(&job_queue->spare_cancel, &job->cancel);
    job_free(job);
}

static void end_job(struct peel_job *job)
{
    struct job_queue *job_queue = job->job_queue;
    struct job_pool *job_pool = find_pool(job_queue, job);

    job_pool_finish(job_pool, job);
    deliver_job_answer(job);
    start_next(job_queue, job_pool);
}

static void finish_job_work(struct background_task *background_task)
{
    struct peel_job *job = container_of(background_task, struct peel_job, background_task);

    messenger_run_ended(&job->job_queue->messenger);
    end_job(job);
}

/* It is past its time limit; the rest of the pool continues. */
static void on_limit(struct timer *timer)
{
    struct peel_job *job = container_of(timer, struct peel_job, limit);
    struct job_queue *job_queue = job->job_queue;

    log_info("job canceled: its time is over jid=%s function=%s", job->request.jid,
             job->request.module);
    if (job_pool_drop(find_pool(job_queue, job), job)) {
        job_refuse(job, job_describe_expiry(job));
        deliver_job_answer(job);
        return;
    }
    atomic_store(&job->is_expired, true);
    cancel_raise(&job->cancel);
}

static void set_limit(struct job_queue *job_queue, struct peel_job *job)
{
    if (job->request.timeout > 0)
        timer_set(loop_timers(job_queue->options.loop), &job->limit,
                  clock_after(clock_now(), job->request.timeout), on_limit);
}

static void queue_job(struct job_queue *job_queue, struct job_pool *job_pool, struct peel_job *job)
{
    job_pool_add(job_pool, job);
    if (job_pool->busy >= job_pool->limit)
        reporter_tell_queued(job, job_pool, &job_queue->messenger);
    start_next(job_queue, job_pool);
}

/* In the loop: it answers from memory, and takes less than handing it over. */
static void answer_now(struct job_queue *job_queue, struct peel_job *job)
{
    job->facts = job_queue->options.facts(job_queue->options.self);
    job->settings = job_queue->options.settings(job_queue->options.self, &job->settings_error);
    job_work(job, NULL);
    deliver_job_answer(job);
}

/* Functions of the agent itself. */
static bool is_own(const struct job_queue *job_queue, const struct peel_job *job)
{
    return job_queue->options.own && schedule_admin_has(job->request.module);
}

static void answer_own(struct job_queue *job_queue, struct peel_job *job)
{
    struct schedule_admin_call call = { .function = job->request.module,
                                        .id = job->request.id,
                                        .jid = job->request.jid,
                                        .args = job->request.args };
    struct value result;
    const char *error;

    if (job_begin(job)) {
        job_queue->options.own(job_queue->options.self, &job->arena, &call, &result, &error);
        job->answer.test = call.test;
        job_say(job, &result, error);
    }
    deliver_job_answer(job);
}

/* An unknown function? */
static bool is_unknown(const struct job_queue *job_queue, const struct peel_job *job)
{
    return job->class == PERFORM_UNKNOWN && !is_event_send(job) && !is_own(job_queue, job);
}

/* --- maintenance windows ------------------------------------------------------------ */

static time_t get_time(void)
{
    return (time_t)(clock_wall() / CLOCK_SECOND);
}

bool job_queue_is_forbidden(const struct job_queue *job_queue, const char *function,
                            const struct value *args, time_t *ret_next)
{
    const struct maintenance_window *maintenance_window = job_queue->options.maintenance_window;

    return maintenance_window &&
           maintenance_window_forbids(maintenance_window, function, args, get_time(), ret_next);
}

/* True: it has its answer. */
static bool refuse_outside(struct job_queue *job_queue, struct peel_job *job)
{
    const char *why;
    time_t next;

    if (!job_queue_is_forbidden(job_queue, job->request.module, &job->request.args, &next))
        return false;
    if (strcmp(job->request.window, EXEC_WINDOW_FORCE) == 0) {
        log_warning("maintenance windows are overridden jid=%s function=%s", job->request.jid,
                    job->request.module);
        return false;
    }
    why =
        maintenance_window_describe(job_queue->options.maintenance_window, &job->arena, get_time());
    job_refuse(job, job->fn ? why
                            : arena_printf(&job->arena,
                                           "%s (--queue waits for it, --force-window runs it now)",
                                           why));
    deliver_job_answer(job);
    return true;
}

/* A job that may wait is not accepted: masters keep it, also over a restart of this machine. One
 * that was accepted before runs. */
static bool defer_job(struct job_queue *job_queue, const struct exec_request *request)
{
    time_t next;

    if (strcmp(request->window, EXEC_WINDOW_WAIT) != 0 ||
        ledger_has(job_queue->options.ledger, request->jid) ||
        !job_queue_is_forbidden(job_queue, request->module, &request->args, &next) ||
        next == (time_t)-1)
        return false;
    log_info("job deferred to a maintenance window jid=%s function=%s", request->jid,
             request->module);
    messenger_defer(&job_queue->messenger, request->jid, next);
    return true;
}

static bool is_pool_full(const struct job_pool *job_pool, const struct peel_job *job)
{
    return job_pool->waiting >=
           (job->request.rdepth > 0 ? JOB_QUEUE_REACTIONS_MAX : JOB_QUEUE_QUEUE_MAX);
}

static int arm_job(struct job_queue *job_queue, struct peel_job *job, struct err *err)
{
    if (job_queue->spare_cancel.fd < 0)
        return cancel_init(&job->cancel, err);
    cancel_move(&job->cancel, &job_queue->spare_cancel);
    return 0;
}

static void begin_job(struct job_queue *job_queue, struct peel_job *job)
{
    struct job_pool *job_pool = find_pool(job_queue, job);
    struct err err;

    job->reply_max = job_queue->messenger.reply_max;
    if (refuse_outside(job_queue, job))
        return;
    if (is_unknown(job_queue, job)) {
        job_refuse(job, perform_unknown(&job->arena, job->request.module));
        deliver_job_answer(job);
    } else if (is_own(job_queue, job)) {
        answer_own(job_queue, job);
    } else if (job->class == PERFORM_QUICK) {
        answer_now(job_queue, job);
    } else if (is_pool_full(job_pool, job)) {
        job_refuse(job, JOB_QUEUE_BUSY);
        deliver_job_answer(job);
    } else if (arm_job(job_queue, job, &err) < 0) {
        job_refuse(job, err.text);
        deliver_job_answer(job);
    } else {
        job->cancel.child_registry = job_queue->options.child_registry;
        set_limit(job_queue, job);
        queue_job(job_queue, job_pool, job);
    }
}

void job_queue_post(struct job_queue *job_queue, uint64_t number)
{
    messenger_post_stored(&job_queue->messenger, number);
}

/* --- requests --------------------------------------------------------------------- */

/* The id of a job is a token of subjects. */
static bool is_jid(const char *jid)
{
    const size_t n = strlen(jid);

    return n > 0 && n <= LEDGER_JID_MAX &&
           strspn(jid, "abcdefghijklmnopqrstuvwxyz"
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                       "0123456789-_") == n;
}

/* True when it is to run. */
static bool admit_job(struct job_queue *job_queue, const struct exec_request *request)
{
    switch (ledger_take(job_queue->options.ledger, request->jid, request->epoch)) {
    case LEDGER_NEW: return true;
    case LEDGER_AGAIN: /* the first ack may have been lost */
        messenger_ack(&job_queue->messenger, request->jid);
        log_debug("job refused: it was accepted already jid=%s epoch=%llu", request->jid,
                  (unsigned long long)request->epoch);
        return false;
    default:
        log_warning("job refused: a newer epoch was accepted jid=%s epoch=%llu", request->jid,
                    (unsigned long long)request->epoch);
        return false;
    }
}

/* An ack promises an answer, also after a restart: first the record, then the ack. False: it has
 * its answer already. */
static bool write_acceptance(struct job_queue *job_queue, const struct exec_request *request)
{
    struct peel_job *job;
    struct err err;

    if (ledger_accept(job_queue->options.ledger, request->jid, request->epoch, &err) == 0) {
        messenger_ack(&job_queue->messenger, request->jid);
        return true;
    }
    job = job_new(job_queue, &job_queue->options, request);
    job->is_job = true;
    job->reply_max = job_queue->messenger.reply_max;
    job_refuse(job, arena_printf(&job->arena, "cannot record the job: %s", err.text));
    deliver_job_answer(job);
    return false;
}

/* --- signatures ------------------------------------------------------------------- */

static bool is_request_signed(struct job_queue *job_queue, const struct nats_msg *msg,
                              struct err *err)
{
    const struct nats_nkey *account =
        job_queue->options.account ? job_queue->options.account(job_queue->options.self) : NULL;

    if (!account)
        return true;
    if (!job_queue->unsigned_warnings)
        job_queue->unsigned_warnings = mem_zalloc(sizeof(*job_queue->unsigned_warnings));
    return request_signature_check(
               job_queue->unsigned_warnings,
               &(struct request_verifier){ .account = account,
                                           .is_revoked = job_queue->options.is_revoked,
                                           .self = job_queue->options.self },
               msg, err) == 0;
}

/* Replies with the reason. A job accepted before gets its answer from the signed request. */
static void refuse_unsigned_request(struct job_queue *job_queue, const struct nats_msg *msg,
                                    const struct exec_request *request, const char *why)
{
    const bool is_job = msg->reply.n == 0;
    struct peel_job *job;

    job_queue->options.refused(job_queue->options.self);
    if (rate_take(&job_queue->warnings, STR(""), clock_now()) == 0)
        log_warning("request refused jid=%s function=%s error=%s", request->jid, request->module,
                    why);
    if (is_job && ledger_has(job_queue->options.ledger, request->jid))
        return;
    job = job_new(job_queue, &job_queue->options, request);
    job->is_job = is_job;
    job->reply = is_job ? NULL : arena_str(&job->arena, msg->reply).p;
    job->reply_max = job_queue->messenger.reply_max;
    job_refuse(job, arena_printf(&job->arena, "request refused: %s " UNSIGNED_HINT, why));
    deliver_job_answer(job);
}

/* --- requests --------------------------------------------------------------------- */

/* No master knows of it: who asked, as they say, and for what. */
static void audit_direct(const struct exec_request *request)
{
    AUTO_BUF struct buf line = BUF_INIT(LOG_TEXT_MAX);

    json_print_text(&line, str_from(request->user), JSON_STYLE_COMPACT);
    buf_add_text(&line, " function=");
    json_print_text(&line, str_from(request->module), JSON_STYLE_COMPACT);
    log_info("audit action=job.direct by=%s", buf_text(&line));
}

/* Secret arguments become arguments. True: it has its answer. What an event or the schedule is
 * given is published, or stays on disk. */
static bool refuse_secrets(struct job_queue *job_queue, struct peel_job *job,
                           const struct exec_request *request)
{
    const char *why = NULL;
    struct err err;

    if (request->secret_args.kind != VALUE_MAP)
        return false;
    if (is_event_send(job) || is_own(job_queue, job))
        why = arena_printf(&job->arena, "%s takes no secret arguments: it publishes or stores them",
                           job->request.module);
    else if (exec_lay_secrets(&job->arena, &request->args, &request->secret_args,
                              &job->request.args, &err) < 0)
        why = err.text;
    if (!why)
        return false;
    job->reply_max = job_queue->messenger.reply_max;
    job_refuse(job, why);
    deliver_job_answer(job);
    return true;
}

static void on_exec_request(void *self, const struct nats_msg *msg)
{
    struct job_queue *job_queue = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_request request = { 0 };
    struct peel_job *job;
    struct err err;

    if (job_queue->options.is_from_fleet &&
        !job_queue->options.is_from_fleet(job_queue->options.self, msg->header)) {
        if (rate_take(&job_queue->warnings, STR(""), clock_now()) == 0)
            log_warning("request dropped: it does not come from the fleet's account");
        return;
    }
    if (record_decode(&arena, &exec_request_type, 0, msg->payload, &request, &err) < 0) {
        log_warning("request dropped error=%s", err.text);
        return;
    }
    if (msg->reply.n == 0 && !is_jid(request.jid)) {
        log_warning("request dropped: neither a reply subject nor a valid job id");
        return;
    }
    if (!job_queue->is_stopping && !is_request_signed(job_queue, msg, &err)) {
        refuse_unsigned_request(job_queue, msg, &request, err.text);
        return;
    }
    if (job_queue->is_stopping || (msg->reply.n == 0 && defer_job(job_queue, &request)) ||
        (msg->reply.n == 0 && !admit_job(job_queue, &request)))
        return;
    if (msg->reply.n == 0 && !write_acceptance(job_queue, &request))
        return;
    log_info("request accepted jid=%s function=%s mode=%s", request.jid, request.module,
             msg->reply.n == 0 ? "job" : "direct");
    if (msg->reply.n > 0)
        audit_direct(&request);
    job = job_new(job_queue, &job_queue->options, &request);
    job->is_job = msg->reply.n == 0;
    if (!job->is_job)
        job->reply = arena_str(&job->arena, msg->reply).p;
    if (!refuse_secrets(job_queue, job, &request))
        begin_job(job_queue, job);
}

int job_queue_run(struct job_queue *job_queue, const struct job_queue_task *task, struct err *err)
{
    const struct exec_request request = {
        .jid = task->jid,
        .module = task->function,
        .id = task->id,
        .args = task->args,
        .user = task->user,
    };
    struct peel_job *job = job_new(job_queue, &job_queue->options, &request);

    if (is_unknown(job_queue, job) || job_queue->is_stopping ||
        is_pool_full(find_pool(job_queue, job), job)) {
        if (is_unknown(job_queue, job))
            (void)err_set(err, ERR_INVALID, "%s", perform_unknown(&job->arena, task->function));
        else
            (void)err_set(err, ERR_BUSY, JOB_QUEUE_BUSY);
        job_free(job);
        return -1;
    }
    job->fn = task->fn;
    job->self = task->self;
    begin_job(job_queue, job);
    return 0;
}

/* --- cancel ----------------------------------------------------------------------- */

static void on_cancel_request(void *self, const struct nats_msg *msg)
{
    struct job_queue *job_queue = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct subject_names names;
    struct job_cancel cancel;
    enum subject_kind kind;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_CANCEL ||
        !job_cancel_read(&arena, msg->payload, msg->header.n > 0, &cancel))
        return;
    for (size_t i = 0; i < POOLS; i++) {
        struct peel_job *job = job_pool_take(&job_queue->pools[i], names.jid);

        if (job) {
            job_refuse(job, "execution canceled");
            deliver_job_answer(job);
        }
        for (job = job_queue->pools[i].running; job; job = job->next)
            if (job->is_job && str_eq_text(names.jid, job->request.jid)) {
                log_info("job canceled jid=%s", job->request.jid);
                cancel_raise(&job->cancel);
            }
    }
}

/* --- connection ------------------------------------------------------------------- */

static int subscribe_job_subject(struct job_queue *job_queue, enum subject_kind kind,
                                 const struct subject_names *names, nats_msg_fn *fn,
                                 struct nats_sub **ret_sub, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&subject, kind, names, err) < 0)
        return -1;
    *ret_sub = nats_sub_new(job_queue->messenger.conn,
                            &(struct nats_sub_options){
                                .subject = buf_text(&subject), .message = fn, .self = job_queue },
                            err);
    return *ret_sub ? 0 : -1;
}

int job_queue_connect(struct job_queue *job_queue, struct nats_conn *conn, struct err *err)
{
    const struct subject_names mine = { .peel = str_from(job_queue->options.peel_id) };
    const struct subject_names any = { 0 };

    nats_sub_free(job_queue->commands);
    nats_sub_free(job_queue->cancels);
    job_queue->commands = job_queue->cancels = NULL;
    messenger_connect(&job_queue->messenger, conn);
    nats_publisher_free(job_queue->events); /* answers what is on its way */
    job_queue->events = NULL;
    if (!conn)
        return 0;
    job_queue->events = nats_publisher_new(
        &(struct nats_js){ .conn = conn },
        &(struct nats_publisher_options){ .give_up = EVENT_WAIT, .in_order = true });
    if (subscribe_job_subject(job_queue, SUBJECT_COMMAND, &mine, on_exec_request,
                              &job_queue->commands, err) < 0)
        return -1;
    return subscribe_job_subject(job_queue, SUBJECT_JOB_CANCEL, &any, on_cancel_request,
                                 &job_queue->cancels, err);
}

/* --- life ------------------------------------------------------------------------- */

/* The agent was killed before the job had its return. */
static void answer_cut_off(void *self, const char *jid, uint64_t epoch, bool begun)
{
    struct job_queue *job_queue = self;
    const struct exec_request request = { .jid = jid, .module = "", .id = "", .epoch = epoch };
    struct peel_job *job;

    if (outbox_has(job_queue->options.outbox, jid)) {
        struct err ignored;

        (void)ledger_finish(job_queue->options.ledger, jid, &ignored);
        return;
    }
    log_warning("job was cut off by the end of the agent jid=%s", jid);
    job = job_new(job_queue, &job_queue->options, &request);
    job->is_job = true;
    job->reply_max = job_queue->messenger.reply_max;
    if (!begun)
        job_refuse(job, "the peel stopped before the job started; nothing was done");
    else if (job_queue->options.orphans > 0)
        job_refuse(job, "the peel stopped during the job; its running programs were killed; "
                        "what was done is not known");
    else
        job_refuse(job, "the peel stopped during the job; what was done is not known");
    deliver_job_answer(job);
}

static int open_workers(struct job_queue *job_queue, struct err *err)
{
    const struct job_queue_options *options = &job_queue->options;

    if (options->workers)
        return background_tasks_open_shared(&job_queue->background_tasks, options->loop,
                                            options->workers, err);
    return background_tasks_open_workers(&job_queue->background_tasks, options->loop,
                                         JOB_QUEUE_READERS + DRY_WORKERS + ACT_WORKERS, err);
}

struct job_queue *job_queue_new(const struct job_queue_options *options, struct err *err)
{
    struct job_queue *job_queue = mem_zalloc(sizeof(*job_queue));
    static const size_t limits[POOLS] = {
        [POOL_READ] = JOB_QUEUE_READERS, [POOL_DRY] = DRY_WORKERS, [POOL_ACT] = ACT_WORKERS
    };

    job_queue->options = *options;
    job_queue->spare_cancel.fd = -1;
    rate_init_for(&job_queue->warnings, WARNINGS_MINUTE, WARNINGS_MINUTE, 1);
    messenger_init(&job_queue->messenger, options->peel_id, options->outbox);
    for (size_t i = 0; i < POOLS; i++)
        job_pool_init(&job_queue->pools[i], limits[i]);
    if (messenger_open(&job_queue->messenger, options->loop, err) < 0 ||
        open_workers(job_queue, err) < 0) {
        job_queue_free(job_queue);
        return NULL;
    }
    ledger_each_open(options->ledger, answer_cut_off, job_queue);
    return job_queue;
}

void job_queue_stop(struct job_queue *job_queue)
{
    job_queue->is_stopping = true;
    for (size_t i = 0; i < POOLS; i++) {
        struct job_pool *job_pool = &job_queue->pools[i];
        struct peel_job *job;

        while ((job = job_pool_take_first(job_pool))) {
            job_refuse(job, "the peel is shutting down; job not started");
            deliver_job_answer(job);
        }
        for (job = job_pool->running; job; job = job->next)
            cancel_raise(&job->cancel);
    }
}

void job_queue_free(struct job_queue *job_queue)
{
    if (!job_queue)
        return;
    background_tasks_close(&job_queue->background_tasks); /* waits for what runs, and delivers it */
    (void)job_queue_connect(job_queue, NULL, NULL);
    messenger_close(&job_queue->messenger);
    rate_done(&job_queue->warnings);
    free(job_queue->unsigned_warnings);
    cancel_done(&job_queue->spare_cancel);
    free(job_queue);
}

bool job_queue_is_acting(const struct job_queue *job_queue)
{
    const struct job_pool *job_pool = &job_queue->pools[POOL_ACT];

    return job_pool->busy > 0 && !is_event_send(job_pool->running);
}

int32_t job_queue_depth(const struct job_queue *job_queue)
{
    int32_t depth = 0;

    for (size_t i = 0; i < POOLS; i++)
        for (const struct peel_job *job = job_queue->pools[i].running; job; job = job->next)
            if (job->request.rdepth > depth)
                depth = job->request.rdepth;
    return depth;
}

bool job_queue_is_idle(const struct job_queue *job_queue)
{
    for (size_t i = 0; i < POOLS; i++)
        if (!job_pool_is_idle(&job_queue->pools[i]))
            return false;
    return true;
}

bool job_queue_trim(struct job_queue *job_queue)
{
    child_registry_clear(job_queue->options.child_registry);
    return plan_cache_trim(job_queue->options.plan_cache);
}
