/* Random graphs, small ones against a naive model and large ones for their size. */
#include <time.h>

#include "core/base/arena.h"
#include "core/graph/cycle.h"
#include "core/graph/dag.h"
#include "core/graph/levels.h"
#include "core/graph/reach.h"
#include "test.h"

#define NODES  9
#define ROUNDS 3000

struct model {
    uint32_t count;
    bool edge[NODES][NODES], path[NODES][NODES];
};

/* The same numbers in every run. */
static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

static struct dag *random_dag(struct arena *arena, uint64_t *state, struct model *model)
{
    struct dag *dag;
    uint32_t edges;

    *model = (struct model){ .count = 1 + random_below(state, NODES) };
    dag = dag_new(arena, model->count);
    edges = random_below(state, 2 * model->count);
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t a = random_below(state, model->count), b = random_below(state, model->count);

        if (a >= b && random_below(state, 8) > 0)
            continue; /* mostly without cycles */
        model->edge[a][b] = model->path[a][b] = true;
        dag_edge(dag, a, b, (uint8_t)random_below(state, 3));
    }
    dag_seal(dag);
    for (uint32_t k = 0; k < model->count; k++)
        for (uint32_t a = 0; a < model->count; a++)
            for (uint32_t b = 0; b < model->count; b++)
                model->path[a][b] |= model->path[a][k] && model->path[k][b];
    return dag;
}

static bool is_resolved(const struct model *m, uint32_t node)
{
    for (uint32_t a = 0; a < m->count; a++)
        if (m->path[a][a] && (a == node || m->path[a][node]))
            return false;
    return true;
}

static void check_levels(const struct model *m, const struct levels *levels, bool all)
{
    uint32_t resolved = 0;

    for (uint32_t b = 0; b < m->count; b++) {
        uint32_t want = 0;

        if (!is_resolved(m, b)) {
            CHECK(levels->of[b] == LEVELS_NONE);
            continue;
        }
        for (uint32_t a = 0; a < m->count; a++)
            if (m->edge[a][b] && levels->of[a] + 1 > want)
                want = levels->of[a] + 1;
        CHECK_INT(levels->of[b], want);
        resolved++;
    }
    CHECK_INT(levels->resolved, resolved);
    CHECK_INT(all, resolved == m->count);
}

static void check_cycles(const struct model *m, struct arena *arena, const struct dag *dag,
                         bool has_order)
{
    struct cycle cycles[NODES];
    size_t n = cycle_find(arena, dag, NODES, cycles);
    bool seen[NODES] = { false };

    CHECK_INT(n == 0, has_order);
    for (size_t c = 0; c < n; c++)
        for (uint32_t i = 0; i < cycles[c].n; i++) {
            uint32_t node = cycles[c].nodes[i];

            CHECK(m->edge[node][cycles[c].nodes[(i + 1) % cycles[c].n]]);
            CHECK(!seen[node]);
            seen[node] = true;
        }
}

static void check_reach(const struct model *m, struct arena *arena, const struct dag *dag)
{
    for (uint32_t a = 0; a < m->count; a++) {
        struct reach *forward = reach_new(arena, m->count), *reverse = reach_new(arena, m->count);

        reach_add(forward, a);
        reach_add(reverse, a);
        reach_extend(forward, dag, DAG_FORWARD, DAG_ALL_TYPES);
        reach_extend(reverse, dag, DAG_REVERSE, DAG_ALL_TYPES);
        for (uint32_t b = 0; b < m->count; b++) {
            CHECK_INT(reach_has(forward, b), a == b || m->path[a][b]);
            CHECK_INT(reach_has(reverse, b), a == b || m->path[b][a]);
        }
    }
}

TEST(random_graphs_agree_with_a_naive_model)
{
    uint64_t state = 42;

    for (int round = 0; round < ROUNDS; round++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct model model;
        struct dag *dag = random_dag(&arena, &state, &model);
        struct levels levels;
        bool all = levels_build(&arena, dag, &levels);

        check_levels(&model, &levels, all);
        check_cycles(&model, &arena, dag, all);
        check_reach(&model, &arena, dag);
    }
}

#define LARGE_NODES 100000U
#define LARGE_EDGES 1000000U
/* Well under a second as released; sanitizers and a busy machine take their share. */
#define LARGE_SECONDS 30

static double cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct dag *large_dag(struct arena *arena, bool closed)
{
    struct dag *dag = dag_new(arena, LARGE_NODES);
    uint64_t state = 7;

    for (uint32_t i = 0; i < LARGE_EDGES; i++) {
        uint32_t a = random_below(&state, LARGE_NODES - 1);
        uint32_t b = a + 1 + random_below(&state, LARGE_NODES - 1 - a);

        dag_edge(dag, a, b, (uint8_t)(i % DAG_TYPES));
    }
    for (uint32_t i = 0; i + 1 < LARGE_NODES; i++)
        dag_edge(dag, i, i + 1, 0); /* a chain through all: the worst depth */
    if (closed)
        dag_edge(dag, LARGE_NODES - 1, 0, 0);
    dag_seal(dag);
    return dag;
}

TEST(a_hundred_thousand_nodes_and_a_million_edges_take_little_time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    double start = cpu_seconds();
    struct dag *dag = large_dag(&arena, false);
    struct reach *reach = reach_new(&arena, LARGE_NODES);
    struct levels levels;

    CHECK(levels_build(&arena, dag, &levels));
    CHECK_INT(levels.count, LARGE_NODES);
    reach_add(reach, 0);
    reach_extend(reach, dag, DAG_FORWARD, DAG_ALL_TYPES);
    CHECK_INT(reach_count(reach), LARGE_NODES);
    CHECK(cpu_seconds() - start < LARGE_SECONDS);
}

TEST(a_cycle_among_a_million_edges_is_found_and_short)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    double start = cpu_seconds();
    struct dag *dag = large_dag(&arena, true);
    struct levels levels;
    struct cycle cycle;

    CHECK(!levels_build(&arena, dag, &levels));
    CHECK_INT(levels.resolved, 0);
    CHECK_INT(cycle_find(&arena, dag, 1, &cycle), 1);
    CHECK(cycle.n < 20);
    for (uint32_t i = 0; i < cycle.n; i++)
        CHECK(dag_types(dag, cycle.nodes[i], cycle.nodes[(i + 1) % cycle.n]) != 0);
    CHECK(cpu_seconds() - start < LARGE_SECONDS);
}
