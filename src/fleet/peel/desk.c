#include "fleet/peel/desk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/rate.h"
#include "fleet/bus/warrant.h"
#include "core/data/json.h"
#include "states/local/perform.h"
#include "states/local/shelf.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/publisher.h"
#include "fleet/peel/curfew.h"
#include "fleet/peel/event_send.h"
#include "fleet/peel/job.h"
#include "fleet/peel/lane.h"
#include "fleet/peel/ledger.h"
#include "fleet/peel/messenger.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/reporter.h"
#include "fleet/peel/routine.h"
#include "fleet/peel/snapshot.h"
#include "core/sys/births.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/subject.h"

#define ACT_WORKERS 1
#define DRY_WORKERS 1
/* An event that the stream has not taken then has failed. */
#define EVENT_WAIT (INT64_C(20) * 1000000000)
/* Warnings about requests that nobody signed, a minute. */
#define WARNINGS_MINUTE 10
#define UNSIGNED_HINT                                                                              \
    "(this peel has require_signed_requests: set sign_requests: true in master.yaml of all "       \
    "masters)"

enum lane_kind { LANE_READ, LANE_DRY, LANE_ACT };
#define LANES (LANE_ACT + 1)

struct desk {
    struct desk_options options;
    struct chores chores;
    struct messenger messenger;
    struct nats_sub *commands, *cancels;
    struct nats_publisher *events; /* NULL: no connection */
    struct lane lanes[LANES];
    struct warrant_memory *warrants; /* NULL: nothing was verified yet */
    struct rate warnings;
    struct cancel spare_cancel; /* of a job that has ended; its fd is -1: there is none */
    bool is_stopping;
};

/* --- lanes ------------------------------------------------------------------------ */

static bool is_event_send(const struct job *job)
{
    return strcmp(job->request.module, EVENT_SEND) == 0;
}

/* An event takes its turn among runs that change the machine: what is done before it was raised is
 * done when somebody reacts to it. A dry run changes nothing and waits for other dry runs alone. */
static struct lane *lane_of(struct desk *desk, const struct job *job)
{
    const bool acts = job->class == PERFORM_ACT || job->class == PERFORM_STATES;
    const bool is_dry = curfew_is_dry_run(job->request.module, &job->request.args);

    return &desk->lanes[is_event_send(job) ? LANE_ACT
                        : !acts            ? LANE_READ
                        : is_dry           ? LANE_DRY
                                           : LANE_ACT];
}

static void work(struct chore *chore)
{
    struct job *job = container_of(chore, struct job, chore);

    reporter_work(job, &job->desk->messenger);
}

static void done(struct chore *chore);
static void end_job(struct job *job);

/* Events are not kept for a connection that may come. */
static struct nats_publisher *find_publisher(const struct desk *desk)
{
    const struct nats_conn *conn = desk->messenger.conn;

    return conn && nats_conn_state(conn) == NATS_CONN_CONNECTED ? desk->events : NULL;
}

static void begin_work(struct desk *desk, const struct lane *lane, struct job *job)
{
    job->settings = desk->options.settings(desk->options.self, &job->settings_error);
    if (is_event_send(job)) {
        event_send(job, find_publisher(desk), end_job);
        return;
    }
    job->facts = desk->options.facts(desk->options.self);
    job->is_running = true;
    if (lane == &desk->lanes[LANE_ACT] && desk->options.acts)
        desk->options.acts(desk->options.self, &job->request);
    messenger_run_begins(&desk->messenger);
    chore_begin(&desk->chores, &job->chore, work, done);
}

/* Must the lane wait until the files of the next run are here? */
static bool hold_for_files(struct desk *desk, struct lane *lane)
{
    struct job *next = lane->first;

    if (lane->is_held)
        return true;
    if (!next || lane->busy >= lane->limit || next->class != PERFORM_STATES || next->is_caught_up)
        return false;
    next->is_caught_up = true;
    lane->is_held = !desk->options.catch_up(desk->options.self);
    return lane->is_held;
}

