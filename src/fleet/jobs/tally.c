#include "fleet/jobs/tally.h"

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

struct target {
    const char *id;
    enum target_state state;
    bool success;
    bool has_request; /* it said so */
    bool is_timed;    /* its ack was seen by tally_advance */
    int64_t until;    /* of ACKED, when targets have a time of their own; 0: not known yet */
    int64_t due; /* of SENT, RESENT and QUEUED: when its silence has lasted too long, or is checked
                    again */
};

enum wave_step {
    WAVE_RUNS,
    WAVE_GATE, /* has ended, and its gate is asked for */
    WAVE_PASSED,
};

struct tally {
    struct arena arena;
    struct tally_options options;
    struct map by_id;
    struct target *targets;
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

struct tally *tally_new(const struct param_strs *targets, const struct tally_options *options)
{
    struct tally *tally = mem_zalloc(sizeof(*tally));

    tally->options = *options;
    tally->targets = ARENA_ARRAY(&tally->arena, struct target, targets->n);
    tally->next_silence = INT64_MAX;
    map_reserve(&tally->by_id, targets->n);
    for (size_t i = 0; i < targets->n; i++) {
        struct target *target = &tally->targets[tally->count];

        if (map_has(&tally->by_id, str_from(targets->p[i])))
            continue;
        target->id = arena_strdup(&tally->arena, targets->p[i]);
        (void)map_set(&tally->by_id, str_from(target->id), target);
        tally->count++;
    }
    return tally;
}

void tally_free(struct tally *tally)
{
    if (!tally)
        return;
    map_done(&tally->by_id);
    arena_done(&tally->arena);
    free(tally);
}

static bool is_busy(const struct target *target)
{
    return target->state == TARGET_SENT || target->state == TARGET_RESENT ||
           target->state == TARGET_ACKED;
}

static bool has_returned(const struct target *target)
{
    return target->state == TARGET_MADE_UP || target->state == TARGET_RETURNED;
}

static bool has_target_time(const struct tally *tally)
{
    return tally->options.target_timeout || tally->options.ack_timeout;
}

/* --- answers ------------------------------------------------------------------------ */

enum tally_note tally_ack(struct tally *tally, struct str peel)
{
    struct target *target = map_find(&tally->by_id, peel);

    if (!target)
        return TALLY_STRANGER;
    if (target->state >= TARGET_ACKED)
        return TALLY_KNOWN;
    tally->busy += !is_busy(target);
    target->state = TARGET_ACKED;
    target->has_request = true;
    if (has_target_time(tally))
        tally->next_silence = 0; /* its time counts from the next look at all of them */
    return TALLY_NOTED;
}

static void set_result(struct tally *tally, struct target *target, bool success, bool made_up)
{
    tally->busy -= is_busy(target);
    if (has_returned(target)) {
        tally->returned--;
        tally->succeeded -= target->success;
    }
    target->state = made_up ? TARGET_MADE_UP : TARGET_RETURNED;
    target->success = success;
    tally->returned++;
    tally->succeeded += success;
}

enum tally_note tally_return(struct tally *tally, struct str peel, bool success, bool made_up)
{
    struct target *target = map_find(&tally->by_id, peel);

    if (!target)
        return TALLY_STRANGER;
    if (target->state == TARGET_RETURNED || (made_up && target->state == TARGET_MADE_UP))
        return TALLY_KNOWN;
    target->has_request |= !made_up;
    set_result(tally, target, success, made_up);
    return TALLY_NOTED;
}

void tally_gate(struct tally *tally, size_t unhealthy)
{
    if (tally->wave_step != WAVE_GATE)
        return;
    tally->unhealthy += unhealthy;
    tally->wave_step = WAVE_PASSED;
}

void tally_cancel(struct tally *tally)
{
    tally->canceled = true;
}

/* --- what is due -------------------------------------------------------------------- */

static void await_answer(struct tally *tally, struct target *target, enum target_state state,
                         int64_t due)
{
    target->state = state;
    target->due = due;
    if (due < tally->next_silence)
        tally->next_silence = due;
}

static void lose_target(struct tally *tally, struct target *target, struct tally_orders *orders)
{
    set_result(tally, target, false, true);
    VEC_PUSH(&orders->lost, target->id);
}

static bool has_queue(const struct tally *tally, int64_t now)
{
    return tally->options.queue_until > now;
}

enum tally_note tally_defer(struct tally *tally, struct str peel, int64_t now, int64_t due)
{
    struct target *target = map_find(&tally->by_id, peel);

