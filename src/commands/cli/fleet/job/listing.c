#include "commands/cli/fleet/job/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/local_time.h"
#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/list.h"
#include "fleet/wire/peel_id.h"

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

static void on_listed_job(void *self, const struct nats_kv_entry *entry)
{
    fleet_jobs_take(self, entry->key, entry->value);
}

/* A page, in the arena of the fleet. */
static int read_jobs(struct fleet *fleet, const struct job_filter *filter, struct jobs *ret_jobs,
                     struct err *err)
{
    struct fleet_jobs page;
    int result;

    *ret_jobs = (struct jobs){ .arena = fleet->arena };
    fleet_jobs_init(&page, filter, 0);
    result = fleet_bucket_each(fleet, STORE_JOBS, "*", on_listed_job, &page, err);
    fleet_jobs_end(&page);
    for (size_t i = 0; i < page.list.n && result == 0; i++) {
        struct job job;

        result = record_decode(fleet->arena, &job_type, 1,
                               arena_str(fleet->arena, page.list.p[i].bytes), &job, err);
        VEC_PUSH_IN(fleet->arena, &ret_jobs->list, job);
    }
    fleet_jobs_done(&page);
    return result;
}

/* --- printing ----------------------------------------------------------------------- */

static const char *print_target_names(struct arena *arena, const void *record)
{
    return arena_printf(arena, "[%s]", fleet_list_join(arena, value_get(record, "targets")));
}

static const char *print_target(struct arena *arena, const void *record)
{
    const char *expr = value_get_text(record, "target_expr");

    return expr && expr[0] ? expr : print_target_names(arena, record);
}

static const char *print_job_status(struct arena *arena, const void *record)
{
    const struct value *queued = value_get(record, "queued");
    const char *name = value_get_text(record, "status");

    return queued ? arena_printf(arena, "%s, %zu queued", name, queued->list->count) : name;
}

static const char *print_started(struct arena *arena, const void *record)
{
    const struct value *created = value_get(record, "created");

    return value_is(created, VALUE_TIME) ? local_time_text(arena, created->t) : "-";
}

#define JOB_COLUMNS(target, print, status)                                                         \
    FLEET_COLUMN("JID", "jid"), FLEET_COLUMN("FUNCTION", "function", .empty = "-"),                \
        FLEET_COLUMN(target, NULL, .cell = (print)),                                               \
        FLEET_COLUMN(status, NULL, .cell = print_job_status),                                      \
        FLEET_COLUMN("USER", "user", .empty = "-"), FLEET_COLUMN("OWNER", "owner", .empty = "-"),  \
        FLEET_COLUMN("STARTED", NULL, .cell = print_started)

static const struct fleet_column list_columns[] = {
    JOB_COLUMNS("TARGET", print_target, "STATE"),
};

static const struct fleet_column active_columns[] = {
    JOB_COLUMNS("TARGETS", print_target_names, "STATUS"),
};

static int print_jobs(struct cli *cli, enum fleet_format format, const struct jobs *jobs,
                      struct fleet_list *list, const char *none)
{
    for (size_t i = 0; i < jobs->list.n; i++)
        fleet_list_add(list, fleet_job_value(cli->arena, &jobs->list.p[i], &jobs->queued[i]), NULL);
    if (format != FLEET_TEXT || jobs->list.n > 0)
        return fleet_list_print(cli, format, list);
    (void)printf("%s\n", none);
    return CLI_OK;
}

/* --- list, active ------------------------------------------------------------------- */

int job_listing_check_status(struct cli *cli, const char *status)
{
    if (!status || fleet_jobs_has_status(status))
        return CLI_OK;
    return cli_usage(cli, "--status: invalid job status '%s' (%s)", status,
                     fleet_jobs_statuses(cli->arena));
}

int job_read_queued(struct fleet *fleet, const struct job *job, struct value *ret_names,
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
        if (job_read_queued(fleet, &jobs->list.p[i], &jobs->queued[i], err) < 0)
            return -1;
    return 0;
}

int job_listing_print(struct cli *cli, struct fleet *fleet, const struct job_filter *filter,
                      enum fleet_format format)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, list_columns);
    struct jobs chosen;
    struct err err;

    if (read_jobs(fleet, filter, &chosen, &err) < 0 || read_all_queued(fleet, &chosen, &err) < 0)
        return cli_err(cli, &err);
    return print_jobs(cli, format, &chosen, &list, "No jobs found.");
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
    if (fleet_bucket_each(fleet, STORE_JOBS, FLEET_JOBS_ACTIVE "*", add_active_jid, &active, err) <
        0)
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
    if (ret_jobs->list.n > 1)
        qsort(ret_jobs->list.p, ret_jobs->list.n, sizeof(ret_jobs->list.p[0]), fleet_jobs_compare);
    return 0;
}

int job_listing_print_active(struct cli *cli, struct fleet *fleet, enum fleet_format format)
{
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, active_columns);
    struct jobs jobs;
    struct err err;

    if (read_active(fleet, &jobs, &err) < 0 || read_all_queued(fleet, &jobs, &err) < 0)
        return cli_err(cli, &err);
    return print_jobs(cli, format, &jobs, &list, "No active jobs.");
}
