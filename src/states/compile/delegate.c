#include "states/compile/delegate.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/compile/decl.h"
#include "states/compile/dialect.h"
#include "states/compile/generic.h"
#include "states/state/module.h"
#include "states/compile/unsupported.h"

static bool is_dotted_name(struct str key)
{
    return str_find_char(key, '.', 0) != STR_NONE;
}

/* Attributes and requisites stay with the state, whatever it runs. */
static bool is_generic(struct str key)
{
    return generic_has(key) && !str_is(key, "name");
}

/* The value under a module name: a map, or Salt's list of maps and positional arguments.
 */
static int copy_delegate_arguments(struct arena *arena, const struct module *module,
                                   struct value_map *to, const struct value *from,
                                   struct diags *diags)
{
    size_t place = 0;

    if (from->kind == VALUE_MAP)
        for (size_t i = 0; i < from->map->count; i++)
            value_map_set(arena, to, from->map->pairs[i].key, from->map->pairs[i].value);
    for (size_t i = 0; from->kind == VALUE_LIST && i < from->list->count; i++) {
        const struct value *item = &from->list->items[i];
        const struct param *param;

        if (item->kind == VALUE_MAP || item->kind == VALUE_LIST) {
            if (copy_delegate_arguments(arena, module, to, item, diags) < 0)
                return -1;
            continue;
        }
        if (!module)
            return 0; /* reported when it is looked up */
        param = params_at(module->params, place++);
        if (!param)
            return value_diag(diags, item, "%s takes at most %zu positional arguments",
                              module->name, place - 1);
        value_map_set(arena, to, value_at(value_text(param->name), item), *item);
    }
    return 0;
}

/* If `name` is the module, its own argument `name` is written `m_name`. */
static struct value strip_module_prefix(const struct module *module, const struct value *key)
{
    if (!module || !str_starts(key->s, STR("m_")) || params_find(module->params, key->s) ||
        !params_find(module->params, str_from_offset(key->s, 2)))
        return *key;
    return value_at(value_str(str_from_offset(key->s, 2)), key);
}

static int refuse_target(const struct decl *decl, const struct value *where, struct diags *diags)
{
    (void)value_diag(diags, where, "state \"%s\" has no target module", decl->name);
    diag_hint(diags, "set 'name:' or a '<module.function>:' key");
    return -1;
}

/* Find the module, and its arguments: under its own name, or beside `name`. */
static int find_target(const struct decl *decl, const struct value_map *args,
                       const struct value_pair **ret_dotted, struct str *ret_name,
                       struct diags *diags)
{
    const struct value key = value_text("name");
    const struct value *name = value_map_find(args, &key);

    *ret_dotted = NULL;
    for (size_t i = 0; i < args->count; i++) {
        if (!is_dotted_name(args->pairs[i].key.s))
            continue;
        if (*ret_dotted)
            return value_diag(diags, &args->pairs[i].key,
                              "state \"%s\" names two modules; give each its own state",
                              decl->name);
        *ret_dotted = &args->pairs[i];
    }
    if (*ret_dotted)
        *ret_name = (*ret_dotted)->key.s;
    else if (name && name->kind == VALUE_STR)
        *ret_name = name->s;
    else if (!name && module_find(str_from(decl->id)))
        *ret_name = str_from(decl->id);
    else
        return refuse_target(decl, name ? name : &decl->where, diags);
    return 0;
}

/* Split into attributes of the state and arguments of the target. */
static int split_arguments(struct arena *arena, const struct module *module,
                           const struct value_map *args, const struct value_pair *dotted,
                           struct value_map *own, struct value_map *target, struct diags *diags)
{
    for (size_t i = 0; i < args->count; i++) {
        const struct value_pair *pair = &args->pairs[i];

        if (pair == dotted &&
            copy_delegate_arguments(arena, module, target, &pair->value, diags) < 0)
            return -1;
        if (pair == dotted)
            continue;
        if (is_generic(pair->key.s))
            value_map_set(arena, own, pair->key, pair->value);
        else if (!str_is(pair->key.s, "name"))
            value_map_set(arena, target, strip_module_prefix(module, &pair->key), pair->value);
    }
    return 0;
}

/* --- Salt's form -------------------------------------------------------------------------- */

/* Arguments beside `name`, or of the function whose name is the ID: direct, and under args and
 * kwargs. */
static int gather_beside(struct arena *arena, const struct module *function,
                         const struct value_map *args, struct value_map *to, struct diags *diags)
{
    for (size_t i = 0; i < args->count; i++) {
        const struct value_pair *pair = &args->pairs[i];
        const struct str key = pair->key.s;

        if (is_generic(key) || str_is(key, "name"))
            continue;
        if (str_is(key, "args") || str_is(key, "kwargs")) {
            if (copy_delegate_arguments(arena, function, to, &pair->value, diags) < 0)
                return -1;
        } else {
            value_map_set(arena, to, strip_module_prefix(function, &pair->key), pair->value);
        }
    }
    return 0;
}

static int add_call(struct arena *arena, struct str name, const struct value *where,
                    struct value_map *arguments, struct value_list *calls, struct diags *diags)
{
    const struct module *function = module_find(name);
    struct value_map *call = value_map_new(arena, 2);