    if (!target)
        return TALLY_STRANGER;
    if (tally->ended || target->state < TARGET_SENT || target->state > TARGET_QUEUED ||
        !has_queue(tally, now))
        return TALLY_KNOWN;
    if (due >= tally->options.queue_until) {
        set_result(tally, target, false, true);
        return TALLY_LATE;
    }
    tally->busy -= is_busy(target);
    /* whoever asks for it at once, again and again, gets it no more often than the others */
    await_answer(tally, target, TARGET_QUEUED,
                 due < now + TALLY_QUEUE_NS ? now + TALLY_QUEUE_NS : due);
    return TALLY_NOTED;
}

/* The same request once more. */
static void resend_request(struct tally *tally, struct target *target, int64_t now,
                           struct tally_orders *orders)
{
    tally->busy += !is_busy(target);
    await_answer(tally, target, TARGET_RESENT, now + TALLY_GIVE_UP_NS);
    VEC_PUSH(&orders->resend, target->id);
}

static void queue_target(struct tally *tally, struct target *target, int64_t now,
                         struct tally_orders *orders)
{
    tally->busy--;
    await_answer(tally, target, TARGET_QUEUED, now + TALLY_QUEUE_NS);
    VEC_PUSH(&orders->queued, target->id);
}

static void check_silence(struct tally *tally, struct target *target, int64_t now,
                          struct tally_orders *orders)
{
    if (now < target->due)
        await_answer(tally, target, target->state, target->due);
    else if (target->state == TARGET_SENT)
        resend_request(tally, target, now, orders);
    else if (!has_queue(tally, now))
        lose_target(tally, target, orders);
    else if (target->state == TARGET_RESENT)
        queue_target(tally, target, now, orders);
    else if (tally->options.is_present(tally->options.self, target->id))
        resend_request(tally, target, now, orders);
    else
        await_answer(tally, target, TARGET_QUEUED, now + TALLY_QUEUE_NS);
}

static void limit_time(struct target *target, int64_t now, int64_t timeout)
{
    if (timeout && (target->until == 0 || now + timeout < target->until))
        target->until = now + timeout;
}

/* One that hangs makes room, and does not keep the job from its end. */
static void check_time(struct tally *tally, struct target *target, int64_t now,
                       struct tally_orders *orders)
{
    if (target->until == 0)
        limit_time(target, now, tally->options.target_timeout);
    if (!target->is_timed)
        limit_time(target, now, tally->options.ack_timeout);
    target->is_timed = true;
    if (now < target->until) {
        await_answer(tally, target, TARGET_ACKED, target->until);
        return;
    }
    set_result(tally, target, false, true);
    VEC_PUSH(&orders->expired, target->id);
}

static void give_up_silent(struct tally *tally, int64_t now, struct tally_orders *orders)
{
    if (now < tally->next_silence)
        return;
    tally->next_silence = INT64_MAX;
    for (size_t i = 0; i < tally->count; i++) {
        struct target *target = &tally->targets[i];

        if (target->state >= TARGET_SENT && target->state <= TARGET_QUEUED)
            check_silence(tally, target, now, orders);
        else if (target->state == TARGET_ACKED && has_target_time(tally))
            check_time(tally, target, now, orders);
    }
}

static bool is_over_budget(const struct tally *tally)
{
    return tally->options.batch &&
           tally->returned - tally->succeeded + tally->unhealthy > tally->options.failures_max;
}

/* --- waves -------------------------------------------------------------------------- */

/* One behind the last target of the wave. */
static size_t find_wave_end(const struct tally *tally)
{
    const size_t batch = tally->options.batch, left = tally->count - tally->wave * batch;

    return tally->wave * batch + (left < batch ? left : batch);
}

static bool has_wave_ended(struct tally *tally)
{
    const size_t end = find_wave_end(tally);

    while (tally->wave_cursor < end && has_returned(&tally->targets[tally->wave_cursor]))
        tally->wave_cursor++;
    return tally->wave_cursor == end;
}

/* By a master that had the job before. */
static bool was_next_begun(const struct tally *tally)
{
    const size_t begin = find_wave_end(tally);

    for (size_t i = begin; i < tally->count && i < begin + tally->options.batch; i++)
        if (tally->targets[i].state != TARGET_HELD)
            return true;
    return false;
}

static bool is_paused(struct tally *tally, int64_t now)
{
    if (tally->options.pause == 0 || was_next_begun(tally))
        return false;
    if (tally->pause_until == 0)
        tally->pause_until = now + tally->options.pause;
    if (now < tally->pause_until && tally->pause_until < tally->next_silence)
        tally->next_silence = tally->pause_until;
    return now < tally->pause_until;
}

/* Go to the wave whose targets may be sent. */
static void advance_wave(struct tally *tally, int64_t now, struct tally_orders *orders)
{
    while (tally->options.has_waves && tally->wave_step != WAVE_GATE && has_wave_ended(tally) &&
           !is_over_budget(tally)) {
        if (tally->wave_step == WAVE_RUNS && tally->options.has_gate) {
            tally->wave_step = WAVE_GATE;
            orders->gate = true;
            return;
        }
        tally->wave_step = WAVE_PASSED;
        if (tally->wave_cursor == tally->count || is_paused(tally, now))
            return;
        tally->wave++;
        tally->wave_step = WAVE_RUNS;
        tally->pause_until = 0;
    }
}

/* May the next one that is held be sent? */
static bool has_room(const struct tally *tally)
{
    if (tally->options.has_waves)
        return tally->first_held < find_wave_end(tally);
    return !tally->options.batch || tally->busy < tally->options.batch;
}

/* Nothing is left to be sent, waited for, or asked. */
static bool is_complete(const struct tally *tally)
{
    return tally->returned == tally->count &&
           (!tally->options.has_gate || tally->wave_step == WAVE_PASSED || is_over_budget(tally));
}

static void send_held(struct tally *tally, int64_t now, struct tally_orders *orders)
{
    bool refuse = is_over_budget(tally);

    for (; tally->first_held < tally->count; tally->first_held++) {
        struct target *target = &tally->targets[tally->first_held];

        if (target->state != TARGET_HELD)
            continue;
        if (refuse) {
            set_result(tally, target, false, true);
            VEC_PUSH(&orders->unsent, target->id);
            continue;
        }
        if (!has_room(tally))
            return;
        tally->busy++;
        if (tally->options.target_timeout)
            target->until = now + tally->options.target_timeout;
        await_answer(tally, target, TARGET_SENT, now + TALLY_RESEND_NS);
        VEC_PUSH(&orders->send, target->id);
    }
}

static enum job_status find_status(const struct tally *tally)
{
    if (tally->returned == tally->count)
        return tally->succeeded == tally->count && !tally->unhealthy ? JOB_COMPLETE : JOB_FAILED;
    if (tally->canceled)
        return JOB_CANCELED;
    return tally->returned ? JOB_PARTIAL : JOB_TIMEOUT;
}

static void end_without_result(struct tally *tally, struct target *target)
{
    tally->busy -= is_busy(target);
    target->state = TARGET_OVERDUE;
}

static void end_stopped(struct tally *tally, struct target *target, struct tally_orders *orders)
{
    if (target->state == TARGET_ACKED)
        VEC_PUSH(&orders->canceled, target->id);
    else
        VEC_PUSH(&orders->spared, target->id);
    end_without_result(tally, target);
}

static void end_late(struct tally *tally, struct target *target, struct tally_orders *orders)
{
    if (target->state == TARGET_ACKED) {
        VEC_PUSH(&orders->overdue, target->id);
        end_without_result(tally, target);
        return;
    }
    if (target->state == TARGET_HELD && tally->options.batch)
        VEC_PUSH(&orders->held, target->id);
    else /* one that is not sent at the deadline: another master may have sent it before */
        VEC_PUSH(&orders->lost, target->id);
    set_result(tally, target, false, true);
}

/* Who has no result at the end has an answer, too. */
static void end_rest(struct tally *tally, struct tally_orders *orders)
{
    for (size_t i = 0; i < tally->count; i++) {
        struct target *target = &tally->targets[i];

        if (target->state > TARGET_ACKED)
            continue;
        if (tally->canceled)
            end_stopped(tally, target, orders);
        else
            end_late(tally, target, orders);
    }
}

void tally_orders_done(struct tally_orders *orders)
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
static void find_last_wave(struct tally *tally)
{
    for (size_t i = tally->options.has_waves ? find_wave_end(tally) : tally->count;
         i < tally->count; i++)
        if (tally->targets[i].has_request)
            tally->wave = i / tally->options.batch;
}

/* A gate that has not answered at the deadline has not passed. */
static void end_gate(struct tally *tally)
{
    struct tally_ids healthy = { .list = VEC_INIT };

    if (tally->canceled || tally->wave_step != WAVE_GATE)
        return;
    tally_list(tally, TALLY_HEALTHY, &healthy);
    tally_gate(tally, healthy.list.n);
    vec_done(&healthy.list);
}

void tally_advance(struct tally *tally, int64_t now, struct tally_orders *orders)
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
    if (!tally->ended && !tally->canceled && now < tally->options.deadline) {
        give_up_silent(tally, now, orders);
        advance_wave(tally, now, orders);
        send_held(tally, now, orders);
    }
    if (!tally->ended &&
        (tally->canceled || now >= tally->options.deadline || is_complete(tally))) {
        tally->ended = true;
        end_gate(tally);
        find_last_wave(tally);
        tally->status = find_status(tally);
        end_rest(tally, orders);
    }
    orders->ended = tally->ended;
    orders->status = tally->ended ? tally->status : JOB_RUNNING;
}