/* Must the lane wait until beacons have seen what others changed before the next run? */
static bool hold_for_look(struct desk *desk, struct lane *lane)
{
    struct job *next = lane->first;

    if (lane->is_looked_at)
        return true;
    if (lane != &desk->lanes[LANE_ACT] || !next || lane->busy >= lane->limit ||
        next->is_announced || is_event_send(next) || !desk->options.look_first)
        return false;
    next->is_announced = true;
    lane->is_looked_at = !desk->options.look_first(desk->options.self);
    return lane->is_looked_at;
}

static void start_next(struct desk *desk, struct lane *lane)
{
    struct job *job;

    while (!desk->is_stopping && !hold_for_files(desk, lane) && !hold_for_look(desk, lane) &&
           (job = lane_start(lane)))
        begin_work(desk, lane, job);
}

void desk_looked(struct desk *desk)
{
    desk->lanes[LANE_ACT].is_looked_at = false;
    start_next(desk, &desk->lanes[LANE_ACT]);
}

void desk_go_on(struct desk *desk)
{
    for (size_t i = 0; i < LANES; i++) {
        desk->lanes[i].is_held = false;
        start_next(desk, &desk->lanes[i]);
    }
}

/* The answer goes out, or to who asked inside. */
static void deliver(struct job *job)
{
    struct desk *desk = job->desk;

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
        messenger_send_progress(&desk->messenger);
    if (job->is_job && job->letter > 0)
        outbox_send(desk->options.outbox, job->letter);
    else if (job->is_job) /* no room on the disk: better once than never */
        messenger_return(&desk->messenger, job->request.jid, job->message);
    else if (job->reply)
        messenger_reply(&desk->messenger, job->reply, job->message);
    if (desk->options.ended)
        desk->options.ended(
            desk->options.self, &job->request,
            &(struct desk_end){ .success = job->answer.success && !job->answer.error,
                                .duration = job->duration,
                                .outcome = job->outcome });
    if (strcmp(job->request.module, "facts.set") == 0 ||
        strcmp(job->request.module, "grains.set") == 0)
        desk->options.facts_changed(desk->options.self);
    if (job->fn)
        job->fn(job->self, &job->answer, job->message, job->duration);
    timer_clear(loop_timers(desk->options.loop), &job->limit);
    if (job->cancel.fd >= 0 && desk->spare_cancel.fd < 0 && !cancel_is_raised(&job->cancel))
        cancel_move(&desk->spare_cancel, &job->cancel);
    job_free(job);
}

static void end_job(struct job *job)
{
    struct desk *desk = job->desk;
    struct lane *lane = lane_of(desk, job);

    lane_finish(lane, job);
    deliver(job);
    start_next(desk, lane);
}

static void done(struct chore *chore)
{
    struct job *job = container_of(chore, struct job, chore);

    messenger_run_ended(&job->desk->messenger);
    end_job(job);
}

/* What it has not done by now it will not do; the rest of the lane goes on. */
static void on_limit(struct timer *timer)
{
    struct job *job = container_of(timer, struct job, limit);
    struct desk *desk = job->desk;

    log_info("job canceled: its time is over jid=%s function=%s", job->request.jid,
             job->request.module);
    if (lane_drop(lane_of(desk, job), job)) {
        job_refuse(job, job_describe_expiry(job));
        deliver(job);
        return;
    }
    atomic_store(&job->is_expired, true);
    cancel_raise(&job->cancel);
}

static void set_limit(struct desk *desk, struct job *job)
{
    if (job->request.timeout > 0)
        timer_set(loop_timers(desk->options.loop), &job->limit,
                  clock_after(clock_now(), job->request.timeout), on_limit);
}

static void queue_job(struct desk *desk, struct lane *lane, struct job *job)
{
    lane_add(lane, job);
    if (lane->busy >= lane->limit)
        reporter_tell_queued(job, lane, &desk->messenger);
    start_next(desk, lane);
}

