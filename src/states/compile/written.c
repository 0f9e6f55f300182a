#include "states/compile/written.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "states/compile/dialect.h"
#include "states/compile/plan.h"
#include "states/compile/touch.h"
#include "core/graph/dag.h"
#include "states/state/module.h"

/* Where Salt starts numbering, and where it places 'first', 'last' and negative numbers. */
#define FIRST_NUMBER  10000
#define NUMBER_MARGIN 100
#define LAST_MARGIN   1000000

struct writing {
    struct arena *arena;
    struct plan *plan;
    const struct dag *dag;
    double *rank; /* of each state */
    VEC(uint32_t) line;
    VEC(uint32_t) stack;
    uint8_t *seen; /* 0: not yet, 1: waits for requisites, 2: in the line */
};

bool written_has(const struct plan_state *state)
{
    return state->dialect->written_order && !state->listener;
}

bool written_is_needed(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (written_has(&plan->states[i]))
            return true;
    return false;
}

/* --- order --------------------------------------------------------------------------------- */

/* A number greater than all others. */
static double find_cap(const struct plan *plan)
{
    double cap = 1;

    for (uint32_t i = 0; i < plan->count; i++) {
        const struct plan_state *state = &plan->states[i];
        const double number =
            state->has_order ? (double)state->order : (double)FIRST_NUMBER + state->sequence;

        if (written_has(state) && number != PLAN_ORDER_LAST && number > cap - 1)
            cap = number + NUMBER_MARGIN;
    }
    return cap;
}

double written_rank(const struct plan_state *state, double cap)
{
    if (!written_has(state))
        return 0;
    if (!state->has_order)
        return (double)FIRST_NUMBER + state->sequence;
    if (state->order == PLAN_ORDER_FIRST)
        return 0;
    if (state->order == PLAN_ORDER_LAST)
        return cap + LAST_MARGIN;
    return state->order < 0 ? cap + LAST_MARGIN + (double)state->order : (double)state->order;
}

/* For qsort_r: by number; equal ones by module and ID, like Salt, then as written. */
static int compare_ranks(const void *a, const void *b, void *user)
{
    const struct writing *w = user;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct plan_state *one = &w->plan->states[x], *other = &w->plan->states[y];
    int words;

    if (w->rank[x] != w->rank[y])
        return w->rank[x] < w->rank[y] ? -1 : 1;
    words = one->sequence == other->sequence ? 0 : strcmp(one->name, other->name);
    return words ? words : x < y ? -1 : x > y;
}

static uint32_t *sort_written(struct writing *w, uint32_t *ret_count)
{
    uint32_t *sorted = ARENA_ARRAY(w->arena, uint32_t, w->plan->count);
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->plan->count; i++)
        if (written_has(&w->plan->states[i]))
            sorted[count++] = i;
    qsort_r(sorted, count, sizeof(*sorted), compare_ranks, w);
    *ret_count = count;
    return sorted;
}

/* --- the line ------------------------------------------------------------------------------ */

/* Place the states that it names, in list order; then its other predecessors, as written. A state
 * in both is placed already the second time. */
static void push_requisites(struct writing *w, uint32_t state)
{
    const struct plan_targets *asked = &w->plan->states[state].asked;
    const struct dag_links before = dag_before(w->dag, state);
    const size_t start = w->stack.n;
    size_t rest;

    for (size_t i = 0; i < asked->n; i++)
        if (!w->seen[asked->p[i]])
            VEC_PUSH_IN(w->arena, &w->stack, asked->p[i]);
    rest = w->stack.n;
    VEC_EACH (&before, link)
        if (!w->seen[link->node])
            VEC_PUSH_IN(w->arena, &w->stack, link->node);
    if (w->stack.n - rest > 1)
        qsort_r(w->stack.p + rest, w->stack.n - rest, sizeof(*w->stack.p), compare_ranks, w);
    for (size_t i = start, j = w->stack.n; i + 1 < j; i++) { /* the first on top */
        const uint32_t other = w->stack.p[--j];

        w->stack.p[j] = w->stack.p[i];
        w->stack.p[i] = other;
    }
}