int64_t tally_next(const struct tally *tally)
{
    if (tally->ended)
        return INT64_MAX;
    if (tally->canceled || is_complete(tally))
        return 0;
    return tally->next_silence < tally->options.deadline ? tally->next_silence
                                                         : tally->options.deadline;
}

bool tally_gives_up(const struct tally *tally, int64_t now)
{
    if (tally->ended || tally->canceled || tally->returned == tally->count)
        return false;
    if (now >= tally->options.deadline)
        return true;
    if (now < tally->next_silence)
        return false;
    for (size_t i = 0; i < tally->count; i++) {
        const struct target *target = &tally->targets[i];

        if (now >= target->due && (target->state == TARGET_RESENT ||
                                   (target->state == TARGET_QUEUED && !has_queue(tally, now))))
            return true;
        if (target->state == TARGET_ACKED && target->until && now >= target->until)
            return true;
    }
    return false;
}

struct tally_counts tally_counts(const struct tally *tally)
{
    return (struct tally_counts){ tally->count, tally->returned, tally->succeeded,
                                  tally->unhealthy };
}

enum job_status tally_correct_status(enum job_status status, struct tally_counts counts)
{
    if (status == JOB_CANCELED)
        return status;
    if (counts.returned == counts.targets)
        return counts.succeeded == counts.targets && !counts.unhealthy ? JOB_COMPLETE : JOB_FAILED;
    return status == JOB_TIMEOUT && counts.returned ? JOB_PARTIAL : status;
}

