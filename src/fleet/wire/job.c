#include "fleet/wire/job.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/wire/peel_id.h"

static const char *const status_names[JOB_STATUSES] = {
    [JOB_PENDING] = "pending",   [JOB_CLAIMED] = "claimed",   [JOB_RUNNING] = "running",
    [JOB_COMPLETE] = "complete", [JOB_PARTIAL] = "partial",   [JOB_TIMEOUT] = "timeout",
    [JOB_FAILED] = "failed",     [JOB_CANCELED] = "canceled",
};

static const char *const event_names[JOB_EVENT_KINDS] = {
    [JOB_EVENT_DISPATCHED] = "dispatched", [JOB_EVENT_ACKED] = "acked",
    [JOB_EVENT_RETURNED] = "returned",     [JOB_EVENT_COMPLETED] = "completed",
    [JOB_EVENT_CANCELED] = "canceled",     [JOB_EVENT_TIMEOUT] = "timeout",
    [JOB_EVENT_FAILED] = "failed",
};

const char *job_status_name(enum job_status status)
{
    return status_names[status];
}

bool job_status_is_final(enum job_status status)
{
    return status >= JOB_COMPLETE;
}

bool job_has_secrets(const struct job *job)
{
    return job->sealed.kind == VALUE_MAP && job->sealed.map->count > 0;
}

bool job_is_orchestration(const struct job *job)
{
    return strcmp(job->function, JOB_ORCHESTRATE) == 0 && job->targets.n == 1 &&
           strcmp(job->targets.p[0], JOB_TARGET_MASTER) == 0;
}

/* clang-format off */

static const struct record_field job_fields[] = {
    RECORD("jid",           TEXT,  struct job, jid, 0, .fallback_text = ""),
    RECORD("function",      TEXT,  struct job, function, 0, .fallback_text = ""),
    RECORD("args",          MAP,   struct job, args, RECORD_NIL),
    RECORD("targets",       TEXTS, struct job, targets, RECORD_NIL),
    RECORD("timeout",       INT,   struct job, timeout, RECORD_WIDE),
    RECORD("status",        WORD,  struct job, status, 0, RECORD_WORDS(status_names)),
    RECORD("created",       TIME,  struct job, created, 0),
    RECORD("updated",       TIME,  struct job, updated, 0),
    RECORD("user",          TEXT,  struct job, user, RECORD_OMIT, .fallback_text = ""),
    RECORD("owner",         TEXT,  struct job, owner, RECORD_OMIT, .fallback_text = ""),
    RECORD("epoch",         INT,   struct job, epoch, RECORD_OMIT | RECORD_WIDE),
    RECORD("deadline",      TIME,  struct job, deadline, RECORD_OMIT),
    RECORD("reclaim_count", INT,   struct job, reclaim_count, RECORD_OMIT),
    RECORD("offline_at_dispatch", TEXTS, struct job, offline_at_dispatch, RECORD_OMIT),
    RECORD("state_id",      TEXT,  struct job, state_id, RECORD_OMIT, .fallback_text = ""),
    RECORD("target_expr",   TEXT,  struct job, target_expr, RECORD_OMIT, .fallback_text = ""),
    RECORD("return_count",  INT,   struct job, return_count, RECORD_OMIT),
    RECORD("success_count", INT,   struct job, success_count, RECORD_OMIT),
    RECORD("v",             INT,   struct job, v, RECORD_OMIT),
    RECORD("metadata",      MAP,   struct job, metadata, RECORD_OMIT),
    RECORD("sent_epoch",    INT,   struct job, sent_epoch, RECORD_OMIT | RECORD_WIDE),
    RECORD("signature",     TEXT,  struct job, signature, RECORD_OMIT, .fallback_text = ""),
    RECORD("sealed_args",   MAP,   struct job, sealed, RECORD_OMIT),
    { 0 },
};

static const struct record_field event_fields[] = {
    RECORD("jid",       TEXT, struct job_event, jid, 0, .fallback_text = ""),
    RECORD("type",      WORD, struct job_event, type, 0, RECORD_WORDS(event_names)),
    RECORD("peel_id",   TEXT, struct job_event, peel_id, RECORD_OMIT, .fallback_text = ""),
    RECORD("data",      ANY,  struct job_event, data, RECORD_OMIT),
    RECORD("timestamp", TIME, struct job_event, timestamp, 0),
    { 0 },
};

