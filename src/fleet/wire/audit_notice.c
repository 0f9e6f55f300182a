#include "fleet/wire/audit_notice.h"

/* clang-format off */
static const char *const acts[] = {
    [AUDIT_TOKEN_CREATE]     = "token.create",
    [AUDIT_TOKEN_REVOKE]     = "token.revoke",
    [AUDIT_UPDATE_PUBLISH]   = "update.publish",
    [AUDIT_UPDATE_PROMOTE]   = "update.promote",
    [AUDIT_UPDATE_DEMOTE]    = "update.demote",
    [AUDIT_UPDATE_SET_TTL]   = "update.set-ttl",
    [AUDIT_UPDATE_UNPUBLISH] = "update.unpublish",
    [AUDIT_UPDATE_ROLLBACK]  = "update.rollback",
    [AUDIT_ENROLL_PAUSE]     = "enroll.pause",
    [AUDIT_ENROLL_RESUME]    = "enroll.resume",
    [AUDIT_DIRECT]           = "job.direct",
    [AUDIT_DIRECT_END]       = "job.direct-end",
    [AUDIT_OPERATOR_ADD]     = "operator.add",
    [AUDIT_OPERATOR_ISSUE]   = "operator.issue",
    [AUDIT_OPERATOR_SET]     = "operator.set",
    [AUDIT_KEY_ROTATE]       = "key.rotate",
    [AUDIT_KEY_FINISH]       = "key.finish",
};
_Static_assert(ARRAY_LEN(acts) == AUDIT_ACTS, "every act has a name");

static const struct record_field notice_fields[] = {
    RECORD("act",      WORD, struct audit_notice, act, RECORD_REQUIRED, RECORD_WORDS(acts)),
    RECORD("operator", TEXT, struct audit_notice, operator, 0, .fallback_text = ""),
    RECORD("id",       TEXT, struct audit_notice, id, 0, .fallback_text = ""),
    RECORD("err",      TEXT, struct audit_notice, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("function", TEXT, struct audit_notice, function, RECORD_OMIT, .fallback_text = ""),
    RECORD("target",   TEXT, struct audit_notice, target, RECORD_OMIT, .fallback_text = ""),
    RECORD("peels",    INT,  struct audit_notice, peels, RECORD_OMIT),
    RECORD("outcome",  TEXT, struct audit_notice, outcome, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field reply_fields[] = {
    RECORD("master", TEXT, struct audit_notice_reply, master, 0, .fallback_text = ""),
    { 0 },
};

const struct record_type audit_notice_type = RECORD_TYPE("audit notice", struct audit_notice, notice_fields, RECORD_LENIENT);
const struct record_type audit_notice_reply_type = RECORD_TYPE("audit reply", struct audit_notice_reply, reply_fields, RECORD_LENIENT);
/* clang-format on */

const char *audit_act_name(enum audit_act act)
{
    return acts[act];
}
