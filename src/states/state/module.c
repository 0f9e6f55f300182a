/* module - lookups in the generated module table. */
#include "states/state/module.h"

#include "core/base/buf.h"
#include "core/base/suggest.h"

const struct module *module_find(struct str name)
{
    size_t low = 0, high = module_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(name, str_from(module_table[middle]->name));

        if (order == 0)
            return module_table[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool module_applies(const struct module *module)
{
    return module->apply && !(module->flags & MODULE_ASKS);
}

/* Arguments that give the name, or several names. */
static bool is_instead_of_name(struct str key)
{
    static const char *const keys[] = { "name",         "names",    "pkgs",  "sources",
                                        "requirements", "editable", "source" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_is(key, keys[i]))
            return true;
    return false;
}

const struct param *module_missing(const struct module *module, const struct value *given)
{
    const struct param *primary = params_find_primary(module->params);

    if (!primary || !(primary->flags & PARAM_REQUIRED))
        return NULL;
    for (size_t i = 0; i < given->map->count; i++) {
        const struct value *key = &given->map->pairs[i].key, *v = &given->map->pairs[i].value;

        if (value_is(key, VALUE_STR) && v->kind != VALUE_NULL &&
            !(v->kind == VALUE_STR && v->s.n == 0) &&
            (is_instead_of_name(key->s) || params_find(module->params, key->s) == primary))
            return NULL;
    }
    return primary;
}

const char *module_suggest(struct str name)
{
    struct suggest best;

    suggest_init(&best, name);
    for (size_t i = 0; i < module_count; i++)
        suggest_offer(&best, str_from(module_table[i]->name));
    return suggest_best(&best).p;
}

void module_add_names(struct buf *out)
{
    for (size_t i = 0; i < module_count; i++)
        if (!(module_table[i]->flags & MODULE_HIDDEN))
            buf_printf(out, " %s", module_table[i]->name);
}

bool module_has_family(struct str descendants)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct str name = str_from(module_table[i]->name);

        if (name.n > descendants.n && name.p[descendants.n] == '.' && str_starts(name, descendants))
            return true;
    }
    return false;
}
