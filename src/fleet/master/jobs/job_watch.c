#include <stdlib.h>

#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/secret_args.h"
#include "fleet/bus/store.h"
#include "fleet/bus/request_signature.h"
#include "core/data/time_text.h"
#include "fleet/jobs/claim.h"
#include "fleet/jobs/rollout.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

#define UNREACHABLE "UNREACHABLE: no heartbeat at dispatch and no ack after republish"
#define UNSENT      "not sent: more peels have failed than --max-failures allows"
#define HELD        "not sent: the job ended before its turn came"
#define CANCELED    "canceled: no answer before the job was stopped"
/* A peel ends an overdue job itself; one that does not report it by then is lost. */
#define NODE_GRACE_NS (15 * CLOCK_SECOND)

/* --- watching ----------------------------------------------------------------------- */

static void advance_job(struct job_run *run);

static void on_job_timer(struct timer *timer)
{
    advance_job(container_of(timer, struct job_run, timer));
}

static void on_run_return_stored(void *self, const struct nats_error *error,
                                 const struct nats_stored_ack *ack);

/* A made-up return never replaces an existing one, except this master's own `queued`. */
static void store_run_return(struct job_run *run, struct str peel, struct str bytes, bool made_up)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = job_run_bucket(run, STORE_JOB_RETURNS);
    const char *key = arena_printf(&arena, "%s.%.*s", run->job.jid, (int)peel.n, peel.p);
    struct err err;

    if (nats_kv_publish(&kv, run->dispatcher->returns, key, bytes, made_up, on_run_return_stored,
                        run, &err) < 0) {
        log_error("job %s: the return of '%s' could not be stored: %s", run->job.jid, key,
                  err.text);
        return;
    }
    run->pending++;
    run->writes++;
}

static void on_run_return_stored(void *self, const struct nats_error *error,
                                 const struct nats_stored_ack *ack)
{
    struct job_run *run = self;

    (void)ack;
    run->writes--;
    if (error && error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_CONFLICT) {
        run->has_unstored = true;
        log_warning("job %s: a return could not be stored: %s", run->job.jid, error->text);
    }
    if (!job_run_came_back(run) || run->writes > 0)
        return;
    if (run->step == JOB_RUN_ENDING || (run->step == JOB_RUN_LINGERING && run->corrected))
        job_run_end(run);
}

/* Store a master's answer for a target without one; returns it as bytes. */
static struct str store_made_up(struct job_run *run, struct arena *arena,
                                const struct exec_return *made)
{
    struct exec_return whole = *made;
    const bool was_queued = !made->queued && job_queue_seconds(&run->job) > 0;
    struct str bytes;

    whole.jid = run->job.jid;
    whole.timestamp = job_run_time();
    bytes = job_run_encode(arena, &exec_return_type, &whole);
    store_run_return(run, str_from(made->peel_id), bytes, !was_queued);
    return bytes;
}

/* The same, and publish it. */
static void make_up_return(struct job_run *run, const struct exec_return *made)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_pub pub = { .subject = job_run_subject(&arena, SUBJECT_JOB_RETURN,
                                                             run->job.jid, made->peel_id),
                                  .payload = store_made_up(run, &arena, made) };
    struct err err;

    if (nats_publish(run->dispatcher->options.js.conn, &pub, &err) < 0)
        log_debug("job %s: %s", run->job.jid, err.text);
}

static void give_up_target(struct job_run *run, const char *peel, const char *why, bool unreachable)
{
    make_up_return(
        run, &(struct exec_return){ .peel_id = peel, .error = why, .unreachable = unreachable });
}

/* It has the request, and its real answer will replace this one. */
static void note_overdue(struct job_run *run, const char *peel)
{
    make_up_return(
        run, &(struct exec_return){
                 .peel_id = peel, .error = EXEC_OVERDUE, .unreachable = true, .overdue = true });
}

/* Not reported for a target that has the request: its own answer comes soon. */
static void note_canceled(struct job_run *run, const char *peel, bool is_told)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct exec_return made = { .peel_id = peel, .error = CANCELED, .overdue = true };

    if (is_told)
        make_up_return(run, &made);
    else
        (void)store_made_up(run, &arena, &made);
}

/* --- the queue ---------------------------------------------------------------------- */

static void replace_target(struct job_run *run, const char *peel, const char *newer)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    (void)job_counts_return(run->job_counts, str_from(peel), false, true);
    log_info("job %s: '%s' waits for job %s instead", run->job.jid, peel, newer);
    give_up_target(run, peel, arena_printf(&arena, "not sent: replaced by job %s", newer), true);
}

