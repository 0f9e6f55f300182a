/* Access rules: `kepler.acl`, and the permissions of services. Nothing here is computed. */
#include <string.h>

#include "kepler/access/right.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/suggest.h"
#include "kepler/config/authorizer.h"
#include "kepler/config/config_read.h"

#define ALIASES_MAX 100
/* An alias that is being expanded. */
#define ALIAS_DEPTH 2
/* Lua of all rules together, in bytes. */
#define CODE_MAX ((size_t)256 << 10)

struct acl_section_args {
    const struct value *lua, *aliases, *users, *groups;
};

#define ARGS struct acl_section_args
const struct param config_acl_params[] = {
    PARAM("users", MAP, ARGS, users, "rules for users, by name or number"),
    PARAM("groups", MAP, ARGS, groups, "rules for groups, by name or number"),
    PARAM("aliases", MAP, ARGS, aliases, "names for lists of rights"),
    PARAM("lua", ANY, ARGS, lua, "functions for all authorizers", .kind_text = "Lua"),
    { 0 },
};
#undef ARGS

struct acl_rule_args {
    const struct value *allow, *authorize;
};

#define ARGS struct acl_rule_args
const struct param config_rule_params[] = {
    PARAM("allow", LIST, ARGS, allow, "rights and aliases", .flags = PARAM_REQUIRED),
    PARAM("authorize", ANY, ARGS, authorize, "code that must return true", .kind_text = "Lua"),
    { 0 },
};
#undef ARGS

struct permission_args {
    const struct value *allow, *authorize;
    enum hardening hardening;
};

#define ARGS struct permission_args
const struct param config_permission_params[] = {
    PARAM("allow", LIST, ARGS, allow, "rights and aliases", .flags = PARAM_REQUIRED),
    PARAM("hardening", CHOICE, ARGS, hardening, "minimum level of configs it may be used on",
          .choices = HARDENING_CHOICES, .default_text = "none"),
    PARAM("authorize", ANY, ARGS, authorize, "code that must return true", .kind_text = "Lua"),
    { 0 },
};
#undef ARGS

/* --- rights and aliases ----------------------------------------------------------------------- */

static const struct value *find_alias(const struct config_reader *r, struct str name)
{
    return r->aliases ? map_find(r->aliases, name) : NULL;
}

static int refuse_right(struct config_reader *r, const struct value *item)
{
    struct suggest near;
    struct str best;

    suggest_init(&near, item->s);
    right_offer(&near);
    if (r->aliases)
        MAP_EACH (r->aliases, entry)
            suggest_offer(&near, entry->key);
    best = suggest_best(&near);
    (void)value_diag(r->diags, item, "unknown right '%.*s'", STR_ARG(str_slice(item->s, 0, 100)));
    if (best.p)
        diag_hint(r->diags, "did you mean '%.*s'?", STR_ARG(best));
    else
        diag_hint(r->diags, "'kepler doc acl' lists all rights");
    return -1;
}

static int add_rights(struct config_reader *r, const struct value *list, int depth, uint64_t *set);

static int add_right(struct config_reader *r, const struct value *item, int depth, uint64_t *set)
{
    const struct value *alias;
    enum right right;

    if (item->kind != VALUE_STR)
        return value_diag(r->diags, item, "a right must be text, got %s", value_describe(item));
    alias = find_alias(r, item->s);
    if (right_find(item->s, &right))
        *set |= RIGHT_BIT(right);
    else if (str_is(item->s, RIGHT_ALL_NAME))
        *set |= RIGHT_ALL;
    else if (!alias)
        return refuse_right(r, item);
    else if (depth < ALIAS_DEPTH) /* deeper ones have been reported */
        return add_rights(r, alias, depth + 1, set);
    return 0;
}

/* `depth`: of aliases around the list. */
static int add_rights(struct config_reader *r, const struct value *list, int depth, uint64_t *set)
{
    int result = 0;

    for (size_t i = 0; i < list->list->count; i++)
        if (add_right(r, &list->list->items[i], depth, set) < 0)
            result = -1;
    return result;
}

