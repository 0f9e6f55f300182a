#include "fleet/jobs/job_counts.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/map.h"

enum target_state {
    TARGET_HELD, /* not sent yet */
    TARGET_SENT,
    TARGET_RESENT,
    TARGET_QUEUED, /* absent: it gets the request when it is back */
    TARGET_ACKED,
    TARGET_OVERDUE, /* without a result at the end of the job */
    TARGET_MADE_UP, /* a master answered for it */
    TARGET_RETURNED,
};

struct job_target {
    const char *id;
    enum target_state state;
    bool success;
    bool has_request; /* it said so */
    bool is_timed;    /* its ack was seen by job_counts_advance */
    int64_t until;    /* of ACKED, with per-target timeouts; 0: not known yet */
    int64_t due; /* of SENT, RESENT and QUEUED: when its silence has lasted too long, or is checked
                    again */
};

enum wave_step {
    WAVE_RUNS,
    WAVE_GATE, /* has ended, and its gate is asked for */
    WAVE_PASSED,
};

struct job_counts {
    struct arena arena;
    struct job_counts_options options;
    struct map by_id;
    struct job_target *targets;
    size_t count;
    size_t first_held; /* all before it were sent */
    size_t busy;       /* sent, without a result */
    size_t returned, succeeded, unhealthy;
    size_t wave;        /* from 0 */
    size_t wave_cursor; /* all before it have a result */
    enum wave_step wave_step;
    int64_t pause_until;  /* 0: not now */
    int64_t next_silence; /* no target is due before; INT64_MAX: none waits */
    bool canceled, ended;
    enum job_status status; /* when it has ended */
};

struct job_counts *job_counts_new(const struct param_strs *targets,
                                  const struct job_counts_options *options)
{
    struct job_counts *job_counts = mem_zalloc(sizeof(*job_counts));

    job_counts->options = *options;
    job_counts->targets = ARENA_ARRAY(&job_counts->arena, struct job_target, targets->n);
    job_counts->next_silence = INT64_MAX;
    map_reserve(&job_counts->by_id, targets->n);
    for (size_t i = 0; i < targets->n; i++) {
        struct job_target *target = &job_counts->targets[job_counts->count];

        if (map_has(&job_counts->by_id, str_from(targets->p[i])))
            continue;
        target->id = arena_strdup(&job_counts->arena, targets->p[i]);
        (void)map_set(&job_counts->by_id, str_from(target->id), target);
        job_counts->count++;
    }
    return job_counts;
}

void job_counts_free(struct job_counts *job_counts)
{
    if (!job_counts)
        return;
    map_done(&job_counts->by_id);
    arena_done(&job_counts->arena);
    free(job_counts);
}

static bool is_target_busy(const struct job_target *target)
{
    return target->state == TARGET_SENT || target->state == TARGET_RESENT ||
           target->state == TARGET_ACKED;
}

static bool has_returned(const struct job_target *target)
{
    return target->state == TARGET_MADE_UP || target->state == TARGET_RETURNED;
}

static bool has_target_time(const struct job_counts *job_counts)
{
    return job_counts->options.target_timeout || job_counts->options.ack_timeout;
}

/* --- answers ------------------------------------------------------------------------ */

enum job_counts_note job_counts_ack(struct job_counts *job_counts, struct str peel)
{
    struct job_target *target = map_find(&job_counts->by_id, peel);

    if (!target)
        return JOB_COUNTS_STRANGER;
    if (target->state >= TARGET_ACKED)
        return JOB_COUNTS_KNOWN;
    job_counts->busy += !is_target_busy(target);
    target->state = TARGET_ACKED;
    target->has_request = true;
    if (has_target_time(job_counts))
        job_counts->next_silence = 0; /* its time counts from the next look at all of them */
    return JOB_COUNTS_NOTED;
}

static void set_target_result(struct job_counts *job_counts, struct job_target *target,
                              bool success, bool made_up)
{
    job_counts->busy -= is_target_busy(target);
    if (has_returned(target)) {
        job_counts->returned--;
        job_counts->succeeded -= target->success;
    }
    target->state = made_up ? TARGET_MADE_UP : TARGET_RETURNED;
    target->success = success;
    job_counts->returned++;
    job_counts->succeeded += success;
}

