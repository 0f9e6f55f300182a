/*
 * audit_notice - what an operator did without a master, for the audit of one.
 *
 * Some commands write to the bus themselves; they tell a master what they did, or why they could
 * not, and it leaves the line in its log.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_AUDIT_NOTICE_H
#define FLEET_WIRE_AUDIT_NOTICE_H

#include "core/data/record.h"

enum audit_act {
    AUDIT_TOKEN_CREATE,
    AUDIT_TOKEN_REVOKE,
    AUDIT_UPDATE_PUBLISH,
    AUDIT_UPDATE_PROMOTE,
    AUDIT_UPDATE_DEMOTE,
    AUDIT_UPDATE_SET_TTL,
    AUDIT_UPDATE_UNPUBLISH,
    AUDIT_UPDATE_ROLLBACK,
    AUDIT_ENROLL_PAUSE,
    AUDIT_ENROLL_RESUME,
    AUDIT_DIRECT,     /* peels are being asked directly */
    AUDIT_DIRECT_END, /* what came of it */
    AUDIT_OPERATOR_ADD,
    AUDIT_OPERATOR_ISSUE,
    AUDIT_OPERATOR_SET,
    AUDIT_KEY_ROTATE, /* a signing key of the account is made */
    AUDIT_KEY_FINISH, /* older ones are no longer accepted */
};
#define AUDIT_ACTS (AUDIT_KEY_FINISH + 1)

/* "update.promote" */
const char *audit_act_name(enum audit_act act);

struct audit_notice {
    enum audit_act act;
    const char *operator;
    const char *id;                /* of what it was done to */
    const char *err;               /* why it was not done; "": it was */
    const char *function, *target; /* of what peels were asked; "": nothing */
    uint32_t peels;                /* how many */
    const char *outcome;           /* what came of it; "": not known yet */
};
extern const struct record_type audit_notice_type;

/* It is in the log. */
struct audit_notice_reply {
    const char *master;
};
extern const struct record_type audit_notice_reply_type;

#endif
