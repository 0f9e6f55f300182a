/*
 * Reads answers from the stream that arrived while this master did not listen.
 *
 * For a job with few targets, the last ack and return of each target are read one by one. A job
 * with many targets, or with a return that hides an earlier one, is read completely, with a
 * consumer. After a server failure masters read for all their jobs, so only some are read at once
 * and the others are queued: the number of consumers is limited.
 *
 * The subscriptions are already active, so there is no gap.
 */
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

/* Maximum targets for reading one by one. */
#define FEW 8
/* Jobs read at once. */
#define READERS_MAX 4
/* Retry interval for a stream without a leader. */
#define RETRY_NS (1 * CLOCK_SECOND)

static const enum subject_kind answers[] = { SUBJECT_JOB_RETURN, SUBJECT_JOB_ACK };

static void note_message(void *self, const struct nats_msg *msg,
                         const struct nats_delivery *delivery)
{
    struct job_run *run = self;
    enum subject_kind kind;
    struct subject_names names;

    (void)delivery;
    if (!subject_parse(msg->subject, &kind, &names))
        return;
    if (kind == SUBJECT_JOB_ACK)
        job_run_note_ack(run, msg);
    else if (kind == SUBJECT_JOB_RETURN)
        job_run_note_return(run, msg->subject, msg->payload);
}

/* --- turns ------------------------------------------------------------------------------ */

static void begin_replay(struct job_run *run);

static void unlink_queued_replay(struct job_run *run)
{
    struct job_replays *replays = &run->dispatcher->replays;
    struct job_replay *replay = &run->replay;

    *(replay->previous ? &replay->previous->replay.next : &replays->first) = replay->next;
    *(replay->next ? &replay->next->replay.previous : &replays->last) = replay->previous;
    replay->next = replay->previous = NULL;
}

static void append_waiting(struct job_run *run)
{
    struct job_replays *replays = &run->dispatcher->replays;

    run->replay.state = JOB_REPLAY_WAITS;
    run->replay.previous = replays->last;
    *(replays->last ? &replays->last->replay.next : &replays->first) = run;
    replays->last = run;
}

/* A reading may end while it begins. */
static void begin_queued_replays(struct dispatcher *dispatcher)
{
    struct job_replays *replays = &dispatcher->replays;

    if (replays->is_held)
        return;
    replays->is_held = true;
    while (replays->first && replays->readers < READERS_MAX) {
        struct job_run *run = replays->first;

        unlink_queued_replay(run);
        replays->readers++;
        run->replay.state = JOB_REPLAY_READS;
        begin_replay(run);
    }
    replays->is_held = false;
}

static void leave_replay_readers(struct job_run *run)
{
    run->replay.state = JOB_REPLAY_NONE;
    timer_clear(job_run_timers(run), &run->replay.retry);
    nats_ordered_free(run->replay.consumer);
    run->replay.consumer = NULL;
    run->dispatcher->replays.readers--;
}

static void end_replay(struct job_run *run)
{
    struct dispatcher *dispatcher = run->dispatcher;

    leave_replay_readers(run);
    if (run->replay.is_due_again)
        job_run_replay(run);
    else
        job_run_go_on(run);
    begin_queued_replays(dispatcher);
}

static void fail_reading(struct job_run *run, const char *why)
{
    log_warning("job %s: cannot read earlier answers: %s", run->job.jid, why);
    end_replay(run);
}

/* --- all of its messages ---------------------------------------------------------------- */

static void on_replay_caught_up(void *self)
{
    end_replay(self);
}

static void on_consumer_failed(void *self, const struct nats_error *error)
{
    fail_reading(self, error->text);
}

static void begin_consumer(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_ordered_options options = {
        .stream = STORE_JOB_EVENTS,
        .filter_subject = arena_printf(&arena, "zester.job.%s.>", run->job.jid),
        .deliver = NATS_DELIVER_ALL,
        .message = note_message,
        .caught_up = on_replay_caught_up,
        .failed = on_consumer_failed,
        .self = run,
    };
    struct err err;

    run->replay.consumer = nats_ordered_new(&run->dispatcher->options.js, &options, &err);
    if (!run->replay.consumer)
        fail_reading(run, err.text);
}

/* --- last messages of each target ------------------------------------------------------- */

static void read_next(struct job_run *run);

