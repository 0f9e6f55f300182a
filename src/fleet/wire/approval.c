#include "fleet/wire/approval.h"

#include "core/base/err.h"

static const char *const state_names[APPROVAL_STATES] = {
    [APPROVAL_PENDING] = "pending",   [APPROVAL_APPROVED] = "approved",
    [APPROVAL_REJECTED] = "rejected", [APPROVAL_DISPATCHED] = "dispatched",
    [APPROVAL_FAILED] = "failed",
};

const char *approval_state_name(enum approval_state state)
{
    return state_names[state];
}

void approval_explain(const struct approval *approval, struct err *ret_err)
{
    const char *jid = approval->jid;

    switch (approval->state) {
    case APPROVAL_PENDING:
        (void)err_set(
            ret_err, ERR_NOT_FOUND,
            "job %.64s waits for approval: somebody else decides with 'zester job approve "
            "%.64s' or 'zester job reject %.64s'",
            jid, jid, jid);
        break;
    case APPROVAL_APPROVED:
        (void)err_set(ret_err, ERR_NOT_FOUND,
                      "job %.64s was approved by %.64s, and is about to be dispatched", jid,
                      approval->decided_by);
        break;
    case APPROVAL_REJECTED:
        (void)err_set(ret_err, ERR_NOT_FOUND, "job %.64s was not dispatched: rejected by %.64s%s%s",
                      jid, approval->decided_by, approval->reason[0] ? ": " : "", approval->reason);
        break;
    case APPROVAL_DISPATCHED:
        (void)err_set(ret_err, ERR_NOT_FOUND, "no such job: '%.64s'; its record is gone", jid);
        break;
    case APPROVAL_FAILED:
        (void)err_set(ret_err, ERR_NOT_FOUND, "job %.64s was approved and not dispatched: %s", jid,
                      approval->error);
        break;
    }
}

/* clang-format off */

static const struct record_field approval_fields[] = {
    RECORD("jid",        TEXT,   struct approval, jid, RECORD_REQUIRED),
    RECORD("state",      WORD,   struct approval, state, RECORD_REQUIRED, RECORD_WORDS(state_names)),
    RECORD("asked_by",   TEXT,   struct approval, asked_by, RECORD_REQUIRED),
    RECORD("asked",      TIME,   struct approval, asked, 0),
    RECORD("decided_by", TEXT,   struct approval, decided_by, RECORD_OMIT, .fallback_text = ""),
    RECORD("decided",    TIME,   struct approval, decided, RECORD_OMIT),
    RECORD("reason",     TEXT,   struct approval, reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("error",      TEXT,   struct approval, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("job",        STRUCT, struct approval, job, RECORD_REQUIRED, .inner = &job_type),
    { 0 },
};
const struct record_type approval_type = RECORD_TYPE("approval", struct approval, approval_fields, RECORD_LENIENT);

static const struct record_field request_fields[] = {
    RECORD("jid",      TEXT, struct approval_request, jid, RECORD_REQUIRED),
    RECORD("operator", TEXT, struct approval_request, operator, 0, .fallback_text = ""),
    RECORD("reason",   TEXT, struct approval_request, reason, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
const struct record_type approval_request_type = RECORD_TYPE("approval request", struct approval_request, request_fields, RECORD_LENIENT);

static const struct record_field reply_fields[] = {
    RECORD("err", TEXT, struct approval_reply, err, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
const struct record_type approval_reply_type = RECORD_TYPE("approval reply", struct approval_reply, reply_fields, RECORD_LENIENT);

/* clang-format on */