/* In the loop: it answers from memory, and takes less than handing it over. */
static void answer_now(struct desk *desk, struct job *job)
{
    job->facts = desk->options.facts(desk->options.self);
    job->settings = desk->options.settings(desk->options.self, &job->settings_error);
    job_work(job, NULL);
    deliver(job);
}

/* What the agent answers about itself. */
static bool is_own(const struct desk *desk, const struct job *job)
{
    return desk->options.own && routine_has(job->request.module);
}

static void answer_own(struct desk *desk, struct job *job)
{
    struct routine_call call = { .function = job->request.module,
                                 .id = job->request.id,
                                 .jid = job->request.jid,
                                 .args = job->request.args };
    struct value result;
    const char *error;

    if (job_begin(job)) {
        desk->options.own(desk->options.self, &job->arena, &call, &result, &error);
        job->answer.test = call.test;
        job_say(job, &result, error);
    }
    deliver(job);
}

/* An unknown function? */
static bool is_unknown(const struct desk *desk, const struct job *job)
{
    return job->class == PERFORM_UNKNOWN && !is_event_send(job) && !is_own(desk, job);
}

/* --- maintenance windows ------------------------------------------------------------ */

static time_t get_time(void)
{
    return (time_t)(clock_wall() / CLOCK_SECOND);
}

bool desk_is_forbidden(const struct desk *desk, const char *function, const struct value *args,
                       time_t *ret_next)
{
    const struct curfew *curfew = desk->options.curfew;

    return curfew && curfew_forbids(curfew, function, args, get_time(), ret_next);
}

/* True: it has its answer. */
static bool refuse_outside(struct desk *desk, struct job *job)
{
    const char *why;
    time_t next;

    if (!desk_is_forbidden(desk, job->request.module, &job->request.args, &next))
        return false;
    if (strcmp(job->request.window, EXEC_WINDOW_FORCE) == 0) {
        log_warning("maintenance windows are overridden jid=%s function=%s", job->request.jid,
                    job->request.module);
        return false;
    }
    why = curfew_describe(desk->options.curfew, &job->arena, get_time());
    job_refuse(job, job->fn ? why
                            : arena_printf(&job->arena,
                                           "%s (--queue waits for it, --force-window runs it now)",
                                           why));
    deliver(job);
    return true;
}

/* A job that may wait is not accepted: masters keep it, also over a restart of this machine. One
 * that was accepted before runs. */
static bool defer_job(struct desk *desk, const struct exec_request *request)
{
    time_t next;

    if (strcmp(request->window, EXEC_WINDOW_WAIT) != 0 ||
        ledger_has(desk->options.ledger, request->jid) ||
        !desk_is_forbidden(desk, request->module, &request->args, &next) || next == (time_t)-1)
        return false;
    log_info("job deferred to a maintenance window jid=%s function=%s", request->jid,
             request->module);
    messenger_defer(&desk->messenger, request->jid, next);
    return true;
}

static bool is_full(const struct lane *lane, const struct job *job)
{
    return lane->waiting >= (job->request.rdepth > 0 ? DESK_REACTIONS_MAX : DESK_QUEUE_MAX);
}

static int arm_job(struct desk *desk, struct job *job, struct err *err)
{
    if (desk->spare_cancel.fd < 0)
        return cancel_init(&job->cancel, err);
    cancel_move(&job->cancel, &desk->spare_cancel);
    return 0;
}

static void begin_job(struct desk *desk, struct job *job)
{
    struct lane *lane = lane_of(desk, job);
    struct err err;

    job->reply_max = desk->messenger.reply_max;
    if (refuse_outside(desk, job))
        return;
    if (is_unknown(desk, job)) {
        job_refuse(job, perform_unknown(&job->arena, job->request.module));
        deliver(job);
    } else if (is_own(desk, job)) {
        answer_own(desk, job);
    } else if (job->class == PERFORM_QUICK) {
        answer_now(desk, job);
    } else if (is_full(lane, job)) {
        job_refuse(job, DESK_BUSY);
        deliver(job);
    } else if (arm_job(desk, job, &err) < 0) {
        job_refuse(job, err.text);
        deliver(job);
    } else {
        job->cancel.births = desk->options.births;
        set_limit(desk, job);
        queue_job(desk, lane, job);
    }
}

