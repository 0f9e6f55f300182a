/* module - finding one in the table that the build made. */
#include "state/module.h"

#include "base/buf.h"
#include "base/suggest.h"

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

bool module_has_family(struct str family)
{
    for (size_t i = 0; i < module_count; i++) {
        const struct str name = str_from(module_table[i]->name);

        if (name.n > family.n && name.p[family.n] == '.' && str_starts(name, family))
            return true;
    }
    return false;
}
