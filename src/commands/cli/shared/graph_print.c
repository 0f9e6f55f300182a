#include "commands/cli/shared/graph_print.h"

#include "core/base/arena.h"
#include "commands/cli/shared/drawing.h"
#include "states/compile/plan.h"

/* Boxes by level; where each state has its box. */
static const uint32_t *add_graph_boxes(const struct plan *plan, struct drawing *drawing)
{
    uint32_t *box_of = ARENA_ARRAY(drawing->arena, uint32_t, plan->count);

    for (uint32_t level = 0; level < plan->level_count; level++)
        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++) {
            box_of[plan->order[i]] = i;
            drawing_add_box(drawing, plan->states[plan->order[i]].name, level);
        }
    return box_of;
}

void graph_print(const struct plan *plan, struct drawing *drawing)
{
    const uint32_t *box_of = add_graph_boxes(plan, drawing);

    for (uint32_t i = 0; i < plan->count; i++)
        for (unsigned kind = 0; kind < REQUISITES; kind++)
            for (size_t k = 0; k < plan->states[i].requisites[kind].n; k++) {
                uint32_t state = box_of[i];
                uint32_t target = box_of[plan->states[i].requisites[kind].p[k]];
                const struct requisite_rule *rule = requisite_rule((enum requisite)kind);

                drawing_add_arrow(drawing, rule->later ? state : target,
                                  rule->later ? target : state,
                                  requisite_name((enum requisite)kind), rule->style);
            }
}
