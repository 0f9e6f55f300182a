#include "core/graph/levels.h"

#include <assert.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "core/graph/dag.h"

/* Kahn's algorithm: take the nodes that wait for nothing, free those that waited only for them.
 * Sets the level of each node taken; returns how many nodes and levels there are. */
static uint32_t resolve_levels(const struct dag *dag, uint32_t *of, uint32_t *ret_count)
{
    uint32_t count = dag_count(dag), head = 0, tail = 0, levels = 0;
    AUTO_FREE uint32_t *waits = mem_alloc(mem_product(count, sizeof(*waits)));
    AUTO_FREE uint32_t *queue = mem_alloc(mem_product(count, sizeof(*queue)));

    for (uint32_t node = 0; node < count; node++) {
        waits[node] = (uint32_t)dag_before(dag, node).n;
        of[node] = waits[node] == 0 ? 0 : LEVELS_NONE;
        if (waits[node] == 0)
            queue[tail++] = node;
    }
    while (head < tail) {
        uint32_t node = queue[head++];
        struct dag_links after = dag_after(dag, node);

        levels = of[node] + 1; /* the queue is in order of level */
        VEC_EACH (&after, link) {
            if (--waits[link->node] > 0)
                continue;
            of[link->node] = levels;
            queue[tail++] = link->node;
        }
    }
    *ret_count = levels;
    return tail;
}

/* Nodes by level, and by number within a level. */
static void sort_nodes(struct arena *arena, uint32_t count, struct levels *levels)
{
    uint32_t *starts = ARENA_ARRAY(arena, uint32_t, (size_t)levels->count + 1);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, levels->resolved);

    for (uint32_t node = 0; node < count; node++)
        if (levels->of[node] != LEVELS_NONE)
            starts[levels->of[node]]++;
    for (uint32_t level = 0, sum = 0; level <= levels->count; level++) {
        sum += starts[level];
        starts[level] = sum;
    }
    /* Each start is the end of its level now: fill backwards, and it becomes the start. */
    for (uint32_t node = count; node-- > 0;)
        if (levels->of[node] != LEVELS_NONE)
            order[--starts[levels->of[node]]] = node;
    levels->starts = starts;
    levels->order = order;
}

bool levels_build(struct arena *arena, const struct dag *dag, struct levels *ret_levels)
{
    uint32_t count = dag_count(dag);
    uint32_t *of = ARENA_ARRAY(arena, uint32_t, count);
    struct levels levels = { .of = of };

    levels.resolved = resolve_levels(dag, of, &levels.count);
    sort_nodes(arena, count, &levels);
    *ret_levels = levels;
    return levels.resolved == count;
}

struct level_nodes levels_get(const struct levels *levels, uint32_t level)
{
    assert(level < levels->count);
    return (struct level_nodes){ levels->order + levels->starts[level],
                                 levels->starts[level + 1] - levels->starts[level] };
}
