#include "states/compile/extend.h"

#include "states/compile/decl.h"
#include "states/state/module.h"

bool extend_is_of(const struct decl *decl, struct str descendants)
{
    const struct str name = str_from(decl->module->name);

    return str_starts(name, descendants) && name.n > descendants.n && name.p[descendants.n] == '.';
}

static bool is_decl_called(const struct decl_set *set, const struct decl *decl, const char *key,
                           struct str name)
{
    const struct value word = value_text(key);
    const struct value *v = value_map_find(decl->args, &word);

    if (v && v->kind == VALUE_LIST) {
        for (size_t i = 0; i < v->list->count; i++)
            if (str_eq(decl_text(set->arena, &v->list->items[i]), name))
                return true;
        return false;
    }
    return v && str_eq(decl_text(set->arena, v), name);
}

/* "file" of {file.managed: ...} */
static struct str find_body_family(const struct value *body)
{
    const struct value *key = body;

    if (body->kind == VALUE_MAP && body->map->count > 0)
        key = &body->map->pairs[0].key;
    if (key->kind != VALUE_STR)
        return STR("");
    return str_slice(key->s, 0, str_find_char(key->s, '.', 0));
}

const char *extend_find(const struct decl_set *set, struct str name, const struct value *body)
{
    const struct str descendants = find_body_family(body);
    const char *found = NULL;

    VEC_EACH (&set->list, decl) {
        if (!extend_is_of(*decl, descendants) || (!is_decl_called(set, *decl, "name", name) &&
                                                  !is_decl_called(set, *decl, "names", name)))
            continue;
        if (found)
            return NULL;
        found = (*decl)->id;
    }
    return found;
}