/* The peel will not come back. */
static void drop_target(struct job_run *run, const char *peel)
{
    (void)job_counts_return(run->job_counts, str_from(peel), false, true);
    give_up_target(run, peel, "not sent: the peel has left the fleet", true);
}

/* Revoked or deleted peels have no facts. */
static bool has_left(const struct job_run *run, const char *peel)
{
    const struct roster *roster = run->dispatcher->options.roster;

    return roster_is_seeded(roster) && !roster_facts(roster, str_from(peel));
}

/* The peel is absent: report until when the job is queued for it. */
static void queue_absent_target(struct job_run *run, const char *peel)
{
    AUTO_BUF struct buf text = BUF_INIT(256);
    const char *newer = map_find(&run->newer, str_from(peel));
    struct value_time until = run->job.deadline;

    if (newer) {
        replace_target(run, peel, newer);
        return;
    }
    if (has_left(run, peel)) {
        drop_target(run, peel);
        return;
    }
    until.seconds -= run->job.timeout / CLOCK_SECOND;
    until.nanoseconds = 0;
    buf_add_text(&text, "queued until ");
    time_print(&text, until);
    buf_add_text(&text, ": the peel is not connected");
    make_up_return(
        run, &(struct exec_return){
                 .peel_id = peel, .error = buf_text(&text), .unreachable = true, .queued = true });
}

void job_run_note_job(struct job_run *run, const struct job *other)
{
    bool replaced = false;

    if (!run->job_counts || run->step > JOB_RUN_WATCHING || !claim_replaces(other, &run->job))
        return;
    for (size_t i = 0; i < other->targets.n; i++) {
        const struct str peel = str_from(other->targets.p[i]);
        const char *mine, *newer;

        if (!job_counts_is_silent(run->job_counts, peel) || map_has(&run->newer, peel))
            continue;
        mine = arena_str(&run->arena, peel).p;
        newer = arena_strdup(&run->arena, other->jid);
        (void)map_set(&run->newer, str_from(mine), arena_strdup(&run->arena, newer));
        if (run->step == JOB_RUN_WATCHING && job_counts_is_queued(run->job_counts, peel)) {
            replace_target(run, mine, newer);
            replaced = true;
        }
    }
    if (replaced)
        advance_job(run);
}

void job_run_note_gone(struct job_run *run, struct str peel)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (!run->job_counts || run->step != JOB_RUN_WATCHING ||
        !job_counts_is_queued(run->job_counts, peel))
        return;
    drop_target(run, arena_str(&arena, peel).p);
    advance_job(run);
}

/* After a takeover: drop targets with a newer queued job. */
static void drop_replaced(struct job_run *run)
{
    MAP_EACH (&run->newer, entry)
        if (run->job.reclaim_count > 0 && job_counts_is_silent(run->job_counts, entry->key))
            replace_target(run, entry->key.p, entry->value);
}

/* A job queued for absent peels also waits for maintenance windows. */
static const char *find_window(const struct job *job)
{
    const char *window = value_get_text(&job->metadata, JOB_WINDOW);

    if (window && window[0])
        return window;
    return job_queue_seconds(job) > 0 ? EXEC_WINDOW_WAIT : "";
}

static int make_exec_request(const struct job_run *run, const struct value *secrets,
                             struct buf *out, struct err *err)
{
    const struct job *job = &run->job;
    const char *plan = value_get_text(&job->metadata, JOB_PLAN);
    const struct exec_request request = {
        .v = EXEC_PROTOCOL,
        .jid = job->jid,
        .module = job->function,
        .id = job->state_id,
        .args = job->args,
        .epoch = run->epoch,
        .rdepth = (int32_t)job_run_number(job, DISPATCHER_DEPTH, 0),
        .plan = plan ? plan : "",
        .timeout = job_node_timeout(job),
        .window = find_window(job),
        .user = job->user,
        .secret_args = *secrets,
    };

    return record_encode(out, &exec_request_type, &request, err);
}

/* Secret arguments are decrypted only for sending, however long the job waits for absent peels. */
static int open_request(const struct job_run *run, struct buf *out, struct err *err)
{
    const struct dispatcher_options *options = &run->dispatcher->options;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value secrets;
    int rc;

    if (secret_args_open(&arena, options->account(options->self), &run->job, &secrets, err) < 0)
        return -1;
    rc = make_exec_request(run, &secrets, out, err);
    secret_args_wipe(&secrets);
    return rc;
}