/* Place a state after those it requires that are not in the line yet. */
static void place_state(struct writing *w, uint32_t state)
{
    VEC_PUSH_IN(w->arena, &w->stack, state);
    while (w->stack.n > 0) {
        const uint32_t top = w->stack.p[w->stack.n - 1];

        if (w->seen[top] == 0) {
            w->seen[top] = 1;
            push_requisites(w, top);
            continue;
        }
        w->stack.n--;
        if (w->seen[top] == 1 && written_has(&w->plan->states[top]))
            VEC_PUSH_IN(w->arena, &w->line, top);
        w->seen[top] = 2;
    }
}

/* --- windows -------------------------------------------------------------------------------- */

/* Does it wait for a state of the other dialect? Then its level differs from its neighbours'. */
static bool waits_for_others(const struct writing *w, uint32_t state)
{
    const struct dag_links before = dag_before(w->dag, state);

    VEC_EACH (&before, link)
        if (!written_has(&w->plan->states[link->node]))
            return true;
    return false;
}

static bool waits_for_window(const struct writing *w, uint32_t state, uint32_t start)
{
    const struct dag_links before = dag_before(w->dag, state);

    VEC_EACH (&before, link)
        if (written_has(&w->plan->states[link->node]) &&
            w->plan->states[link->node].position >= start)
            return true;
    return false;
}

static void add_writing_edge(struct writing *w, uint32_t before, uint32_t after)
{
    uint32_t *target = ARENA_NEW(w->arena, uint32_t);

    *target = before;
    w->plan->states[after].requisites[REQUISITE_ORDER] = (struct plan_targets){ target, 1 };
}

static void cut_windows(struct writing *w)
{
    struct touch_window window;
    uint32_t start = 0;
    bool alone = false;

    touch_init(&window);
    for (uint32_t i = 0; i < w->line.n; i++) {
        const uint32_t number = w->line.p[i];
        const struct plan_state *state = &w->plan->states[number];
        const bool apart = waits_for_others(w, number);

        if (alone || apart || waits_for_window(w, number, start) || !touch_joins(&window, state)) {
            touch_clear(&window);
            start = i;
            (void)touch_joins(&window, state);
        }
        alone = apart;
        if (start > 0)
            add_writing_edge(w, w->line.p[start - 1], number);
    }
    touch_done(&window);
}

static void number_line(struct writing *w)
{
    for (uint32_t i = 0; i < w->line.n; i++)
        w->plan->states[w->line.p[i]].position = i;
}

void written_number(struct arena *arena, struct plan *plan, const struct dag *dag)
{
    struct writing w = { .arena = arena, .plan = plan, .dag = dag };
    const double cap = find_cap(plan);
    const uint32_t *sorted;
    uint32_t count;

    w.rank = ARENA_ARRAY(arena, double, plan->count);
    w.seen = ARENA_ARRAY(arena, uint8_t, plan->count);
    for (uint32_t i = 0; i < plan->count; i++)
        w.rank[i] = written_rank(&plan->states[i], cap);
    sorted = sort_written(&w, &count);
    for (uint32_t i = 0; i < count; i++)
        if (w.seen[sorted[i]] == 0)
            place_state(&w, sorted[i]);
    number_line(&w);
}

void written_order(struct arena *arena, struct plan *plan, const struct dag *dag)
{
    struct writing w = { .arena = arena, .plan = plan, .dag = dag };
    uint32_t count = 0;

    for (uint32_t i = 0; i < plan->count; i++)
        count += written_has(&plan->states[i]);
    w.line.p = ARENA_ARRAY(arena, uint32_t, count);
    w.line.n = count;
    for (uint32_t i = 0; i < plan->count; i++)
        if (written_has(&plan->states[i]))
            w.line.p[plan->states[i].position] = i;
    cut_windows(&w);
}