static const struct record_field active_fields[] = {
    RECORD("owner",   TEXT, struct job_active, owner, 0, .fallback_text = ""),
    RECORD("updated", TIME, struct job_active, updated, 0),
    { 0 },
};

static const struct record_field scheduled_fields[] = {
    RECORD("jid",         TEXT, struct job_scheduled, jid, 0, .fallback_text = ""),
    RECORD("entry",       TEXT, struct job_scheduled, entry, 0, .fallback_text = ""),
    RECORD("module",      TEXT, struct job_scheduled, module, 0, .fallback_text = ""),
    RECORD("args",        MAP,  struct job_scheduled, args, RECORD_NIL),
    RECORD("success",     BOOL, struct job_scheduled, success, 0),
    RECORD("error",       TEXT, struct job_scheduled, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("return_data", MAP,  struct job_scheduled, return_data, RECORD_NIL),
    RECORD("duration",    INT,  struct job_scheduled, duration, RECORD_WIDE),
    RECORD("timestamp",   TIME, struct job_scheduled, timestamp, 0),
    { 0 },
};

static const struct record_field reply_fields[] = {
    RECORD("jid",   TEXT, struct job_reply, jid, RECORD_OMIT, .fallback_text = ""),
    RECORD("error", TEXT, struct job_reply, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("pending", BOOL, struct job_reply, pending, RECORD_OMIT),
    RECORD("waits", BOOL, struct job_reply, waits, RECORD_OMIT),
    { 0 },
};

const struct record_type job_type = RECORD_TYPE("job", struct job, job_fields, RECORD_LENIENT);
const struct record_type job_event_type = RECORD_TYPE("job event", struct job_event, event_fields, RECORD_LENIENT);
const struct record_type job_active_type = RECORD_TYPE("active job", struct job_active, active_fields, RECORD_LENIENT);
const struct record_type job_scheduled_type = RECORD_TYPE("scheduled result", struct job_scheduled, scheduled_fields, RECORD_LENIENT);
const struct record_type job_reply_type = RECORD_TYPE("dispatch reply", struct job_reply, reply_fields, RECORD_LENIENT);

/* clang-format on */

int64_t job_queue_seconds(const struct job *job)
{
    const char *text = value_get_text(&job->metadata, JOB_QUEUE);
    int64_t seconds;
    struct err err;

    if (!text || !text[0])
        return 0;
    if (number_parse_int(str_from(text), &seconds, &err) < 0 || seconds < 0 ||
        seconds > JOB_QUEUE_MAX)
        return -1;
    return seconds;
}

int64_t job_node_timeout(const struct job *job)
{
    const char *text = value_get_text(&job->metadata, JOB_NODE_TIMEOUT);
    int64_t timeout;
    struct err err;

    if (!text || !text[0])
        return 0;
    if (number_parse_duration(str_from(text), &timeout, &err) < 0 || timeout <= 0 ||
        timeout > JOB_NODE_TIMEOUT_MAX)
        return -1;
    return timeout;
}

/* --- shown -------------------------------------------------------------------------- */

/* Ids as people write them. */
static struct value list_named_peels(struct arena *arena, const struct param_strs *peels)
{
    struct value_list *names = value_list_new(arena, peels->n);

    for (size_t i = 0; i < peels->n; i++)
        value_list_push(arena, names, value_text(peel_id_name(arena, peels->p[i])));
    return value_list(names);
}

/* That there are such arguments, and what they are called. */
static struct value mask_sealed(struct arena *arena, const struct value *sealed)
{
    struct value_map *map = value_map_new(arena, sealed->map->count);

    for (size_t i = 0; i < sealed->map->count; i++)
        value_map_set(arena, map, sealed->map->pairs[i].key, value_text("***"));
    return value_map(map);
}

struct value job_describe(struct arena *arena, const struct job *job)
{
    struct value v = record_value(arena, &job_type, job);

    value_map_set(arena, v.map, value_text("targets"), list_named_peels(arena, &job->targets));
    if (job->offline_at_dispatch.n > 0)
        value_map_set(arena, v.map, value_text("offline_at_dispatch"),
                      list_named_peels(arena, &job->offline_at_dispatch));
    if (job_has_secrets(job))
        value_map_set(arena, v.map, value_text("sealed_args"), mask_sealed(arena, &job->sealed));
    return v;
}
