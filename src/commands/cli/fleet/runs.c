#include "commands/cli/fleet/runs.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "commands/cli/fleet/bucket.h"
#include "core/data/value.h"
#include "states/local/verb.h"
#include "fleet/wire/job.h"

struct listed_job {
    struct value_time created;
    char jid[JOB_ID_MAX + 1];
    const char *function; /* of the table of verbs */
};

/* The newest jobs that ran states. */
struct listed_jobs {
    struct listed_job list[FLEET_RUNS_JOBS];
    size_t count;
};

/* A search in progress. */
struct search {
    struct fleet *fleet;
    struct fleet_peels *peels;
    struct fleet_runs_item **runs; /* by place of the peel; NULL: states are not wanted */
    const char *function;          /* of the job that is read */
    size_t kept;                   /* bytes */
    bool is_cut;
};

/* --- jobs --------------------------------------------------------------------------- */

/* Functions that run all states of their references. */
static const char *find_run_function(const char *name)
{
    const struct verb *verb = verb_find(name);

    if (!verb ||
        (verb->kind != VERB_APPLY && verb->kind != VERB_HIGHSTATE && verb->kind != VERB_TEST))
        return NULL;
    return verb->name;
}

/* Sorted, newest first; the oldest falls off the end. */
static void insert_job(struct listed_jobs *jobs, const struct listed_job *job)
{
    size_t at = 0;

    while (at < jobs->count && time_is_later(jobs->list[at].created, job->created))
        at++;
    if (at == FLEET_RUNS_JOBS)
        return;
    if (jobs->count < FLEET_RUNS_JOBS)
        jobs->count++;
    memmove(&jobs->list[at + 1], &jobs->list[at], (jobs->count - at - 1) * sizeof(jobs->list[0]));
    jobs->list[at] = *job;
}

static void add_run_job(void *self, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct listed_job found = { 0 };
    struct job job;
    struct err err;

    if (record_decode(&scratch, &job_type, 1, entry->value, &job, &err) < 0 ||
        strlen(job.jid) >= sizeof(found.jid) || !str_eq_text(entry->key, job.jid))
        return;
    found.function = find_run_function(job.function);
    found.created = job.created;
    memcpy(found.jid, job.jid, strlen(job.jid) + 1);
    if (found.function)
        insert_job(self, &found);
}

/* --- returns ------------------------------------------------------------------------ */

static void count_run_results(struct arena *arena, const struct exec_response *response,
                              struct lastrun *run)
{
    const char **names = ARENA_ARRAY(arena, const char *, LASTRUN_NAMES);

    run->states = (uint32_t)response->results.list.n;
    run->again = response->again;
    run->looked = response->looked;
    run->differs.p = names;
    VEC_EACH (&response->results.list, result) {
        /* in a run that succeeded another state has handled it */
        const bool failed = result->error[0] && !result->skipped && !run->success;

        run->failed += failed;
        run->changed += result->changed && !failed;
        run->skipped += result->skipped;
        if ((failed || result->again[0] || (response->test && result->changed)) &&
            run->differs.n < LASTRUN_NAMES)
            names[run->differs.n++] = result->name;
    }
}

bool fleet_runs_summarize(struct arena *arena, const struct exec_return *ret, const char *function,
                          struct fleet_runs_item *ret_run)
{
    struct lastrun *run = &ret_run->summary;
    struct err err;

    *ret_run = (struct fleet_runs_item){ 0 };
    if (ret->unreachable || ret->queued || ret->return_data.kind != VALUE_MAP ||
        record_read(arena, &exec_response_type, 1, &ret->return_data, &ret_run->response, &err) < 0)
        return false;
    *run = (struct lastrun){
        .id = ret->jid,
        .function = function,
        .time = ret->timestamp,
        .test = ret_run->response.test,
        .success = ret->success && !ret->error[0],
        .error = ret->error,
        .duration = ret->duration,
    };
    count_run_results(arena, &ret_run->response, run);
    if (run->success && !run->test && run->looked && run->again == 0)
        run->converged = run->time;
    lastrun_bound(run, arena);
    return true;
}

/* --- searching ---------------------------------------------------------------------- */

