#include "states/compile/arrange.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/graph/cycle.h"
#include "core/graph/dag.h"
#include "core/graph/levels.h"
#include "states/compile/dialect.h"
#include "states/compile/implied.h"
#include "states/compile/plan.h"
#include "states/compile/stamps.h"
#include "states/compile/written.h"
#include "states/state/host.h"

/* How many cycles are reported, and how many members of each. */
#define CYCLES_MAX  10
#define MEMBERS_MAX 20

/* Which implied requisites are edges? */
typedef bool implied_fn(const struct plan_state *state);

static bool is_any_state(const struct plan_state *state)
{
    (void)state;
    return true;
}

static struct dag *make_state_dag(struct arena *arena, const struct plan *plan, implied_fn *has)
{
    struct dag *dag = dag_new(arena, plan->count);

    for (uint32_t i = 0; i < plan->count; i++)
        for (unsigned kind = 0; kind < REQUISITES; kind++) {
            /* Targets that come later require the state, and that is the edge. */
            if (plan->states[i].requisites[kind].n == 0 ||
                requisite_rule((enum requisite)kind)->later ||
                requisite_rule((enum requisite)kind)->apart ||
                (kind == REQUISITE_IMPLIED && !has(&plan->states[i])))
                continue;
            VEC_EACH (&plan->states[i].requisites[kind], target)
                dag_edge(dag, *target, i, (uint8_t)kind);
        }
    dag_seal(dag);
    return dag;
}

/* "require", "watch and onchanges": why one comes before the other. */
static void print_types(const struct dag *dag, uint32_t before, uint32_t after, struct buf *out)
{
    const uint32_t types = dag_types(dag, before, after);
    const char *separator = "";

    for (unsigned kind = 0; kind < REQUISITES; kind++)
        if (types & DAG_TYPE(kind)) {
            buf_printf(out, "%s%s", separator, requisite_name((enum requisite)kind));
            separator = " and ";
        }
}

static void report_cycle(const struct plan *plan, const struct dag *dag, const struct cycle *cycle,
                         uint32_t resolved, struct diags *diags)
{
    const struct plan_state *states = plan->states, *first = &states[cycle->nodes[0]];
    AUTO_BUF struct buf members = BUF_INIT(BUF_NO_LIMIT);
    const uint32_t shown = cycle->n < MEMBERS_MAX ? cycle->n : MEMBERS_MAX;

    for (uint32_t i = 0; i < shown; i++)
        buf_printf(&members, "%s -> ", states[cycle->nodes[i]].name);
    if (shown < cycle->n)
        buf_printf(&members, "(%u more) -> ", cycle->n - shown);
    (void)diag_add(diags, first->at, "dag: cycle detected, resolved %u of %u states: %s%s",
                   resolved, plan->count, buf_text(&members), first->name);
    diag_hint(diags, "each of them must come before the next; remove one of these requisites");
    for (uint32_t i = 0; i < shown; i++) {
        const uint32_t before = cycle->nodes[i], after = cycle->nodes[(i + 1) % cycle->n];
        AUTO_BUF struct buf why = BUF_INIT(BUF_NO_LIMIT);

        print_types(dag, before, after, &why);
        diag_note(diags, states[after].at, "\"%s\" waits for \"%s\" (%s)", states[after].name,
                  states[before].name, buf_text(&why));
    }
}

static int report_cycles(struct arena *arena, const struct plan *plan, const struct dag *dag,
                         uint32_t resolved, struct diags *diags)
{
    struct cycle cycles[CYCLES_MAX];
    const size_t n = cycle_find(arena, dag, CYCLES_MAX, cycles);

    for (size_t i = 0; i < n; i++)
        report_cycle(plan, dag, &cycles[i], resolved, diags);
    return -1;
}

/* For qsort_r: by level, then order, then name; states with a written order by that. */
static int compare_arranged_states(const void *a, const void *b, void *plan)
{
    const struct plan_state *states = ((const struct plan *)plan)->states;
    const struct plan_state *x = &states[*(const uint32_t *)a], *y = &states[*(const uint32_t *)b];

    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->dialect != y->dialect)
        return x->dialect->written_order ? 1 : -1;
    if (x->dialect->written_order && x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Listeners run after everything else, one after the other. */
static void move_listeners(struct plan *plan)
{
    uint32_t last = 0, listeners = 0;

    for (uint32_t i = 0; i < plan->count; i++)
        if (!plan->states[i].listener && plan->states[i].level > last)
            last = plan->states[i].level;
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->states[i].listener)
            plan->states[i].level = last + ++listeners;
    if (listeners > 0)
        plan->level_count = last + listeners + 1;
}

static void find_starts(struct arena *arena, struct plan *plan)
{
    uint32_t *starts = ARENA_ARRAY(arena, uint32_t, (size_t)plan->level_count + 1);

    for (uint32_t i = 0; i < plan->count; i++)
        starts[plan->states[i].level + 1]++;
    for (uint32_t level = 0; level < plan->level_count; level++)
        starts[level + 1] += starts[level];
    plan->level_start = starts;
}

/* The graph with implied requisites, except those that contradict explicit ones. */
static struct dag *resolve_implied(struct arena *arena, struct plan *plan, implied_fn *has,
                                   struct levels *levels)
{
    struct dag *dag = make_state_dag(arena, plan, has);

    while (!levels_build(arena, dag, levels)) {
        struct cycle cycles[CYCLES_MAX];
        const size_t n = cycle_find(arena, dag, CYCLES_MAX, cycles);

        for (size_t i = 0; i < n; i++)
            (void)implied_drop(plan, &cycles[i]); /* without it there was no cycle */
        dag = make_state_dag(arena, plan, has);
    }
    return dag;
}

/* The written order comes from files and requisites; implied requisites only follow it. */
static struct dag *resolve_written(struct arena *arena, struct plan *plan, struct levels *levels)
{
    struct dag *dag = resolve_implied(arena, plan, implied_places, levels);

    written_number(arena, plan, dag);
    implied_follow_written(plan);
    written_order(arena, plan, resolve_implied(arena, plan, is_any_state, levels));
    return resolve_implied(arena, plan, is_any_state, levels);
}

int arrange_plan(struct arena *arena, struct plan *plan, const struct state_host *host,
                 struct diags *diags)
{
    struct dag *dag = make_state_dag(arena, plan, is_any_state);
    struct levels levels;
    uint32_t *order;
    bool implied;

    plan->dag = dag;
    if (!levels_build(arena, dag, &levels))
        return report_cycles(arena, plan, dag, levels.resolved, diags);
    implied = implied_add(arena, plan, host);
    if (written_is_needed(plan)) {
        stamps_doubt(host->stamps); /* it looks where paths lead, see states/compile/touch.h */
        dag = resolve_written(arena, plan, &levels);
    } else if (implied) {
        dag = resolve_implied(arena, plan, is_any_state, &levels);
    }
    plan->dag = dag;
    plan->level_count = levels.count;
    for (uint32_t i = 0; i < plan->count; i++)
        plan->states[i].level = levels.of[i];
    move_listeners(plan);
    order = ARENA_ARRAY(arena, uint32_t, plan->count);
    for (uint32_t i = 0; i < plan->count; i++)
        order[i] = i;
    if (plan->count > 1)
        qsort_r(order, plan->count, sizeof(*order), compare_arranged_states, plan);
    plan->order = order;
    find_starts(arena, plan);
    return 0;
}