static void send_exec_request(struct job_run *run, const char *peel)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct request_signature_signer signer = { .key = job_run_signer(run) };
    AUTO_BUF struct buf opened = BUF_INIT(BUF_NO_LIMIT);
    struct nats_pub pub = {
        .subject = job_run_subject(&arena, SUBJECT_COMMAND, run->job.jid, peel),
        .payload = buf_view(&run->request),
    };
    struct err err;
    int rc = job_has_secrets(&run->job) ? open_request(run, &opened, &err) : 0;

    if (job_has_secrets(&run->job))
        pub.payload = buf_view(&opened);
    /* a peel that misses it stays silent and is sent it again */
    if (rc < 0 || (signer.key && request_signature_add(&arena, &signer, false, &pub, &err) < 0) ||
        nats_publish(run->dispatcher->options.js.conn, &pub, &err) < 0)
        log_warning("job %s: request to '%s': %s", run->job.jid, peel, err.text);
    ed25519_wipe(opened.p, opened.n);
}

/* The request needs no delivery. */
static void begin_own_target(struct job_run *run, const char *target)
{
    run->dispatcher->options.begin_own(run->dispatcher->options.self, &run->job);
    (void)job_counts_ack(run->job_counts, str_from(target));
}

static void begin_end(struct job_run *run)
{
    job_run_disarm(run);
    job_run_end_own(run);
    run->step = JOB_RUN_ENDING;
    if (!job_status_is_final(run->job.status)) /* otherwise taken over too often */
        run->job.status = run->orders.status;
    if (run->writes == 0)
        job_run_end(run);
    else
        nats_publisher_hurry(run->dispatcher->returns);
}

static void apply_target_orders(struct job_run *run)
{
    VEC_EACH (&run->orders.send, peel)
        (job_is_orchestration(&run->job) ? begin_own_target : send_exec_request)(run, *peel);
    VEC_EACH (&run->orders.resend, peel)
        send_exec_request(run, *peel);
    run->dispatcher->counts.resends += run->orders.resend.n;
    VEC_EACH (&run->orders.queued, peel)
        queue_absent_target(run, *peel);
    VEC_EACH (&run->orders.lost, peel)
        give_up_target(run, *peel, UNREACHABLE, true);
    VEC_EACH (&run->orders.expired, peel)
        give_up_target(run, *peel, EXEC_OVERDUE, true);
    VEC_EACH (&run->orders.unsent, peel)
        give_up_target(run, *peel, UNSENT, false);
    VEC_EACH (&run->orders.held, peel)
        give_up_target(run, *peel, HELD, true);
    VEC_EACH (&run->orders.overdue, peel)
        note_overdue(run, *peel);
    VEC_EACH (&run->orders.canceled, peel)
        note_canceled(run, *peel, false);
    VEC_EACH (&run->orders.spared, peel)
        note_canceled(run, *peel, true);
    if (run->orders.gate)
        job_run_ask_gate(run);
    if (run->orders.ended)
        begin_end(run);
    else
        job_run_arm(run, job_counts_next(run->job_counts), on_job_timer);
}

/* Before giving up a target: a disconnect loses messages, but the stream has them. */
static void advance_job(struct job_run *run)
{
    const int64_t now = clock_now();

    if (!run->is_caught_up && job_counts_gives_up(run->job_counts, now)) {
        if (!job_run_is_replaying(run))
            job_run_replay(run);
        return;
    }
    job_counts_advance(run->job_counts, now, &run->orders);
    apply_target_orders(run);
}

void job_run_advance(struct job_run *run)
{
    if (run->step == JOB_RUN_WATCHING)
        advance_job(run);
}

/* The identity is in the subject, which the server checks. */
static bool read_return_names(const struct job_run *run, struct str subject,
                              enum subject_kind expected, struct subject_names *ret_names)
{
    enum subject_kind kind;

    return subject_parse(subject, &kind, ret_names) && kind == expected &&
           str_eq(ret_names->jid, str_from(run->job.jid));
}

/* One warning per job, so that a flood does not fill the log. */
static void drop_answer(struct job_run *run, struct str subject, enum dispatcher_drop reason)
{
    const struct dispatcher_options *options = &run->dispatcher->options;

    run->dispatcher->counts.dropped[reason]++;
    if (options->on_drop)
        options->on_drop(options->self, reason);
    if (run->has_dropped)
        return;
    run->has_dropped = true;
    log_warning("job %s: dropped a message on %.*s: %s", run->job.jid, (int)subject.n, subject.p,
                dispatcher_drop_name(reason));
}

