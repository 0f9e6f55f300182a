/* zester job: shows, stops and repeats jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/fleet/bucket.h"
#include "cli/fleet/job.h"
#include "cli/fleet/run.h"
#include "cli/table.h"
#include "nats/conn.h"
#include "sys/clock.h"
#include "wire/peel_id.h"
#include "wire/subject.h"

#define ACTIVE "active."
#define ANSWER_STATUSES                                                                            \
    "0 success; 1 no such job or connection; 2 a peel failed; 3 a peel is silent; 4 both"

struct job_args {
    struct fleet_options fleet;
    struct fleet_batch batch;
    const char *function, *status, *user, *peel;
    int64_t limit, offset;
    bool async;
};

#define ARGS struct job_args

/* clang-format off */
static const struct param list_options[] = {
    PARAM("function", STR, ARGS, function, "only jobs of this function", .kind_text = "NAME"),
    PARAM("status", STR, ARGS, status, "only jobs in this status", .kind_text = "STATUS"),
    PARAM("user", STR, ARGS, user, "only jobs of this user", .kind_text = "NAME"),
    PARAM("peel", STR, ARGS, peel, "only jobs that this peel is a target of", .kind_text = "NAME"),
    PARAM("limit", INT, ARGS, limit, "show this many, newest first", .default_text = "50", PARAM_RANGE(1, 1000000), .kind_text = "N"),
    PARAM("offset", INT, ARGS, offset, "skip this many newer ones", .default_text = "0", PARAM_RANGE(0, 1000000), .kind_text = "N"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param plain_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param retry_options[] = {
    PARAM("async", BOOL, ARGS, async, "print the id of the new job and do not wait"),
    FLEET_BATCH_OPTIONS(ARGS, batch),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- reading ------------------------------------------------------------------------ */

struct jobs {
    struct arena *arena;
    VEC(struct job) list;
    struct value *queued; /* lists of names, in the order of the jobs */
};

/* Ids in the index of jobs that have not ended. */
struct active {
    struct arena *arena;
    VEC(const char *) jids;
};

static void add_job(void *self, const struct nats_kv_entry *entry)
{
    struct jobs *jobs = self;
    struct job job;
    struct err err;

    if (!str_starts(entry->key, STR(ACTIVE)) &&
        record_decode(jobs->arena, &job_type, 1, arena_str(jobs->arena, entry->value), &job,
                      &err) == 0)
        VEC_PUSH_IN(jobs->arena, &jobs->list, job);
}

static int compare_jobs(const void *a, const void *b)
{
    const struct job *left = a, *right = b;

    if (left->created.seconds != right->created.seconds)
        return left->created.seconds < right->created.seconds ? 1 : -1;
    if (left->created.nanoseconds != right->created.nanoseconds)
        return left->created.nanoseconds < right->created.nanoseconds ? 1 : -1;
    return strcmp(right->jid, left->jid);
}

static void sort_jobs(struct jobs *jobs)
{
    if (jobs->list.n > 1)
        qsort(jobs->list.p, jobs->list.n, sizeof(jobs->list.p[0]), compare_jobs);
}

static int read_jobs(struct fleet *fleet, struct jobs *ret_jobs, struct err *err)
{
    *ret_jobs = (struct jobs){ .arena = fleet->arena };
    if (fleet_bucket_each(fleet, STORE_JOBS, "*", add_job, ret_jobs, err) < 0)
        return -1;
    sort_jobs(ret_jobs);
    return 0;
}

/* --- printing ----------------------------------------------------------------------- */

static const char *or_dash(const char *text)
{
    return text && text[0] ? text : "-";
}

static const char *print_targets(struct arena *arena, const struct job *job)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_add_char(&out, '[');
    for (size_t i = 0; i < job->targets.n; i++)
        buf_printf(&out, "%s%s", i ? " " : "", peel_id_name(arena, job->targets.p[i]));
    buf_add_char(&out, ']');
    return buf_copy(&out, arena).p;
}

static const char *print_state(struct arena *arena, const struct job *job,
                               const struct value *queued)
{
    const char *name = job_status_name(job->status);

    return queued->list->count > 0
               ? arena_printf(arena, "%s, %zu queued", name, queued->list->count)
               : name;
}

/* Ids as people write them. */
static struct value names_value(struct arena *arena, const struct param_strs *peels)
{
    struct value_list *names = value_list_new(arena, peels->n);

    for (size_t i = 0; i < peels->n; i++)
        value_list_push(arena, names, value_text(peel_id_name(arena, peels->p[i])));
    return value_list(names);
}

static struct value job_value(struct arena *arena, const struct job *job,
                              const struct value *queued)
{
    struct value v = record_value(arena, &job_type, job);

    value_map_set(arena, v.map, value_text("targets"), names_value(arena, &job->targets));
    if (job->offline_at_dispatch.n > 0)
        value_map_set(arena, v.map, value_text("offline_at_dispatch"),
                      names_value(arena, &job->offline_at_dispatch));
    if (queued->list->count > 0)
        value_map_set(arena, v.map, value_text("queued"), *queued);
    return v;
}

/* How a list of jobs is shown as text. */
#define COLUMNS 6
struct job_table {
    const char *heads[COLUMNS];
    bool has_names; /* of the targets, not the expression */
    const char *none;
};

static const struct job_table list_table = {
    .heads = { "JID", "FUNCTION", "TARGET", "STATE", "USER", "OWNER" },
    .none = "No jobs found.",
};

static const struct job_table active_table = {
    .heads = { "JID", "FUNCTION", "TARGETS", "STATUS", "USER", "OWNER" },
    .has_names = true,
    .none = "No active jobs.",
};

static int print_jobs(struct cli *cli, enum fleet_format format, const struct jobs *jobs,
                      const struct job_table *how)
{
    struct table table = { .arena = cli->arena, .heads = how->heads, .columns = COLUMNS };
    struct value_list *list = value_list_new(cli->arena, jobs->list.n);

    for (size_t i = 0; i < jobs->list.n; i++) {
        const struct job *job = &jobs->list.p[i];
        const bool has_expr = job->target_expr[0] && !how->has_names;
        const char **row = table_add(&table);

        row[0] = job->jid;
        row[1] = or_dash(job->function);
        row[2] = has_expr ? job->target_expr : print_targets(cli->arena, job);
        row[3] = print_state(cli->arena, job, &jobs->queued[i]);
        row[4] = or_dash(job->user);
        row[5] = or_dash(job->owner);
        value_list_push(cli->arena, list, job_value(cli->arena, job, &jobs->queued[i]));
    }
    if (format == FLEET_TEXT && jobs->list.n == 0) {
        (void)printf("%s\n", how->none);
        return CLI_OK;
    }
    return fleet_print_rows(cli, format, &table, list);
}

/* --- list, active ------------------------------------------------------------------- */

static bool has_target(const struct job *job, const char *peel)
{
    for (size_t i = 0; i < job->targets.n; i++)
        if (strcmp(job->targets.p[i], peel) == 0)
            return true;
    return false;
}

static bool is_listed(const struct job_args *want, const struct job *job)
{
    return (!want->peel || has_target(job, want->peel)) &&
           (!want->function || strcmp(want->function, job->function) == 0) &&
           (!want->status || strcmp(want->status, job_status_name(job->status)) == 0) &&
           (!want->user || strcmp(want->user, job->user) == 0);
}

static void select_jobs(const struct job_args *want, const struct jobs *all, struct jobs *ret)
{
    int64_t seen = 0;

    *ret = (struct jobs){ .arena = all->arena };
    VEC_EACH (&all->list, job) {
        if (!is_listed(want, job))
            continue;
        if (seen >= want->offset && seen < want->offset + want->limit)
            VEC_PUSH_IN(ret->arena, &ret->list, *job);
        seen++;
    }
}

static const char *list_statuses(struct arena *arena)
{
    const char *text = "";

    for (int i = 0; i < JOB_STATUSES; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
                            job_status_name((enum job_status)i));
    return text;
}

static int check_status(struct cli *cli, const char *status)
{
    for (int i = 0; status && i < JOB_STATUSES; i++)
        if (strcmp(job_status_name((enum job_status)i), status) == 0)
            return CLI_OK;
    return status ? cli_usage(cli, "--status: '%s' is not a status of jobs (%s)", status,
                              list_statuses(cli->arena))
                  : CLI_OK;
}

/* The targets for which a running job is kept; an empty list for any other job. */
static int read_queued(struct fleet *fleet, const struct job *job, struct value *ret_names,
                       struct err *err)
{
    struct value_list *names = value_list_new(fleet->arena, 0);
    struct fleet_answers answers;

    *ret_names = value_list(names);
    if (job_status_is_final(job->status) || job_queue_seconds(job) <= 0)
        return 0;
    fleet_answers_init(&answers, fleet->arena, &job->targets);
    if (fleet_collect(fleet, job->jid, 0, true, &answers, err) < 0)
        return -1;
    for (size_t i = 0; i < answers.count; i++) {
        if (answers.list[i].is_queued)
            value_list_push(fleet->arena, names,
                            value_text(peel_id_name(fleet->arena, answers.list[i].peel)));
    }
    return 0;
}

static int read_all_queued(struct fleet *fleet, struct jobs *jobs, struct err *err)
{
    jobs->queued = ARENA_ARRAY(jobs->arena, struct value, jobs->list.n + 1);
    for (size_t i = 0; i < jobs->list.n; i++)
        if (read_queued(fleet, &jobs->list.p[i], &jobs->queued[i], err) < 0)
            return -1;
    return 0;
}

static int list_jobs(struct cli *cli, struct fleet *fleet, const struct job_args *want)
{
    struct jobs all, chosen;
    struct err err;

    if (read_jobs(fleet, &all, &err) < 0)
        return cli_err(cli, &err);
    select_jobs(want, &all, &chosen);
    if (read_all_queued(fleet, &chosen, &err) < 0)
        return cli_err(cli, &err);
    return print_jobs(cli, want->fleet.format, &chosen, &list_table);
}

static void add_active_jid(void *self, const struct nats_kv_entry *entry)
{
    struct active *active = self;
    struct str jid = entry->key;

    (void)str_cut(&jid, '.');
    VEC_PUSH_IN(active->arena, &active->jids, arena_str(active->arena, jid).p);
}

/* By the index: the records of all other jobs are not read. An entry whose job has ended, or was
 * never written, is removed by a master. */
static int read_active(struct fleet *fleet, struct jobs *ret_jobs, struct err *err)
{
    struct active active = { .arena = fleet->arena };

    *ret_jobs = (struct jobs){ .arena = fleet->arena };
    if (fleet_bucket_each(fleet, STORE_JOBS, ACTIVE "*", add_active_jid, &active, err) < 0)
        return -1;
    VEC_EACH (&active.jids, jid) {
        struct job job;

        if (fleet_read_job(fleet, *jid, &job, err) == 0) {
            if (!job_status_is_final(job.status))
                VEC_PUSH_IN(ret_jobs->arena, &ret_jobs->list, job);
        } else if (err->code != ERR_NOT_FOUND) {
            return -1;
        }
    }
    sort_jobs(ret_jobs);
    return 0;
}

static int list_active(struct cli *cli, struct fleet *fleet, const struct job_args *want)
{
    struct jobs jobs;
    struct err err;

    if (read_active(fleet, &jobs, &err) < 0 || read_all_queued(fleet, &jobs, &err) < 0)
        return cli_err(cli, &err);
    return print_jobs(cli, want->fleet.format, &jobs, &active_table);
}

/* Run one of the actions below over a connection. */
typedef int action_fn(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                      const char *jid);

static int with_fleet(struct cli *cli, const struct job_args *want, const char *jid,
                      action_fn *action)
{
    struct fleet *fleet;
    struct err err;
    int status;

    if (fleet_open(cli->arena, &want->fleet, &fleet, &err) < 0)
        return cli_err(cli, &err);
    status = action(cli, fleet, want, jid);
    fleet_close(fleet);
    return status;
}

static int act_list(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                    const char *jid)
{
    (void)jid;
    return list_jobs(cli, fleet, want);
}

static int run_list(struct cli *cli, const void *args, struct param_strs operands)
{
    struct job_args want = *(const struct job_args *)args;
    char peel[PEEL_ID_SIZE];
    struct err err;

    (void)operands;
    if (check_status(cli, want.status) != CLI_OK)
        return CLI_ERROR;
    if (want.peel) {
        if (peel_id_encode(str_from(want.peel), peel, &err) < 0)
            return cli_usage(cli, "--peel: %s", err.text);
        want.peel = peel;
    }
    return with_fleet(cli, &want, "", act_list);
}

static int act_active(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                      const char *jid)
{
    (void)jid;
    return list_active(cli, fleet, want);
}

static int run_active(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return with_fleet(cli, args, "", act_active);
}

/* --- show --------------------------------------------------------------------------- */

static void print_returns(struct cli *cli, const struct fleet_answers *answers)
{
    static const char *const heads[] = { "PEEL", "STATUS", "SUCCESS", "DURATION" };
    struct table table = TABLE_INIT(cli->arena, heads);

    for (size_t i = 0; i < answers->count; i++) {
        AUTO_BUF struct buf duration = BUF_INIT(64);
        const struct fleet_answer *answer = &answers->list[i];
        const char **row;

        if (!answer->has_come)
            continue;
        row = table_add(&table);
        row[0] = peel_id_name(cli->arena, answer->peel);
        row[1] = fleet_answer_status(answer);
        row[2] = answer->success ? "true" : "false";
        number_print_duration(answer->duration, &duration);
        row[3] = buf_copy(&duration, cli->arena).p;
    }
    (void)table_print(&table);
}

static struct value returns_value(struct arena *arena, const struct fleet_answers *answers)
{
    struct value_list *list = value_list_new(arena, answers->count);

    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];
        struct value_map *map;

        if (!answer->has_come)
            continue;
        map = value_map_new(arena, 5);
        value_map_set(arena, map, value_text("peel_id"),
                      value_text(peel_id_name(arena, answer->peel)));
        value_map_set(arena, map, value_text("success"), value_bool(answer->success));
        value_map_set(arena, map, value_text("status"), value_text(fleet_answer_status(answer)));
        value_map_set(arena, map, value_text("duration"), value_int(answer->duration));
        if (answer->error[0])
            value_map_set(arena, map, value_text("error"), value_text(answer->error));
        value_list_push(arena, list, value_map(map));
    }
    return value_list(list);
}