static bool is_in(const struct target *target, enum tally_part part)
{
    return target->has_request && (part != TALLY_HEALTHY || target->success);
}

void tally_list(const struct tally *tally, enum tally_part part, struct tally_ids *ret)
{
    const size_t end = tally->options.has_waves ? find_wave_end(tally) : tally->count;
    const size_t begin =
        tally->options.has_waves && part != TALLY_ALL ? tally->wave * tally->options.batch : 0;

    for (size_t i = begin; i < end; i++)
        if (is_in(&tally->targets[i], part))
            VEC_PUSH(&ret->list, tally->targets[i].id);
}

size_t tally_wave(const struct tally *tally)
{
    return tally->wave + 1;
}

bool tally_is_stopped(const struct tally *tally)
{
    return is_over_budget(tally);
}

bool tally_has_returned(const struct tally *tally, struct str peel)
{
    const struct target *target = map_find(&tally->by_id, peel);

    return target && target->state == TARGET_RETURNED;
}

bool tally_is_queued(const struct tally *tally, struct str peel)
{
    const struct target *target = map_find(&tally->by_id, peel);

    return target && target->state == TARGET_QUEUED;
}

bool tally_is_silent(const struct tally *tally, struct str peel)
{
    const struct target *target = map_find(&tally->by_id, peel);

    return target && target->state < TARGET_ACKED;
}
