#include "states/compile/names.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/data/params.h"
#include "states/compile/decl.h"
#include "states/compile/dialect.h"
#include "states/state/module.h"
#include "states/compile/output.h"
#include "states/compile/requisite.h"

/* One entry of a list of names. */
struct entry {
    struct value name;
    const struct value *overrides; /* or NULL */
};

static bool is_subject_parameter(const struct module *module, struct str key)
{
    const struct param *primary = params_find_primary(module->params);

    return str_is(key, "name") || (primary && param_is_called(primary, key));
}

/* The subject of the state, if it is given. */
static const char *find_subject_argument(struct arena *arena, const struct module *module,
                                         const struct value_map *args)
{
    for (size_t i = 0; i < args->count; i++) {
        const struct str text = is_subject_parameter(module, args->pairs[i].key.s)
                                    ? decl_text(arena, &args->pairs[i].value)
                                    : (struct str){ NULL, 0 };

        if (text.n > 0)
            return text.p;
    }
    return NULL;
}

static void override_argument(struct arena *arena, struct value_map *args, const struct value *map)
{
    for (size_t i = 0; i < map->map->count; i++) {
        const struct value_pair *pair = &map->map->pairs[i];
        const struct value *old = value_map_find(args, &pair->key);

        if (old && pair->key.kind == VALUE_STR && requisite_form_find(pair->key.s))
            value_map_set(arena, args, pair->key, decl_join(arena, old, &pair->value));
        else
            value_map_set(arena, args, pair->key, pair->value);
    }
}

/* The arguments of one of the states: those of the declaration, for this name. */
static struct value_map *make_entry_args(struct arena *arena, const struct decl *decl,
                                         const struct entry *entry)
{
    const struct param *primary = params_find_primary(decl->module->params);
    struct value_map *args = value_map_new(arena, decl->args->count + 1);
    const struct value *more = entry->overrides;

    for (size_t i = 0; i < decl->args->count; i++) {
        const struct value_pair *pair = &decl->args->pairs[i];

        if (!str_is(pair->key.s, "names") && !is_subject_parameter(decl->module, pair->key.s))
            value_map_set(arena, args, pair->key, pair->value);
    }
    value_map_set(arena, args, value_at(value_text(primary ? primary->name : "name"), &entry->name),
                  entry->name);
    if (more && more->kind == VALUE_MAP)
        override_argument(arena, args, more);
    for (size_t i = 0; more && more->kind == VALUE_LIST && i < more->list->count; i++)
        override_argument(arena, args, &more->list->items[i]);
    return args;
}

static bool are_overrides(const struct value *v)
{
    if (v->kind == VALUE_NULL || v->kind == VALUE_MAP)
        return true;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (v->list->items[i].kind != VALUE_MAP)
            return false;
    return v->kind == VALUE_LIST;
}

static int add_names_entry(struct arena *arena, const struct decl *decl, const struct value *item,
                           struct names *names, struct diags *diags)
{
    struct entry entry = { .name = *item };

    if (item->kind == VALUE_MAP && item->map->count == 1) {
        entry.name = item->map->pairs[0].key;
        entry.overrides = &item->map->pairs[0].value;
    }
    const struct str id = decl_text(arena, &entry.name);
    if (!id.p || id.n == 0 || (entry.overrides && !are_overrides(entry.overrides))) {
        (void)value_diag(diags, item, "state \"%s\": names must be text, not %s", decl->name,
                         id.p && id.n == 0 ? "an empty one" : value_describe(item));
        diag_hint(diags, "arguments for one name: '- name: {argument: value}'");
        return -1;
    }
    if (output_has_mark(&entry.name))
        return value_diag(diags, item, "state \"%s\": names must be known before anything runs",
                          decl->name);

    const struct names_state state = {
        .id = id.p,
        .args = make_entry_args(arena, decl, &entry),
        .alias = strcmp(id.p, decl->id) == 0 ? NULL : decl->id,
    };
    VEC_PUSH_IN(arena, &names->list, state);
    return 0;
}

/* A repeated name; Salt files ignore it. */
static bool is_repeated_name(const struct decl *decl, struct map *seen, const struct value *item)
{
    return decl->dialect->ignores_repeats && item->kind == VALUE_STR &&
           map_set(seen, item->s, seen) != NULL;
}

int names_expand(struct arena *arena, const struct decl *decl, struct names *ret,
                 struct diags *diags)
{
    const struct value key = value_text("names");
    const struct value *names = value_map_find(decl->args, &key);
    struct map seen = MAP_INIT_IN(arena);
    int result = 0;

    *ret = (struct names){ .list = VEC_INIT };
    if (!names || names->kind == VALUE_NULL) {
        const struct names_state state = {
            .id = decl->id,
            .args = decl->args,
            .about = find_subject_argument(arena, decl->module, decl->args),
        };

        VEC_RESERVE_IN(arena, &ret->list, 1);
        VEC_PUSH_IN(arena, &ret->list, state);
        return 0;
    }
    if (names->kind != VALUE_LIST)
        return add_names_entry(arena, decl, names, ret, diags);
    for (size_t i = 0; i < names->list->count; i++)
        if (!is_repeated_name(decl, &seen, &names->list->items[i]))
            result |= add_names_entry(arena, decl, &names->list->items[i], ret, diags);
    return result;
}
