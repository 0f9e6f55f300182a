#include "states/local/functions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "states/compile/salt.h"
#include "states/compile/unsupported.h"
#include "language/jinja/function.h"
#include "states/local/agent.h"
#include "states/local/verb.h"
#include "states/state/manual.h"
#include "states/state/module.h"

struct rows {
    VEC(struct manual_function) list;
};

/* A module says more about itself. */
static void add_function_row(struct arena *arena, struct rows *rows, struct manual_function row)
{
    if (!module_find(str_from(row.name)))
        VEC_PUSH_IN(arena, &rows->list, row);
}

static int compare_function_rows(const void *a, const void *b)
{
    return strcmp(((const struct manual_function *)a)->name,
                  ((const struct manual_function *)b)->name);
}

static const struct manual_function *list_function_rows(struct arena *arena, bool is_agent)
{
    struct rows rows = { VEC_INIT };
    const struct function *function;

    for (const struct verb *verb = verb_table; verb->name; verb++)
        if (!is_agent || verb->class != PERFORM_UNKNOWN)
            add_function_row(
                arena, &rows,
                (struct manual_function){ verb->name, verb->signature, verb->summary });
    for (size_t i = 0; !is_agent && (function = salt_at(i)); i++)
        add_function_row(
            arena, &rows,
            (struct manual_function){ function->name, function->signature, function->summary });
    for (const struct agent_function *one = agent_functions; is_agent && one->name; one++)
        add_function_row(arena, &rows,
                         (struct manual_function){ one->name, "name?, **kwargs", one->summary });
    qsort(rows.list.p, rows.list.n, sizeof(*rows.list.p), compare_function_rows);
    VEC_PUSH_IN(arena, &rows.list, (struct manual_function){ 0 });
    return rows.list.p;
}

const struct manual_function *functions_list(struct arena *arena)
{
    return list_function_rows(arena, false);
}

const struct manual_function *functions_list_agent(struct arena *arena)
{
    return list_function_rows(arena, true);
}

static bool is_function(const char *name)
{
    return verb_find(name) || module_find(str_from(name)) || salt_has(str_from(name)) ||
           agent_function_find(name);
}

const char *functions_quote(struct arena *arena, const char *word)
{
    return strpbrk(word, " *?[]$&|;<>(){}'\"\\") ? arena_printf(arena, "'%s'", word) : word;
}

/* "pkg.install" for "apt install" and for "apt.install"; NULL: there is only a family.
 * `ret_used`: how many words are in it. */
static const char *join_function(struct arena *arena, const char *name,
                                 const struct param_strs *words, size_t *ret_used)
{
    const char *dot = strchr(name, '.');
    const struct str family = dot ? (struct str){ name, (size_t)(dot - name) } : str_from(name);
    const char *ours = unsupported_family(family);

    *ret_used = dot ? 0 : 1;
    if (!dot && (words->n == 0 || strpbrk(words->p[0], " =")))
        return NULL;
    if (!ours)
        ours = arena_str(arena, family).p;
    return arena_printf(arena, "%s.%s", ours, dot ? dot + 1 : words->p[0]);
}

const char *functions_meant(struct arena *arena, const char *name, const struct param_strs *words)
{
    size_t used;
    const char *call = join_function(arena, name, words, &used);

    if (!call || strcmp(call, name) == 0 || !is_function(call))
        return NULL;
    for (; used < words->n; used++)
        call = arena_printf(arena, "%s %s", call, functions_quote(arena, words->p[used]));
    return call;
}

const char *functions_reason(struct arena *arena, const char *name, const struct param_strs *words)
{
    const char *reason = unsupported_reason(str_from(name));
    const struct str family = str_slice(str_from(name), 0, str_find_char(str_from(name), '.', 0));
    const char *ours = unsupported_family(family), *joined;
    size_t used;

    if (reason)
        return reason;
    joined = join_function(arena, name, words, &used);
    reason = joined ? unsupported_reason(str_from(joined)) : NULL;
    if (reason || !ours)
        return reason;
    return arena_printf(arena, "'zester doc %s' lists what is here instead", ours);
}
