#include "commands/cli/fleet/rollout.h"

#include <stdio.h>

#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/run.h"
#include "core/data/value.h"
#include "fleet/jobs/rollout.h"
#include "core/sys/clock.h"

#define LOOK_NS (CLOCK_SECOND / 4)
/* Extra time for a master that takes the job over. */
#define GRACE_NS (20 * CLOCK_SECOND)
/* The exit status of a job that failed. */
#define STATUS_FAILED 2

int fleet_rollout_wait(struct fleet *fleet, struct job *job, struct err *err)
{
    const int64_t until =
        clock_after(clock_now(), clock_after(GRACE_NS, rollout_time(job, job->timeout)));
    const bool never = false;
    struct rollout rollout;

    rollout_read(job, &rollout);
    if (!rollout.has_waves)
        return 0;
    for (;;) {
        struct err ignored;

        if (fleet_read_job(fleet, job->jid, job, err) < 0)
            return -1;
        if (job_status_is_final(job->status) || fleet_is_over(fleet))
            return 0;
        if (clock_now() >= until)
            return err_set(err, ERR_TIMEOUT, "job %s has not ended; see 'zester job show %s'",
                           job->jid, job->jid);
        (void)fleet_wait(fleet, &never, LOOK_NS, &ignored);
    }
}

/* How the job that reverts goes. */
static int show_revert(struct cli *cli, struct fleet *fleet, const char *jid,
                       const struct fleet_run *how)
{
    struct job revert;
    struct err err;

    (void)fprintf(stderr, "Reverted by job %s\n", jid);
    if (how->format != FLEET_TEXT) /* one document is printed: see 'zester job show' */
        return CLI_OK;
    if (fleet_read_job(fleet, jid, &revert, &err) < 0)
        return cli_err(cli, &err);
    return fleet_watch_job(cli, fleet, &revert, how);
}

int fleet_rollout_end(struct cli *cli, struct fleet *fleet, const struct job *job,
                      const struct fleet_run *how, int status)
{
    struct job ended = *job;
    const char *stopped, *revert;
    struct rollout rollout;
    struct err err;

    rollout_read(job, &rollout);
    if (!rollout.has_waves)
        return status;
    if (fleet_rollout_wait(fleet, &ended, &err) < 0)
        return cli_err(cli, &err);
    stopped = value_get_text(&ended.metadata, ROLLOUT_STOPPED);
    revert = value_get_text(&ended.metadata, ROLLOUT_JOB);
    if (stopped)
        (void)fprintf(stderr, "Stopped: %s\n", stopped);
    if (revert && show_revert(cli, fleet, revert, how) == CLI_ERROR)
        return CLI_ERROR;
    return status == CLI_OK && ended.status != JOB_COMPLETE ? STATUS_FAILED : status;
}
