/*
 * acl - who may do what with a config: rules for users and groups, and what follows for a caller.
 *
 *     caller                        has
 *     root                          all rights
 *     a member who is the owner     all rights
 *     another member                those of the rules that match: none without rules
 *     a token, of root or the owner those of the token
 *     a token, of somebody else     those of the token that the rules grant, too
 *
 * A config that nobody has loaded yet has no rules: who loads it becomes its owner, and must be
 * root or a member for that. Besides rights there are authorizers, pieces of Lua
 * (kepler/daemon/authorization.h): all of the token's and of the rules that match must agree, in
 * this order: token, user, groups by number. Root is not asked about; the owner is.
 *
 * Users and groups of rules are names or numbers, compared with what the accounts of the machine
 * say about the caller at that moment.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef KEPLER_ACCESS_ACL_H
#define KEPLER_ACCESS_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kepler/access/hardening.h"
#include "core/base/diag.h"
#include "core/base/vec.h"

struct arena;
struct value;

/* Rules for users, and for groups, of one config. */
#define ACL_RULES_MAX 1000

struct acl_rule {
    const char *who; /* a name, or the digits of a number */
    uint64_t rights;
    const struct value *authorize; /* Lua; NULL: none */
    struct place at;
};

struct acl_rules {
    VEC(struct acl_rule) list;
};

struct acl {
    struct acl_rules users, groups;
    const struct value *lua; /* functions for the authorizers; NULL: none */
};

struct acl_group {
    gid_t gid;
    const char *name; /* NULL: a number without a name */
};

enum acl_caller_kind {
    ACL_ROOT,   /* or the user who runs the daemon */
    ACL_MEMBER, /* of the group of the daemon */
    ACL_TOKEN,
};

struct acl_caller {
    enum acl_caller_kind kind;
    uid_t uid;
    gid_t gid;
    const char *name; /* NULL: a number without an account */
    VEC(struct acl_group) groups;
    bool groups_named; /* their names have been looked up */
    /* Of a token: */
    bool may_load;          /* its user is root, or a member */
    const char *token_name; /* of the service that it was lent to */
    uint64_t rights;
    enum hardening floor;
    const struct value *authorize, *lua; /* its own, and functions for it; or NULL */
};

/* What is judged. */
struct acl_subject {
    const struct acl *acl; /* NULL: no rules */
    bool owned;            /* else nobody has loaded it */
    uid_t owner;
};

struct acl_authorizer {
    const struct value *code, *lua;
};

/* Where rights come from. */
enum acl_origin {
    ACL_FROM_ROOT, /* the caller is root, or runs the daemon */
    ACL_FROM_OWNER,
    ACL_FROM_LOADER, /* nobody owns it yet: the caller may become the owner */
    ACL_FROM_USER,   /* a rule */
    ACL_FROM_GROUP,  /* a rule */
    ACL_FROM_TOKEN,  /* which is a limit for the others */
};

struct acl_source {
    enum acl_origin origin;
    const char *who; /* of rules: as it is written; of a token: the service */
    uint64_t rights;
    bool authorizes; /* it has an authorizer */
};

struct acl_verdict {
    uint64_t rights;
    VEC(struct acl_source) sources;
    VEC(struct acl_authorizer) authorizers; /* that must agree */
};

/* What the caller may do with the subject, if the authorizers agree. */
struct acl_verdict acl_judge(struct arena *arena, const struct acl_subject *subject,
                             const struct acl_caller *caller);

#endif