enum job_counts_note job_counts_return(struct job_counts *job_counts, struct str peel, bool success,
                                       bool made_up)
{
    struct job_target *target = map_find(&job_counts->by_id, peel);

    if (!target)
        return JOB_COUNTS_STRANGER;
    if (target->state == TARGET_RETURNED || (made_up && target->state == TARGET_MADE_UP))
        return JOB_COUNTS_KNOWN;
    target->has_request |= !made_up;
    set_target_result(job_counts, target, success, made_up);
    return JOB_COUNTS_NOTED;
}

void job_counts_gate(struct job_counts *job_counts, size_t unhealthy)
{
    if (job_counts->wave_step != WAVE_GATE)
        return;
    job_counts->unhealthy += unhealthy;
    job_counts->wave_step = WAVE_PASSED;
}

void job_counts_cancel(struct job_counts *job_counts)
{
    job_counts->canceled = true;
}

/* --- what is due -------------------------------------------------------------------- */

static void await_target(struct job_counts *job_counts, struct job_target *target,
                         enum target_state state, int64_t due)
{
    target->state = state;
    target->due = due;
    if (due < job_counts->next_silence)
        job_counts->next_silence = due;
}

static void lose_target(struct job_counts *job_counts, struct job_target *target,
                        struct job_counts_orders *orders)
{
    set_target_result(job_counts, target, false, true);
    VEC_PUSH(&orders->lost, target->id);
}

static bool has_queue(const struct job_counts *job_counts, int64_t now)
{
    return job_counts->options.queue_until > now;
}

enum job_counts_note job_counts_defer(struct job_counts *job_counts, struct str peel, int64_t now,
                                      int64_t due)
{
    struct job_target *target = map_find(&job_counts->by_id, peel);

    if (!target)
        return JOB_COUNTS_STRANGER;
    if (job_counts->ended || target->state < TARGET_SENT || target->state > TARGET_QUEUED ||
        !has_queue(job_counts, now))
        return JOB_COUNTS_KNOWN;
    if (due >= job_counts->options.queue_until) {
        set_target_result(job_counts, target, false, true);
        return JOB_COUNTS_LATE;
    }
    job_counts->busy -= is_target_busy(target);
    /* a target that asks again and again gets it no more often than the others */
    await_target(job_counts, target, TARGET_QUEUED,
                 due < now + JOB_COUNTS_QUEUE_NS ? now + JOB_COUNTS_QUEUE_NS : due);
    return JOB_COUNTS_NOTED;
}

/* The same request once more. */
static void resend_request(struct job_counts *job_counts, struct job_target *target, int64_t now,
                           struct job_counts_orders *orders)
{
    job_counts->busy += !is_target_busy(target);
    await_target(job_counts, target, TARGET_RESENT, now + JOB_COUNTS_GIVE_UP_NS);
    VEC_PUSH(&orders->resend, target->id);
}

static void queue_job_target(struct job_counts *job_counts, struct job_target *target, int64_t now,
                             struct job_counts_orders *orders)
{
    job_counts->busy--;
    await_target(job_counts, target, TARGET_QUEUED, now + JOB_COUNTS_QUEUE_NS);
    VEC_PUSH(&orders->queued, target->id);
}

static void check_silence(struct job_counts *job_counts, struct job_target *target, int64_t now,
                          struct job_counts_orders *orders)
{
    if (now < target->due)
        await_target(job_counts, target, target->state, target->due);
    else if (target->state == TARGET_SENT)
        resend_request(job_counts, target, now, orders);
    else if (!has_queue(job_counts, now))
        lose_target(job_counts, target, orders);
    else if (target->state == TARGET_RESENT)
        queue_job_target(job_counts, target, now, orders);
    else if (job_counts->options.is_present(job_counts->options.self, target->id))
        resend_request(job_counts, target, now, orders);
    else
        await_target(job_counts, target, TARGET_QUEUED, now + JOB_COUNTS_QUEUE_NS);
}

static void limit_time(struct job_target *target, int64_t now, int64_t timeout)
{
    if (timeout && (target->until == 0 || now + timeout < target->until))
        target->until = now + timeout;
}