static int check_alias(struct config_reader *r, const struct value_pair *pair)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const struct value *key = &pair->key;
    enum right right;

    if (key->kind != VALUE_STR || key->s.n == 0 || strspn(key->s.p, allowed) != key->s.n) {
        (void)value_diag(r->diags, key, "the name of an alias must be text");
        diag_hint(r->diags, "use a to z, 0 to 9, '_' and '-'");
        return -1;
    }
    if (right_find(key->s, &right) || str_is(key->s, RIGHT_ALL_NAME)) {
        (void)value_diag(r->diags, key, "alias '%.*s' has the name of a right", STR_ARG(key->s));
        diag_hint(r->diags, "choose another name: rights cannot be redefined");
        return -1;
    }
    if (pair->value.kind != VALUE_LIST)
        return value_diag(r->diags, &pair->value, "alias '%.*s' must be a list of rights, got %s",
                          STR_ARG(key->s), value_describe(&pair->value));
    return 0;
}

static bool has_alias(const struct config_reader *r, const struct value *list)
{
    for (size_t i = 0; i < list->list->count; i++)
        if (list->list->items[i].kind == VALUE_STR && find_alias(r, list->list->items[i].s))
            return true;
    return false;
}

/* An alias may name others, which then name rights only. */
static int check_alias_depth(struct config_reader *r, const struct value *list)
{
    int result = 0;

    for (size_t i = 0; i < list->list->count; i++) {
        const struct value *item = &list->list->items[i];
        const struct value *inner = item->kind == VALUE_STR ? find_alias(r, item->s) : NULL;

        if (!inner || !has_alias(r, inner))
            continue;
        result =
            value_diag(r->diags, item, "alias '%.*s' is made of aliases itself", STR_ARG(item->s));
        diag_hint(r->diags, "aliases may be nested %d levels deep: write its rights here",
                  ALIAS_DEPTH);
    }
    return result;
}

