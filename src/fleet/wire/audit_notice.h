/*
 * audit_notice - an operator's action without a master, for a master's audit log.
 *
 * Some commands write to the bus themselves. They report what they did, or why they failed, to a
 * master, which logs it.
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
    AUDIT_DIRECT_END, /* the result */
    AUDIT_OPERATOR_ADD,
    AUDIT_OPERATOR_ISSUE,
    AUDIT_OPERATOR_SET,
    AUDIT_KEY_ROTATE, /* a signing key of the account is made */
    AUDIT_KEY_FINISH, /* older keys are no longer accepted */
};
#define AUDIT_ACTS (AUDIT_KEY_FINISH + 1)

/* "update.promote" */
const char *audit_act_name(enum audit_act act);

struct audit_notice {
    enum audit_act act;
    const char *operator;
    const char *id;                /* of the object */
    const char *err;               /* the error; "": success */
    const char *function, *target; /* the request to peels; "": none */
    uint32_t peels;                /* number of peels */
    const char *outcome;           /* the result; "": not known yet */
};
extern const struct record_type audit_notice_type;

/* The notice is in the log. */
struct audit_notice_reply {
    const char *master;
};
extern const struct record_type audit_notice_reply_type;

#endif
