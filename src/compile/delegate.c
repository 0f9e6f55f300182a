#include "compile/delegate.h"

#include <string.h>

#include "base/arena.h"
#include "data/params.h"
#include "data/value.h"
#include "compile/decl.h"
#include "compile/generic.h"
#include "state/module.h"
#include "compile/requisite.h"

static bool is_dotted(struct str key)
{
    return str_find_char(key, '.', 0) != STR_NONE;
}

/* Attributes and requisites stay with the state, whatever it runs. */
static bool is_generic(struct str key)
{
    return generic_has(key) && !str_is(key, "name");
}

/* What stands under the name of a module: a map, or Salt's list of maps and of arguments by place.
 */
static int add_all(struct arena *arena, const struct module *module, struct value_map *to,
                   const struct value *from, struct diags *diags)
{
    size_t place = 0;

    if (from->kind == VALUE_MAP)
        for (size_t i = 0; i < from->map->count; i++)
            value_map_set(arena, to, from->map->pairs[i].key, from->map->pairs[i].value);
    for (size_t i = 0; from->kind == VALUE_LIST && i < from->list->count; i++) {
        const struct value *item = &from->list->items[i];
        const struct param *param;

        if (item->kind == VALUE_MAP || item->kind == VALUE_LIST) {
            if (add_all(arena, module, to, item, diags) < 0)
                return -1;
            continue;
        }
        if (!module)
            return 0; /* which is told when it is looked for */
        param = params_at(module->params, place++);
        if (!param)
            return value_diag(diags, item, "%s takes %zu arguments by place at most", module->name,
                              place - 1);
        value_map_set(arena, to, value_at(value_text(param->name), item), *item);
    }
    return 0;
}

/* Beside `name`, an argument of that very name is written `m_name`. */
static struct value plain_key(const struct module *module, const struct value *key)
{
    if (!module || !str_starts(key->s, STR("m_")) || params_find(module->params, key->s) ||
        !params_find(module->params, str_from_offset(key->s, 2)))
        return *key;
    return value_at(value_str(str_from_offset(key->s, 2)), key);
}

static int refuse(const struct decl *decl, const struct value *where, struct diags *diags)
{
    (void)value_diag(diags, where, "state \"%s\" has no target module", decl->name);
    diag_hint(diags, "set 'name:' or a '<module.function>:' key");
    return -1;
}

/* Which module, and where its arguments are: under its own name, or beside `name`. */
static int find_target(const struct decl *decl, const struct value_map *args,
                       const struct value_pair **ret_dotted, struct str *ret_name,
                       struct diags *diags)
{
    const struct value key = value_text("name");
    const struct value *name = value_map_find(args, &key);

    *ret_dotted = NULL;
    for (size_t i = 0; i < args->count; i++) {
        if (!is_dotted(args->pairs[i].key.s))
            continue;
        if (*ret_dotted)
            return value_diag(diags, &args->pairs[i].key,
                              "state \"%s\" names two modules; give each a state of its own",
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
        return refuse(decl, name ? name : &decl->where, diags);
    return 0;
}

/* Split into what stays with the state and what is for the target. */
static int split(struct arena *arena, const struct module *module, const struct value_map *args,
                 const struct value_pair *dotted, struct value_map *own, struct value_map *target,
                 struct diags *diags)
{
    for (size_t i = 0; i < args->count; i++) {
        const struct value_pair *pair = &args->pairs[i];

        if (pair == dotted && add_all(arena, module, target, &pair->value, diags) < 0)
            return -1;
        if (pair == dotted)
            continue;
        if (is_generic(pair->key.s))
            value_map_set(arena, own, pair->key, pair->value);
        else if (!str_is(pair->key.s, "name"))
            value_map_set(arena, target, plain_key(module, &pair->key), pair->value);
    }
    return 0;
}

int delegate_read(struct arena *arena, const struct decl *decl, const struct module **module,
                  const struct value_map **args, struct diags *diags)
{
    struct value_map *own, *target;
    const struct value_pair *dotted;
    const struct module *found;
    struct str name;

    if (strcmp((*module)->name, DELEGATE_MODULE) != 0)
        return 0;
    if (find_target(decl, *args, &dotted, &name, diags) < 0)
        return -1;
    if (str_is(name, DELEGATE_MODULE))
        return value_diag(diags, &decl->where, "state \"%s\" runs itself", decl->name);
    own = value_map_new(arena, 8);
    target = value_map_new(arena, 8);
    found = module_find(name);
    if (split(arena, found, *args, dotted, own, target, diags) < 0)
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
