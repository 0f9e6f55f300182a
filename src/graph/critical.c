#include "graph/critical.h"

#include <assert.h>

#include "base/arena.h"
#include "base/vec.h"
#include "graph/dag.h"
#include "graph/levels.h"

#define NONE UINT32_MAX

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The path that ends with `last`, read backwards. */
static void copy_path(struct arena *arena, const uint32_t *before, uint32_t last,
                      struct critical *critical)
{
    uint32_t n = 0;
    uint32_t *nodes;

    for (uint32_t node = last; node != NONE; node = before[node])
        n++;
    nodes = ARENA_ARRAY(arena, uint32_t, n);
    critical->n = n;
    for (uint32_t node = last; node != NONE; node = before[node])
        nodes[--n] = node;
    critical->nodes = nodes;
}

void critical_find(struct arena *arena, const struct dag *dag, const struct levels *levels,
                   const int64_t *durations, struct critical *ret_critical)
{
    uint32_t count = dag_count(dag), last = NONE;
    AUTO_FREE int64_t *ends = mem_alloc(mem_product(count, sizeof(*ends)));
    AUTO_FREE uint32_t *before = mem_alloc(mem_product(count, sizeof(*before)));
    struct critical critical = { 0 };

    for (uint32_t i = 0; i < levels->resolved; i++) {
        uint32_t node = levels->order[i];
        struct dag_links links = dag_before(dag, node);

        assert(durations[node] >= 0);
        before[node] = NONE;
        VEC_EACH (&links, link)
            if (before[node] == NONE || ends[link->node] > ends[before[node]])
                before[node] = link->node;
        ends[node] = add(before[node] == NONE ? 0 : ends[before[node]], durations[node]);
        if (last == NONE || ends[node] > ends[last])
            last = node;
    }
    if (last != NONE)
        critical.total = ends[last];
    copy_path(arena, before, last, &critical);
    *ret_critical = critical;
}
