#include "states/compile/guards.h"

#include "core/base/arena.h"
#include "core/base/suggest.h"
#include "states/compile/decl.h"
#include "states/compile/output.h"
#include "states/compile/plan.h"
#include "states/compile/salt.h"
#include "states/compile/slot.h"
#include "states/compile/unsupported.h"
#include "core/data/params.h"
#include "states/state/call.h"
#include "states/state/module.h"

struct guard_reading {
    struct arena *arena;
    const char *key; /* "unless" */
    struct diags *diags;
    bool functions; /* functions are allowed too */
    const struct guards_owner *owner;
};

static const char *describe_wanted(const struct guard_reading *r)
{
    return r->functions ? "a command or a function" : "a command";
}

/* --- commands ------------------------------------------------------------------------- */

/* The arguments of a state that its guards run with, as Salt has them; `runas` comes with those of
 * the state itself. */
static const char *const options[] = { "cwd",     "env",   "prepend_path",    "umask",
                                       "timeout", "shell", "success_retcodes" };

static bool is_excluded(const struct value *excluded, const char *option)
{
    if (!excluded || excluded->kind == VALUE_STR)
        return excluded && str_is(excluded->s, option);
    for (size_t i = 0; excluded->kind == VALUE_LIST && i < excluded->list->count; i++)
        if (is_excluded(&excluded->list->items[i], option))
            return true;
    return false;
}

static const struct value *find_excluded(const struct guards_owner *owner)
{
    const struct value key = value_text(GUARD_EXCLUDES);

    return value_map_find(owner->options, &key);
}

/* The arguments of the state that apply to its guards, except those known only when it starts. */
static size_t gather_options(const struct guard_reading *r, struct value_map *ret)
{
    const struct guards_owner *owner = r->owner;

    for (size_t i = 0; owner->options && i < ARRAY_LEN(options); i++) {
        const struct value key = value_text(options[i]);
        const struct value *v = value_map_find(owner->options, &key);

        if (v && v->kind != VALUE_NULL && !is_excluded(find_excluded(owner), options[i]) &&
            !output_has_mark(v) && !slot_find(v))
            value_map_set(r->arena, ret, key, *v);
    }
    return ret->count;
}

/* A command with options is a call of cmd.retcode. Options that do not fit are reported by the
 * state itself. */
static void add_guard_options(const struct guard_reading *r, const struct value *command,
                              struct plan_guard *guard)
{
    const struct value given = value_map(value_map_new(r->arena, 0));
    struct diags ignored = DIAGS_INIT(r->arena);
    const struct module *retcode = module_find(STR("cmd.retcode"));

    if (!retcode || gather_options(r, given.map) == 0)
        return;
    value_map_set(r->arena, given.map, value_text("command"), *command);
    if (r->owner->runas && !is_excluded(find_excluded(r->owner), "runas"))
        value_map_set(r->arena, given.map, value_text("runas"), value_text(r->owner->runas));
    if (call_decode(r->arena, retcode, &given, NULL, &guard->args, &ignored) < 0)
        return;
    guard->function = retcode;
    guard->is_status = true;
}

static int read_guard_command(const struct guard_reading *r, const struct value *v,
                              struct plan_guard *ret)
{
    const struct str text = decl_text(r->arena, v);
    const struct value command = value_str(text);

    if (!text.p || str_trim(text).n == 0)
        return value_diag(r->diags, v, "'%s' must be %s, not %s", r->key, describe_wanted(r),
                          text.p ? "an empty text" : value_describe(v));
    *ret = (struct plan_guard){ .command = text.p, .at = value_place(v) };
    if (r->functions)
        add_guard_options(r, &command, ret);
    return 0;
}

/* --- functions ------------------------------------------------------------------------ */

/* cmd.run and the like are allowed: a command can be a guard, directly or as a function. */
static bool is_action(const struct module *function)
{
    return (function->flags & MODULE_ACTS) && !str_starts(str_from(function->name), STR("cmd."));
}

static int refuse_unknown_guard(const struct guard_reading *r, const struct value *name)
{
    struct suggest best;

    (void)value_diag(r->diags, name, "'%s': no function '%s'", r->key, name->s.p);
    suggest_init(&best, name->s);
    for (size_t i = 0; i < module_count; i++)
        if (module_table[i]->call && !is_action(module_table[i]))
            suggest_offer(&best, str_from(module_table[i]->name));
    if (unsupported_reason(name->s))
        diag_hint(r->diags, "%s", unsupported_reason(name->s));
    else if (suggest_best(&best).p)
        diag_hint(r->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&best)));
    else if (module_find(name->s))
        diag_hint(r->diags, "it is a state");
    return -1;
}

static const struct module *find_guard_function(const struct guard_reading *r,
                                                const struct value *v)
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
        (void)refuse_unknown_guard(r, name);
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

