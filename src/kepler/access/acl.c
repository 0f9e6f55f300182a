#include "kepler/access/acl.h"

#include <string.h>

#include "kepler/access/right.h"
#include "core/base/arena.h"
#include "core/base/number.h"
#include "core/base/err.h"

/* A name, or a number that is written as one. */
static bool matches_account(const char *who, const char *name, unsigned number)
{
    struct err ignored;
    uint64_t written;

    if (name && strcmp(who, name) == 0)
        return true;
    return number_parse_uint(str_from(who), &written, &ignored) == 0 && written == number;
}

static void add_authorizer(struct arena *arena, struct acl_verdict *verdict,
                           const struct value *code, const struct value *lua)
{
    if (code)
        VEC_PUSH_IN(arena, &verdict->authorizers, ((struct acl_authorizer){ code, lua }));
}

static void add_verdict_source(struct arena *arena, struct acl_verdict *verdict,
                               struct acl_source source)
{
    verdict->rights |= source.rights;
    VEC_PUSH_IN(arena, &verdict->sources, source);
}

static void apply_rule(struct arena *arena, const struct acl *acl, enum acl_origin origin,
                       const struct acl_rule *rule, struct acl_verdict *verdict)
{
    add_verdict_source(
        arena, verdict,
        (struct acl_source){ origin, rule->who, rule->rights, rule->authorize != NULL });
    add_authorizer(arena, verdict, rule->authorize, acl->lua);
}

/* The group of the caller that the next rules are for: the lowest number above `after`. */
static const struct acl_group *next_group(const struct acl_caller *caller, int64_t after)
{
    const struct acl_group *next = NULL;

    VEC_EACH (&caller->groups, group)
        if ((int64_t)group->gid > after && (!next || group->gid < next->gid))
            next = group;
    return next;
}

static void apply_rules(struct arena *arena, const struct acl *acl, const struct acl_caller *caller,
                        struct acl_verdict *verdict)
{
    const struct acl_group *group = next_group(caller, -1);

    VEC_EACH (&acl->users.list, rule)
        if (matches_account(rule->who, caller->name, caller->uid))
            apply_rule(arena, acl, ACL_FROM_USER, rule, verdict);
    for (; group; group = next_group(caller, group->gid))
        VEC_EACH (&acl->groups.list, rule)
            if (matches_account(rule->who, group->name, group->gid))
                apply_rule(arena, acl, ACL_FROM_GROUP, rule, verdict);
}

/* Grants that do not depend on rules. False: none. */
static bool grant_without_rules(const struct acl_subject *subject, const struct acl_caller *caller,
                                enum acl_origin *ret_origin)
{
    if (caller->kind == ACL_ROOT || (caller->kind == ACL_TOKEN && caller->uid == 0))
        *ret_origin = ACL_FROM_ROOT;
    else if (subject->owned && subject->owner == caller->uid)
        *ret_origin = ACL_FROM_OWNER;
    else if (!subject->owned && (caller->kind == ACL_MEMBER || caller->may_load))
        *ret_origin = ACL_FROM_LOADER;
    else
        return false;
    return true;
}

/* The rights of a token are a limit, not a source. */
static void apply_token(struct arena *arena, const struct acl_caller *caller,
                        struct acl_verdict *verdict)
{
    const uint64_t granted = verdict->rights;

    add_verdict_source(arena, verdict,
                       (struct acl_source){ ACL_FROM_TOKEN, caller->token_name, caller->rights,
                                            caller->authorize != NULL });
    verdict->rights = granted & caller->rights;
}

struct acl_verdict acl_judge(struct arena *arena, const struct acl_subject *subject,
                             const struct acl_caller *caller)
{
    struct acl_verdict verdict = { .rights = 0 };
    enum acl_origin origin;

    if (grant_without_rules(subject, caller, &origin))
        add_verdict_source(arena, &verdict, (struct acl_source){ origin, NULL, RIGHT_ALL, false });
    if (caller->kind == ACL_ROOT)
        return verdict;
    if (caller->kind == ACL_TOKEN)
        add_authorizer(arena, &verdict, caller->authorize, caller->lua);
    if (subject->acl)
        apply_rules(arena, subject->acl, caller, &verdict);
    if (caller->kind == ACL_TOKEN)
        apply_token(arena, caller, &verdict);
    return verdict;
}
