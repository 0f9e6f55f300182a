#include "fleet/bus/operator_form.h"

#include <ctype.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "fleet/nats/header.h"
#include "fleet/wire/approval.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/departure.h"
#include "fleet/wire/enrollment.h"
#include "fleet/wire/event.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/job_cancel.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/question.h"
#include "fleet/wire/update.h"

/* Requests that say who asks, and where. Others go on as they are. */
#define SIGNED(type, field) &type##_type, offsetof(struct type, field)

static const struct {
    enum subject_kind kind;
    const struct record_type *type;
    size_t name_at;
} forms[] = {
    { SUBJECT_JOB_CANCEL, SIGNED(job_cancel, operator) },
    { SUBJECT_JOB_APPROVE, SIGNED(approval_request, operator) },
    { SUBJECT_JOB_REJECT, SIGNED(approval_request, operator) },
    { SUBJECT_ENROLL_APPROVE, SIGNED(enrollment_request, operator_name) },
    { SUBJECT_ENROLL_REJECT, SIGNED(enrollment_request, operator_name) },
    { SUBJECT_ENROLL_REVOKE, SIGNED(enrollment_request, operator_name) },
    { SUBJECT_PEEL_DELETE, SIGNED(departure_request, operator) },
    { SUBJECT_FILES_UPDATE, SIGNED(fileset_update, operator) },
    { SUBJECT_FILES_ROLLBACK, SIGNED(fileset_rollback, operator) },
    { SUBJECT_FILES_CANARY, SIGNED(canary_request, operator) },
    { SUBJECT_SETTINGS_SHOW, SIGNED(question_settings, by) },
    { SUBJECT_REACTOR_RETRY, SIGNED(question_retry, operator) },
    { SUBJECT_UPDATE_START, SIGNED(update_start, operator) },
    { SUBJECT_UPDATE_ABORT, SIGNED(update_abort, operator) },
};

/* Metadata that an operator's job may set; only masters set the rest. */
static const char *const notes[] = {
    JOB_PLAN,  JOB_QUEUE, JOB_NODE_TIMEOUT, JOB_WINDOW,    JOB_BATCH,           JOB_BATCH_FAILURES,
    JOB_PAUSE, JOB_GATE,  JOB_REVERT,       "orchestrate", "orchestrate_state",
};

/* --- jobs --------------------------------------------------------------------------- */

/* As KSUIDs are: not the id of a reaction, which could be taken before it happens. */
static bool is_own_jid(const char *jid)
{
    size_t n = 0;

    while (isalnum((unsigned char)jid[n]))
        n++;
    return n > 0 && n <= JOB_ID_MAX && jid[n] == '\0';
}

static struct value keep_notes(struct arena *arena, const char *name, const struct value *metadata)
{
    struct value_map *map = value_map_new(arena, ARRAY_LEN(notes) + 1);

    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        const char *text = value_get_text(metadata, notes[i]);

        if (text)
            value_map_set(arena, map, value_text(notes[i]), value_text(text));
    }
    value_map_set(arena, map, value_text(OPERATOR_METADATA), value_text(name));
    return value_map(map);
}

int operator_form_job(struct arena *arena, const struct operator_form *form, struct job *ret_job,
                      struct err *err)
{
    struct job job;

    if (record_decode(arena, &job_type, 1, form->payload, &job, err) < 0)
        return -1;
    if (!is_own_jid(job.jid))
        return err_set(err, ERR_INVALID, "'%.64s' is not a valid job id", job.jid);
    *ret_job = (struct job){ .jid = job.jid,
                             .function = job.function,
                             .args = job.args,
                             .targets = job.targets,
                             .timeout = job.timeout,
                             .user = form->name,
                             .owner = "",
                             .state_id = job.state_id,
                             .target_expr = job.target_expr,
                             .v = job.v,
                             .metadata = keep_notes(arena, form->name, &job.metadata),
                             .signature = "",
                             .sealed = job.sealed };
    return 0;
}

/* --- events ------------------------------------------------------------------------- */

/* The stream detects duplicates by the event id. */
static int print_event_form(struct arena *arena, const struct operator_form *form,
                            struct buf *payload, struct buf *header, struct err *err)
{
    struct event_source source;
    struct event event;

    if (record_decode(arena, &event_type, 1, form->payload, &event, err) < 0)
        return -1;
    if (!event.id || !event.id[0])
        return err_set(err, ERR_INVALID, "the event has no id");
    if (!event_parse_subject(arena, form->subject, &source) || !event.tag ||
        strcmp(source.tag, event.tag) != 0)
        return err_set(err, ERR_INVALID, "the tag of the event is not that of its subject");
    event.origin = "";
    event.depth = 0;
    if (record_encode(payload, &event_type, &event, err) < 0)
        return -1;
    return nats_header_add(header, "Nats-Msg-Id", str_from(event.id), err);
}

/* --- all ---------------------------------------------------------------------------- */

static int print_signed(struct arena *arena, const struct operator_form *form, size_t row,
                        struct buf *payload, struct err *err)
{
    char *record = arena_zalloc(arena, forms[row].type->size);

    if (record_decode(arena, forms[row].type, 1, form->payload, record, err) < 0)
        return -1;
    memcpy(record + forms[row].name_at, &form->name, sizeof(form->name));
    return record_encode(payload, forms[row].type, record, err);
}

static int print_job_form(struct arena *arena, const struct operator_form *form,
                          struct buf *payload, struct err *err)
{
    struct job job;

    if (operator_form_job(arena, form, &job, err) < 0)
        return -1;
    return record_encode(payload, &job_type, &job, err);
}

int operator_form_print(struct arena *arena, const struct operator_form *form, struct buf *payload,
                        struct buf *header, struct err *err)
{
    if (form->kind == SUBJECT_DISPATCH)
        return print_job_form(arena, form, payload, err);
    if (form->kind == SUBJECT_EVENT_ADMIN)
        return print_event_form(arena, form, payload, header, err);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (forms[i].kind == form->kind)
            return print_signed(arena, form, i, payload, err);
    buf_add_str(payload, form->payload);
    return 0;
}
