#include "commands/cli/fleet/run.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/answer_folds.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/progress.h"
#include "commands/cli/fleet/rollout.h"
#include "core/data/value.h"
#include "fleet/jobs/job_counts.h"
#include "states/local/verb.h"
#include "core/sys/clock.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"

/* Extra time for a master to notice the deadline and report it. */
#define GRACE_NS  (2 * CLOCK_SECOND)
#define ABSENT_NS (JOB_COUNTS_RESEND_NS + JOB_COUNTS_GIVE_UP_NS)

const char *fleet_batch_option(const struct fleet_batch *batch)
{
    if (batch->has_max_failures)
        return "--max-failures";
    if (batch->rollout.pause > 0)
        return "--pause";
    if (batch->rollout.gate)
        return "--gate";
    if (batch->rollout.revert == FLEET_REVERT_WAVE)
        return "--revert wave";
    return batch->rollout.revert == FLEET_REVERT_ALL ? "--revert all" : NULL;
}

/* Returns CLI_OK, or the status after a mistake was reported. */
static int note_batch(struct cli *cli, const struct fleet_batch *batch, struct job *job)
{
    size_t size = 1;
    struct err err;

    if (!batch->size && fleet_batch_option(batch))
        return cli_usage(cli, "%s requires --batch", fleet_batch_option(batch));
    if (batch->rollout.revert != FLEET_REVERT_NONE && !verb_runs_states(job->function))
        return cli_usage(cli, "--revert is for state.apply and state.highstate, not for %s",
                         job->function);
    fleet_note_rollout(cli->arena, job, &batch->rollout);
    if (!batch->size)
        return CLI_OK;
    if (fleet_read_batch(batch->size, job->targets.n, &size, &err) < 0)
        return cli_usage(cli, "--batch: %s", err.text);
    (void)fleet_note_batch(cli->arena, job, size, batch->max_failures);
    if (rollout_check(job, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    return CLI_OK;
}

int fleet_run_style(struct cli *cli, const struct fleet_run *how, const char *function,
                    struct fleet_answers_style *ret)
{
    *ret = (struct fleet_answers_style){ .format = how->format,
                                         .function = function,
                                         .color = cli->color,
                                         .verbose = how->output.verbose };
    return report_detail_choose(cli, &how->output.detail, &ret->detail);
}

static int print_job_id(struct cli *cli, enum fleet_format format, const struct job *job,
                        bool waits)
{
    struct value_map *map = value_map_new(cli->arena, 2);
    struct value v = value_map(map);

    value_map_set(cli->arena, map, value_text("jid"), value_text(job->jid));
    if (waits)
        value_map_set(cli->arena, map, value_text("approval"),
                      value_text(approval_state_name(APPROVAL_PENDING)));
    if (format != FLEET_TEXT)
        return fleet_print(cli, format, &v);
    (void)printf("%s\n", job->jid);
    return CLI_OK;
}

static int announce_and_dispatch(struct cli *cli, struct fleet *fleet, const struct job *job,
                                 const struct fleet_run *how, bool *ret_waits, struct err *err)
{
    const bool is_text = how->format == FLEET_TEXT;

    if (is_text)
        (void)fprintf(stderr, "Targeting %zu peel(s): [%s]\n", job->targets.n,
                      answer_folds_names(cli->arena, job->targets.p, job->targets.n, " ",
                                         how->output.verbose ? job->targets.n : FLEET_HEADERS_MAX));
    if (fleet_dispatch(fleet, job, ret_waits, err) < 0)
        return -1;
    if (is_text && *ret_waits)
        (void)fprintf(stderr, "Job %s waits for approval: zester job approve %s\n", job->jid,
                      job->jid);
    else if (is_text)
        (void)fprintf(stderr, "Job %s dispatched\n", job->jid);
    return 0;
}

/* A peel that could not even begin has no plan. */
static bool has_kept_plan(const struct job *job, const struct fleet_answers *answers)
{
    const struct verb *verb = verb_find(job->function);

    if (!fleet_job_is_dry_run(job) || !verb ||
        (verb->class != PERFORM_STATES && verb->kind != VERB_SINGLE))
        return false;
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].response.results.list.n > 0)
            return true;
    return false;
}

/* The job was canceled on each peel without a return. */
static bool was_canceled(const struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        if (fleet_answer_is_silent(&answers->list[i]))
            return false;
    return true;
}

