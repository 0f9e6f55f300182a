#include "fleet/view/approvals.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/time_text.h"
#include "fleet/wire/peel_id.h"

void fleet_approvals_take(struct fleet_approvals *approvals, struct str value)
{
    struct approval approval;
    struct err err;

    if (record_decode(approvals->arena, &approval_type, 1, arena_str(approvals->arena, value),
                      &approval, &err) == 0)
        VEC_PUSH_IN(approvals->arena, &approvals->list, approval);
}

static int compare_approvals(const void *a, const void *b)
{
    const struct approval *left = a, *right = b;

    return time_is_later(left->asked, right->asked) ? -1 : time_is_later(right->asked, left->asked);
}

void fleet_approvals_sort(struct fleet_approvals *approvals)
{
    if (approvals->list.n > 1)
        qsort(approvals->list.p, approvals->list.n, sizeof(approvals->list.p[0]),
              compare_approvals);
}

static void put_approval_text(struct arena *arena, struct value_map *map, const char *key,
                              const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

/* Shows everything that will run: gates, the plan, the names of secret arguments. */
static void set_more(struct arena *arena, struct value_map *map, const struct job *job)
{
    static const char *const keys[] = { "metadata", "sealed_args" };
    const struct value shown = job_describe(arena, job);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct value *found = value_get(&shown, keys[i]);

        if (value_is(found, VALUE_MAP))
            value_map_set(arena, map, value_text(keys[i]), *found);
    }
}

struct value fleet_approval_value(struct arena *arena, const struct approval *approval)
{
    const struct job *job = &approval->job;
    struct value_map *map = value_map_new(arena, 14);
    struct value_list *targets = value_list_new(arena, job->targets.n);

    for (size_t i = 0; i < job->targets.n; i++)
        value_list_push(arena, targets, value_text(peel_id_name(arena, job->targets.p[i])));
    put_approval_text(arena, map, "jid", approval->jid);
    put_approval_text(arena, map, "state", approval_state_name(approval->state));
    put_approval_text(arena, map, "asked_by", approval->asked_by);
    put_approval_text(arena, map, "asked", time_text(arena, approval->asked));
    put_approval_text(arena, map, "function", job->function);
    put_approval_text(arena, map, "id", job->state_id);
    value_map_set(arena, map, value_text("args"), job->args);
    set_more(arena, map, job);
    put_approval_text(arena, map, "target", job->target_expr);
    value_map_set(arena, map, value_text("targets"), value_list(targets));
    put_approval_text(arena, map, "decided_by", approval->decided_by);
    put_approval_text(arena, map, "reason", approval->reason);
    put_approval_text(arena, map, "error", approval->error);
    return value_map(map);
}
