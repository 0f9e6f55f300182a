/* Any bytes as a state file: a plan whose parts agree, or mistakes that can be printed. */
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "states/compile/compile.h"
#include "states/compile/plan.h"
#include "states/compile/tree.h"
#include "states/state/host.h"

#include "states/compile/modules.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void want(bool ok)
{
    if (!ok)
        abort();
}

/* Every target exists and, but for prereq, is in an earlier level. */
static void check_state(const struct plan *plan, const struct plan_state *state)
{
    want(plan_find(plan, state->name) == state - plan->states);
    want(state->deferred == !state->args);
    for (size_t kind = 0; kind < REQUISITES; kind++)
        VEC_EACH (&state->requisites[kind], target) {
            want(*target < plan->count);
            want(kind == REQUISITE_PREREQ ? plan->states[*target].level > state->level
                                          : plan->states[*target].level < state->level);
        }
}

static void check_plan(const struct plan *plan)
{
    want(plan->count > 0);
    want(plan->level_start[plan->level_count] == plan->count);
    for (uint32_t i = 0; i < plan->count; i++)
        check_state(plan, &plan->states[i]);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const refs[] = { "case" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    const struct value empty = value_map(value_map_new(&arena, 0));
    struct tree *tree = tree_new_in_memory();
    struct state_host host = { .tree = tree, .facts = &empty, .settings = &empty };
    const struct plan *plan;

    host.strict_params = size % 2;
    tree_add(tree, "case.zy", str_bytes(data, size));
    tree_add(tree, "other.zy", STR("o: {test.nop: []}\n"));
    if (compile_refs(&arena, &host, (struct param_strs){ 1, refs }, &plan, &diags) == 0)
        check_plan(plan);
    else
        want(diags_count(&diags) > 0);
    diags_print(&diags, &shown);
    tree_free(tree);
    return 0;
}
