#include "states/compile/matching.h"

#include "core/base/err.h"
#include "states/compile/builtin.h"
#include "states/compile/filter_by.h"
#include "states/compile/merging.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/render.h"
#include "states/state/host.h"
#include "language/target/target.h"

/* Salt's names of the kinds of expressions. */
static const struct {
    const char *name;
    enum target_type type;
} types[] = {
    { "compound", TARGET_COMPOUND }, { "glob", TARGET_GLOB },
    { "pcre", TARGET_PCRE },         { "list", TARGET_LIST },
    { "grain", TARGET_FACT },        { "grain_pcre", TARGET_FACT_PCRE },
    { "pillar", TARGET_SETTINGS },   { "pillar_pcre", TARGET_SETTINGS_PCRE },
    { "ipcidr", TARGET_SUBNET },
};

static int find_type(struct render *render, const struct bound_args *bound,
                     const struct value *name, enum target_type *ret)
{
    struct str text;

    if (argument_text(render, name, &text) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(text, types[i].name)) {
            *ret = types[i].type;
            return 0;
        }
    return render_fail(render, RENDER_TYPE, "%s(): unknown tgt_type '%.*s'", bound->name,
                       STR_ARG(text));
}

/* Does the machine, or another one by its name, match? A truth is its own answer. */
static int match_this_machine(struct render *render, const struct bound_args *bound,
                              const struct value *expression, enum target_type type,
                              const struct value *id, bool *ret)
{
    const struct state_host *host = ((const struct builtin_context *)bound->user)->host;
    struct target_subject subject = {
        .id = str_from(host->peel_id ? host->peel_id : ""),
        .facts = host_facts(host),
        .settings = host->settings,
    };
    const struct target *target;
    struct str text;
    struct err err;

    if (expression->kind == VALUE_BOOL) {
        *ret = expression->b;
        return 0;
    }
    if (argument_text(render, expression, &text) < 0 ||
        (!argument_is_none(id) && argument_text(render, id, &subject.id) < 0))
        return -1;
    if (target_read(render->arena, text, type, NULL, &target, &err) == 0 &&
        target_match(target, &subject, ret, &err) == 0)
        return 0;
    return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
}

/* match.filter_by(lookup, tgt_type, minion_id, merge, merge_lists, default, base): the entry of the
 * first key that matches */
static int call_match_filter_by(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    const struct value args[] = { bound->args[0], value_text("match"), bound->args[3],
                                  bound->args[5], bound->args[6] };
    const struct bound_args inner = {
        .args = args, .count = ARRAY_LEN(args), .name = bound->name, .user = bound->user
    };
    const struct value *found = NULL;
    const struct value_map *lookup;
    enum target_type type = TARGET_COMPOUND;

    if (find_type(render, bound, &bound->args[1], &type) < 0)
        return -1;
    if (bound->args[0].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "%s(): expected a map, got %s", bound->name,
                           value_describe(&bound->args[0]));
    lookup = container_map(render, &bound->args[0]);
    for (size_t i = 0; i < lookup->count && !found; i++) {
        const struct value *key = &lookup->pairs[i].key;
        bool matches;

        if (value_equal(key, &bound->args[5]))
            continue;
        if (match_this_machine(render, bound, key, type, &bound->args[2], &matches) < 0)
            return -1;
        found = matches ? key : NULL;
    }
    return filter_by(render, &inner, found, ret);
}

/* match.search_by(lookup, tgt_type='compound', minion_id=none): the keys of which one expression
 * matches; none: nothing. */
static int call_search_by(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *keys = container_new_list(render, 4);
    enum target_type type = TARGET_COMPOUND;
    const struct value_map *lookup;

    if (find_type(render, bound, &bound->args[1], &type) < 0)
        return -1;
    if (bound->args[0].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "%s(): expected a map, got %s", bound->name,
                           value_describe(&bound->args[0]));
    lookup = container_map(render, &bound->args[0]);
    for (size_t i = 0; i < lookup->count; i++) {
        const struct value *all = &lookup->pairs[i].value;
        const struct value_list *list = all->kind == VALUE_LIST ? all->list : NULL;
        bool matches = false;

        for (size_t k = 0; k < (list ? list->count : 1) && !matches; k++)
            if (match_this_machine(render, bound, list ? &list->items[k] : all, type,
                                   &bound->args[2], &matches) < 0)
                return -1;
        if (matches)
            value_list_push(render->arena, keys, lookup->pairs[i].key);
    }
    *ret = keys->count > 0 ? value_list(keys) : value_null();
    return 0;
}

static struct value get_named(const struct value_map *named, const char *name)
{
    const struct value key = value_text(name);
    const struct value *found = value_map_find(named, &key);

    return found ? *found : value_null();
}

/* The value of the first matcher that matches; else the last one. */
static int pick_value(struct render *render, const struct bound_args *bound,
                      const struct value_list *args, enum target_type type, const struct value *id,
                      struct value *ret)
{
    *ret = args->items[args->count - 1];
    for (size_t i = 0; i + 1 < args->count; i += 2) {
        bool matches;

        if (match_this_machine(render, bound, &args->items[i], type, id, &matches) < 0)
            return -1;
        if (!matches)
            continue;
        *ret = args->items[i + 1];
        return 0;
    }
    return 0;
}

/* ifelse(matcher, value, ..., default, tgt_type='compound', minion_id=none, merge=none,
 * merge_lists=false) */
static int call_ifelse(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *args = container_list(render, &bound->args[0]);
    const struct value_map *named = container_map(render, &bound->args[1]);
    const struct value id = get_named(named, "minion_id"), word = get_named(named, "tgt_type"),
                       merge = get_named(named, "merge"), lists = get_named(named, "merge_lists");
    enum target_type type = TARGET_COMPOUND;

    if (args->count % 2 == 0)
        return render_fail(render, RENDER_TYPE,
                           "%s() expects pairs of a matcher and a value, then a default",
                           bound->name);
    if ((word.kind != VALUE_NULL && find_type(render, bound, &word, &type) < 0) ||
        pick_value(render, bound, args, type, &id, ret) < 0)
        return -1;
    if (merge.kind != VALUE_MAP || ret->kind != VALUE_MAP)
        return 0;
    return merging_make(render, ret, &merge, value_is_true(&lists) ? MERGING_JOIN : MERGING_REPLACE,
                        ret);
}

/* clang-format off */
const struct function matching_functions[] = {
    { "match.search_by", "lookup, tgt_type='compound', minion_id=none", call_search_by,
      "the keys of a map whose expression matches this machine" },
    { "match.filter_by", "lookup, tgt_type='compound', minion_id=none, merge=none, merge_lists=false, default='default', base=none",
      call_match_filter_by, "the entry of the first expression that matches this machine" },
    { "match.ifelse", "*args, **named", call_ifelse, "the value of the first matcher that matches this machine; else the last one" },
    { 0 },
};

const struct function matching_globals[] = {
    { "ifelse", "*args, **named", call_ifelse, "the value of the first matcher that matches this machine; else the last one" },
    { 0 },
};
/* clang-format on */
