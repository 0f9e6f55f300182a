/* Jobs that wait for a second person: list, approve, reject. */
#include "fleet/view/approvals.h"

#include "core/base/err.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/operators/approvals.h"
#include "fleet/wire/approval.h"

#define QUERY struct api_approvals_query

/* clang-format off */
const struct param api_approvals_query[] = {
    PARAM("state", CHOICE, QUERY, state, "only those in this state", .choices = "all|pending|approved|rejected|dispatched|failed", .default_text = "all"),
    API_PAGE(QUERY, page, 1000, "100"),
    { 0 },
};
/* clang-format on */

/* --- list --------------------------------------------------------------------------- */

static bool is_queried_approval(const QUERY *query, const struct approval *approval)
{
    return query->state == 0 || (enum approval_state)(query->state - 1) == approval->state;
}

static void answer_approvals(struct api_call *call, struct fleet_approvals *all)
{
    const QUERY *query = call->query;
    struct value_list *list = value_list_new(&call->arena, all->list.n);
    const struct value body = value_list(list);
    size_t seen = 0;

    fleet_approvals_sort(all);
    VEC_EACH (&all->list, approval)
        if (is_queried_approval(query, approval) && api_page_takes(&query->page, &seen))
            value_list_push(&call->arena, list, fleet_approval_value(&call->arena, approval));
    api_answer_page(call, &body, seen);
}

static void on_approval_entry(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry)
{
    struct api_call *call = self;

    if (entry) {
        if (entry->change == NATS_KV_PUT)
            fleet_approvals_take(call->work, entry->value);
    } else if (error) {
        api_fail_bus(call, error);
    } else {
        answer_approvals(call, call->work);
    }
}

void api_list_approvals(struct api_call *call)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_APPROVALS);
    struct fleet_approvals *all = ARENA_NEW(&call->arena, struct fleet_approvals);
    struct err err;

    *all = (struct fleet_approvals){ .arena = &call->arena };
    call->work = all;
    if (nats_kv_list(&kv, NULL, on_approval_entry, call, &err) < 0)
        api_fail_later(call, err.text);
}

/* --- decisions ---------------------------------------------------------------------- */

static enum subject_kind find_decision(const struct api_call *call)
{
    return call->route->act == API_ACT_APPROVE_JOB ? SUBJECT_JOB_APPROVE : SUBJECT_JOB_REJECT;
}

static void on_approval_decided(void *self, enum approvals_outcome outcome, const char *error)
{
    struct api_call *call = self;
    const struct approval *approval = call->work;
    struct value_map *map = value_map_new(&call->arena, 2);
    const struct value body = value_map(map);
    const enum approval_state state =
        find_decision(call) == SUBJECT_JOB_APPROVE ? APPROVAL_APPROVED : APPROVAL_REJECTED;

    switch (outcome) {
    case APPROVALS_DECIDED:
        value_map_set(&call->arena, map, value_text("jid"), value_text(approval->jid));
        value_map_set(&call->arena, map, value_text("approval"),
                      value_text(approval_state_name(state)));
        api_answer(call, API_OK, &body);
        break;
    case APPROVALS_UNKNOWN: api_fail(call, API_NOT_FOUND, "%s", error); break;
    case APPROVALS_REFUSED: api_fail(call, API_CONFLICT, "job '%s': %s", call->name, error); break;
    case APPROVALS_LATER: api_fail_later(call, error); break;
    }
}

/* The requester of a job cannot decide about it, not even with another of their tokens. */
static void judge_call_approval(struct api_call *call, const struct param_strs *inside)
{
    const struct api_decision_body *body = call->body;
    const struct approval *approval = call->work;
    const struct api_subject subject = { .job = &approval->job,
                                         .inside = *inside,
                                         .person = approval->asked_by };
    struct err err;

    if (api_judge(call, &subject, &err) != POLICY_ALLOWED) {
        api_refuse(call, &err, &approval->job);
        return;
    }
    approvals_decide(call->master, find_decision(call),
                     &(struct approval_request){ .jid = approval->jid,
                                                 .operator= call->asker.user,
                                                 .reason = body->reason ? body->reason : "" },
                     on_approval_decided, call);
}

static void on_waiting_approval(void *self, const struct nats_error *error,
                                const struct nats_kv_entry *entry)
{
    struct api_call *call = self;
    struct approval *approval = ARENA_NEW(&call->arena, struct approval);
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND) {
        api_fail(call, API_NOT_FOUND, "job '%s' is not waiting for approval", call->name);
        return;
    }
    if (error) {
        api_fail_bus(call, error);
        return;
    }
    if (record_decode(&call->arena, &approval_type, 1, arena_str(&call->arena, entry->value),
                      approval, &err) < 0) {
        api_fail(call, API_CONFLICT, "job '%s': %s", call->name, err.text);
        return;
    }
    call->work = approval;
    api_set_job(call, approval->jid);
    api_resolve_inside(call, judge_call_approval);
}

void api_decide_job(struct api_call *call)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_APPROVALS);
    struct err err;

    if (!nats_kv_is_key(call->name))
        api_fail(call, API_NOT_FOUND, "job '%.64s' is not waiting for approval", call->name);
    else if (nats_kv_get(&kv, call->name, on_waiting_approval, call, &err) < 0)
        api_fail_later(call, err.text);
}
