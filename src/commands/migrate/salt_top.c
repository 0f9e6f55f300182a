#include "commands/migrate/salt_top.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/mem.h"

/* Types of Salt's targets. */
static const struct match {
    const char *name;
    const char *prefix; /* NULL: there is none here, and `remark` says what to do */
    const char *remark;
} matches[] = {
    { "compound", "", NULL },
    { "glob", "", NULL },
    { "grain", "G@", NULL },
    { "grain_pcre", "P@", NULL },
    { "ipcidr", "S@", NULL },
    { "list", "L@", NULL },
    { "nodegroup", "N@", "define the group in the configuration of the masters" },
    { "pcre", "E@", NULL },
    { "pillar", "I@", NULL },
    { "pillar_pcre", "J@", NULL },
    { "data", NULL, "there is no data store; use a setting, and 'match: pillar'" },
    { "pillar_exact", NULL, "use 'match: pillar' with a value without wildcards" },
    { "range", NULL, "there are no range expressions; use 'match: list'" },
};

struct top {
    struct arena *arena;
    struct diags *remarks;
};

static const struct match *find_match(const struct value *name)
{
    for (size_t i = 0; value_is(name, VALUE_STR) && i < ARRAY_LEN(matches); i++)
        if (str_is(name->s, matches[i].name))
            return &matches[i];
    return NULL;
}

/* The `match` of a list of references, or NULL. */
static const struct value *match_of(const struct value *list)
{
    const struct value *found = NULL;

    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list->count; i++)
        if (value_get(&list->list->items[i], "match"))
            found = value_get(&list->list->items[i], "match");
    return found;
}

static struct value copy_without_match(struct top *top, const struct value *list)
{
    struct value_list *left = value_list_new(top->arena, list->list->count);

    for (size_t i = 0; i < list->list->count; i++)
        if (!value_get(&list->list->items[i], "match"))
            value_list_push(top->arena, left, list->list->items[i]);
    return value_list(left);
}

/* False: it is left out. */
static bool convert_top_target(struct top *top, const struct value_pair *pair,
                               struct value_pair *ret)
{
    const struct value *name = match_of(&pair->value);
    const struct match *match = find_match(name);

    *ret = *pair;
    if (!name)
        return true;
    if (!match || !match->prefix) {
        (void)value_diag(top->remarks, name, "there is no match of this type here");
        if (match)
            diag_hint(top->remarks, "%s", match->remark);
        return false;
    }
    if (match->remark) {
        (void)value_diag(top->remarks, name, "'%s' has to exist here", pair->key.s.p);
        diag_hint(top->remarks, "%s", match->remark);
    }
    if (match->prefix[0] && strpbrk(pair->key.s.p, " \t()"))
        return true;
    ret->key = value_text(arena_printf(top->arena, "%s%.*s", match->prefix, STR_ARG(pair->key.s)));
    ret->value = copy_without_match(top, &pair->value);
    return true;
}

/* The same target may have two entries, with different types: their lists are joined. */
static void add_top_target(struct top *top, struct value_map *map, const struct value_pair *pair)
{
    const struct value *there = value_map_find(map, &pair->key);
    struct value_list *both;

    if (!value_is(there, VALUE_LIST) || pair->value.kind != VALUE_LIST) {
        value_map_set(top->arena, map, pair->key, pair->value);
        return;
    }
    both = value_list_new(top->arena, there->list->count + pair->value.list->count);
    for (size_t i = 0; i < there->list->count; i++)
        value_list_push(top->arena, both, there->list->items[i]);
    for (size_t i = 0; i < pair->value.list->count; i++)
        value_list_push(top->arena, both, pair->value.list->items[i]);
    value_map_set(top->arena, map, pair->key, value_list(both));
}

static struct value convert_environment(struct top *top, const struct value_pair *pair)
{
    const struct value *targets = &pair->value;
    struct value_map *map = value_map_new(top->arena, 8);

    if (targets->kind != VALUE_MAP) {
        (void)value_diag(top->remarks, targets, "expected a map of targets");
        return value_map(map);
    }
    for (size_t i = 0; i < targets->map->count; i++) {
        struct value_pair one;

        if (targets->map->pairs[i].key.kind != VALUE_STR)
            (void)value_diag(top->remarks, &targets->map->pairs[i].key, "a target is a text");
        else if (convert_top_target(top, &targets->map->pairs[i], &one))
            add_top_target(top, map, &one);
    }
    return value_map(map);
}

struct value salt_top_convert(struct arena *arena, const struct value *top, struct diags *remarks)
{
    struct top state = { .arena = arena, .remarks = remarks };
    struct value_map *map = value_map_new(arena, 2);

    for (size_t i = 0; i < top->map->count; i++) {
        const struct value_pair *pair = &top->map->pairs[i];

        if (pair->key.kind != VALUE_STR || !str_is(pair->key.s, "base")) {
            (void)value_diag(remarks, &pair->key,
                             "environments are labels here: all are read, from one tree");
            diag_hint(remarks, "put the files of all environments into one folder; a peel with "
                               "'environment' in its configuration has that one alone");
        }
        value_map_set(arena, map, pair->key, convert_environment(&state, pair));
    }
    return value_map(map);
}