/* A peel may go on: its return is kept. */
static void report_missing_returns(const struct fleet_answers *answers, const struct job *job)
{
    (void)fprintf(stderr,
                  "%s: received %zu/%zu returns for job %s\n"
                  "Later returns: zester job show %s\n",
                  was_canceled(answers) ? "Canceled" : "Timeout", fleet_answers_received(answers),
                  answers->count, job->jid, job->jid);
}

/* For a job that may be queued at least until its masters have given up on absent peels. */
static int64_t find_job_wait(const struct job *job)
{
    const int64_t queue = job_queue_seconds(job) * CLOCK_SECOND;
    const int64_t wait = rollout_time(job, job->timeout) - queue;

    return clock_after(GRACE_NS, queue > 0 && wait < ABSENT_NS ? ABSENT_NS : wait);
}

int fleet_run_job(struct cli *cli, struct fleet *fleet, struct job *job,
                  const struct fleet_run *how)
{
    struct fleet_progress progress = { 0 };
    struct fleet_answers_style style;
    struct fleet_answers answers;
    char jid[KSUID_SIZE];
    const int64_t began = clock_now();
    bool waits = false;
    struct err err;
    int result, status;

    if (note_batch(cli, &how->batch, job) != CLI_OK ||
        fleet_run_style(cli, how, job->function, &style) != CLI_OK)
        return CLI_ERROR;
    ksuid_new(clock_wall() / CLOCK_SECOND, jid);
    job->jid = arena_strdup(cli->arena, jid);
    if (how->async)
        return announce_and_dispatch(cli, fleet, job, how, &waits, &err) < 0
                   ? cli_err(cli, &err)
                   : print_job_id(cli, how->format, job, waits);
    fleet_answers_init(&answers, cli->arena, &job->targets);
    result = fleet_listen(fleet, job->jid, &answers, &err);
    if (result == 0)
        result =
            fleet_progress_begin(&progress, fleet, job, &answers, how->format != FLEET_TEXT, &err);
    if (result == 0)
        result = announce_and_dispatch(cli, fleet, job, how, &waits, &err);
    if (result == 0 && !waits)
        result = fleet_collect(fleet, job->jid, find_job_wait(job), false, &answers, &err);
    fleet_progress_end(&progress);
    if (result < 0)
        return cli_err(cli, &err);
    if (waits && cli->detailed)
        return cli_error(cli, "job %s waits for approval, so there is no result yet", job->jid);
    if (waits)
        return print_job_id(cli, how->format, job, true);
    if (fleet_answers_received(&answers) < answers.count)
        report_missing_returns(&answers, job);
    style.took = clock_now() - began;
    status = fleet_answers_print(cli, &answers, &style);
    status = fleet_rollout_end(cli, fleet, job, how, status);
    if (how->format == FLEET_TEXT && has_kept_plan(job, &answers))
        (void)fprintf(stderr, "To run exactly this: zester apply %s\n", job->jid);
    return status;
}

static int64_t find_time_left(const struct job *job)
{
    int64_t left =
        job->deadline.seconds * CLOCK_SECOND + job->deadline.nanoseconds - bus_time() + GRACE_NS;

    return job_status_is_final(job->status) || left < 0 ? 0 : left;
}

int fleet_watch_job(struct cli *cli, struct fleet *fleet, const struct job *job,
                    const struct fleet_run *how)
{
    struct fleet_progress progress = { 0 };
    struct fleet_answers_style style;
    struct fleet_answers answers;
    struct job ended;
    struct err err;
    int result;

    if (fleet_run_style(cli, how, job->function, &style) != CLI_OK)
        return CLI_ERROR;
    fleet_learn_time(fleet);
    fleet_answers_init(&answers, cli->arena, &job->targets);
    result = fleet_listen(fleet, job->jid, &answers, &err);
    if (result == 0)
        result =
            fleet_progress_begin(&progress, fleet, job, &answers, how->format != FLEET_TEXT, &err);
    if (result == 0)
        result = fleet_collect(fleet, job->jid, find_time_left(job), true, &answers, &err);
    fleet_progress_end(&progress);
    if (result < 0)
        return cli_err(cli, &err);
    ended = *job;
    if (!job_status_is_final(ended.status))
        (void)fleet_read_job(fleet, job->jid, &ended, &err);
    style.took = fleet_job_duration(&ended);
    return fleet_rollout_end(cli, fleet, job, how, fleet_answers_print(cli, &answers, &style));
}