static size_t find_run_place(const struct search *search, const struct fleet_peel *peel)
{
    size_t low = 0, high = search->peels->list.n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strcmp(search->peels->list.p[middle]->id, peel->id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A dry run that found drift says more than a run before it. */
static bool has_found_drift(const struct lastrun *run)
{
    return run->test && lastrun_count_differs(run) > 0;
}

static bool needs_states(const struct search *search, size_t place)
{
    const struct fleet_runs_item *run = search->runs ? search->runs[place] : NULL;

    return search->runs && (!run || (run->summary.test && !has_found_drift(&run->summary)));
}

static bool needs_summary(const struct fleet_peel *peel)
{
    return !peel->has_run || (peel->run.converged.seconds == 0 && !peel->seen);
}

static bool is_run_wanted(const struct search *search, size_t place)
{
    return needs_summary(search->peels->list.p[place]) || needs_states(search, place);
}

/* A run that acts replaces a dry run without drift, however old it is. */
static void take_states(struct search *search, size_t place, const struct fleet_runs_item *run)
{
    if (!needs_states(search, place) || (search->runs[place] && run->summary.test))
        return;
    search->runs[place] = ARENA_NEW(search->peels->arena, struct fleet_runs_item);
    *search->runs[place] = *run;
}

static bool has_run_room(struct search *search, size_t bytes)
{
    search->is_cut = search->is_cut || bytes > FLEET_RUNS_MAX - search->kept;
    return !search->is_cut;
}

/* The peel is the one of the key; a payload that claims to be another is ignored. */
static void take_run_return(struct search *search, struct fleet_peel *peel, struct str bytes)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const size_t place = find_run_place(search, peel);
    const bool keep = needs_states(search, place) && has_run_room(search, bytes.n);
    struct arena *arena = keep ? search->peels->arena : &scratch;
    struct exec_return ret;
    struct fleet_runs_item run;
    struct err err;

    if (!is_run_wanted(search, place) ||
        record_decode(arena, &exec_return_type, 1, arena_str(arena, bytes), &ret, &err) < 0 ||
        strcmp(ret.peel_id, peel->id) != 0 ||
        !fleet_runs_summarize(arena, &ret, search->function, &run))
        return;
    run.peel = peel;
    fleet_peels_offer_run(search->peels, peel, &run.summary);
    if (!keep)
        return;
    search->kept += bytes.n;
    take_states(search, place, &run);
}

static void on_run_return(void *self, const struct nats_kv_entry *entry)
{
    struct search *search = self;
    struct str id = entry->key;
    struct fleet_peel *peel;

    (void)str_cut(&id, '.');
    peel = id.p ? map_find(&search->peels->by_id, id) : NULL;
    if (peel)
        take_run_return(search, peel, entry->value);
}

static size_t count_wanted(const struct search *search)
{
    size_t count = 0;

    for (size_t i = 0; i < search->peels->list.n; i++)
        count += is_run_wanted(search, i);
    return count;
}

static int read_one_by_one(struct search *search, const char *jid, struct err *err)
{
    for (size_t i = 0; i < search->peels->list.n; i++) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        struct fleet_peel *peel = search->peels->list.p[i];
        struct str bytes;

        if (!is_run_wanted(search, i))
            continue;
        if (fleet_bucket_get(search->fleet, STORE_JOB_RETURNS,
                             arena_printf(&scratch, "%s.%s", jid, peel->id), &bytes, err) == 0)
            take_run_return(search, peel, bytes);
        else if (err->code != ERR_NOT_FOUND)
            return -1;
    }
    return 0;
}

static int search_jobs(struct search *search, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct listed_jobs *jobs;
    size_t wanted = count_wanted(search);

    if (wanted == 0)
        return 0;
    jobs = ARENA_NEW(&scratch, struct listed_jobs);
    if (fleet_bucket_each(search->fleet, STORE_JOBS, "*", add_run_job, jobs, err) < 0)
        return -1;
    for (size_t i = 0; i < jobs->count && wanted > 0; i++) {
        const struct listed_job *job = &jobs->list[i];
        int result;

        search->function = job->function;
        if (wanted <= FLEET_RUNS_FEW)
            result = read_one_by_one(search, job->jid, err);
        else
            result = fleet_bucket_each(search->fleet, STORE_JOB_RETURNS,
                                       arena_printf(&scratch, "%s.*", job->jid), on_run_return,
                                       search, err);
        if (result < 0)
            return -1;
        wanted = count_wanted(search);
    }
    return 0;
}

int fleet_runs_fill(struct fleet *fleet, struct fleet_peels *peels, struct err *err)
{
    struct search search = { .fleet = fleet, .peels = peels };

    return search_jobs(&search, err);
}

int fleet_runs_read(struct fleet *fleet, struct fleet_peels *peels, struct fleet_runs *ret_runs,
                    struct err *err)
{
    struct search search = { .fleet = fleet, .peels = peels };

    search.runs = ARENA_ARRAY(peels->arena, struct fleet_runs_item *, peels->list.n + 1);
    if (search_jobs(&search, err) < 0)
        return -1;
    *ret_runs = (struct fleet_runs){ .is_cut = search.is_cut };
    for (size_t i = 0; i < peels->list.n; i++)
        if (search.runs[i])
            VEC_PUSH_IN(peels->arena, &ret_runs->list, *search.runs[i]);
    return 0;
}
