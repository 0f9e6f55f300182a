#include "states/compile/pick.h"

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "states/compile/output.h"
#include "states/compile/plan.h"
#include "core/graph/dag.h"
#include "core/graph/reach.h"

/* Each state after those it needs: its requisites, and states with a prereq on it. */
static struct dag *make_picked_dag(struct arena *arena, const struct plan_state *states,
                                   uint32_t count)
{
    struct dag *dag = dag_new(arena, count);

    for (uint32_t i = 0; i < count; i++) {
        for (size_t kind = 0; kind < REQUISITES; kind++)
            VEC_EACH (&states[i].requisites[kind], target)
                dag_edge(dag, *target, i, 0);
        VEC_EACH (&states[i].requisites[REQUISITE_PREREQ], target)
            dag_edge(dag, i, *target, 0);
    }
    dag_seal(dag);
    return dag;
}

static struct reach *find_needed(struct arena *arena, const struct plan_state *states,
                                 uint32_t count, const struct plan_targets *wanted)
{
    struct reach *needed = reach_new(arena, count);

    VEC_EACH (wanted, state)
        (void)reach_add(needed, *state);
    reach_extend(needed, make_picked_dag(arena, states, count), DAG_REVERSE, DAG_ALL_TYPES);
    return needed;
}

static struct plan_targets renumber_states(struct arena *arena, const struct plan_targets *targets,
                                           const uint32_t *numbers)
{
    uint32_t *p = ARENA_ARRAY(arena, uint32_t, targets->n);

    for (size_t i = 0; i < targets->n; i++)
        p[i] = numbers[targets->p[i]];
    return (struct plan_targets){ p, targets->n };
}

uint32_t pick_states(struct arena *arena, struct plan_state *states, uint32_t count,
                     const struct plan_targets *wanted, struct output_list *outputs)
{
    const struct reach *needed = find_needed(arena, states, count, wanted);
    uint32_t *numbers = ARENA_ARRAY(arena, uint32_t, count);
    uint32_t kept = 0;

    REACH_EACH (needed, state) {
        numbers[state] = kept;
        states[kept++] = states[state];
    }
    for (uint32_t i = 0; i < kept; i++)
        for (size_t kind = 0; kind < REQUISITES; kind++)
            states[i].requisites[kind] =
                renumber_states(arena, &states[i].requisites[kind], numbers);
    VEC_EACH (&outputs->list, output)
        output->state = numbers[output->state];
    return kept;
}
