#include "states/local/functions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "states/compile/salt.h"
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
