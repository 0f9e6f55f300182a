/* Gates between the waves of a rollout, and the revert after a failed one; each is a separate job.
 * Their ids are derived from the rollout's, so a master that takes over finds those already sent,
 * and nothing is done twice. */
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "fleet/view/binding.h"
#include "fleet/view/job.h"
#include "fleet/jobs/rollout.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/operator.h"

/* Interval for checking a gate, and for attempts to send one. */
#define LOOK_NS (CLOCK_SECOND / 4)

/* Metadata inherited from the rollout. */
static const char *const inherited[] = { OPERATOR_METADATA, DISPATCHER_DEPTH, JOB_WINDOW };

static void arm_wave(struct job_run *run, timer_fn *fn)
{
    timer_set(job_run_timers(run), &run->wave.timer, clock_after(clock_now(), LOOK_NS), fn);
}

void job_run_end_wave(struct job_run *run)
{
    timer_clear(job_run_timers(run), &run->wave.timer);
}

static struct param_strs list_wave_targets(struct arena *arena, const struct job_counts *job_counts,
                                           enum job_counts_part part)
{
    struct job_counts_ids ids = { .list = VEC_INIT };
    const char **list;
    size_t n;

    job_counts_list(job_counts, part, &ids);
    n = ids.list.n;
    list = ARENA_ARRAY(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = ids.list.p[i];
    vec_done(&ids.list);
    return (struct param_strs){ n, list };
}

/* A job for these targets, without function. */
static struct job make_helper(const struct job_run *run, struct arena *arena, const char *jid,
                              enum job_counts_part part)
{
    const struct job *job = &run->job;
    struct job helper = { .jid = jid,
                          .targets = list_wave_targets(arena, run->job_counts, part),
                          .timeout = job->timeout,
                          .user = job->user,
                          .owner = "",
                          .target_expr = job->target_expr,
                          .v = EXEC_PROTOCOL,
                          .signature = "" };

    for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
        const char *text = value_get_text(&job->metadata, inherited[i]);

        if (text)
            fleet_job_note(arena, &helper, inherited[i], text);
    }
    fleet_job_note(arena, &helper, ROLLOUT_OF, job->jid);
    return helper;
}

static bool is_sent(enum dispatch_outcome outcome)
{
    return outcome == DISPATCH_SENT || outcome == DISPATCH_DUPLICATE;
}

static bool may_pass_gate(enum dispatch_outcome outcome)
{
    return outcome == DISPATCH_PENDING || outcome == DISPATCH_FAILED;
}

/* --- gates ---------------------------------------------------------------------------- */

static void on_gate_due(struct timer *timer);

static void end_wave_gate(struct job_run *run, size_t unhealthy)
{
    run->wave.gate_is_sent = false;
    if (unhealthy > 0)
        log_warning("job %s: wave %zu: the gate failed on %zu peels: job %s", run->job.jid,
                    job_counts_wave(run->job_counts), unhealthy, run->wave.gate);
    if (unhealthy > 0)
        run->wave.has_failed_gate = true;
    job_counts_gate(run->job_counts, unhealthy);
    job_run_advance(run);
}

static void on_gate_read(void *self, const struct nats_error *error,
                         const struct nats_kv_entry *entry)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job gate;
    struct err err;

    if (!job_run_came_back(run) || run->step != JOB_RUN_WATCHING)
        return;
    if (error || record_decode(&arena, &job_type, 1, entry->value, &gate, &err) < 0 ||
        !job_status_is_final(gate.status))
        arm_wave(run, on_gate_due);
    else
        end_wave_gate(run, gate.targets.n - (size_t)gate.success_count);
}

static void read_gate(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct err err;

    if (nats_kv_get(&kv, run->wave.gate, on_gate_read, run, &err) < 0)
        arm_wave(run, on_gate_due);
    else
        run->pending++;
}

static void on_gate_sent(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct job_run *run = self;
    struct job_counts_ids all = { .list = VEC_INIT };

    if (!job_run_came_back(run) || run->step != JOB_RUN_WATCHING)
        return;
    run->wave.gate_is_sent = is_sent(outcome);
    if (is_sent(outcome) || may_pass_gate(outcome)) {
        arm_wave(run, on_gate_due);
        return;
    }
    log_error("job %s: the gate was not sent: %s", run->job.jid, text);
    job_counts_list(run->job_counts, JOB_COUNTS_HEALTHY, &all);
    end_wave_gate(run, all.list.n);
    vec_done(&all.list);
}