    if (function && !function->call) {
        (void)value_diag(diags, where, "'%.*s' is a state here, not a function to call",
                         STR_ARG(name));
        diag_hint(diags,
                  "give it a state of its own: 'ID: {%s: ...}'; 'require' and 'onchanges' decide "
                  "when it runs",
                  function->name);
        return -1;
    }
    if (!function) {
        (void)value_diag(diags, where, "no function '%.*s'", STR_ARG(name));
        if (unsupported_reason(name))
            diag_hint(diags, "%s", unsupported_reason(name));
        return -1;
    }
    value_map_set(arena, call, value_text("function"), value_text(function->name));
    value_map_set(arena, call, value_text("arguments"), value_at(value_map(arguments), where));
    value_list_push(arena, calls, value_at(value_map(call), where));
    return 0;
}

/* Every key with a dot is a function; they are called in order. */
static int add_dotted(struct arena *arena, const struct value_map *args, struct value_list *calls,
                      struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < args->count; i++) {
        const struct value_pair *pair = &args->pairs[i];
        struct value_map *arguments = value_map_new(arena, 4);

        if (!is_dotted_name(pair->key.s))
            continue;
        if (copy_delegate_arguments(arena, module_find(pair->key.s), arguments, &pair->value,
                                    diags) < 0 ||
            add_call(arena, pair->key.s, &pair->key, arguments, calls, diags) < 0)
            result = -1;
    }
    return result;
}

static bool has_dotted(const struct value_map *args)
{
    for (size_t i = 0; i < args->count; i++)
        if (is_dotted_name(args->pairs[i].key.s))
            return true;
    return false;
}

/* The functions that a state of a Salt file calls: under their names, or given by `name` or the
 * ID. */
static int find_calls(struct arena *arena, const struct decl *decl, const struct value_map *args,
                      struct value_list *calls, struct diags *diags)
{
    const struct value key = value_text("name");
    const struct value *name = value_map_find(args, &key);
    const struct value *where = value_is(name, VALUE_STR) ? name : &decl->where;
    struct value_map *arguments = value_map_new(arena, 4);
    const struct str function = value_is(name, VALUE_STR) ? name->s : str_from(decl->id);

    if (has_dotted(args))
        return add_dotted(arena, args, calls, diags);
    if (gather_beside(arena, module_find(function), args, arguments, diags) < 0)
        return -1;
    return add_call(arena, function, where, arguments, calls, diags);
}

static int read_calls(struct arena *arena, const struct decl *decl, const struct value_map **args,
                      struct diags *diags)
{
    struct value_map *own = value_map_new(arena, 4);
    struct value_list *calls = value_list_new(arena, 2);

    if (find_calls(arena, decl, *args, calls, diags) < 0)
        return -1;
    for (size_t i = 0; i < (*args)->count; i++)
        if (is_generic((*args)->pairs[i].key.s))
            value_map_set(arena, own, (*args)->pairs[i].key, (*args)->pairs[i].value);
    value_map_set(arena, own, value_at(value_text("calls"), &decl->where),
                  value_at(value_list(calls), &decl->where));
    *args = own;
    return 0;
}

/* A single target that is only a state replaces module.run, as in .zy files. */
static bool is_state_delegate(const struct decl *decl, const struct value_map *args)
{
    const struct value key = value_text("name");
    const struct value *name = value_map_find(args, &key);
    const struct module *found =
        module_find(value_is(name, VALUE_STR) ? name->s : str_from(decl->id));
    size_t dotted = 0;

    for (size_t i = 0; i < args->count; i++)
        if (is_dotted_name(args->pairs[i].key.s)) {
            found = module_find(args->pairs[i].key.s);
            dotted++;
        }
    return found && !found->call && dotted <= 1;
}

int delegate_read(struct arena *arena, const struct decl *decl, const struct module **module,
                  const struct value_map **args, struct diags *diags)
{
    struct value_map *own, *target;
    const struct value_pair *dotted;
    const struct module *found;
    struct str name;

    if (strcmp((*module)->name, DELEGATE_WAITING) == 0 ||
        strcmp((*module)->name, DELEGATE_WATCHING) == 0)
        return read_calls(arena, decl, args, diags);
    if (strcmp((*module)->name, DELEGATE_MODULE) != 0)
        return 0;
    if (decl->dialect->salt_attributes && !is_state_delegate(decl, *args))
        return read_calls(arena, decl, args, diags);
    if (find_target(decl, *args, &dotted, &name, diags) < 0)
        return -1;
    if (str_is(name, DELEGATE_MODULE))
        return value_diag(diags, &decl->where, "state \"%s\" runs itself", decl->name);
    own = value_map_new(arena, 8);
    target = value_map_new(arena, 8);
    found = module_find(name);
    if (split_arguments(arena, found, *args, dotted, own, target, diags) < 0)
        return -1;
    if (found && !found->apply) {
        value_map_set(arena, own, value_at(value_text("function"), &decl->where),
                      value_text(found->name));
        value_map_set(arena, own, value_at(value_text("arguments"), &decl->where),
                      value_at(value_map(target), &decl->where));
    } else {
        found = decl_module(name, dotted ? &dotted->key : &decl->where, diags);
        if (!found)
            return -1;
        *module = found;
        for (size_t i = 0; i < target->count; i++)
            value_map_set(arena, own, target->pairs[i].key, target->pairs[i].value);
    }
    *args = own;
    return 0;
}
