/* Bytes are edges: either levels respect all of them, or a cycle is told that is one. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/graph/cycle.h"
#include "core/graph/dag.h"
#include "core/graph/levels.h"
#include "core/graph/reach.h"

#define CYCLES_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how many nodes; two bytes are an edge, whose type is their sum. */
static struct dag *read_dag(struct arena *arena, const uint8_t *data, size_t size)
{
    uint32_t count = size > 0 ? data[0] : 0;
    struct dag *dag = dag_new(arena, count);

    for (size_t i = 1; count > 0 && i + 1 < size; i += 2)
        dag_edge(dag, data[i] % count, data[i + 1] % count,
                 (uint8_t)((data[i] + data[i + 1]) % DAG_TYPES));
    dag_seal(dag);
    return dag;
}

static void check_levels(const struct dag *dag, const struct levels *levels)
{
    uint32_t resolved = 0;

    for (uint32_t node = 0; node < dag_count(dag); node++) {
        struct dag_links before = dag_before(dag, node);
        uint32_t want = 0;

        VEC_EACH (&before, link) {
            if (levels->of[link->node] == LEVELS_NONE)
                want = LEVELS_NONE;
            else if (want != LEVELS_NONE && levels->of[link->node] + 1 > want)
                want = levels->of[link->node] + 1;
        }
        /* A node without a level waits for one without a level. */
        assert(levels->of[node] == want);
        resolved += want != LEVELS_NONE;
    }
    assert(levels->resolved == resolved);
}

static void check_cycles(struct arena *arena, const struct dag *dag, bool has_order)
{
    struct reach *seen = reach_new(arena, dag_count(dag));
    struct cycle cycles[CYCLES_MAX];
    size_t n = cycle_find(arena, dag, CYCLES_MAX, cycles);

    assert((n == 0) == has_order);
    for (size_t c = 0; c < n; c++)
        for (uint32_t i = 0; i < cycles[c].n; i++) {
            uint32_t next = cycles[c].nodes[(i + 1) % cycles[c].n];
            bool fresh = reach_add(seen, cycles[c].nodes[i]);

            assert(fresh && dag_types(dag, cycles[c].nodes[i], next) != 0);
            assert(cycles[c].nodes[0] <= cycles[c].nodes[i]);
        }
}

/* What a node leads to leads back to it, against the edges. */
static void check_reach(struct arena *arena, const struct dag *dag)
{
    struct reach *from = reach_new(arena, dag_count(dag));

    if (dag_count(dag) == 0)
        return;
    (void)reach_add(from, 0);
    reach_extend(from, dag, DAG_FORWARD, DAG_ALL_TYPES);
    REACH_EACH (from, node) {
        struct reach *back = reach_new(arena, dag_count(dag));

        (void)reach_add(back, node);
        reach_extend(back, dag, DAG_REVERSE, DAG_ALL_TYPES);
        assert(reach_has(back, 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = read_dag(&arena, data, size);
    struct levels levels;
    bool has_order = levels_build(&arena, dag, &levels);

    check_levels(dag, &levels);
    check_cycles(&arena, dag, has_order);
    check_reach(&arena, dag);
    return 0;
}