static int64_t convert_to_ns(struct value_time time)
{
    return time.seconds > INT64_MAX / CLOCK_SECOND - 1
               ? INT64_MAX
               : time.seconds * CLOCK_SECOND + time.nanoseconds;
}

/* A peel outside its maintenance window: it gets the request later. */
static void defer_target(struct job_run *run, struct str subject, struct str peel,
                         struct value_time not_before)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(256);
    const int64_t left = convert_to_ns(not_before) - bus_time(), now = clock_now();
    const struct str id = arena_str(&arena, peel);
    const enum job_counts_note note =
        job_counts_defer(run->job_counts, id, now, clock_after(now, left > 0 ? left : 0));

    if (note == JOB_COUNTS_STRANGER)
        drop_answer(run, subject, DISPATCHER_STRANGER);
    if (note != JOB_COUNTS_NOTED && note != JOB_COUNTS_LATE)
        return;
    buf_add_text(&text, note == JOB_COUNTS_NOTED ? "queued until " : "not sent: its window opens ");
    time_print(&text, not_before);
    buf_add_text(&text, note == JOB_COUNTS_NOTED ? ": its maintenance window opens then"
                                                 : ", after the time for which the job is queued");
    make_up_return(run, &(struct exec_return){ .peel_id = id.p,
                                               .error = buf_text(&text),
                                               .unreachable = true,
                                               .queued = note == JOB_COUNTS_NOTED });
    if (run->step == JOB_RUN_WATCHING)
        advance_job(run);
}

void job_run_note_ack(void *self, const struct nats_msg *msg)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct subject_names names;
    struct exec_ack ack;
    struct err err;

    if (!read_return_names(run, msg->subject, SUBJECT_JOB_ACK, &names) ||
        record_decode(&arena, &exec_ack_type, 1, msg->payload, &ack, &err) < 0)
        drop_answer(run, msg->subject, DISPATCHER_MALFORMED);
    else if (!str_eq(names.peel, str_from(ack.peel_id)) ||
             (ack.jid[0] && !str_eq(names.jid, str_from(ack.jid))))
        drop_answer(run, msg->subject, DISPATCHER_SPOOF);
    else if (ack.not_before.seconds > 0)
        defer_target(run, msg->subject, names.peel, ack.not_before);
    else if (job_counts_ack(run->job_counts, names.peel) == JOB_COUNTS_STRANGER)
        drop_answer(run, msg->subject, DISPATCHER_STRANGER);
}

static bool is_return_success(const struct exec_return *ret)
{
    return ret->success && ret->error[0] == '\0';
}

static void count_job_return(struct job_run *run, struct str subject, struct str peel,
                             struct str payload, const struct exec_return *ret)
{
    enum job_counts_note note =
        job_counts_return(run->job_counts, peel, is_return_success(ret), false);

    if (note == JOB_COUNTS_STRANGER)
        drop_answer(run, subject, DISPATCHER_STRANGER);
    else if (note == JOB_COUNTS_NOTED)
        store_run_return(run, peel, payload, false);
    if (note == JOB_COUNTS_NOTED && run->step == JOB_RUN_LINGERING)
        job_run_correct(run);
}

/* A master's answer for a target that was spared. It comes back to its publisher, and from the
 * stream after a takeover; the target has not had the request, so its wave has not begun. */
static bool is_unsent(const struct exec_return *ret)
{
    return !ret->success && strcmp(ret->error, UNSENT) == 0;
}

/* Accepts only a peel's own answers; made-up ones come only from our own counts. */
void job_run_note_return(struct job_run *run, struct str subject, struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct subject_names names;
    struct exec_return ret;
    struct err err;

    if (!read_return_names(run, subject, SUBJECT_JOB_RETURN, &names) ||
        record_decode(&arena, &exec_return_type, 1, payload, &ret, &err) < 0)
        drop_answer(run, subject, DISPATCHER_MALFORMED);
    else if (!exec_return_is_of(&ret, names.jid, names.peel))
        drop_answer(run, subject, DISPATCHER_SPOOF);
    else if (is_unsent(&ret))
        (void)job_counts_return(run->job_counts, names.peel, false, true);
    else if (!exec_return_is_made_up(&ret))
        count_job_return(run, subject, names.peel, payload, &ret);
}

