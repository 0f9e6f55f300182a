/* Jobs: list, show, cancel. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "fleet/view/answer.h"
#include "fleet/view/jobs.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

/* Maximum bytes of records and returns in an answer. */
#define RECORDS_MAX ((size_t)8 << 20)

/* --- list --------------------------------------------------------------------------- */

#define FILTER struct job_filter

/* clang-format off */
const struct param api_jobs_query[] = {
    PARAM("status",   STR, FILTER, status, "only jobs in this status", .kind_text = "STATUS"),
    PARAM("function", STR, FILTER, function, "only jobs of this function", .kind_text = "NAME"),
    PARAM("user",     STR, FILTER, user, "only jobs of this user", .kind_text = "NAME"),
    PARAM("peel",     STR, FILTER, peel, "only jobs that this peel is a target of", .kind_text = "NAME"),
    PARAM("limit",    INT, FILTER, limit, "this many at most", PARAM_RANGE(1, 1000), .default_text = "50", .kind_text = "N"),
    PARAM("offset",   INT, FILTER, offset, "skip this many newer ones", PARAM_RANGE(0, 100000), .default_text = "0", .kind_text = "N"),
    { 0 },
};
/* clang-format on */

static void answer_jobs(struct api_call *call, struct fleet_jobs *jobs)
{
    struct value_list *list = value_list_new(&call->arena, jobs->list.n);
    const struct value all = value_list(list), none = value_list(value_list_new(&call->arena, 0));

    for (size_t i = 0; i < jobs->list.n; i++)
        value_list_push(&call->arena, list,
                        fleet_job_value(&call->arena, &jobs->list.p[i].job, &none));
    api_answer_page(call, &all, jobs->matched);
}

static void on_listed_job(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct api_call *call = self;
    struct fleet_jobs jobs, *kept = call->work;

    if (entry) {
        if (entry->change == NATS_KV_PUT)
            fleet_jobs_take(kept, entry->key, entry->value);
        return;
    }
    jobs = *kept; /* the call goes with its answer */
    if (error) {
        api_fail_bus(call, error);
    } else if (jobs.is_full) {
        api_fail(call, API_UNFIT,
                 "the records of these jobs have more than %zu bytes: use a smaller 'limit'",
                 RECORDS_MAX);
    } else {
        fleet_jobs_end(&jobs);
        answer_jobs(call, &jobs);
    }
    fleet_jobs_done(&jobs);
}

void api_list_jobs(struct api_call *call)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_JOBS);
    struct job_filter filter = *(const struct job_filter *)call->query;
    char peel[PEEL_ID_SIZE];
    struct err err;

    if (filter.status && !fleet_jobs_has_status(filter.status)) {
        api_fail(call, API_BAD, "'status': invalid job status '%s' (%s)", filter.status,
                 fleet_jobs_statuses(&call->arena));
        return;
    }
    if (filter.peel) {
        if (peel_id_encode(str_from(filter.peel), peel, &err) < 0) {
            api_fail(call, API_BAD, "'peel': %s", err.text);
            return;
        }
        filter.peel = arena_strdup(&call->arena, peel);
    }
    call->work = ARENA_NEW(&call->arena, struct fleet_jobs);
    fleet_jobs_init(call->work, &filter, RECORDS_MAX);
    if (nats_kv_list(&kv, "*", on_listed_job, call, &err) < 0) {
        fleet_jobs_done(call->work);
        api_fail_later(call, err.text);
    }
}

/* --- show --------------------------------------------------------------------------- */

#define SHOW struct api_job_query

/* clang-format off */
const struct param api_job_query[] = {
    PARAM("results", BOOL, SHOW, results, "the results of each state or function; if false, only status, error and duration of each peel", .default_text = "true"),
    API_PAGE(SHOW, page, 10000, "1000"),
    { 0 },
};
/* clang-format on */

/* The returns of a page of its targets. */
struct showing {
    const struct job *job;
    struct fleet_answer *answers;
    size_t count, bytes;
    struct map by_peel; /* struct fleet_answer */
};

static void select_targets(struct api_call *call, const struct job *job, struct showing *showing)
{
    const struct api_job_query *query = call->query;
    const char **sorted = ARENA_ARRAY(&call->arena, const char *, job->targets.n + 1);
    size_t from, to;

    if (job->targets.n > 0)
        memcpy(sorted, job->targets.p, job->targets.n * sizeof(sorted[0]));
    api_sort(sorted, job->targets.n);
    api_page_range(&query->page, job->targets.n, &from, &to);
    *showing =
        (struct showing){ .job = job, .count = to - from, .by_peel = MAP_INIT_IN(&call->arena) };
    showing->answers = ARENA_ARRAY(&call->arena, struct fleet_answer, showing->count + 1);
    for (size_t i = 0; i < showing->count; i++) {
        struct fleet_answer *answer = &showing->answers[i];

        *answer = (struct fleet_answer){ .peel = sorted[from + i], .error = "" };
        (void)map_set(&showing->by_peel, str_from(answer->peel), answer);
    }
}