static int act_show(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                    const char *jid)
{
    struct fleet_answers answers;
    struct value_map *map;
    struct value whole, one, queued;
    struct job job;
    struct err err;

    if (fleet_read_job(fleet, jid, &job, &err) < 0)
        return cli_err(cli, &err);
    fleet_answers_init(&answers, cli->arena, &job.targets);
    if (fleet_collect(fleet, jid, 0, true, &answers, &err) < 0 ||
        read_queued(fleet, &job, &queued, &err) < 0)
        return cli_err(cli, &err);
    one = job_value(cli->arena, &job, &queued);
    if (want->fleet.format == FLEET_TEXT) {
        if (fleet_print(cli, FLEET_JSON, &one) != CLI_OK)
            return CLI_ERROR;
        (void)printf("\nReturns:\n");
        print_returns(cli, &answers);
        return CLI_OK;
    }
    map = value_map_new(cli->arena, 2);
    value_map_set(cli->arena, map, value_text("job"), one);
    value_map_set(cli->arena, map, value_text("returns"), returns_value(cli->arena, &answers));
    whole = value_map(map);
    return fleet_print(cli, want->fleet.format, &whole);
}

static int run_show(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_fleet(cli, args, operands.p[0], act_show);
}

/* --- watch -------------------------------------------------------------------------- */