static void send_gate(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rollout rollout;
    struct job gate;

    rollout_read(&run->job, &rollout);
    rollout_gate_id(run->job.jid, job_counts_wave(run->job_counts), run->wave.gate);
    gate = make_helper(run, &arena, run->wave.gate, JOB_COUNTS_HEALTHY);
    gate.timeout = ROLLOUT_GATE_NS;
    if (gate.targets.n == 0) { /* all have failed, within the limit */
        end_wave_gate(run, 0);
        return;
    }
    fleet_binding_use(&arena, rollout.gate_function, rollout.gate_argument, &gate);
    run->pending++;
    dispatcher_send(run->dispatcher, &gate, true, on_gate_sent, run);
}

static void on_gate_due(struct timer *timer)
{
    struct job_run *run = container_of(timer, struct job_run, wave.timer);

    if (run->step != JOB_RUN_WATCHING)
        return;
    if (run->wave.gate_is_sent)
        read_gate(run);
    else
        send_gate(run);
}

void job_run_ask_gate(struct job_run *run)
{
    timer_set(job_run_timers(run), &run->wave.timer, clock_now(), on_gate_due);
}

/* --- the revert ----------------------------------------------------------------------- */

static void send_revert(struct job_run *run);

static void settle_end(struct job_run *run)
{
    run->wave.end = JOB_WAVE_SETTLED;
    job_run_sign(run, &run->job); /* its metadata has changed */
}

static void on_revert_due(struct timer *timer)
{
    struct job_run *run = container_of(timer, struct job_run, wave.timer);

    if (run->step == JOB_RUN_ENDING)
        send_revert(run);
}

static void on_revert_sent(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct job_run *run = self;

    if (!job_run_came_back(run))
        return;
    if (may_pass_gate(outcome)) {
        log_warning("job %s: its revert was not sent yet: %s", run->job.jid, text);
        arm_wave(run, on_revert_due);
        return;
    }
    if (is_sent(outcome)) {
        fleet_job_note(&run->arena, &run->job, ROLLOUT_JOB, run->wave.revert);
        log_warning("job %s: reverted by job %s", run->job.jid, run->wave.revert);
    } else {
        fleet_job_note(&run->arena, &run->job, ROLLOUT_STOPPED,
                       arena_printf(&run->arena, "%s; not reverted: %s",
                                    value_get_text(&run->job.metadata, ROLLOUT_STOPPED), text));
        log_error("job %s: not reverted: %s", run->job.jid, text);
    }
    crash_point("job-reverted");
    settle_end(run);
    job_run_end(run);
}

/* Ignores maintenance windows: it restores the state from before the job. */
static void send_revert(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rollout rollout;
    struct job revert;

    rollout_read(&run->job, &rollout);
    rollout_revert_id(run->job.jid, run->wave.revert);
    revert = make_helper(run, &arena, run->wave.revert,
                         rollout.revert == ROLLOUT_ALL ? JOB_COUNTS_ALL : JOB_COUNTS_WAVE);
    if (revert.targets.n == 0) { /* none of them got the request */
        settle_end(run);
        job_run_end(run);
        return;
    }
    fleet_binding_use(&arena, STR(ROLLOUT_FUNCTION), str_from(run->job.jid), &revert);
    fleet_job_note(&arena, &revert, JOB_WINDOW, EXEC_WINDOW_FORCE);
    run->pending++;
    dispatcher_send(run->dispatcher, &revert, true, on_revert_sent, run);
}

static void note_stop(struct job_run *run)
{
    const size_t wave = job_counts_wave(run->job_counts);
    const char *why = run->wave.has_failed_gate
                          ? arena_printf(&run->arena, "wave %zu: its gate failed, see job %s", wave,
                                         run->wave.gate)
                          : arena_printf(&run->arena, "wave %zu: too many peels failed", wave);

    fleet_job_note(&run->arena, &run->job, ROLLOUT_STOPPED, why);
}

static bool is_dry_run(const struct job *job)
{
    const struct value *test = value_get(&job->args, "test");

    return test && test->kind == VALUE_BOOL && test->b;
}

bool job_run_has_settled(struct job_run *run)
{
    struct rollout rollout;

    if (run->wave.end != JOB_WAVE_OPEN || run->step != JOB_RUN_ENDING)
        return run->wave.end != JOB_WAVE_SETTLING;
    rollout_read(&run->job, &rollout);
    run->wave.end = JOB_WAVE_SETTLED;
    if (!rollout.has_waves || run->job.status == JOB_CANCELED ||
        !job_counts_is_stopped(run->job_counts))
        return true;
    note_stop(run);
    if (rollout.revert == ROLLOUT_KEEP || is_dry_run(&run->job)) {
        settle_end(run);
        return true;
    }
    run->wave.end = JOB_WAVE_SETTLING;
    timer_set(job_run_timers(run), &run->wave.timer, clock_now(), on_revert_due);
    return false;
}
