/* Enrollments: list, approve, reject, revoke, pause. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/view/enrollments.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/enroll_admin.h"
#include "core/sys/clock.h"
#include "fleet/wire/audit_notice.h"
#include "fleet/wire/peel_id.h"

#define QUERY    struct api_enrollments_query
#define DECISION struct api_decision_body

/* clang-format off */
const struct param api_enrollments_query[] = {
    PARAM("state", STR, QUERY, state, "only enrollments in this state; `all` for all of them", .default_text = "pending", .kind_text = "STATE"),
    API_PAGE(QUERY, page, 10000, "1000"),
    { 0 },
};

#define REASON PARAM("reason", STR, DECISION, reason, "the reason; stored in the record, and in the audit")

const struct param api_approve_body[] = {
    REASON,
    PARAM("force", BOOL, DECISION, force, "even if the machine does not trust our certificate authority"),
    { 0 },
};

const struct param api_refuse_body[] = {
    REASON,
    { 0 },
};
/* clang-format on */

void api_reason_check(struct arena *arena, const void *values, const struct value *given,
                      struct diags *diags)
{
    const DECISION *body = values;

    (void)arena;
    (void)given;
    if (body->reason && strlen(body->reason) > ADMISSION_REASON_MAX)
        (void)diag_add(diags, (struct place){ 0 }, "'reason': longer than %d bytes",
                       ADMISSION_REASON_MAX);
}

/* --- list --------------------------------------------------------------------------- */

static void answer_enrollments(struct api_call *call, struct fleet_enrollments *all)
{
    const QUERY *query = call->query;
    struct value_list *list = value_list_new(&call->arena, 0);
    const struct value body = value_list(list);
    size_t seen = 0;

    fleet_enrollments_end(all);
    VEC_EACH (&all->records, record)
        if (fleet_enrollments_lists(all, record, query->state) &&
            api_page_takes(&query->page, &seen))
            value_list_push(&call->arena, list, fleet_enrollment_value(&call->arena, record));
    api_answer_page(call, &body, seen);
}

static void on_enrollment_entry(void *self, const struct nats_error *error,
                                const struct nats_kv_entry *entry)
{
    struct api_call *call = self;

    if (entry) {
        if (entry->change == NATS_KV_PUT)
            fleet_enrollments_take(call->work, entry->key, entry->value);
    } else if (error) {
        api_fail_bus(call, error);
    } else {
        answer_enrollments(call, call->work);
    }
}

void api_list_enrollments(struct api_call *call)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_ENROLLMENTS);
    const QUERY *query = call->query;
    struct fleet_enrollments *all = ARENA_NEW(&call->arena, struct fleet_enrollments);
    struct err err;

    if (!fleet_enrollments_has_state(query->state)) {
        api_fail(call, API_BAD, "'state': invalid enrollment state '%s': %s, or '%s'", query->state,
                 fleet_enrollments_states(&call->arena), FLEET_ENROLLMENTS_ALL);
        return;
    }
    *all = (struct fleet_enrollments)FLEET_ENROLLMENTS_INIT(&call->arena);
    call->work = all;
    if (nats_kv_list(&kv, NULL, on_enrollment_entry, call, &err) < 0)
        api_fail_later(call, err.text);
}

/* --- decisions ---------------------------------------------------------------------- */

static struct value describe_decision(struct arena *arena, const struct enrollment_reply *reply)
{
    struct enrollment record;
    struct value v = reply->record;
    struct err err;

    if (record_read(arena, &enrollment_type, 1, &reply->record, &record, &err) == 0)
        v = fleet_enrollment_value(arena, &record);
    if (reply->warning[0])
        value_map_set(arena, v.map, value_text("warning"), value_text(reply->warning));
    return v;
}

static void on_enrollment_decided(void *self, enum admission_status status,
                                  const struct enrollment_reply *reply)
{
    struct api_call *call = self;
    struct value body;

    switch (status) {
    case ADMISSION_OK:
        body = describe_decision(&call->arena, reply);
        api_answer(call, API_OK, &body);
        break;
    case ADMISSION_UNKNOWN: api_fail(call, API_NOT_FOUND, "%s", reply->err); break;
    case ADMISSION_BROKEN: api_fail_later(call, reply->err); break;
    default: api_fail(call, API_CONFLICT, "%s", reply->err); break;
    }
}

static void decide_enrollment(struct api_call *call, enum admission_decision decision)
{
    const DECISION *body = call->body;
    char id[PEEL_ID_SIZE];
    struct err err;

    /* an enrollment, or the name of a peel */
    if (peel_id_read(call->name, id, &err) < 0) {
        api_fail(call, API_NOT_FOUND, "no such enrollment: '%.128s'", call->name);
        return;
    }
    enroll_admin_decide(call->master, decision,
                        &(struct enrollment_request){ .id = id,
                                                      .operator_name = call->asker.user,
                                                      .reason = body->reason ? body->reason : "",
                                                      .force = body->force },
                        on_enrollment_decided, call);
}

void api_approve_enrollment(struct api_call *call)
{
    decide_enrollment(call, ADMISSION_APPROVE);
}

void api_reject_enrollment(struct api_call *call)
{
    decide_enrollment(call, ADMISSION_REJECT);
}

void api_revoke_enrollment(struct api_call *call)
{
    decide_enrollment(call, ADMISSION_REVOKE);
}

/* --- pause -------------------------------------------------------------------------- */

struct pausing {
    struct enrollment_pause pause;
    enum audit_act act;
};

static void on_paused(void *self, const struct nats_error *error, uint64_t revision)
{
    struct api_call *call = self;
    const struct pausing *pausing = call->work;
    const struct value body = record_value(&call->arena, &enrollment_pause_type, &pausing->pause);

    (void)revision;
    audit_log(&(struct audit){ .action = audit_act_name(pausing->act),
                               .by = call->asker.user,
                               .id = ENROLLMENT_PAUSE_KEY,
                               .reason = pausing->pause.reason,
                               .error = error ? error->text : NULL });
    if (error)
        api_fail_bus(call, error);
    else
        api_answer(call, API_OK, &body);
}

static void set_enrollment_pause(struct api_call *call, enum audit_act act)
{
    const struct nats_kv kv = api_bucket(call->master, STORE_ENROLLMENTS);
    const DECISION *body = call->body;
    const int64_t now = bus_time();
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct pausing *pausing = ARENA_NEW(&call->arena, struct pausing);
    struct err err;

    pausing->act = act;
    pausing->pause = (struct enrollment_pause){
        .is_paused = act == AUDIT_ENROLL_PAUSE,
        .operator_name = call->asker.user,
        .reason = body->reason ? body->reason : "",
        .changed_at = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
    };
    call->work = pausing;
    if (record_encode(&bytes, &enrollment_pause_type, &pausing->pause, &err) < 0 ||
        nats_kv_put(&kv, ENROLLMENT_PAUSE_KEY, buf_view(&bytes), on_paused, call, &err) < 0)
        api_fail_later(call, err.text);
}

void api_pause_enrollment(struct api_call *call)
{
    set_enrollment_pause(call, AUDIT_ENROLL_PAUSE);
}

void api_resume_enrollment(struct api_call *call)
{
    set_enrollment_pause(call, AUDIT_ENROLL_RESUME);
}
