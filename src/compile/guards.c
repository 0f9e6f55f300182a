#include "compile/guards.h"

#include "base/arena.h"
#include "base/suggest.h"
#include "compile/decl.h"
#include "compile/plan.h"
#include "data/params.h"
#include "state/call.h"
#include "state/module.h"

struct reading {
    struct arena *arena;
    const char *key; /* "unless" */
    struct diags *diags;
    bool functions; /* functions are allowed too */
};

static const char *describe_wanted(const struct reading *r)
{
    return r->functions ? "a command or a function" : "a command";
}

static int read_command(const struct reading *r, const struct value *v, struct plan_guard *ret)
{
    const struct str text = decl_text(r->arena, v);

    if (!text.p || str_trim(text).n == 0)
        return value_diag(r->diags, v, "'%s' must be %s, not %s", r->key, describe_wanted(r),
                          text.p ? "an empty text" : value_describe(v));
    *ret = (struct plan_guard){ .command = text.p, .at = value_place(v) };
    return 0;
}

/* --- functions ------------------------------------------------------------------------ */

/* cmd.run and the like are allowed: a command can be a guard, directly or as a function. */
static bool is_action(const struct module *function)
{
    return (function->flags & MODULE_ACTS) && !str_starts(str_from(function->name), STR("cmd."));
}

static int refuse_unknown(const struct reading *r, const struct value *name)
{
    struct suggest best;

    (void)value_diag(r->diags, name, "'%s': no function '%s'", r->key, name->s.p);
    suggest_init(&best, name->s);
    for (size_t i = 0; i < module_count; i++)
        if (module_table[i]->call && !is_action(module_table[i]))
            suggest_offer(&best, str_from(module_table[i]->name));
    if (suggest_best(&best).p)
        diag_hint(r->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&best)));
    else if (module_find(name->s))
        diag_hint(r->diags, "it is a state");
    return -1;
}

static const struct module *find_function(const struct reading *r, const struct value *v)
{
    const struct value *name = value_get(v, "fun");
    const struct module *found;

    if (!value_is(name, VALUE_STR)) {
        (void)value_diag(r->diags, v, "'%s' must be %s, not a map", r->key, describe_wanted(r));
        diag_hint(r->diags, "name a function with 'fun'");
        return NULL;
    }
    found = module_find(name->s);
    if (!found || !found->call) {
        (void)refuse_unknown(r, name);
        return NULL;
    }
    if (is_action(found)) {
        (void)value_diag(r->diags, name,
                         "'%s' cannot use '%s': it makes changes, and guards also run in a dry run",
                         r->key, found->name);
        return NULL;
    }
    return found;
}

/* `Positional `args`, then the names beside `fun`. */
static int gather_arguments(const struct reading *r, const struct module *function,
                            const struct value *v, struct value_map *ret)
{
    const struct value *args = value_get(v, "args");
    const struct value *items = args;
    size_t n = args && args->kind != VALUE_NULL;

    if (args && args->kind == VALUE_LIST) {
        items = args->list->items;
        n = args->list->count;
    }
    for (size_t i = 0; i < n; i++) {
        const struct param *param = params_at(function->params, i);

        if (!param)
            return value_diag(r->diags, &items[i], "%s takes at most %zu positional arguments",
                              function->name, i);
        value_map_set(r->arena, ret, value_at(value_text(param->name), &items[i]), items[i]);
    }
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];

        if (!str_is(pair->key.s, "fun") && !str_is(pair->key.s, "args") &&
            !str_is(pair->key.s, "get_return"))
            value_map_set(r->arena, ret, pair->key, pair->value);
    }
    return 0;
}

static int read_function(const struct reading *r, const struct value *v, struct plan_guard *ret)
{
    const struct module *function = find_function(r, v);
    const struct value *path = value_get(v, "get_return");
    const struct value given = value_at(value_map(value_map_new(r->arena, v->map->count)), v);

    if (!function || gather_arguments(r, function, v, given.map) < 0)
        return -1;
    if (path && path->kind != VALUE_STR)
        return value_diag(r->diags, path, "'get_return' must be a path, not %s",
                          value_describe(path));
    *ret = (struct plan_guard){
        .command = function->name,
        .function = function,
        .path = path ? path->s.p : NULL,
        .at = value_place(v),
    };
    return call_decode(r->arena, function, &given, NULL, &ret->args, r->diags);
}

/* --- all ------------------------------------------------------------------------------- */

static int read_list(const struct reading *r, const struct value *v, struct plan_guards *ret)
{
    const struct value *items = v;
    struct plan_guard *guards;
    size_t n = 1;
    int result = 0;

    if (!v || v->kind == VALUE_NULL)
        return 0;
    if (v->kind == VALUE_LIST) {
        items = v->list->items;
        n = v->list->count;
    }
    guards = ARENA_ARRAY(r->arena, struct plan_guard, n);
    for (size_t i = 0; i < n; i++)
        result |= items[i].kind == VALUE_MAP && r->functions
                      ? read_function(r, &items[i], &guards[i])
                      : read_command(r, &items[i], &guards[i]);
    *ret = (struct plan_guards){ guards, n };
    return result;
}

int guards_read(struct arena *arena, const struct value *v, const char *key,
                struct plan_guards *ret, struct diags *diags)
{
    const struct reading reading = { arena, key, diags, .functions = true };

    return read_list(&reading, v, ret);
}

int guards_read_commands(struct arena *arena, const struct value *v, const char *key,
                         struct plan_guards *ret, struct diags *diags)
{
    const struct reading reading = { arena, key, diags, .functions = false };

    return read_list(&reading, v, ret);
}