/* One that hangs makes room, and does not keep the job from its end. */
static void check_target_time(struct job_counts *job_counts, struct job_target *target, int64_t now,
                              struct job_counts_orders *orders)
{
    if (target->until == 0)
        limit_time(target, now, job_counts->options.target_timeout);
    if (!target->is_timed)
        limit_time(target, now, job_counts->options.ack_timeout);
    target->is_timed = true;
    if (now < target->until) {
        await_target(job_counts, target, TARGET_ACKED, target->until);
        return;
    }
    set_target_result(job_counts, target, false, true);
    VEC_PUSH(&orders->expired, target->id);
}

static void give_up_silent(struct job_counts *job_counts, int64_t now,
                           struct job_counts_orders *orders)
{
    if (now < job_counts->next_silence)
        return;
    job_counts->next_silence = INT64_MAX;
    for (size_t i = 0; i < job_counts->count; i++) {
        struct job_target *target = &job_counts->targets[i];

        if (target->state >= TARGET_SENT && target->state <= TARGET_QUEUED)
            check_silence(job_counts, target, now, orders);
        else if (target->state == TARGET_ACKED && has_target_time(job_counts))
            check_target_time(job_counts, target, now, orders);
    }
}

static bool is_over_budget(const struct job_counts *job_counts)
{
    return job_counts->options.batch &&
           job_counts->returned - job_counts->succeeded + job_counts->unhealthy >
               job_counts->options.failures_max;
}

/* --- waves -------------------------------------------------------------------------- */

/* One behind the last target of the wave. */
static size_t find_wave_end(const struct job_counts *job_counts)
{
    const size_t batch = job_counts->options.batch,
                 left = job_counts->count - job_counts->wave * batch;

    return job_counts->wave * batch + (left < batch ? left : batch);
}

static bool has_wave_ended(struct job_counts *job_counts)
{
    const size_t end = find_wave_end(job_counts);

    while (job_counts->wave_cursor < end &&
           has_returned(&job_counts->targets[job_counts->wave_cursor]))
        job_counts->wave_cursor++;
    return job_counts->wave_cursor == end;
}

/* By a master that had the job before. */
static bool was_next_begun(const struct job_counts *job_counts)
{
    const size_t begin = find_wave_end(job_counts);

    for (size_t i = begin; i < job_counts->count && i < begin + job_counts->options.batch; i++)
        if (job_counts->targets[i].state != TARGET_HELD)
            return true;
    return false;
}

static bool is_paused(struct job_counts *job_counts, int64_t now)
{
    if (job_counts->options.pause == 0 || was_next_begun(job_counts))
        return false;
    if (job_counts->pause_until == 0)
        job_counts->pause_until = now + job_counts->options.pause;
    if (now < job_counts->pause_until && job_counts->pause_until < job_counts->next_silence)
        job_counts->next_silence = job_counts->pause_until;
    return now < job_counts->pause_until;
}

/* Go to the wave whose targets may be sent. */
static void advance_wave(struct job_counts *job_counts, int64_t now,
                         struct job_counts_orders *orders)
{
    while (job_counts->options.has_waves && job_counts->wave_step != WAVE_GATE &&
           has_wave_ended(job_counts) && !is_over_budget(job_counts)) {
        if (job_counts->wave_step == WAVE_RUNS && job_counts->options.has_gate) {
            job_counts->wave_step = WAVE_GATE;
            orders->gate = true;
            return;
        }
        job_counts->wave_step = WAVE_PASSED;
        if (job_counts->wave_cursor == job_counts->count || is_paused(job_counts, now))
            return;
        job_counts->wave++;
        job_counts->wave_step = WAVE_RUNS;
        job_counts->pause_until = 0;
    }
}

/* May the next one that is held be sent? */
static bool has_batch_room(const struct job_counts *job_counts)
{
    if (job_counts->options.has_waves)
        return job_counts->first_held < find_wave_end(job_counts);
    return !job_counts->options.batch || job_counts->busy < job_counts->options.batch;
}

/* Nothing is left to be sent, waited for, or asked. */
static bool is_complete(const struct job_counts *job_counts)
{
    return job_counts->returned == job_counts->count &&
           (!job_counts->options.has_gate || job_counts->wave_step == WAVE_PASSED ||
            is_over_budget(job_counts));
}

