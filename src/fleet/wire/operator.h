/*
 * operator - a person with their own credentials: their permissions and keys.
 *
 * The policy is stored under the operator's name in the bucket `operators`. The name is one token,
 * like a peel id. A removed operator stays on record until their last key has expired, because
 * masters derive the servers' revocation list from it.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_OPERATOR_H
#define FLEET_WIRE_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"

struct err;

enum operator_role {
    OPERATOR_VIEWER,   /* reads */
    OPERATOR_OPERATOR, /* also runs jobs, within functions and targets */
    OPERATOR_ENROLLER, /* decides about enrollments only */
    OPERATOR_ADMIN,    /* everything that goes through masters */
};
#define OPERATOR_ROLES (OPERATOR_ADMIN + 1)
const char *operator_role_name(enum operator_role role);
/* "viewer|operator|...", for options. */
#define OPERATOR_ROLE_CHOICES "viewer|operator|enroller|admin"

/* Name of the holder of admin.creds; reserved. */
#define OPERATOR_RESERVED "admin"
/* Job metadata: the operator, as authenticated by the servers. */
#define OPERATOR_METADATA "operator"

/* Header of a refusal; its value is the reason. */
#define OPERATOR_REFUSED "Zester-Refused"

#define OPERATOR_KEYS_MAX  64 /* unexpired */
#define OPERATOR_GLOBS_MAX 256
#define OPERATOR_GLOB_MAX  128 /* bytes of one */

/* Issued credentials. */
struct operator_key {
    const char *public_key;
    struct value_time issued, expires;
    struct value_time revoked; /* zero: not revoked */
};
struct operator_keys {
    VEC(struct operator_key) list;
};

struct operator_policy {
    const char *name;
    enum operator_role role;
    const char *target;          /* target expression: the peels that jobs may reach */
    struct param_strs functions; /* globs; none: no function */
    struct param_strs approvals; /* globs: functions that need a second person's approval */
    struct value_time created, updated;
    const char *created_by;
    bool removed;
    struct operator_keys keys;
};
extern const struct record_type operator_policy_type;

/* Fails with ERR_INVALID for an invalid or reserved name. */
int operator_check_name(const char *name, struct err *err);
/* Fails with ERR_INVALID for a pattern that cannot match a function. */
int operator_check_glob(const char *glob, struct err *err);
/* Is any key neither expired nor revoked? `now` in seconds since 1970. */
bool operator_has_key(const struct operator_policy *policy, int64_t now);

/* Remove an operator; a master answers once the servers refuse the keys. */
struct operator_removal {
    const char *name;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type operator_removal_type;

struct operator_removed {
    const char *err;     /* the error; "": success */
    const char *warning; /* "": confirmed by every server */
};
extern const struct record_type operator_removed_type;

#endif