static void take_run_return(struct job_run *run, struct str subject, struct str payload)
{
    job_run_note_return(run, subject, payload);
    if (run->step == JOB_RUN_WATCHING && (run->is_batched || job_counts_next(run->job_counts) == 0))
        advance_job(run);
}

static void on_run_return(void *self, const struct nats_msg *msg)
{
    take_run_return(self, msg->subject, msg->payload);
}

static bool is_taking_returns(const struct job_run *run)
{
    return run->step == JOB_RUN_REPLAYING || run->step == JOB_RUN_WATCHING;
}

bool job_run_knows_return(const struct job_run *run, struct str peel)
{
    return run->step >= JOB_RUN_REPLAYING && run->step <= JOB_RUN_LINGERING && run->job_counts &&
           !run->has_unstored && job_counts_has_returned(run->job_counts, peel);
}

bool job_run_hand_return(struct job_run *run, struct str subject, struct str payload)
{
    if (!is_taking_returns(run))
        return false;
    take_run_return(run, subject, payload);
    return true;
}

int job_run_subscribe(struct job_run *run, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_conn *conn = run->dispatcher->options.js.conn;
    const char *jid = run->job.jid;

    run->acks = nats_sub_new(conn,
                             &(struct nats_sub_options){
                                 .subject = job_run_subject(&arena, SUBJECT_JOB_ACK, jid, NULL).p,
                                 .message = job_run_note_ack,
                                 .self = run },
                             err);
    run->returns =
        nats_sub_new(conn,
                     &(struct nats_sub_options){
                         .subject = job_run_subject(&arena, SUBJECT_JOB_RETURN, jid, NULL).p,
                         .message = on_run_return,
                         .self = run },
                     err);
    return run->acks && run->returns ? 0 : -1;
}

size_t job_run_number(const struct job *job, const char *key, size_t fallback)
{
    const char *text = value_get_text(&job->metadata, key);
    char *end;
    unsigned long long number;

    if (!text || !text[0])
        return fallback;
    number = strtoull(text, &end, 10);
    return *end ? fallback : (size_t)number;
}

static bool is_present(void *self, const char *peel)
{
    const struct job_run *run = self;

    return roster_is_online(run->dispatcher->options.roster, str_from(peel));
}

void job_run_make_counts(struct job_run *run)
{
    const struct job *job = &run->job;
    int64_t left = job->deadline.seconds * CLOCK_SECOND + job->deadline.nanoseconds - bus_time();
    const bool is_over = left < 0 || job_status_is_final(job->status);
    struct job_counts_options options = { .deadline =
                                              clock_after(clock_now(), is_over ? 0 : left) };
    struct rollout rollout;

    rollout_read(job, &rollout);
    options.batch = rollout.batch;
    options.failures_max = rollout.failures_max;
    options.has_waves = rollout.has_waves;
    options.has_gate = rollout.gate_function.n > 0;
    options.pause = rollout.pause;
    if (job_queue_seconds(job) > 0) {
        options.queue_until = options.deadline - job->timeout;
        options.is_present = is_present;
        options.self = run;
    } else if (options.batch)
        options.target_timeout = job->timeout;
    if (job_node_timeout(job) > 0)
        options.ack_timeout = clock_after(NODE_GRACE_NS, job_node_timeout(job));
    run->is_batched = options.batch > 0;
    run->job_counts = job_counts_new(&job->targets, &options);
}

void job_run_watch(struct job_run *run)
{
    const struct value none = value_null();
    struct err err;

    run->step = JOB_RUN_WATCHING;
    if (!job_has_secrets(&run->job) && make_exec_request(run, &none, &run->request, &err) < 0)
        log_error("job %s: %s", run->job.jid, err.text);
    drop_replaced(run);
    advance_job(run);
    crash_point("job-sent");
    if (run->fn && run->dispatcher->options.on_sent) /* otherwise taken over */
        run->dispatcher->options.on_sent(run->dispatcher->options.self, &run->job);
    job_run_answer(run, DISPATCH_SENT, run->job.jid);
    if (run->step == JOB_RUN_WATCHING)
        job_run_rescued(run);
}

void job_run_go_on(struct job_run *run)
{
    run->is_caught_up = true;
    if (run->step == JOB_RUN_REPLAYING)
        job_run_watch(run);
    else if (run->step == JOB_RUN_WATCHING)
        advance_job(run);
    run->is_caught_up = false;
}

bool job_run_cancel(struct job_run *run)
{
    if (run->step != JOB_RUN_WATCHING)
        return false;
    job_counts_cancel(run->job_counts);
    advance_job(run);
    return true;
}