void desk_post(struct desk *desk, uint64_t letter)
{
    messenger_post_letter(&desk->messenger, letter);
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
static bool admit_job(struct desk *desk, const struct exec_request *request)
{
    switch (ledger_take(desk->options.ledger, request->jid, request->epoch)) {
    case LEDGER_NEW: return true;
    case LEDGER_AGAIN: /* the first ack may have been lost */
        messenger_ack(&desk->messenger, request->jid);
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
static bool write_acceptance(struct desk *desk, const struct exec_request *request)
{
    struct job *job;
    struct err err;

    if (ledger_accept(desk->options.ledger, request->jid, request->epoch, &err) == 0) {
        messenger_ack(&desk->messenger, request->jid);
        return true;
    }
    job = job_new(desk, &desk->options, request);
    job->is_job = true;
    job->reply_max = desk->messenger.reply_max;
    job_refuse(job, arena_printf(&job->arena, "cannot record the job: %s", err.text));
    deliver(job);
    return false;
}

/* --- signatures ------------------------------------------------------------------- */

static bool is_signed(struct desk *desk, const struct nats_msg *msg, struct err *err)
{
    const struct nats_nkey *account =
        desk->options.account ? desk->options.account(desk->options.self) : NULL;

    if (!account)
        return true;
    if (!desk->warrants)
        desk->warrants = mem_zalloc(sizeof(*desk->warrants));
    return warrant_check(desk->warrants,
                         &(struct warrant_court){ .account = account,
                                                  .is_revoked = desk->options.is_revoked,
                                                  .self = desk->options.self },
                         msg, err) == 0;
}

/* Who asked hears why. A job that was accepted has its answer from the request that was good. */
static void refuse_unsigned(struct desk *desk, const struct nats_msg *msg,
                            const struct exec_request *request, const char *why)
{
    const bool is_job = msg->reply.n == 0;
    struct job *job;

    desk->options.refused(desk->options.self);
    if (rate_take(&desk->warnings, STR(""), clock_now()) == 0)
        log_warning("request refused jid=%s function=%s error=%s", request->jid, request->module,
                    why);
    if (is_job && ledger_has(desk->options.ledger, request->jid))
        return;
    job = job_new(desk, &desk->options, request);
    job->is_job = is_job;
    job->reply = is_job ? NULL : arena_str(&job->arena, msg->reply).p;
    job->reply_max = desk->messenger.reply_max;
    job_refuse(job, arena_printf(&job->arena, "request refused: %s " UNSIGNED_HINT, why));
    deliver(job);
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
static bool refuse_secrets(struct desk *desk, struct job *job, const struct exec_request *request)
{
    const char *why = NULL;
    struct err err;

    if (request->secret_args.kind != VALUE_MAP)
        return false;
    if (is_event_send(job) || is_own(desk, job))
        why = arena_printf(&job->arena, "%s takes no secret arguments: it publishes or stores them",
                           job->request.module);
    else if (exec_lay_secrets(&job->arena, &request->args, &request->secret_args,
                              &job->request.args, &err) < 0)
        why = err.text;
    if (!why)
        return false;
    job->reply_max = desk->messenger.reply_max;
    job_refuse(job, why);
    deliver(job);
    return true;
}

static void on_command(void *self, const struct nats_msg *msg)
{
    struct desk *desk = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_request request = { 0 };
    struct job *job;
    struct err err;

    if (desk->options.is_from_fleet &&
        !desk->options.is_from_fleet(desk->options.self, msg->header)) {
        if (rate_take(&desk->warnings, STR(""), clock_now()) == 0)
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
    if (!desk->is_stopping && !is_signed(desk, msg, &err)) {
        refuse_unsigned(desk, msg, &request, err.text);
        return;
    }
    if (desk->is_stopping || (msg->reply.n == 0 && defer_job(desk, &request)) ||
        (msg->reply.n == 0 && !admit_job(desk, &request)))
        return;
    if (msg->reply.n == 0 && !write_acceptance(desk, &request))
        return;
    log_info("request accepted jid=%s function=%s mode=%s", request.jid, request.module,
             msg->reply.n == 0 ? "job" : "direct");
    if (msg->reply.n > 0)
        audit_direct(&request);
    job = job_new(desk, &desk->options, &request);
    job->is_job = msg->reply.n == 0;
    if (!job->is_job)
        job->reply = arena_str(&job->arena, msg->reply).p;
    if (!refuse_secrets(desk, job, &request))
        begin_job(desk, job);
}

int desk_run(struct desk *desk, const struct desk_task *task, struct err *err)
{
    const struct exec_request request = {
        .jid = task->jid, .module = task->function, .id = task->id, .args = task->args
    };
    struct job *job = job_new(desk, &desk->options, &request);

    if (is_unknown(desk, job) || desk->is_stopping || is_full(lane_of(desk, job), job)) {
        if (is_unknown(desk, job))
            (void)err_set(err, ERR_INVALID, "%s", perform_unknown(&job->arena, task->function));
        else
            (void)err_set(err, ERR_BUSY, DESK_BUSY);
        job_free(job);
        return -1;
    }
    job->fn = task->fn;
    job->self = task->self;
    begin_job(desk, job);
    return 0;
}

/* --- cancel ----------------------------------------------------------------------- */

static void on_cancel(void *self, const struct nats_msg *msg)
{
    struct desk *desk = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct subject_names names;
    struct job_cancel cancel;
    enum subject_kind kind;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_CANCEL ||
        !job_cancel_read(&arena, msg->payload, msg->header.n > 0, &cancel))
        return;
    for (size_t i = 0; i < LANES; i++) {
        struct job *job = lane_take(&desk->lanes[i], names.jid);

        if (job) {
            job_refuse(job, "execution canceled");
            deliver(job);
        }
        for (job = desk->lanes[i].running; job; job = job->next)
            if (job->is_job && str_eq_text(names.jid, job->request.jid)) {
                log_info("job canceled jid=%s", job->request.jid);
                cancel_raise(&job->cancel);
            }
    }
}

/* --- connection ------------------------------------------------------------------- */

static int subscribe(struct desk *desk, enum subject_kind kind, const struct subject_names *names,
                     nats_msg_fn *fn, struct nats_sub **ret_sub, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&subject, kind, names, err) < 0)
        return -1;
    *ret_sub = nats_sub_new(
        desk->messenger.conn,
        &(struct nats_sub_options){ .subject = buf_text(&subject), .message = fn, .self = desk },
        err);
    return *ret_sub ? 0 : -1;
}

int desk_connect(struct desk *desk, struct nats_conn *conn, struct err *err)
{
    const struct subject_names mine = { .peel = str_from(desk->options.peel_id) };
    const struct subject_names any = { 0 };

    nats_sub_free(desk->commands);
    nats_sub_free(desk->cancels);
    desk->commands = desk->cancels = NULL;
    messenger_connect(&desk->messenger, conn);
    nats_publisher_free(desk->events); /* answers what is on its way */
    desk->events = NULL;
    if (!conn)
        return 0;
    desk->events = nats_publisher_new(
        &(struct nats_js){ .conn = conn },
        &(struct nats_publisher_options){ .give_up = EVENT_WAIT, .in_order = true });
    if (subscribe(desk, SUBJECT_COMMAND, &mine, on_command, &desk->commands, err) < 0)
        return -1;
    return subscribe(desk, SUBJECT_JOB_CANCEL, &any, on_cancel, &desk->cancels, err);
}

/* --- life ------------------------------------------------------------------------- */

/* The agent was killed before the job had its return. */
static void answer_cut_off(void *self, const char *jid, uint64_t epoch, bool begun)
{
    struct desk *desk = self;
    const struct exec_request request = { .jid = jid, .module = "", .id = "", .epoch = epoch };
    struct job *job;

    if (outbox_has(desk->options.outbox, jid)) {
        struct err ignored;

        (void)ledger_finish(desk->options.ledger, jid, &ignored);
        return;
    }
    log_warning("job was cut off by the end of the agent jid=%s", jid);
    job = job_new(desk, &desk->options, &request);
    job->is_job = true;
    job->reply_max = desk->messenger.reply_max;
    if (!begun)
        job_refuse(job, "the peel ended before the job began; nothing was done");
    else if (desk->options.orphans > 0)
        job_refuse(job, "the peel ended while the job ran; its programs still ran and were killed; "
                        "what was done is not known");
    else
        job_refuse(job, "the peel ended while the job ran; what was done is not known");
    deliver(job);
}

static int open_chores(struct desk *desk, struct err *err)
{
    const struct desk_options *options = &desk->options;

    if (options->workers)
        return chores_open_shared(&desk->chores, options->loop, options->workers, err);
    return chores_open_workers(&desk->chores, options->loop,
                               DESK_READERS + DRY_WORKERS + ACT_WORKERS, err);
}

struct desk *desk_new(const struct desk_options *options, struct err *err)
{
    struct desk *desk = mem_zalloc(sizeof(*desk));
    static const size_t limits[LANES] = {
        [LANE_READ] = DESK_READERS, [LANE_DRY] = DRY_WORKERS, [LANE_ACT] = ACT_WORKERS
    };

    desk->options = *options;
    desk->spare_cancel.fd = -1;
    rate_init_for(&desk->warnings, WARNINGS_MINUTE, WARNINGS_MINUTE, 1);
    messenger_init(&desk->messenger, options->peel_id, options->outbox);
    for (size_t i = 0; i < LANES; i++)
        lane_init(&desk->lanes[i], limits[i]);
    if (messenger_open(&desk->messenger, options->loop, err) < 0 || open_chores(desk, err) < 0) {
        desk_free(desk);
        return NULL;
    }
    ledger_each_open(options->ledger, answer_cut_off, desk);
    return desk;
}

void desk_stop(struct desk *desk)
{
    desk->is_stopping = true;
    for (size_t i = 0; i < LANES; i++) {
        struct lane *lane = &desk->lanes[i];
        struct job *job;

        while ((job = lane_take_first(lane))) {
            job_refuse(job, "the peel ends; nothing was done");
            deliver(job);
        }
        for (job = lane->running; job; job = job->next)
            cancel_raise(&job->cancel);
    }
}

void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    chores_close(&desk->chores); /* waits for what runs, and delivers it */
    (void)desk_connect(desk, NULL, NULL);
    messenger_close(&desk->messenger);
    rate_done(&desk->warnings);
    free(desk->warrants);
    cancel_done(&desk->spare_cancel);
    free(desk);
}

bool desk_is_acting(const struct desk *desk)
{
    const struct lane *lane = &desk->lanes[LANE_ACT];

    return lane->busy > 0 && !is_event_send(lane->running);
}

int32_t desk_depth(const struct desk *desk)
{
    int32_t depth = 0;

    for (size_t i = 0; i < LANES; i++)
        for (const struct job *job = desk->lanes[i].running; job; job = job->next)
            if (job->request.rdepth > depth)
                depth = job->request.rdepth;
    return depth;
}

bool desk_is_idle(const struct desk *desk)
{
    for (size_t i = 0; i < LANES; i++)
        if (!lane_is_idle(&desk->lanes[i]))
            return false;
    return true;
}

bool desk_trim(struct desk *desk)
{
    births_clear(desk->options.births);
    return shelf_trim(desk->options.shelf);
}