/* The arguments beside `fun`. */
static void add_named_argument(const struct guard_reading *r, const struct value *v,
                               struct value_map *ret)
{
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];

        if (!str_is(pair->key.s, "fun") && !str_is(pair->key.s, "args") &&
            !str_is(pair->key.s, "get_return"))
            value_map_set(r->arena, ret, pair->key, pair->value);
    }
}

/* Positional `args`, then the names beside `fun`. */
static int gather_arguments(const struct guard_reading *r, const struct module *function,
                            const struct value *v, struct value_map *ret)
{
    const struct value *args = value_get(v, "args");
    const struct value *items = args;
    size_t n = args && args->kind != VALUE_NULL, bound;

    if (args && args->kind == VALUE_LIST) {
        items = args->list->items;
        n = args->list->count;
    }
    bound = params_bind(r->arena, function->params, items, n, ret);
    if (bound < n)
        return value_diag(r->diags, &items[bound], "%s takes at most %zu positional arguments",
                          function->name, bound);
    add_named_argument(r, v, ret);
    return 0;
}

/* A function that only templates have: its arguments are read when it is called. */
static void read_template_function(const struct guard_reading *r, const struct value *v,
                                   struct plan_guard *ret)
{
    const struct value *args = value_get(v, "args");
    const struct value none = value_null(), name = *value_get(v, "fun");

    *ret = (struct plan_guard){
        .command = name.s.p,
        .words = decl_join(r->arena, args ? args : &none, &none),
        .pairs = value_at(value_map(value_map_new(r->arena, v->map->count)), v),
        .at = value_place(v),
    };
    add_named_argument(r, v, ret->pairs.map);
}

static int read_module_function(const struct guard_reading *r, const struct value *v,
                                struct plan_guard *ret)
{
    const struct module *function = find_guard_function(r, v);
    const struct value given = value_at(value_map(value_map_new(r->arena, v->map->count)), v);

    if (!function || gather_arguments(r, function, v, given.map) < 0)
        return -1;
    *ret = (struct plan_guard){
        .command = function->name,
        .function = function,
        .at = value_place(v),
    };
    return call_decode(r->arena, function, &given, NULL, &ret->args, r->diags);
}

static int read_function(const struct guard_reading *r, const struct value *v,
                         struct plan_guard *ret)
{
    const struct value *name = value_get(v, "fun"), *path = value_get(v, "get_return");

    if (path && path->kind != VALUE_STR)
        return value_diag(r->diags, path, "'get_return' must be a path, not %s",
                          value_describe(path));
    if (value_is(name, VALUE_STR) && salt_has(name->s))
        read_template_function(r, v, ret);
    else if (read_module_function(r, v, ret) < 0)
        return -1;
    ret->path = path ? path->s.p : NULL;
    return 0;
}

/* --- all ------------------------------------------------------------------------------- */

/* Salt ignores what is neither text nor map, and under onlyif what follows it, too. */
static bool is_ignored_guard(const struct guard_reading *r, const struct value *v)
{
    if (!r->owner->options || v->kind == VALUE_STR || v->kind == VALUE_MAP)
        return false;
    (void)value_diag(r->owner->warnings, v, "'%s' must be %s, not %s: it is ignored%s", r->key,
                     describe_wanted(r), value_describe(v),
                     str_is(str_from(r->key), "onlyif") ? ", like what follows it" : "");
    if (v->kind == VALUE_BOOL)
        diag_hint(r->owner->warnings, "write the command in quotes: '%s'", v->b ? "true" : "false");
    return true;
}

static int read_guard_list(const struct guard_reading *r, const struct value *v,
                           struct plan_guards *ret)
{
    const struct value *items = v;
    struct plan_guard *guards;
    size_t n = 1, kept = 0;
    int result = 0;

    if (!v || v->kind == VALUE_NULL)
        return 0;
    if (v->kind == VALUE_LIST) {
        items = v->list->items;
        n = v->list->count;
    }
    guards = ARENA_ARRAY(r->arena, struct plan_guard, n);
    for (size_t i = 0; i < n; i++) {
        if (is_ignored_guard(r, &items[i])) {
            if (str_is(str_from(r->key), "onlyif"))
                break;
            continue;
        }
        result |= items[i].kind == VALUE_MAP && r->functions
                      ? read_function(r, &items[i], &guards[kept])
                      : read_guard_command(r, &items[i], &guards[kept]);
        kept++;
    }
    *ret = (struct plan_guards){ guards, kept };
    return result;
}

int guards_read(const struct guards_owner *owner, const struct value *v, const char *key,
                struct plan_guards *ret)
{
    const struct guard_reading reading = { owner->arena, key, owner->diags, true, owner };

    return read_guard_list(&reading, v, ret);
}

int guards_read_commands(const struct guards_owner *owner, const struct value *v, const char *key,
                         struct plan_guards *ret)
{
    const struct guard_reading reading = { owner->arena, key, owner->diags, false, owner };

    return read_guard_list(&reading, v, ret);
}
