#include "commands/cli/fleet/orchestrate/orchestra.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/rollout.h"
#include "core/data/value.h"
#include "fleet/jobs/rollout.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/pool.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/peel_id.h"

/* Extra time for a master to notice the deadline and report it. */
#define GRACE_NS (2 * CLOCK_SECOND)

/* A step while it runs. */
struct step {
    struct arena arena;
    struct fleet *fleet;
    const struct state_job *wanted;
    struct job job;
    struct fleet_answers answers;
    struct watch watch; /* of the token that cancels it */
    bool is_watching, is_canceled;
};

/* --- cancel ----------------------------------------------------------------------------- */

static void on_step_cancel(struct watch *watch, uint32_t events)
{
    struct step *step = container_of(watch, struct step, watch);

    (void)events;
    step->is_canceled = true;
    step->is_watching = false;
    watch_stop(watch); /* it stays raised */
    fleet_stop(step->fleet);
}

static int watch_cancel(struct step *step, struct err *err)
{
    const int fd = cancel_fd(step->wanted->cancel);

    if (fd < 0)
        return 0;
    if (watch_start(&step->watch, step->fleet->loop, fd, EPOLLIN, on_step_cancel, err) < 0)
        return -1;
    step->is_watching = true;
    return 0;
}

static int refuse_canceled(const struct step *step, struct err *err)
{
    return err_set(err, ERR_CANCELED, "canceled; follow the job with 'zester job watch %s'",
                   step->job.jid);
}

/* --- answers ------------------------------------------------------------------------------- */

static bool has_step_changed(const struct fleet_answer *answer)
{
    VEC_EACH (&answer->response.results.list, result)
        if (result->changed)
            return true;
    return false;
}

/* The error in one line. */
static const char *find_error(const struct fleet_answer *answer)
{
    if (!answer->has_come)
        return "no answer before the timeout";
    if (answer->error && answer->error[0])
        return answer->error;
    VEC_EACH (&answer->response.results.list, result)
        if (result->error[0])
            return result->error;
    return answer->is_unreachable ? "unreachable" : "failed";
}

static void add_peel(struct arena *arena, const struct fleet_answer *answer,
                     struct state_job_end *end)
{
    struct state_job_peel peel = { .success = answer->has_come && answer->success };

    peel.peel = peel_id_name(arena, answer->peel);
    peel.changed = answer->has_come && has_step_changed(answer);
    peel.error = peel.success ? NULL : arena_strdup(arena, find_error(answer));
    VEC_PUSH_IN(arena, &end->peels, peel);
}

/* --- a job ----------------------------------------------------------------------------------- */

static int plan_waves(struct step *step, struct err *err)
{
    const struct fleet_rollout rollout = { .pause = step->wanted->pause,
                                           .gate = step->wanted->gate,
                                           .revert = (enum fleet_revert)step->wanted->revert };
    size_t size;

    fleet_note_rollout(&step->arena, &step->job, &rollout);
    if (!step->wanted->batch)
        return 0;
    if (fleet_read_batch(step->wanted->batch, step->job.targets.n, &size, err) < 0)
        return err_wrap(err, "batch");
    (void)fleet_note_batch(&step->arena, &step->job, size, step->wanted->failures_max);
    return 0;
}

/* Why its waves stopped, and what was done about it. */
static int read_step_end(struct step *step, struct arena *arena, struct state_job_end *end,
                         struct err *err)
{
    const char *stopped, *revert;

    if (step->wanted->names_only || step->job.targets.n == 0)
        return 0;
    if (fleet_rollout_wait(step->fleet, &step->job, err) < 0)
        return -1;
    stopped = value_get_text(&step->job.metadata, ROLLOUT_STOPPED);
    revert = value_get_text(&step->job.metadata, ROLLOUT_JOB);
    end->stopped = stopped ? arena_strdup(arena, stopped) : NULL;
    end->revert_jid = revert ? arena_strdup(arena, revert) : NULL;
    return 0;
}

static size_t count_attempt(struct orchestra *orchestra, const char *state)
{
    size_t attempt;
    void **place;

    (void)pthread_mutex_lock(&orchestra->mutex);
    place = map_place(&orchestra->attempts, str_from(state));
    attempt = (size_t)(uintptr_t)*place + 1;
    *place = (void *)(uintptr_t)attempt;
    (void)pthread_mutex_unlock(&orchestra->mutex);
    return attempt;
}

static const char *make_jid(struct orchestra *orchestra, struct step *step)
{
    char own[KSUID_SIZE], derived[EVENT_JID_SIZE];

    if (orchestra->about.job) {
        event_step_id(orchestra->about.job->jid, step->wanted->state,
                      count_attempt(orchestra, step->wanted->state), derived);
        return arena_strdup(&step->arena, derived);
    }
    ksuid_new(clock_wall() / CLOCK_SECOND, own);
    return arena_strdup(&step->arena, own);
}

/* Why it runs: what the reaction knows of its event is true for each step, the depth too. */
static void note_cause(const struct orchestra *orchestra, struct step *step)
{
    const struct job *job = orchestra->about.job;

    if (job && job->metadata.kind == VALUE_MAP)
        step->job.metadata = value_copy(&step->arena, &job->metadata);
    if (job)
        fleet_job_note(&step->arena, &step->job, ORCHESTRA_JOB, job->jid);
    fleet_job_note(&step->arena, &step->job, ORCHESTRA_REF, orchestra->about.ref);
    fleet_job_note(&step->arena, &step->job, ORCHESTRA_STATE, step->wanted->state);
    if (orchestra->about.limits)
        fleet_note_limits(&step->arena, &step->job, orchestra->about.limits);
}