static int read_aliases(struct config_reader *r, const struct value *v)
{
    struct map *aliases = ARENA_NEW(r->arena, struct map);
    int result = 0;

    *aliases = (struct map)MAP_INIT_IN(r->arena);
    r->aliases = aliases;
    if (v && v->map->count > ALIASES_MAX)
        return value_diag(r->diags, v, "more than the limit of %d aliases", ALIASES_MAX);
    for (size_t i = 0; v && i < v->map->count; i++)
        if (check_alias(r, &v->map->pairs[i]) < 0)
            result = -1;
        else
            (void)map_set(aliases, v->map->pairs[i].key.s, &v->map->pairs[i].value);
    MAP_EACH (aliases, entry) {
        uint64_t ignored = 0;

        if (check_alias_depth(r, entry->value) < 0 || add_rights(r, entry->value, 1, &ignored) < 0)
            result = -1;
    }
    return result;
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Lua code for an authorizer; NULL when there is none, and when it added to the diagnostics. */
static const struct value *read_acl_code(struct config_reader *r, const struct value *v,
                                         const char *key)
{
    if (!v)
        return NULL;
    if (v->kind != VALUE_STR) {
        (void)value_diag(r->diags, v, "'%s' must be Lua code as text, got %s", key,
                         value_describe(v));
        return NULL;
    }
    r->code_size += v->s.n;
    if (r->code_size > CODE_MAX) {
        (void)value_diag(r->diags, v, "the code of all rules exceeds the limit of %zu KiB",
                         CODE_MAX >> 10);
        return NULL;
    }
    return authorizer_check(v, r->diags) < 0 ? NULL : v;
}

static int read_authorizer(struct config_reader *r, const struct value *v, const struct value **ret)
{
    *ret = read_acl_code(r, config_given(v), "authorize");
    return config_given(v) && !*ret ? -1 : 0;
}

static int read_rule(struct config_reader *r, const struct value *v, const char *owner,
                     struct acl_rule *rule)
{
    struct params_policy policy = config_policy(owner);
    struct acl_rule_args args = { 0 };
    int result = 0;

    if (v->kind == VALUE_LIST)
        return add_rights(r, v, 0, &rule->rights);
    if (v->kind != VALUE_MAP)
        return value_diag(r->diags, v, "%s must be a list of rights or a map with 'allow', got %s",
                          owner, value_describe(v));
    if (params_decode(r->arena, config_rule_params, &policy, v, &args, r->diags) < 0)
        result = -1;
    if (args.allow && add_rights(r, args.allow, 0, &rule->rights) < 0)
        result = -1;
    return read_authorizer(r, args.authorize, &rule->authorize) < 0 ? -1 : result;
}

/* A name, or a number as text. */
static const char *read_who(struct config_reader *r, const struct value *key)
{
    if (key->kind == VALUE_INT && key->i >= 0 && key->i < UINT32_MAX)
        return arena_printf(r->arena, "%lld", (long long)key->i);
    if (key->kind == VALUE_STR && key->s.n > 0 && !memchr(key->s.p, '\0', key->s.n))
        return key->s.p;
    (void)value_diag(r->diags, key, "the key of a rule must be a name or number");
    return NULL;
}

static int read_acl_rules(struct config_reader *r, const struct value *v, const char *what,
                          struct acl_rules *rules)
{
    int result = 0;

    if (v && v->map->count > ACL_RULES_MAX)
        return value_diag(r->diags, v, "more than the limit of %d rules", ACL_RULES_MAX);
    for (size_t i = 0; v && i < v->map->count; i++) {
        struct acl_rule rule = { .who = read_who(r, &v->map->pairs[i].key),
                                 .at = value_place(&v->map->pairs[i].key) };

        if (!rule.who ||
            read_rule(r, &v->map->pairs[i].value,
                      arena_printf(r->arena, "the rule for %s '%s'", what, rule.who), &rule) < 0)
            result = -1;
        else
            VEC_PUSH_IN(r->arena, &rules->list, rule);
    }
    return result;
}

int config_acl_read(struct config_reader *r, const struct value *v)
{
    struct params_policy policy = config_policy("'kepler.acl'");
    struct acl *acl = ARENA_NEW(r->arena, struct acl);
    struct acl_section_args args = { 0 };
    int result = 0;

    if (!v)
        return 0;
    if (params_decode(r->arena, config_acl_params, &policy, v, &args, r->diags) < 0)
        result = -1;
    if (v->kind != VALUE_MAP)
        return -1;
    acl->lua = read_acl_code(r, config_given(args.lua), "lua");
    if (config_given(args.lua) && !acl->lua)
        result = -1;
    if (read_aliases(r, args.aliases) < 0)
        return -1; /* rules would report them again */
    if (read_acl_rules(r, args.users, "user", &acl->users) < 0)
        result = -1;
    if (read_acl_rules(r, args.groups, "group", &acl->groups) < 0)
        result = -1;
    r->config->acl = acl;
    return result;
}

/* --- services --------------------------------------------------------------------------------- */

int config_permissions_read(struct config_reader *r, const struct value *v, const char *owner,
                            struct config_permissions *ret)
{
    struct params_policy policy =
        config_policy(arena_printf(r->arena, "'permissions' of %s", owner));
    struct permission_args args = { 0 };
    int result = 0;

    if (!v)
        return 0;
    ret->given = true;
    if (v->kind == VALUE_LIST)
        return add_rights(r, v, 0, &ret->allow);
    if (v->kind != VALUE_MAP)
        return value_diag(r->diags, v,
                          "'permissions' must be a list of rights or a map with 'allow', got %s",
                          value_describe(v));
    if (params_decode(r->arena, config_permission_params, &policy, v, &args, r->diags) < 0)
        result = -1;
    ret->hardening = args.hardening;
    if (args.allow && add_rights(r, args.allow, 0, &ret->allow) < 0)
        result = -1;
    return read_authorizer(r, args.authorize, &ret->authorize) < 0 ? -1 : result;
}
