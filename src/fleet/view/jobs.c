#include "fleet/view/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/data/value.h"
#include "fleet/wire/peel_id.h"

/* Room to collect before the oldest are let go. */
#define SLACK_MIN 64

/* --- which -------------------------------------------------------------------------- */

static bool has_job_target(const struct job *job, const char *peel)
{
    for (size_t i = 0; i < job->targets.n; i++)
        if (strcmp(job->targets.p[i], peel) == 0)
            return true;
    return false;
}

static bool is_job_listed(const struct job_filter *filter, const struct job *job)
{
    return (!filter->peel || has_job_target(job, filter->peel)) &&
           (!filter->function || strcmp(filter->function, job->function) == 0) &&
           (!filter->status || strcmp(filter->status, job_status_name(job->status)) == 0) &&
           (!filter->user || strcmp(filter->user, job->user) == 0);
}

/* A job is the first member of an item. */
int fleet_jobs_compare(const void *job, const void *other)
{
    const struct job *left = job, *right = other;

    if (left->created.seconds != right->created.seconds)
        return left->created.seconds < right->created.seconds ? 1 : -1;
    if (left->created.nanoseconds != right->created.nanoseconds)
        return left->created.nanoseconds < right->created.nanoseconds ? 1 : -1;
    return strcmp(right->jid, left->jid);
}

/* --- collecting --------------------------------------------------------------------- */

void fleet_jobs_init(struct fleet_jobs *jobs, const struct job_filter *filter, size_t bytes_max)
{
    *jobs = (struct fleet_jobs){ .filter = *filter, .bytes_max = bytes_max, .arena = ARENA_INIT };
}

void fleet_jobs_done(struct fleet_jobs *jobs)
{
    arena_done(&jobs->arena);
    *jobs = (struct fleet_jobs){ 0 };
}

static size_t count_needed(const struct fleet_jobs *jobs)
{
    return (size_t)jobs->filter.offset + (size_t)jobs->filter.limit;
}

/* False: it cannot be read. */
static bool add_job_record(struct fleet_jobs *jobs, struct str bytes)
{
    struct fleet_jobs_item item = { .bytes = arena_str(&jobs->arena, bytes) };
    struct err err;

    if (record_decode(&jobs->arena, &job_type, 1, item.bytes, &item.job, &err) < 0)
        return false;
    VEC_PUSH_IN(&jobs->arena, &jobs->list, item);
    jobs->bytes += bytes.n;
    return true;
}

static void sort_jobs(struct fleet_jobs *jobs)
{
    if (jobs->list.n > 1)
        qsort(jobs->list.p, jobs->list.n, sizeof(jobs->list.p[0]), fleet_jobs_compare);
}

/* Keep items [from, to) of the list. */
static void keep_jobs(struct fleet_jobs *jobs, size_t from, size_t to)
{
    struct fleet_jobs kept = *jobs;

    kept.arena = (struct arena)ARENA_INIT;
    kept.list.p = NULL;
    kept.list.n = kept.list.cap = kept.bytes = 0;
    for (size_t i = from; i < to && i < jobs->list.n; i++)
        (void)add_job_record(&kept, jobs->list.p[i].bytes);
    arena_done(&jobs->arena);
    *jobs = kept;
}

static bool is_listing_over(const struct fleet_jobs *jobs)
{
    return jobs->bytes_max > 0 && jobs->bytes > jobs->bytes_max;
}

static bool is_job_wanted(const struct fleet_jobs *jobs, struct str bytes)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct job job;
    struct err err;

    return record_decode(&scratch, &job_type, 1, bytes, &job, &err) == 0 &&
           is_job_listed(&jobs->filter, &job);
}

void fleet_jobs_take(struct fleet_jobs *jobs, struct str key, struct str value)
{
    const size_t needed = count_needed(jobs);

    if (jobs->is_full || str_starts(key, STR(FLEET_JOBS_ACTIVE)) || !is_job_wanted(jobs, value))
        return;
    jobs->matched++;
    (void)add_job_record(jobs, value);
    if ((jobs->list.n < 2 * needed || jobs->list.n < SLACK_MIN) && !is_listing_over(jobs))
        return;
    sort_jobs(jobs);
    keep_jobs(jobs, 0, needed);
    jobs->is_full = is_listing_over(jobs);
}

void fleet_jobs_end(struct fleet_jobs *jobs)
{
    sort_jobs(jobs);
    keep_jobs(jobs, (size_t)jobs->filter.offset, count_needed(jobs));
}

/* --- showing ------------------------------------------------------------------------ */

const char *fleet_jobs_statuses(struct arena *arena)
{
    const char *text = "";

    for (int i = 0; i < JOB_STATUSES; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
                            job_status_name((enum job_status)i));
    return text;
}

bool fleet_jobs_has_status(const char *name)
{
    for (int i = 0; i < JOB_STATUSES; i++)
        if (strcmp(job_status_name((enum job_status)i), name) == 0)
            return true;
    return false;
}

struct value fleet_names_value(struct arena *arena, struct param_strs peels)
{
    struct value_list *names = value_list_new(arena, peels.n);

    for (size_t i = 0; i < peels.n; i++)
        value_list_push(arena, names, value_text(peel_id_name(arena, peels.p[i])));
    return value_list(names);
}

struct value fleet_job_value(struct arena *arena, const struct job *job, const struct value *queued)
{
    struct value v = job_describe(arena, job);

    if (queued->list->count > 0)
        value_map_set(arena, v.map, value_text("queued"), *queued);
    return v;
}
