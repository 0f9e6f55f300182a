/*
 * operator - a person with credentials of their own: what they may do, and which keys they have.
 *
 * The policy is kept under the name of the operator in the bucket `operators`. Its name is one
 * token, as the id of a peel is. An operator who was removed stays on record until the last of
 * their keys has expired, since masters tell servers by it whom to refuse.
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
    OPERATOR_OPERATOR, /* and runs jobs within functions and targets */
    OPERATOR_ENROLLER, /* decides about enrollments, and nothing else */
    OPERATOR_ADMIN,    /* all that goes through masters */
};
#define OPERATOR_ROLES (OPERATOR_ADMIN + 1)
const char *operator_role_name(enum operator_role role);
/* "viewer|operator|...", for options. */
#define OPERATOR_ROLE_CHOICES "viewer|operator|enroller|admin"

/* What whoever has admin.creds is called; no operator can be. */
#define OPERATOR_RESERVED "admin"
/* In the metadata of a job: the operator whom the servers let in. */
#define OPERATOR_METADATA "operator"

/* The header of an answer that is a refusal; its value is the reason. */
#define OPERATOR_REFUSED "Zester-Refused"

#define OPERATOR_KEYS_MAX  64 /* that have not expired */
#define OPERATOR_GLOBS_MAX 256
#define OPERATOR_GLOB_MAX  128 /* bytes of one */

/* Credentials that were issued. */
struct operator_key {
    const char *public_key;
    struct value_time issued, expires;
    struct value_time revoked; /* zero: it is not */
};
struct operator_keys {
    VEC(struct operator_key) list;
};

struct operator_policy {
    const char *name;
    enum operator_role role;
    const char *target;          /* an expression: peels that jobs may have as targets */
    struct param_strs functions; /* globs; none: no function */
    struct param_strs approvals; /* globs: functions that a second person has to approve */
    struct value_time created, updated;
    const char *created_by;
    bool removed;
    struct operator_keys keys;
};
extern const struct record_type operator_policy_type;

/* Can somebody be called that? Fails with ERR_INVALID. */
int operator_check_name(const char *name, struct err *err);
/* Can a function match this pattern? Fails with ERR_INVALID. */
int operator_check_glob(const char *glob, struct err *err);
/* Is one of the keys neither expired nor revoked? `now` in seconds since 1970. */
bool operator_has_key(const struct operator_policy *policy, int64_t now);

/* Remove an operator, answered by a master when servers refuse the keys. */
struct operator_removal {
    const char *name;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type operator_removal_type;

struct operator_removed {
    const char *err;     /* why not; "": it is done */
    const char *warning; /* "": every server has confirmed */
};
extern const struct record_type operator_removed_type;

#endif