static void send_held(struct job_counts *job_counts, int64_t now, struct job_counts_orders *orders)
{
    bool refuse = is_over_budget(job_counts);

    for (; job_counts->first_held < job_counts->count; job_counts->first_held++) {
        struct job_target *target = &job_counts->targets[job_counts->first_held];

        if (target->state != TARGET_HELD)
            continue;
        if (refuse) {
            set_target_result(job_counts, target, false, true);
            VEC_PUSH(&orders->unsent, target->id);
            continue;
        }
        if (!has_batch_room(job_counts))
            return;
        job_counts->busy++;
        if (job_counts->options.target_timeout)
            target->until = now + job_counts->options.target_timeout;
        await_target(job_counts, target, TARGET_SENT, now + JOB_COUNTS_RESEND_NS);
        VEC_PUSH(&orders->send, target->id);
    }
}

static enum job_status find_status(const struct job_counts *job_counts)
{
    if (job_counts->returned == job_counts->count)
        return job_counts->succeeded == job_counts->count && !job_counts->unhealthy ? JOB_COMPLETE
                                                                                    : JOB_FAILED;
    if (job_counts->canceled)
        return JOB_CANCELED;
    return job_counts->returned ? JOB_PARTIAL : JOB_TIMEOUT;
}

static void end_without_result(struct job_counts *job_counts, struct job_target *target)
{
    job_counts->busy -= is_target_busy(target);
    target->state = TARGET_OVERDUE;
}

static void end_stopped(struct job_counts *job_counts, struct job_target *target,
                        struct job_counts_orders *orders)
{
    if (target->state == TARGET_ACKED)
        VEC_PUSH(&orders->canceled, target->id);
    else
        VEC_PUSH(&orders->spared, target->id);
    end_without_result(job_counts, target);
}

static void end_late(struct job_counts *job_counts, struct job_target *target,
                     struct job_counts_orders *orders)
{
    if (target->state == TARGET_ACKED) {
        VEC_PUSH(&orders->overdue, target->id);
        end_without_result(job_counts, target);
        return;
    }
    if (target->state == TARGET_HELD && job_counts->options.batch)
        VEC_PUSH(&orders->held, target->id);
    else /* one that is not sent at the deadline: another master may have sent it before */
        VEC_PUSH(&orders->lost, target->id);
    set_target_result(job_counts, target, false, true);
}

/* Targets without a result at the end get an answer, too. */
static void end_rest(struct job_counts *job_counts, struct job_counts_orders *orders)
{
    for (size_t i = 0; i < job_counts->count; i++) {
        struct job_target *target = &job_counts->targets[i];

        if (target->state > TARGET_ACKED)
            continue;
        if (job_counts->canceled)
            end_stopped(job_counts, target, orders);
        else
            end_late(job_counts, target, orders);
    }
}

void job_counts_orders_done(struct job_counts_orders *orders)
{
    vec_done(&orders->send);
    vec_done(&orders->resend);
    vec_done(&orders->queued);
    vec_done(&orders->lost);
    vec_done(&orders->expired);
    vec_done(&orders->unsent);
    vec_done(&orders->held);
    vec_done(&orders->overdue);
    vec_done(&orders->canceled);
    vec_done(&orders->spared);
}

/* Waves are sent in order: the last one that had the request is the one that counts, also when a
 * master finds the job after its deadline. */
static void find_last_wave(struct job_counts *job_counts)
{
    for (size_t i = job_counts->options.has_waves ? find_wave_end(job_counts) : job_counts->count;
         i < job_counts->count; i++)
        if (job_counts->targets[i].has_request)
            job_counts->wave = i / job_counts->options.batch;
}

/* A gate that has not answered at the deadline has not passed. */
static void end_canary_gate(struct job_counts *job_counts)
{
    struct job_counts_ids healthy = { .list = VEC_INIT };

    if (job_counts->canceled || job_counts->wave_step != WAVE_GATE)
        return;
    job_counts_list(job_counts, JOB_COUNTS_HEALTHY, &healthy);
    job_counts_gate(job_counts, healthy.list.n);
    vec_done(&healthy.list);
}