static int act_watch(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                     const char *jid)
{
    struct job job;
    struct err err;

    if (fleet_read_job(fleet, jid, &job, &err) < 0)
        return cli_err(cli, &err);
    return fleet_watch_job(cli, fleet, &job, want->fleet.format);
}

static int run_watch(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_fleet(cli, args, operands.p[0], act_watch);
}

/* --- kill --------------------------------------------------------------------------- */

static int act_kill(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                    const char *jid)
{
    const struct job_cancel cancel = { JOB_ACTION_CANCEL, fleet_user(cli->arena) };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(4096);
    struct job job;
    struct err err;

    (void)want;
    if (fleet_read_job(fleet, jid, &job, &err) < 0)
        return cli_err(cli, &err);
    if (job_status_is_final(job.status))
        return cli_error(cli, "job %s has already ended: %s", jid, job_status_name(job.status));
    if (subject_print(&subject, SUBJECT_JOB_CANCEL, &(struct subject_names){ .jid = str_from(jid) },
                      &err) < 0 ||
        record_encode(&bytes, &job_cancel_type, &cancel, &err) < 0 ||
        nats_publish(
            fleet->js.conn,
            &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&bytes) },
            &err) < 0 ||
        fleet_flush(fleet, &err) < 0)
        return cli_err(cli, &err);
    (void)printf("Cancel signal sent for job %s\n", jid);
    return CLI_OK;
}

