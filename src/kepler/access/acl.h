/*
 * acl - access control for one config: rules for users and groups, and the rights a caller gets.
 *
 *     caller                        has
 *     root                          all rights
 *     a member who is the owner     all rights
 *     another member                rights of matching rules; none without rules
 *     token of root or the owner    the token's rights
 *     token of another user         the token's rights that the rules grant, too
 *
 * A config that was never loaded has no rules: the first loader becomes its owner, and must be
 * root or a member. Besides rights there are authorizers, pieces of Lua
 * (kepler/daemon/authorizer_run.h): those of the token and of all matching rules must agree, in
 * this order: token, user, groups by number. Root bypasses authorizers; the owner does not.
 *
 * Users and groups in rules are names or numbers, compared with the caller's current accounts.
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

/* The rules of one config for users and groups. */
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
    const char *name; /* NULL: a number without an account */
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
    bool groups_named; /* group names have been looked up */
    /* The caller's token: */
    bool may_load;          /* its user is root, or a member */
    const char *token_name; /* the service that holds it */
    uint64_t rights;
    enum hardening floor;
    const struct value *authorize,
        *lua; /* its authorizer, and the functions it may call; or NULL */
};

/* The config that is judged. */
struct acl_subject {
    const struct acl *acl; /* NULL: no rules */
    bool owned;            /* false: never loaded */
    uid_t owner;
};

struct acl_authorizer {
    const struct value *code, *lua;
};

/* Where rights come from. */
enum acl_origin {
    ACL_FROM_ROOT, /* the caller is root, or runs the daemon */
    ACL_FROM_OWNER,
    ACL_FROM_LOADER, /* no owner yet: the caller may become the owner */
    ACL_FROM_USER,   /* a rule */
    ACL_FROM_GROUP,  /* a rule */
    ACL_FROM_TOKEN,  /* the token, which limits the others */
};

struct acl_source {
    enum acl_origin origin;
    const char *who; /* rule: its user or group as written; token: its service */
    uint64_t rights;
    bool authorizes; /* has an authorizer */
};

struct acl_verdict {
    uint64_t rights;
    VEC(struct acl_source) sources;
    VEC(struct acl_authorizer) authorizers; /* must agree */
};

/* The caller's rights on the subject, provided the authorizers agree. */
struct acl_verdict acl_judge(struct arena *arena, const struct acl_subject *subject,
                             const struct acl_caller *caller);

#endif