void job_counts_advance(struct job_counts *job_counts, int64_t now,
                        struct job_counts_orders *orders)
{
    vec_clear(&orders->send);
    vec_clear(&orders->resend);
    vec_clear(&orders->queued);
    vec_clear(&orders->lost);
    vec_clear(&orders->expired);
    vec_clear(&orders->unsent);
    vec_clear(&orders->held);
    vec_clear(&orders->overdue);
    vec_clear(&orders->canceled);
    vec_clear(&orders->spared);
    orders->gate = false;
    if (!job_counts->ended && !job_counts->canceled && now < job_counts->options.deadline) {
        give_up_silent(job_counts, now, orders);
        advance_wave(job_counts, now, orders);
        send_held(job_counts, now, orders);
    }
    if (!job_counts->ended &&
        (job_counts->canceled || now >= job_counts->options.deadline || is_complete(job_counts))) {
        job_counts->ended = true;
        end_canary_gate(job_counts);
        find_last_wave(job_counts);
        job_counts->status = find_status(job_counts);
        end_rest(job_counts, orders);
    }
    orders->ended = job_counts->ended;
    orders->status = job_counts->ended ? job_counts->status : JOB_RUNNING;
}

int64_t job_counts_next(const struct job_counts *job_counts)
{
    if (job_counts->ended)
        return INT64_MAX;
    if (job_counts->canceled || is_complete(job_counts))
        return 0;
    return job_counts->next_silence < job_counts->options.deadline ? job_counts->next_silence
                                                                   : job_counts->options.deadline;
}

bool job_counts_gives_up(const struct job_counts *job_counts, int64_t now)
{
    if (job_counts->ended || job_counts->canceled || job_counts->returned == job_counts->count)
        return false;
    if (now >= job_counts->options.deadline)
        return true;
    if (now < job_counts->next_silence)
        return false;
    for (size_t i = 0; i < job_counts->count; i++) {
        const struct job_target *target = &job_counts->targets[i];

        if (now >= target->due && (target->state == TARGET_RESENT ||
                                   (target->state == TARGET_QUEUED && !has_queue(job_counts, now))))
            return true;
        if (target->state == TARGET_ACKED && target->until && now >= target->until)
            return true;
    }
    return false;
}

struct job_counts_counts job_counts_counts(const struct job_counts *job_counts)
{
    return (struct job_counts_counts){ job_counts->count, job_counts->returned,
                                       job_counts->succeeded, job_counts->unhealthy };
}

enum job_status job_counts_correct_status(enum job_status status, struct job_counts_counts counts)
{
    if (status == JOB_CANCELED)
        return status;
    if (counts.returned == counts.targets)
        return counts.succeeded == counts.targets && !counts.unhealthy ? JOB_COMPLETE : JOB_FAILED;
    return status == JOB_TIMEOUT && counts.returned ? JOB_PARTIAL : status;
}

static bool is_target_in(const struct job_target *target, enum job_counts_part part)
{
    return target->has_request && (part != JOB_COUNTS_HEALTHY || target->success);
}

void job_counts_list(const struct job_counts *job_counts, enum job_counts_part part,
                     struct job_counts_ids *ret)
{
    const size_t end =
        job_counts->options.has_waves ? find_wave_end(job_counts) : job_counts->count;
    const size_t begin = job_counts->options.has_waves && part != JOB_COUNTS_ALL
                             ? job_counts->wave * job_counts->options.batch
                             : 0;

    for (size_t i = begin; i < end; i++)
        if (is_target_in(&job_counts->targets[i], part))
            VEC_PUSH(&ret->list, job_counts->targets[i].id);
}

size_t job_counts_wave(const struct job_counts *job_counts)
{
    return job_counts->wave + 1;
}

bool job_counts_is_stopped(const struct job_counts *job_counts)
{
    return is_over_budget(job_counts);
}

bool job_counts_has_returned(const struct job_counts *job_counts, struct str peel)
{
    const struct job_target *target = map_find(&job_counts->by_id, peel);

    return target && target->state == TARGET_RETURNED;
}

bool job_counts_is_queued(const struct job_counts *job_counts, struct str peel)
{
    const struct job_target *target = map_find(&job_counts->by_id, peel);

    return target && target->state == TARGET_QUEUED;
}

bool job_counts_is_silent(const struct job_counts *job_counts, struct str peel)
{
    const struct job_target *target = map_find(&job_counts->by_id, peel);

    return target && target->state < TARGET_ACKED;
}
