#include "states/modules/sys/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/glob.h"
#include "states/state/host.h"
#include "states/state/manual.h"
#include "states/state/module.h"

static const struct manual_function no_functions[] = { { 0 } };

const struct manual_function *catalog_functions(struct state_run *run)
{
    return run->host->list_functions ? run->host->list_functions(run->arena) : no_functions;
}

static int compare_catalog_names(const void *a, const void *b)
{
    return str_compare(((const struct value *)a)->s, ((const struct value *)b)->s);
}

static struct value_list *list_catalog_names(struct state_run *run, bool states_only)
{
    struct value_list *names = value_list_new(run->arena, module_count);

    for (size_t i = 0; i < module_count; i++)
        if (!(module_table[i]->flags & MODULE_HIDDEN) && (!states_only || module_table[i]->apply))
            value_list_push(run->arena, names, value_text(module_table[i]->name));
    if (states_only)
        return names;
    for (const struct manual_function *one = catalog_functions(run); one->name; one++)
        value_list_push(run->arena, names, value_text(one->name));
    qsort(names->items, names->count, sizeof(*names->items), compare_catalog_names);
    return names;
}

static bool is_matching(const struct param_strs *patterns, struct str name)
{
    struct str rest = name;
    const struct str descendants = str_cut(&rest, '.');

    for (size_t i = 0; i < patterns->n; i++)
        if (str_is(descendants, patterns->p[i]) || glob_match(str_from(patterns->p[i]), name))
            return true;
    return patterns->n == 0;
}

struct value catalog_matching(struct state_run *run, const struct param_strs *patterns,
                              bool states_only)
{
    const struct value_list *names = list_catalog_names(run, states_only);
    struct value_list *wanted = value_list_new(run->arena, names->count);

    for (size_t i = 0; i < names->count; i++)
        if (is_matching(patterns, names->items[i].s))
            value_list_push(run->arena, wanted, names->items[i]);
    return value_list(wanted);
}

struct value catalog_families(struct state_run *run, const struct param_strs *patterns,
                              bool states_only)
{
    const struct value_list *names = list_catalog_names(run, states_only);
    struct value_list *families = value_list_new(run->arena, 64);
    struct str last = STR("");

    for (size_t i = 0; i < names->count; i++) {
        struct str rest = names->items[i].s;
        const struct str descendants = str_cut(&rest, '.');
        bool is_wanted = patterns->n == 0;

        for (size_t j = 0; j < patterns->n; j++)
            is_wanted = is_wanted || glob_match(str_from(patterns->p[j]), descendants);
        if (is_wanted && !str_eq(descendants, last))
            value_list_push(run->arena, families, value_str(descendants));
        last = descendants;
    }
    return value_list(families);
}
