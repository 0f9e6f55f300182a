#include "commands/cli/fleet/job_id.h"

#include <string.h>

#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/shared/local_time.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "fleet/view/jobs.h"
#include "fleet/wire/approval.h"

/* Candidates that an error lists. */
#define CANDIDATES_MAX 10

struct id_search {
    struct arena *arena;
    struct str prefix;
    enum store_bucket bucket;
    VEC(const char *) ids;
    VEC(const char *) lines; /* about the first of them */
};

static const char *describe_candidate(const struct id_search *search, const char *id,
                                      struct str bytes)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct approval approval;
    struct job job;
    struct err err;

    if (search->bucket == STORE_JOBS &&
        record_decode(&scratch, &job_type, 1, bytes, &job, &err) == 0)
        return arena_printf(search->arena, "%s  %s  %.64s", id,
                            local_time_text(&scratch, job.created), job.function);
    if (search->bucket == STORE_APPROVALS &&
        record_decode(&scratch, &approval_type, 1, bytes, &approval, &err) == 0)
        return arena_printf(search->arena, "%s  %s", id, local_time_text(&scratch, approval.asked));
    return id;
}

static void match_id(void *self, const struct nats_kv_entry *entry)
{
    struct id_search *search = self;
    const char *id;

    if (!str_starts(entry->key, search->prefix) || str_starts(entry->key, STR(FLEET_JOBS_ACTIVE)))
        return;
    id = arena_str(search->arena, entry->key).p;
    VEC_PUSH_IN(search->arena, &search->ids, id);
    if (search->ids.n <= CANDIDATES_MAX)
        VEC_PUSH_IN(search->arena, &search->lines, describe_candidate(search, id, entry->value));
}

static int refuse_ambiguous(const struct id_search *search, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&search->lines, line)
        buf_printf(&lines, "\n  %s", *line);
    if (search->ids.n > search->lines.n)
        buf_printf(&lines, "\n  and %zu more", search->ids.n - search->lines.n);
    return err_set(err, ERR_INVALID, "job id '%s' is ambiguous; %zu jobs have ids that begin so:%s",
                   search->prefix.p, search->ids.n, buf_text(&lines));
}

/* NULL: there is none. */
static int expand_id(struct fleet *fleet, enum store_bucket bucket, const char *id,
                     const char **ret_id, struct err *err)
{
    struct id_search search = { .arena = fleet->arena, .prefix = str_from(id), .bucket = bucket };

    *ret_id = NULL;
    if (search.prefix.n < FLEET_JOB_ID_MIN || !nats_kv_is_key(id))
        return 0;
    if (fleet_bucket_each(fleet, bucket, "*", match_id, &search, err) < 0)
        return -1;
    if (search.ids.n > 1)
        return refuse_ambiguous(&search, err);
    if (search.ids.n == 1)
        *ret_id = search.ids.p[0];
    return 0;
}

int fleet_find_job(struct fleet *fleet, const char *id, struct job *ret_job, struct err *err)
{
    const char *whole;
    struct err ambiguous;

    if (fleet_read_job(fleet, id, ret_job, err) == 0)
        return 0;
    if (err->code != ERR_NOT_FOUND)
        return -1;
    if (expand_id(fleet, STORE_JOBS, id, &whole, &ambiguous) < 0) {
        *err = ambiguous;
        return -1;
    }
    if (!whole && expand_id(fleet, STORE_APPROVALS, id, &whole, &ambiguous) < 0) {
        *err = ambiguous;
        return -1;
    }
    return whole ? fleet_read_job(fleet, whole, ret_job, err) : -1;
}

int fleet_find_approval(struct fleet *fleet, const char *id, const char **ret_id, struct err *err)
{
    struct str bytes;
    const char *whole;

    *ret_id = id;
    if (!nats_kv_is_key(id) || fleet_bucket_get(fleet, STORE_APPROVALS, id, &bytes, err) == 0)
        return 0;
    if (err->code != ERR_NOT_FOUND)
        return -1;
    if (expand_id(fleet, STORE_APPROVALS, id, &whole, err) < 0)
        return -1;
    if (whole)
        *ret_id = whole;
    return 0;
}