static struct value describe_answer(struct arena *arena, const struct fleet_answer *answer,
                                    bool with_results)
{
    struct value v;

    if (!with_results)
        return fleet_answer_summary(arena, answer);
    v = fleet_answer_value(arena, answer, false);
    value_map_set(arena, v.map, value_text("duration"), value_int(answer->duration));
    return v;
}

static void answer_job_shown(struct api_call *call, const struct showing *showing)
{
    const struct api_job_query *query = call->query;
    struct value_list *returns = value_list_new(&call->arena, showing->count);
    struct value_list *queued = value_list_new(&call->arena, 0);
    struct value_map *map = value_map_new(&call->arena, 4);
    const struct value body = value_map(map), names = value_list(queued);

    for (size_t i = 0; i < showing->count; i++) {
        const struct fleet_answer *answer = &showing->answers[i];

        if (answer->has_come)
            value_list_push(&call->arena, returns,
                            describe_answer(&call->arena, answer, query->results));
        if (answer->is_queued && !job_status_is_final(showing->job->status))
            value_list_push(&call->arena, queued,
                            value_text(peel_id_name(&call->arena, answer->peel)));
    }
    value_map_set(&call->arena, map, value_text("jid"), value_text(showing->job->jid));
    value_map_set(&call->arena, map, value_text("status"),
                  value_text(job_status_name(showing->job->status)));
    value_map_set(&call->arena, map, value_text("job"),
                  fleet_job_value(&call->arena, showing->job, &names));
    value_map_set(&call->arena, map, value_text("returns"), value_list(returns));
    api_answer_page(call, &body, showing->job->targets.n);
}

static void take_listed_return(struct api_call *call, struct showing *showing,
                               const struct nats_kv_entry *entry)
{
    struct str peel = entry->key, jid;
    struct fleet_answer *answer;

    jid = str_cut(&peel, '.');
    answer = map_find(&showing->by_peel, peel);
    if (!answer || entry->change != NATS_KV_PUT || showing->bytes > RECORDS_MAX)
        return;
    showing->bytes += entry->value.n;
    (void)fleet_answer_take(answer, &call->arena, jid, entry->value);
}

static void on_listed_return(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct api_call *call = self;
    struct showing *showing = call->work;

    if (entry)
        take_listed_return(call, showing, entry);
    else if (error)
        api_fail_bus(call, error);
    else if (showing->bytes > RECORDS_MAX)
        api_fail(call, API_UNFIT, "the returns have more than %zu bytes: use a smaller 'limit'",
                 RECORDS_MAX);
    else
        answer_job_shown(call, showing);
}

static void show_returns(struct api_call *call, const struct job *job)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_JOB_RETURNS);
    struct err err;

    call->work = ARENA_NEW(&call->arena, struct showing);
    select_targets(call, job, call->work);
    if (nats_kv_list(&kv, arena_printf(&call->arena, "%s.*", job->jid), on_listed_return, call,
                     &err) < 0)
        api_fail_later(call, err.text);
}

void api_show_job(struct api_call *call)
{
    api_job_read(call, show_returns);
}

/* --- cancel ------------------------------------------------------------------------- */

static int publish_cancel(struct api_call *call, const char *jid, struct err *err)
{
    const struct job_cancel cancel = { JOB_ACTION_CANCEL, call->asker.user };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(4096);

    if (subject_print(&subject, SUBJECT_JOB_CANCEL, &(struct subject_names){ .jid = str_from(jid) },
                      err) < 0 ||
        record_encode(&bytes, &job_cancel_type, &cancel, err) < 0)
        return -1;
    return nats_publish(
        call->master->js.conn,
        &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&bytes) }, err);
}

static void on_cancel_flushed(void *self, const struct nats_error *error)
{
    struct api_call *call = self;
    struct value_map *map = value_map_new(&call->arena, 2);
    const struct value body = value_map(map);

    value_map_set(&call->arena, map, value_text("jid"), value_text(call->name));
    value_map_set(&call->arena, map, value_text("status"), value_text("canceling"));
    if (error)
        api_fail_bus(call, error);
    else
        api_answer(call, API_ACCEPTED, &body);
}

/* The operator, or the token with its own policy; NULL: another user. */
static const char *find_job_owner(const struct job *job)
{
    if (str_starts(str_from(job->user), STR(API_USER_PREFIX)))
        return job->user;
    return value_get_text(&job->metadata, OPERATOR_METADATA);
}

static void cancel_job(struct api_call *call, const struct job *job)
{
    const struct api_subject subject = { .job = job, .person = find_job_owner(job) };
    struct err err;

    if (api_judge(call, &subject, &err) != POLICY_ALLOWED)
        api_refuse(call, &err, job);
    else if (job_status_is_final(job->status))
        api_fail(call, API_CONFLICT, "job %s has already ended: %s", job->jid,
                 job_status_name(job->status));
    else if (publish_cancel(call, job->jid, &err) < 0 ||
             nats_flush(call->master->js.conn, on_cancel_flushed, call, &err) < 0)
        api_fail_later(call, err.text);
}

void api_cancel_job(struct api_call *call)
{
    api_job_read(call, cancel_job);
}
