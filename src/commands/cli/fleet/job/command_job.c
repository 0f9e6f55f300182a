/* zester job: shows, stops and repeats jobs. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/run.h"
#include "commands/cli/fleet/job/approval.h"
#include "commands/cli/fleet/job/listing.h"
#include "commands/cli/fleet/job/record.h"
#include "commands/cli/fleet/job_id.h"
#include "commands/cli/shared/columns.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

#define ANSWER_STATUSES                                                                            \
    "0 success; 1 no such job or connection; 2 a peel failed; 3 a peel did not respond;\n4 both"

struct job_args {
    struct fleet_options fleet;
    struct fleet_output output;
    struct fleet_batch batch;
    struct job_filter filter;
    bool async;
    const char *reason;
};

#define ARGS struct job_args

/* clang-format off */
static const struct param list_options[] = {
    PARAM("function", STR, ARGS, filter.function, "only jobs of this function", .kind_text = "NAME"),
    PARAM("status", STR, ARGS, filter.status, "only jobs in this status", .kind_text = "STATUS"),
    PARAM("user", STR, ARGS, filter.user, "only jobs of this user", .kind_text = "NAME"),
    PARAM("peel", STR, ARGS, filter.peel, "only jobs that target this peel", .kind_text = "NAME"),
    PARAM("limit", INT, ARGS, filter.limit, "show this many, newest first", .default_text = "50", PARAM_RANGE(1, 1000000), .kind_text = "N"),
    PARAM("offset", INT, ARGS, filter.offset, "skip this many newer ones", .default_text = "0", PARAM_RANGE(0, 1000000), .kind_text = "N"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param plain_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param watch_options[] = {
    FLEET_OUTPUT_OPTIONS(ARGS, output),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param reject_options[] = {
    PARAM("reason", STR, ARGS, reason, "the reason, for the requester and the audit", .kind_text = "REASON"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param retry_options[] = {
    PARAM("async", BOOL, ARGS, async, "print the id of the new job and do not wait"),
    FLEET_BATCH_OPTIONS(ARGS, batch),
    FLEET_OUTPUT_OPTIONS(ARGS, output),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

static int run_job_list(struct cli *cli, const void *args, struct param_strs operands)
{
    struct job_args want = *(const struct job_args *)args;
    char peel[PEEL_ID_SIZE];
    struct err err;

    (void)operands;
    if (job_listing_check_status(cli, want.filter.status) != CLI_OK)
        return CLI_ERROR;
    if (want.filter.peel) {
        if (peel_id_encode(str_from(want.filter.peel), peel, &err) < 0)
            return cli_usage(cli, "--peel: %s", err.text);
        want.filter.peel = peel;
    }
    if (fleet_attach(cli, &want.fleet) != CLI_OK)
        return CLI_ERROR;
    return job_listing_print(cli, cli->fleet, &want.filter, want.fleet.format);
}

static int run_active(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;

    (void)operands;
    return job_listing_print_active(cli, cli->fleet, want->fleet.format);
}

/* --- show --------------------------------------------------------------------------- */

static int print_job_data(struct cli *cli, enum fleet_format format, const struct job *job,
                          const struct value *queued, const struct fleet_answers *answers)
{
    struct value_map *map = value_map_new(cli->arena, 2);
    const struct value whole = value_map(map), returns = value_list(value_list_new(cli->arena, 0));

    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].has_come)
            value_list_push(cli->arena, returns.list,
                            fleet_answer_summary(cli->arena, &answers->list[i]));
    value_map_set(cli->arena, map, value_text("job"), fleet_job_value(cli->arena, job, queued));
    value_map_set(cli->arena, map, value_text("returns"), returns);
    return fleet_print(cli, format, &whole);
}

static int run_job_show(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct fleet_answers answers;
    struct value queued;
    struct job job;
    struct err err;

    if (fleet_find_job(cli->fleet, operands.p[0], &job, &err) < 0)
        return cli_err(cli, &err);
    fleet_answers_init(&answers, cli->arena, &job.targets);
    if (fleet_collect(cli->fleet, job.jid, 0, true, &answers, &err) < 0 ||
        job_read_queued(cli->fleet, &job, &queued, &err) < 0)
        return cli_err(cli, &err);
    if (want->fleet.format != FLEET_TEXT)
        return print_job_data(cli, want->fleet.format, &job, &queued, &answers);
    job_record_print(&job, &queued, &answers, &out);
    columns_write(buf_view(&out));
    return CLI_OK;
}

/* --- watch -------------------------------------------------------------------------- */

static int run_job_watch(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;
    struct job job;
    struct err err;

    if (fleet_find_job(cli->fleet, operands.p[0], &job, &err) < 0)
        return cli_err(cli, &err);
    return fleet_watch_job(
        cli, cli->fleet, &job,
        &(struct fleet_run){ .format = want->fleet.format, .output = want->output });
}

/* --- kill --------------------------------------------------------------------------- */

static int run_kill(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;
    const struct job_cancel cancel = { JOB_ACTION_CANCEL, fleet_user(cli->arena) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(4096);
    struct job job;
    struct err err;

    if (fleet_find_job(cli->fleet, operands.p[0], &job, &err) < 0)
        return cli_err(cli, &err);
    if (job_status_is_final(job.status))
        return cli_error(cli, "job %s has already ended: %s", job.jid, job_status_name(job.status));
    if (subject_print(&subject, SUBJECT_JOB_CANCEL,
                      &(struct subject_names){ .jid = str_from(job.jid) }, &err) < 0 ||
        record_encode(&bytes, &job_cancel_type, &cancel, &err) < 0 ||
        fleet_tell(cli->fleet,
                   &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&bytes) },
                   want->fleet.timeout, &err) < 0)
        return cli_err(cli, &err);
    (void)printf("Cancel signal sent for job %s\n", job.jid);
    return CLI_OK;
}

/* --- retry -------------------------------------------------------------------------- */

/* The targets that did not succeed. */
static struct param_strs find_failed(struct arena *arena, const struct fleet_answers *answers)
{
    VEC(const char *) failed = VEC_INIT;

    for (size_t i = 0; i < answers->count; i++)
        if (!answers->list[i].has_come || !answers->list[i].success)
            VEC_PUSH_IN(arena, &failed, answers->list[i].peel);
    return (struct param_strs){ failed.n, failed.p };
}

static int repeat_job(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                      const struct job *done)
{
    const char *plan = value_get_text(&done->metadata, JOB_PLAN);
    const char *node_timeout = value_get_text(&done->metadata, JOB_NODE_TIMEOUT);
    struct job job = { .function = done->function,
                       .args = done->args,
                       .targets = done->targets,
                       .timeout = want->fleet.has_timeout ? want->fleet.timeout : done->timeout,
                       .user = fleet_user(cli->arena),
                       .owner = "",
                       .sealed = done->sealed,
                       .state_id = done->state_id,
                       .target_expr = done->target_expr,
                       .v = done->v };

    if (plan)
        fleet_job_note(cli->arena, &job, JOB_PLAN, plan);
    if (node_timeout)
        fleet_job_note(cli->arena, &job, JOB_NODE_TIMEOUT, node_timeout);
    return fleet_run_job(cli, fleet, &job,
                         &(struct fleet_run){ .format = want->fleet.format,
                                              .async = want->async,
                                              .output = want->output,
                                              .batch = want->batch });
}

static int run_job_retry(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;
    struct fleet_answers answers;
    struct job job;
    struct err err;

    if (fleet_find_job(cli->fleet, operands.p[0], &job, &err) < 0)
        return cli_err(cli, &err);
    if (!job_status_is_final(job.status))
        return cli_error(cli, "job %s has not ended; wait for it with 'zester job watch %s'",
                         job.jid, job.jid);
    fleet_answers_init(&answers, cli->arena, &job.targets);
    if (fleet_collect(cli->fleet, job.jid, 0, true, &answers, &err) < 0)
        return cli_err(cli, &err);
    job.targets = find_failed(cli->arena, &answers);
    if (job.targets.n > 0)
        return repeat_job(cli, cli->fleet, want, &job);
    (void)fprintf(stderr, "job %s succeeded everywhere: nothing to repeat\n", job.jid);
    return CLI_OK;
}

/* --- approval ----------------------------------------------------------------------- */

static int run_job_approve(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;

    return job_decide(cli, cli->fleet, SUBJECT_JOB_APPROVE, operands.p[0], NULL,
                      want->fleet.timeout);
}

static int run_job_reject(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;

    return job_decide(cli, cli->fleet, SUBJECT_JOB_REJECT, operands.p[0], want->reason,
                      want->fleet.timeout);
}

static int run_approvals(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct job_args *want = args;

    (void)operands;
    return job_print_approvals(cli, cli->fleet, want->fleet.format);
}

/* --- the commands ------------------------------------------------------------------- */

#define JOB_COMMAND(table, function, count)                                                        \
    .options = (table), .args_size = sizeof(ARGS), .least = (count), .most = (count),              \
    .run = (function), FLEET_CONNECT(ARGS, fleet)

static const struct command job_commands[] = {
    { .name = "list",
      .operands = "",
      .summary = "list jobs of the last seven days, newest first",
      .examples = "  zester job list --status failed --limit 10\n",
      .options = list_options,
      .args_size = sizeof(ARGS),
      .run = run_job_list },
    { .name = "show",
      .operands = "JID",
      .lookup = "job list",
      .summary = "show a job and its returns",
      .examples = "  zester job show 2ABCdefGHIjklMNOpqrSTUvwxyz --format json\n",
      JOB_COMMAND(plain_options, run_job_show, 1) },
    { .name = "watch",
      .operands = "JID",
      .lookup = "job list",
      .summary = "follow a job until its end, and show its returns",
      .details =
          "On a terminal, shows how far each peel is meanwhile. The exit status is that of the\n"
          "job, as if the command that sent it had waited.\n",
      .examples = "  zester job watch $(zester '*' state.highstate --async)\n",
      .statuses = ANSWER_STATUSES,
      JOB_COMMAND(watch_options, run_job_watch, 1) },
    { .name = "follow",
      .operands = "JID",
      .lookup = "job list",
      .summary = "the same as watch",
      .examples = "  zester job follow 2ABCdef\n",
      .statuses = ANSWER_STATUSES,
      JOB_COMMAND(watch_options, run_job_watch, 1) },
    { .name = "active",
      .operands = "",
      .summary = "list jobs that have not ended",
      .examples = "  zester job active\n",
      JOB_COMMAND(plain_options, run_active, 0) },
    { .name = "kill",
      .operands = "JID",
      .lookup = "job list",
      .summary = "cancel a job, running or not yet started",
      .examples = "  zester job kill 2ABCdefGHIjklMNOpqrSTUvwxyz\n",
      JOB_COMMAND(plain_options, run_kill, 1) },
    { .name = "retry",
      .operands = "JID",
      .lookup = "job list",
      .summary = "run a job again on the peels where it did not succeed",
      .examples = "  zester job retry 2ABCdefGHIjklMNOpqrSTUvwxyz\n",
      .statuses = ANSWER_STATUSES,
      JOB_COMMAND(retry_options, run_job_retry, 1) },
    { .name = "approvals",
      .operands = "",
      .summary = "list jobs that wait for approval, and decisions of the last day",
      .examples = "  zester job approvals --format json\n",
      JOB_COMMAND(plain_options, run_approvals, 0) },
    { .name = "approve",
      .operands = "JID",
      .lookup = "job approvals",
      .summary = "approve a job of another operator",
      .details = "Any operator who may run the job may approve it, except its requester.\n"
                 "'zester job approvals --format yaml' shows its arguments.\n",
      .examples = "  zester job approve 2ABCdefGHIjklMNOpqrSTUvwxyz\n",
      JOB_COMMAND(plain_options, run_job_approve, 1) },
    { .name = "reject",
      .operands = "JID",
      .lookup = "job approvals",
      .summary = "reject a job of another operator",
      .examples = "  zester job reject 2ABCdefGHIjklMNOpqrSTUvwxyz --reason 'not on a Friday'\n",
      JOB_COMMAND(reject_options, run_job_reject, 1) },
    { 0 },
};

const struct command command_job = {
    .name = "job",
    .operands = "",
    .summary = "show, stop and repeat jobs",
    .details = "JID is the id of a job, or the beginning of it, if only one job has an id that "
               "begins so.\n",
    .examples = "  zester job list\n"
                "  zester job watch 2ABCdefGHIjklMNOpqrSTUvwxyz\n",
    .commands = job_commands,
};