static void on_replay_retry(struct timer *timer)
{
    read_next(container_of(timer, struct job_run, replay.retry));
}

static void retry_reading(struct job_run *run, const char *why)
{
    log_info("job %s: cannot read earlier answers: %s; trying again", run->job.jid, why);
    timer_set(job_run_timers(run), &run->replay.retry, clock_after(clock_now(), RETRY_NS),
              on_replay_retry);
}

/* A master's answer may hide an earlier one of the target itself. */
static bool is_return_hidden(const struct nats_stored *stored)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    enum subject_kind kind;
    struct subject_names names;
    struct exec_return ret;
    struct err err;

    return subject_parse(stored->subject, &kind, &names) && kind == SUBJECT_JOB_RETURN &&
           record_decode(&arena, &exec_return_type, 1, stored->payload, &ret, &err) == 0 &&
           exec_return_is_made_up(&ret);
}

static void note_replayed_message(struct job_run *run, const struct nats_stored *stored)
{
    const struct nats_msg msg = { .subject = stored->subject, .payload = stored->payload };

    if (is_return_hidden(stored)) {
        begin_consumer(run);
        return;
    }
    note_message(run, &msg, NULL);
    run->replay.at++;
    read_next(run);
}

static void on_replayed_message(void *self, const struct nats_error *error,
                                const struct nats_stored *stored)
{
    struct job_run *run = self;

    if (!job_run_came_back(run))
        return;
    if (!error) {
        note_replayed_message(run, stored);
    } else if (error->fault == NATS_FAULT_NOT_FOUND) {
        run->replay.at++;
        read_next(run);
    } else if (error->fault == NATS_FAULT_DENIED || error->fault == NATS_FAULT_CANCELED) {
        fail_reading(run, error->text);
    } else {
        retry_reading(run, error->text);
    }
}

static void read_last(struct job_run *run, enum subject_kind kind, const char *peel)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str subject = job_run_subject(&arena, kind, run->job.jid, peel);
    struct err err;

    if (nats_stream_get(&run->dispatcher->options.js, STORE_JOB_EVENTS,
                        &(struct nats_which){ .last_of = subject.p }, on_replayed_message, run,
                        &err) < 0)
        retry_reading(run, err.text);
    else
        run->pending++;
}

/* A master does not acknowledge its own work. */
static bool is_replayed_message_known(const struct job_run *run, enum subject_kind kind,
                                      struct str peel)
{
    if (kind == SUBJECT_JOB_RETURN)
        return job_counts_has_returned(run->job_counts, peel);
    return job_is_orchestration(&run->job) || !job_counts_is_silent(run->job_counts, peel);
}

static void read_next(struct job_run *run)
{
    const struct param_strs *targets = &run->job.targets;
    size_t *at = &run->replay.at;

    for (; *at < targets->n * ARRAY_LEN(answers); ++*at) {
        const char *peel = targets->p[*at / ARRAY_LEN(answers)];
        const enum subject_kind kind = answers[*at % ARRAY_LEN(answers)];
        if (!is_replayed_message_known(run, kind, str_from(peel))) {
            read_last(run, kind, peel);
            return;
        }
    }
    end_replay(run);
}

/* --- start and end ---------------------------------------------------------------------- */

static void begin_replay(struct job_run *run)
{
    run->replay.at = 0;
    run->replay.is_due_again = false;
    if (run->job.targets.n <= FEW)
        read_next(run);
    else
        begin_consumer(run);
}

void job_run_replay(struct job_run *run)
{
    switch (run->replay.state) {
    case JOB_REPLAY_NONE:
        append_waiting(run);
        begin_queued_replays(run->dispatcher);
        break;
    case JOB_REPLAY_WAITS: break;
    case JOB_REPLAY_READS:
        run->replay.is_due_again |= !run->replay.consumer; /* a consumer misses nothing */
        break;
    }
}

bool job_run_is_replaying(const struct job_run *run)
{
    return run->replay.state != JOB_REPLAY_NONE;
}

void job_run_end_replay(struct job_run *run)
{
    if (run->replay.state == JOB_REPLAY_WAITS)
        unlink_queued_replay(run);
    else if (run->replay.state == JOB_REPLAY_READS) {
        leave_replay_readers(run);
        begin_queued_replays(run->dispatcher);
    }
    run->replay.state = JOB_REPLAY_NONE;
}