static int run_kill(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_fleet(cli, args, operands.p[0], act_kill);
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
                                              .batch = want->batch });
}

static int act_retry(struct cli *cli, struct fleet *fleet, const struct job_args *want,
                     const char *jid)
{
    struct fleet_answers answers;
    struct job job;
    struct err err;

    if (fleet_read_job(fleet, jid, &job, &err) < 0)
        return cli_err(cli, &err);
    if (!job_status_is_final(job.status))
        return cli_error(cli, "job %s has not ended; wait for it with 'zester job watch %s'", jid,
                         jid);
    fleet_answers_init(&answers, cli->arena, &job.targets);
    if (fleet_collect(fleet, jid, 0, true, &answers, &err) < 0)
        return cli_err(cli, &err);
    job.targets = find_failed(cli->arena, &answers);
    if (job.targets.n > 0)
        return repeat_job(cli, fleet, want, &job);
    (void)fprintf(stderr, "job %s succeeded everywhere: nothing to repeat\n", jid);
    return CLI_OK;
}

static int run_retry(struct cli *cli, const void *args, struct param_strs operands)
{
    return with_fleet(cli, args, operands.p[0], act_retry);
}

/* --- the commands ------------------------------------------------------------------- */

#define JOB_COMMAND(table, function, count)                                                        \
    .options = (table), .args_size = sizeof(ARGS), .least = (count), .most = (count),              \
    .run = (function)

static const struct command job_commands[] = {
    { .name = "list",
      .operands = "",
      .summary = "list jobs of the last seven days, newest first",
      .examples = "  zester job list --status failed --limit 10\n",
      JOB_COMMAND(list_options, run_list, 0) },
    { .name = "show",
      .operands = "JID",
      .lookup = "job list",
      .summary = "show a job and its returns",
      .examples = "  zester job show 2ABCdefGHIjklMNOpqrSTUvwxyz --format json\n",
      JOB_COMMAND(plain_options, run_show, 1) },
    { .name = "watch",
      .operands = "JID",
      .lookup = "job list",
      .summary = "wait for a job and show its returns",
      .examples = "  zester job watch $(zester '*' state.highstate --async)\n",
      .statuses = ANSWER_STATUSES,
      JOB_COMMAND(plain_options, run_watch, 1) },
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
      JOB_COMMAND(retry_options, run_retry, 1) },
    { 0 },
};

const struct command command_job = {
    .name = "job",
    .operands = "",
    .summary = "show, stop and repeat jobs",
    .examples = "  zester job list\n"
                "  zester job watch 2ABCdefGHIjklMNOpqrSTUvwxyz\n",
    .commands = job_commands,
};
