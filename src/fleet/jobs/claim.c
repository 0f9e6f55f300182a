#include "fleet/jobs/claim.h"

#include <string.h>

#include "core/base/arena.h"
#include "fleet/jobs/rollout.h"
#include "fleet/wire/event.h"

static bool are_same_texts(const struct param_strs *a, const struct param_strs *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->p[i], b->p[i]) != 0)
            return false;
    return true;
}

static bool is_empty_map(const struct value *v)
{
    return v->kind == VALUE_NULL || (v->kind == VALUE_MAP && v->map->count == 0);
}

static bool are_same_maps(const struct value *a, const struct value *b)
{
    return (is_empty_map(a) && is_empty_map(b)) || value_equal(a, b);
}

/* Keys added by masters since do not count. */
static bool has_same_notes(const struct value *a, const struct value *b)
{
    if (a->kind != VALUE_MAP)
        return true;
    for (size_t i = 0; i < a->map->count; i++) {
        const struct value *key = &a->map->pairs[i].key, *other;

        if (!value_is(key, VALUE_STR) || rollout_is_remark(key->s.p))
            continue;
        other = value_get(b, key->s.p);
        if (!other || !value_equal(&a->map->pairs[i].value, other))
            return false;
    }
    return true;
}

bool claim_is_same(const struct job *a, const struct job *b)
{
    return strcmp(a->function, b->function) == 0 && a->timeout == b->timeout &&
           strcmp(a->user, b->user) == 0 && strcmp(a->state_id, b->state_id) == 0 &&
           are_same_texts(&a->targets, &b->targets) && are_same_maps(&a->args, &b->args) &&
           has_same_notes(&a->metadata, &b->metadata) &&
           has_same_notes(&b->metadata, &a->metadata) && are_same_maps(&a->sealed, &b->sealed);
}

/* Its id stands for the event: only the peels of its target may have changed since the first try.
 * */
static bool is_reaction_job(const struct job *job)
{
    return strncmp(job->jid, EVENT_JOB_PREFIX, strlen(EVENT_JOB_PREFIX)) == 0;
}

enum claim_verdict claim_judge(const struct job *wanted, const struct job *stored,
                               const char *master_id, bool owner_lives)
{
    const bool is_same = claim_is_same(wanted, stored);
    const bool is_ours = strcmp(stored->owner, master_id) == 0;

    if (stored->status > JOB_CLAIMED)
        return is_same ? CLAIM_DUPLICATE : CLAIM_CONFLICT;
    if (!is_ours && owner_lives)
        return CLAIM_PENDING;
    if (!is_same)
        return is_reaction_job(wanted) ? CLAIM_RESUME : CLAIM_CONFLICT;
    return is_ours ? CLAIM_RESUME : CLAIM_TAKE;
}

/* A state run is of the same kind whatever its settings; any other call must be equal. */
static bool is_same_kind(const struct job *a, const struct job *b)
{
    const struct value *test_a = value_get(&a->args, "test"), *test_b = value_get(&b->args, "test");
    const bool is_state = strncmp(a->function, "state.", 6) == 0;

    return strcmp(a->function, b->function) == 0 && strcmp(a->state_id, b->state_id) == 0 &&
           !test_a == !test_b &&
           (is_state ||
            (are_same_maps(&a->args, &b->args) && are_same_maps(&a->sealed, &b->sealed)));
}

static bool is_newer(const struct job *a, const struct job *b)
{
    if (a->created.seconds != b->created.seconds)
        return a->created.seconds > b->created.seconds;
    if (a->created.nanoseconds != b->created.nanoseconds)
        return a->created.nanoseconds > b->created.nanoseconds;
    return strcmp(a->jid, b->jid) > 0;
}

bool claim_replaces(const struct job *newer, const struct job *older)
{
    return job_queue_seconds(newer) > 0 && job_queue_seconds(older) > 0 &&
           strcmp(newer->jid, older->jid) != 0 && is_newer(newer, older) &&
           is_same_kind(newer, older);
}

uint64_t claim_epoch(const struct job *job, uint64_t revision)
{
    return job->sent_epoch ? job->sent_epoch : revision;
}

void claim_fail(struct arena *arena, struct job *job, const char *reason)
{
    struct value_map *metadata = value_map_new(arena, 4);
    struct value key = value_text(CLAIM_FAILED_REASON);

    if (job->metadata.kind == VALUE_MAP)
        metadata = value_copy(arena, &job->metadata).map;
    value_map_set(arena, metadata, key, value_text(reason));
    job->metadata = value_map(metadata);
    job->status = JOB_FAILED;
}

bool claim_take(struct arena *arena, const struct job *job, uint64_t revision,
                const char *master_id, struct value_time now, struct job *ret_job)
{
    struct job taken = *job;

    taken.owner = master_id;
    taken.updated = now;
    taken.reclaim_count += strcmp(job->owner, master_id) != 0;
    taken.sent_epoch = claim_epoch(job, revision);
    if (taken.reclaim_count >
        (job_queue_seconds(job) > 0 ? CLAIM_RECLAIMS_QUEUED_MAX : CLAIM_RECLAIMS_MAX))
        claim_fail(arena, &taken, "taken over too often: every master that owned it stopped");
    *ret_job = taken;
    return !job_status_is_final(taken.status);
}
