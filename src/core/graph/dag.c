/*
 * A sealed graph is two packed tables, one for each way: the links of all nodes
 * one after another, and where those of each node begin. Edges are put in order
 * by counting sort, one pass for each key, least important first, so sealing is
 * linear and the result does not depend on the order in which edges came.
 *
 *     starts   0     2  2        5          links of node 0 are 0..1, of node 1 none
 *     links    b  c     |  a  b  d
 */
#include "core/graph/dag.h"

#include <assert.h>
#include <stdbool.h>

#include "core/base/arena.h"

struct edge {
    uint32_t before, after;
    uint8_t type;
};

struct link_table {
    uint32_t *starts; /* count + 1 of them */
    struct dag_link *links;
};

struct dag {
    struct arena *arena;
    uint32_t count;
    bool sealed;
    VEC(struct edge) edges; /* until sealed */
    uint32_t edge_count;
    struct link_table ways[DAG_WAYS];
};

struct dag *dag_new(struct arena *arena, uint32_t count)
{
    struct dag *dag = ARENA_NEW(arena, struct dag);

    assert(count <= DAG_NODES_MAX);
    dag->arena = arena;
    dag->count = count;
    return dag;
}

void dag_edge(struct dag *dag, uint32_t before, uint32_t after, uint8_t type)
{
    assert(!dag->sealed && dag->edges.n < DAG_EDGES_MAX);
    assert(before < dag->count && after < dag->count && type < DAG_TYPES);
    VEC_PUSH_IN(dag->arena, &dag->edges, (struct edge){ before, after, type });
}

enum edge_key { BY_TYPE, BY_AFTER, BY_BEFORE };

static uint32_t get_edge_key(const struct edge *edge, enum edge_key key)
{
    return key == BY_TYPE ? edge->type : key == BY_AFTER ? edge->after : edge->before;
}

/* One pass of a counting sort: `from` sorted by `key`, whose values are below `keys`, into `to`.
 * Edges with the same key keep their order. */
static void sort_pass(const struct edge *from, struct edge *to, size_t n, enum edge_key key,
                      uint32_t keys)
{
    AUTO_FREE uint32_t *places = mem_zalloc(mem_product(keys + (size_t)1, sizeof(*places)));

    for (size_t i = 0; i < n; i++)
        places[get_edge_key(&from[i], key) + 1]++;
    for (size_t k = 1; k <= keys; k++)
        places[k] += places[k - 1];
    for (size_t i = 0; i < n; i++)
        to[places[get_edge_key(&from[i], key)]++] = from[i];
}

/* Sort the edges and drop duplicates. */
static void sort_edges(struct dag *dag)
{
    size_t n = dag->edges.n, kept = 0;
    AUTO_FREE struct edge *other = mem_alloc(mem_product(n, sizeof(*other)));
    struct edge *edges = dag->edges.p;

    sort_pass(edges, other, n, BY_TYPE, DAG_TYPES);
    sort_pass(other, edges, n, BY_AFTER, dag->count);
    sort_pass(edges, other, n, BY_BEFORE, dag->count);
    for (size_t i = 0; i < n; i++) {
        const struct edge *e = &other[i], *last = kept > 0 ? &edges[kept - 1] : NULL;

        if (!last || last->before != e->before || last->after != e->after || last->type != e->type)
            edges[kept++] = *e;
    }
    dag->edge_count = (uint32_t)kept;
}

/* Pack sorted edges: each goes to the next free place of the node it is listed at. */
static void fill_table(struct dag *dag, enum dag_way way)
{
    AUTO_FREE uint32_t *places = mem_alloc(mem_product(dag->count, sizeof(*places)));
    struct link_table *table = &dag->ways[way];

    table->starts = ARENA_ARRAY(dag->arena, uint32_t, (size_t)dag->count + 1);
    table->links = ARENA_ARRAY(dag->arena, struct dag_link, dag->edge_count);
    for (uint32_t i = 0; i < dag->edge_count; i++) {
        const struct edge *e = &dag->edges.p[i];

        table->starts[(way == DAG_FORWARD ? e->before : e->after) + 1]++;
    }
    for (uint32_t node = 0; node < dag->count; node++) {
        places[node] = table->starts[node];
        table->starts[node + 1] += table->starts[node];
    }
    for (uint32_t i = 0; i < dag->edge_count; i++) {
        const struct edge *e = &dag->edges.p[i];
        uint32_t at = way == DAG_FORWARD ? e->before : e->after;
        uint32_t to = way == DAG_FORWARD ? e->after : e->before;

        table->links[places[at]++] = (struct dag_link){ to, e->type };
    }
}

void dag_seal(struct dag *dag)
{
    assert(!dag->sealed);
    if (dag->edges.n > 0)
        sort_edges(dag);
    fill_table(dag, DAG_FORWARD);
    fill_table(dag, DAG_REVERSE);
    dag->sealed = true;
}

uint32_t dag_count(const struct dag *dag)
{
    return dag->count;
}

size_t dag_edge_count(const struct dag *dag)
{
    assert(dag->sealed);
    return dag->edge_count;
}

struct dag_links dag_links(const struct dag *dag, uint32_t node, enum dag_way way)
{
    const struct link_table *table = &dag->ways[way];

    assert(dag->sealed && node < dag->count);
    return (struct dag_links){ table->links + table->starts[node],
                               table->starts[node + 1] - table->starts[node] };
}

struct dag_links dag_before(const struct dag *dag, uint32_t node)
{
    return dag_links(dag, node, DAG_REVERSE);
}

struct dag_links dag_after(const struct dag *dag, uint32_t node)
{
    return dag_links(dag, node, DAG_FORWARD);
}

uint32_t dag_types(const struct dag *dag, uint32_t before, uint32_t after)
{
    struct dag_links links = dag_after(dag, before);
    size_t low = 0, high = links.n;
    uint32_t types = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (links.p[middle].node < after)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < links.n && links.p[low].node == after; low++)
        types |= DAG_TYPE(links.p[low].type);
    return types;
}