static void fill_step_job(struct orchestra *orchestra, struct step *step)
{
    step->job = (struct job){
        .jid = make_jid(orchestra, step),
        .function = step->wanted->function,
        .args = step->wanted->args,
        .timeout = step->wanted->timeout,
        .user = orchestra->about.user,
        .owner = "",
        .state_id = step->wanted->id,
        .target_expr = step->wanted->target,
        .v = EXEC_PROTOCOL,
    };
    note_cause(orchestra, step);
}

static int64_t time_left(const struct job *job)
{
    const int64_t left =
        job->deadline.seconds * CLOCK_SECOND + job->deadline.nanoseconds - bus_time();

    return clock_after(GRACE_NS, left > 0 ? left : 0);
}

/* The step of an earlier run of the same orchestration. */
static int find_earlier(const struct orchestra *orchestra, struct step *step, bool *ret_found,
                        struct err *err)
{
    struct job stored;

    *ret_found = false;
    if (!orchestra->about.job)
        return 0;
    if (fleet_read_job(step->fleet, step->job.jid, &stored, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    step->job = stored;
    *ret_found = true;
    return 0;
}

/* It goes on, or has ended. */
static int join_job(struct step *step, struct err *err)
{
    fleet_learn_time(step->fleet);
    fleet_answers_init(&step->answers, &step->arena, &step->job.targets);
    if ((!step->is_watching && watch_cancel(step, err) < 0) ||
        fleet_listen(step->fleet, step->job.jid, &step->answers, err) < 0)
        return -1;
    return fleet_collect(step->fleet, step->job.jid, time_left(&step->job), true, &step->answers,
                         err);
}

static int dispatch_step_job(struct step *step, struct err *err)
{
    if (fleet_resolve(step->fleet, step->wanted->target, &step->job.targets, err) < 0)
        return -1;
    if (step->job.targets.n == 0)
        return 0;
    if (plan_waves(step, err) < 0 || watch_cancel(step, err) < 0)
        return -1;
    fleet_answers_init(&step->answers, &step->arena, &step->job.targets);
    if (fleet_listen(step->fleet, step->job.jid, &step->answers, err) < 0 ||
        fleet_dispatch(step->fleet, &step->job, NULL, err) < 0)
        return -1;
    return fleet_collect(step->fleet, step->job.jid,
                         clock_after(GRACE_NS, rollout_time(&step->job, step->job.timeout)), false,
                         &step->answers, err);
}

/* All of them as if they had answered that nothing changes. */
static int name_step_targets(struct step *step, struct err *err)
{
    if (fleet_resolve(step->fleet, step->wanted->target, &step->job.targets, err) < 0)
        return -1;
    fleet_answers_init(&step->answers, &step->arena, &step->job.targets);
    for (size_t i = 0; i < step->answers.count; i++)
        step->answers.list[i].has_come = step->answers.list[i].success = true;
    return 0;
}

static int run_step(struct orchestra *orchestra, struct step *step, struct err *err)
{
    struct err ignored;
    bool found;

    if (step->wanted->names_only)
        return name_step_targets(step, err);
    fill_step_job(orchestra, step);
    if (find_earlier(orchestra, step, &found, err) < 0)
        return -1;
    if (found)
        return join_job(step, err);
    if (dispatch_step_job(step, err) == 0)
        return 0;
    /* Another run of the same step may have been faster, with other targets. */
    if (find_earlier(orchestra, step, &found, &ignored) == 0 && found)
        return join_job(step, err);
    return -1;
}

static int run_step_job(struct state_fleet *fleet, struct arena *arena,
                        const struct state_job *wanted, struct state_job_end *ret_end,
                        struct err *err)
{
    struct orchestra *orchestra = container_of(fleet, struct orchestra, fleet);
    struct step step = { .arena = ARENA_INIT, .wanted = wanted };
    int result;

    *ret_end = (struct state_job_end){ .peels = VEC_INIT };
    pool_block_begin(); /* most of it is waiting */
    while (sem_wait(&orchestra->places) < 0 && errno == EINTR)
        ;
    result = fleet_open(&step.arena, orchestra->options, &step.fleet, err);
    if (result == 0)
        result = run_step(orchestra, &step, err);
    if (result == 0 && !step.is_canceled)
        result = read_step_end(&step, arena, ret_end, err);
    if (step.is_canceled)
        result = refuse_canceled(&step, err);
    if (result == 0 && step.job.targets.n > 0) {
        ret_end->jid = step.job.jid ? arena_strdup(arena, step.job.jid) : NULL;
        for (size_t i = 0; i < step.answers.count; i++)
            add_peel(arena, &step.answers.list[i], ret_end);
    }
    if (step.is_watching)
        watch_stop(&step.watch);
    fleet_close(step.fleet);
    (void)sem_post(&orchestra->places);
    pool_block_end();
    arena_done(&step.arena);
    return result;
}

/* --- life -------------------------------------------------------------------------------- */

void orchestra_init(struct orchestra *orchestra, const struct fleet_options *options,
                    const struct orchestra_about *about)
{
    *orchestra = (struct orchestra){
        .fleet = { .run = run_step_job },
        .options = options,
        .about = *about,
        .attempts = MAP_INIT,
    };
    (void)pthread_mutex_init(&orchestra->mutex, NULL);          /* cannot fail */
    (void)sem_init(&orchestra->places, 0, ORCHESTRA_LINKS_MAX); /* cannot fail */
}

void orchestra_done(struct orchestra *orchestra)
{
    (void)sem_destroy(&orchestra->places);
    (void)pthread_mutex_destroy(&orchestra->mutex);
    map_done(&orchestra->attempts);
}
