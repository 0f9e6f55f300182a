#include "language/target/top.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/value.h"

struct top {
    struct arena *arena;
    struct diags *diags;
    const struct target_subject *subject;
    const struct value *groups;
    struct map seen;
    const struct value *environment; /* the environment being read */
    struct top_refs refs;
};

/* Entries of a list other than references. */
struct top_rules {
    enum target_type type;
    bool optional;
};

static int read_match(struct top *top, const struct value *match, struct top_rules *rules)
{
    const char *nearest = NULL;

    if (match->kind != VALUE_STR)
        return value_diag(top->diags, match, "top file: 'match' must be a type of target, got %s",
                          value_describe(match));
    if (target_type_find(match->s, &rules->type, &nearest))
        return 0;
    (void)value_diag(top->diags, match, "top file: no type of target '%.*s'", STR_ARG(match->s));
    if (nearest)
        diag_hint(top->diags, "did you mean '%s'?", nearest);
    return -1;
}

static int read_top_rules(struct top *top, const struct value *list, struct top_rules *rules)
{
    for (size_t i = 0; list->kind == VALUE_LIST && i < list->list->count; i++) {
        const struct value *item = &list->list->items[i];
        const struct value *match = value_get(item, "match");
        const struct value *optional = value_get(item, "ignore_missing");

        if (item->kind != VALUE_MAP)
            continue;
        if (item->map->count != 1 || (!match && !value_is(optional, VALUE_BOOL)))
            return value_diag(top->diags, item,
                              "top file: expected a reference or 'match: TYPE', got %s",
                              value_describe(item));
        if (match && read_match(top, match, rules) < 0)
            return -1;
        rules->optional |= optional && optional->b;
    }
    return 0;
}

static int match_top_target(struct top *top, const struct value *text, enum target_type type,
                            bool *ret)
{
    const struct target_options options = { .groups = top->groups, .where = text };
    const struct target *target;
    struct err err;

    if (text->kind != VALUE_STR)
        return value_diag(top->diags, text, "top file: a target is a text, not %s",
                          value_describe(text));
    if (target_parse(top->arena, text->s, type, &options, &target, top->diags) < 0)
        return -1;
    if (target_match(target, top->subject, ret, &err) < 0)
        return value_diag(top->diags, text, "top file: %s", err.text);
    return 0;
}

static int add_ref(struct top *top, const struct value *item, bool optional)
{
    if (item->kind == VALUE_MAP)
        return 0; /* a rule, already read */
    if (item->kind != VALUE_STR || item->s.n == 0)
        return value_diag(top->diags, item, "top file: expected a reference, got %s",
                          value_describe(item));
    if (!map_has(&top->seen, item->s)) {
        (void)map_set(&top->seen, item->s, top);
        VEC_PUSH_IN(top->arena, &top->refs.list,
                    (struct top_ref){ item, top->environment, optional });
    }
    return 0;
}

static int read_top_target(struct top *top, const struct value_pair *pair)
{
    const struct value *list = &pair->value;
    struct top_rules rules = { TARGET_COMPOUND, false };
    bool meant = false;
    int result = 0;

    if (list->kind == VALUE_NULL)
        return 0;
    if (list->kind != VALUE_LIST && list->kind != VALUE_STR)
        return value_diag(top->diags, list, "top file: expected a list of references, got %s",
                          value_describe(list));
    if (read_top_rules(top, list, &rules) < 0 ||
        match_top_target(top, &pair->key, rules.type, &meant) < 0)
        return -1;
    if (!meant)
        return 0;
    if (list->kind == VALUE_STR)
        return add_ref(top, list, false);
    for (size_t i = 0; i < list->list->count; i++)
        result |= add_ref(top, &list->list->items[i], rules.optional);
    return result;
}

static int read_environment(struct top *top, const struct value_pair *pair)
{
    const struct value *environment = &pair->value;
    int result = 0;

    top->environment = &pair->key;
    if (environment->kind == VALUE_NULL)
        return 0;
    if (environment->kind != VALUE_MAP)
        return value_diag(top->diags, environment, "top file: expected a map of targets, got %s",
                          value_describe(environment));
    for (size_t i = 0; i < environment->map->count; i++)
        result |= read_top_target(top, &environment->map->pairs[i]);
    return result;
}

static bool is_environment_read(const struct value *name, const char *environment)
{
    return !environment || (name->kind == VALUE_STR && str_eq_text(name->s, environment));
}

int top_read(struct arena *arena, const struct value *doc, const struct target_subject *subject,
             const struct top_options *options, struct top_refs *ret_refs, struct diags *diags)
{
    struct top top = {
        .arena = arena, .diags = diags, .subject = subject, .groups = options->groups
    };
    int result = 0;

    top.seen = (struct map)MAP_INIT_IN(arena);
    if (doc->kind != VALUE_MAP && doc->kind != VALUE_NULL)
        return value_diag(diags, doc, "top file: expected a map of environments, got %s",
                          value_describe(doc));
    for (size_t i = 0; doc->kind == VALUE_MAP && i < doc->map->count; i++)
        if (is_environment_read(&doc->map->pairs[i].key, options->environment))
            result |= read_environment(&top, &doc->map->pairs[i]);
    if (result == 0)
        *ret_refs = top.refs;
    return result;
}
