#include "fleet/master/api/job_record.h"

#include "core/base/err.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/wire/approval.h"

struct job_lookup {
    struct api_call *call;
    const char *jid;
    api_job_fn *fn;
};

struct nats_kv api_bucket(const struct master *master, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = master->js, .bucket = store_bucket_name(bucket) };
}

/* The job may await approval, or have been rejected. */
static void on_approval(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    const struct job_lookup *lookup = self;
    struct api_call *call = lookup->call;
    struct approval approval;
    struct err err;

    if (error || record_decode(&call->arena, &approval_type, 1,
                               arena_str(&call->arena, entry->value), &approval, &err) < 0)
        err_set(&err, ERR_NOT_FOUND, "no such job: '%s'", lookup->jid);
    else
        approval_explain(&approval, &err);
    api_fail(call, API_NOT_FOUND, "%s", err.text);
}

static void explain_missing_job(struct job_lookup *lookup)
{
    struct nats_kv kv = api_bucket(lookup->call->master, STORE_APPROVALS);
    struct err err;

    kv.indirect = true;
    if (nats_kv_get(&kv, lookup->jid, on_approval, lookup, &err) < 0)
        api_fail_later(lookup->call, err.text);
}

static void on_job_record_read(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    struct job_lookup *lookup = self;
    struct api_call *call = lookup->call;
    struct job *job = ARENA_NEW(&call->arena, struct job);
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND)
        explain_missing_job(lookup);
    else if (error)
        api_fail_bus(call, error);
    else if (record_decode(&call->arena, &job_type, 1, arena_str(&call->arena, entry->value), job,
                           &err) < 0)
        api_fail(call, API_BROKEN, "the record of job '%s': %s", lookup->jid, err.text);
    else
        lookup->fn(call, job);
}

void api_job_read_id(struct api_call *call, const char *jid, api_job_fn *fn)
{
    struct nats_kv kv = api_bucket(call->master, STORE_JOBS);
    struct job_lookup *lookup = ARENA_NEW(&call->arena, struct job_lookup);
    struct err err;

    kv.indirect = true; /* sees jobs dispatched just now */
    *lookup = (struct job_lookup){ call, jid, fn };
    if (nats_kv_get(&kv, jid, on_job_record_read, lookup, &err) < 0)
        api_fail_later(call, err.text);
}

void api_job_read(struct api_call *call, api_job_fn *fn)
{
    if (!dispatcher_is_jid(call->name)) {
        api_fail(call, API_NOT_FOUND, "no such job: '%.64s'", call->name);
        return;
    }
    api_set_job(call, call->name);
    api_job_read_id(call, call->name, fn);
}
