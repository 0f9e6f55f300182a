/* zester apply: runs what a dry run of the fleet has shown, and nothing else. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/job_id.h"
#include "commands/cli/fleet/run.h"
#include "core/data/value.h"
#include "fleet/wire/job.h"

struct apply_args {
    struct fleet_options fleet;
    struct fleet_output output;
    struct fleet_batch batch;
    struct fleet_limits limits;
    bool async, detailed;
};

#define ARGS struct apply_args

/* clang-format off */
static const struct param apply_options[] = {
    PARAM("async", BOOL, ARGS, async, "print the id of the job and do not wait"),
    COMMAND_DETAILED_OPTION(ARGS, detailed),
    FLEET_BATCH_OPTIONS(ARGS, batch),
    FLEET_LIMIT_OPTIONS(ARGS, limits),
    FLEET_OUTPUT_OPTIONS(ARGS, output),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* The same call, without the wish for a dry run. */
static struct job make_apply_job(struct cli *cli, const struct job *plan)
{
    const bool is_test = strcmp(plan->function, "state.test") == 0;
    const struct value test = value_text("test");
    struct job job = {
        .function = is_test ? "state.apply" : plan->function,
        .args = value_copy(cli->arena, &plan->args),
        .targets = plan->targets,
        .timeout = plan->timeout,
        .user = fleet_user(cli->arena),
        .owner = "",
        .sealed = plan->sealed,
        .state_id = plan->state_id,
        .target_expr = plan->target_expr,
        .v = plan->v,
    };

    if (job.args.kind == VALUE_MAP)
        (void)value_map_remove(job.args.map, &test);
    fleet_job_note(cli->arena, &job, JOB_PLAN, plan->jid);
    return job;
}

static int run_apply(struct cli *cli, const void *options, struct param_strs operands)
{
    const struct apply_args *args = options;
    struct fleet *fleet = cli->fleet;
    struct job plan, job;
    struct err err;

    if (fleet_find_job(fleet, operands.p[0], &plan, &err) < 0)
        return cli_err(cli, &err);
    if (!fleet_job_is_dry_run(&plan))
        return cli_error(cli, "job %s was not a dry run: make a plan with --test", plan.jid);
    if (!job_status_is_final(plan.status))
        return cli_error(cli, "job %s has not ended; wait for it with 'zester job watch %s'",
                         plan.jid, plan.jid);
    job = make_apply_job(cli, &plan);
    fleet_note_limits(cli->arena, &job, &args->limits);
    if (args->fleet.has_timeout)
        job.timeout = args->fleet.timeout;
    else if (args->limits.node_timeout > 0)
        job.timeout = fleet_limits_timeout(&args->limits);
    return fleet_run_job(cli, fleet, &job,
                         &(struct fleet_run){ .format = args->fleet.format,
                                              .async = args->async,
                                              .output = args->output,
                                              .batch = args->batch });
}

static int check_apply_limits(struct cli *cli, const void *options, struct param_strs operands)
{
    const struct apply_args *args = options;

    (void)operands;
    cli->detailed = args->detailed;
    if (args->detailed && args->async)
        return cli_usage(cli, "--detailed-exitcode is about results: leave out --async");
    if (args->fleet.has_timeout && args->limits.node_timeout > args->fleet.timeout)
        return cli_usage(cli, "--node-timeout is longer than --timeout, the time of the whole job");
    return CLI_OK;
}

const struct command command_apply = {
    .name = "apply",
    .operands = "PLAN-ID",
    .summary = "run exactly what a fleet dry run showed",
    .details =
        "PLAN-ID is the id of a job that ran with --test. Each of its peels has stored what\n"
        "would change there. A peel where anything else would change by now refuses, says\n"
        "what differs, and changes nothing. Plans are kept for seven days.\n",
    .examples = "  zester 'web*' state.apply nginx --test\n"
                "  zester apply 2ABCdefGHIjklMNOpqrSTUvwxyz --batch 20%\n"
                "  zester apply 2ABCdefGHIjklMNOpqrSTUvwxyz --node-timeout 10m --force-window\n",
    .statuses = "0 success; 1 no such plan, or no connection; 2 a peel failed or refused;\n"
                "3 a peel did not respond; 4 both. With --detailed-exitcode: 0 nothing changed;\n"
                "2 something changed; 1 anything else",
    .options = apply_options,
    .args_size = sizeof(ARGS),
    .least = 1,
    .most = 1,
    .check = check_apply_limits,
    FLEET_CONNECT(ARGS, fleet),
    .run = run_apply,
};
