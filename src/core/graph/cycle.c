/*
 * First the graph is peeled from both ends: a node that waits for nothing, or that
 * nothing waits for, is not on a cycle and is removed, and so on. What is left is the core,
 * where each node has a neighbour either way. So a walk through the core must come
 * back to itself, and that is a cycle. A breadth-first search from some of its
 * members then finds a shorter way around, if there is one. The cycle found is
 * removed, the rest is peeled again, and the next search begins.
 */
#include "core/graph/cycle.h"

#include <assert.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/vec.h"
#include "core/graph/dag.h"

/* Number of members from which a shorter cycle is searched: enough for people, bounded for us. */
#define SEARCHES_MAX 16

#define NONE UINT32_MAX

struct search {
    struct arena *arena;
    const struct dag *dag;
    uint32_t *degree[DAG_WAYS]; /* links within the core, either way */
    bool *gone;                 /* not in the core */
    uint32_t *queue;
    uint32_t *from; /* breadth first: the node before this one; NONE: not reached */
    uint32_t first; /* no node below this is in the core */
    VEC(uint32_t) path;
};

static void search_init(struct search *s, struct arena *arena, const struct dag *dag)
{
    uint32_t count = dag_count(dag);

    *s = (struct search){ .arena = arena, .dag = dag };
    s->gone = mem_zalloc(mem_product(count, sizeof(*s->gone)));
    s->queue = mem_alloc(mem_product(count, sizeof(*s->queue)));
    s->from = mem_alloc(mem_product(count, sizeof(*s->from)));
    for (int way = 0; way < DAG_WAYS; way++) {
        s->degree[way] = mem_alloc(mem_product(count, sizeof(*s->degree[way])));
        for (uint32_t node = 0; node < count; node++)
            s->degree[way][node] = (uint32_t)dag_links(dag, node, (enum dag_way)way).n;
    }
    for (uint32_t node = 0; node < count; node++)
        s->from[node] = NONE;
}

static void search_done(struct search *s)
{
    mem_free_auto(&s->gone);
    mem_free_auto(&s->queue);
    mem_free_auto(&s->from);
    for (int way = 0; way < DAG_WAYS; way++)
        mem_free_auto(&s->degree[way]);
    vec_done(&s->path);
}

static bool is_loose(const struct search *s, uint32_t node)
{
    return s->degree[DAG_FORWARD][node] == 0 || s->degree[DAG_REVERSE][node] == 0;
}

/* Remove the queued nodes, which are marked as gone, from the core, and every node without
 * neighbours afterwards. */
static void peel_acyclic_nodes(struct search *s, uint32_t queued)
{
    for (uint32_t head = 0; head < queued; head++)
        for (int way = 0; way < DAG_WAYS; way++) {
            struct dag_links links = dag_links(s->dag, s->queue[head], (enum dag_way)way);
            uint32_t *degree = s->degree[way == DAG_FORWARD ? DAG_REVERSE : DAG_FORWARD];

            VEC_EACH (&links, link) {
                degree[link->node]--;
                if (s->gone[link->node] || !is_loose(s, link->node))
                    continue;
                s->gone[link->node] = true;
                s->queue[queued++] = link->node;
            }
        }
}

static void peel_loose(struct search *s)
{
    uint32_t queued = 0;

    for (uint32_t node = 0; node < dag_count(s->dag); node++)
        if (is_loose(s, node)) {
            s->gone[node] = true;
            s->queue[queued++] = node;
        }
    peel_acyclic_nodes(s, queued);
}

/* The first neighbour before `node` in the core; there is one for each node of the core. */
static uint32_t core_before(const struct search *s, uint32_t node)
{
    struct dag_links links = dag_before(s->dag, node);

    VEC_EACH (&links, link)
        if (!s->gone[link->node])
            return link->node;
    assert(false);
}

/* Walk backwards from `node` until a node comes again. Read from the end, that is a cycle. */
static void walk_around(struct search *s, uint32_t node)
{
    uint32_t n = 0;

    for (; s->from[node] == NONE; node = core_before(s, node)) {
        s->from[node] = node;
        s->queue[n++] = node;
    }
    for (uint32_t i = 0; i < n; i++)
        s->from[s->queue[i]] = NONE;
    vec_clear(&s->path);
    do
        VEC_PUSH(&s->path, s->queue[--n]);
    while (s->queue[n] != node);
}

/* Follow `from` from the node: node -> next -> ... */
static void keep_path(struct search *s, uint32_t node, uint32_t next)
{
    vec_clear(&s->path);
    VEC_PUSH(&s->path, node);
    for (; next != node; next = s->from[next])
        VEC_PUSH(&s->path, next);
}

/* Breadth first and backwards from `node`: replace the path by a shorter one through it. */
static void shorten_cycle(struct search *s, uint32_t node)
{
    uint32_t head = 0, tail = 0, layer_end = 1, length = 1;
    bool found = false;

    s->from[node] = node;
    s->queue[tail++] = node;
    while (!found && head < tail && length < s->path.n) {
        uint32_t at = s->queue[head++];
        struct dag_links links = dag_before(s->dag, at);

        VEC_EACH (&links, link) {
            if (link->node == node) {
                keep_path(s, node, at);
                found = true;
                break;
            }
            if (s->gone[link->node] || s->from[link->node] != NONE)
                continue;
            s->from[link->node] = at;
            s->queue[tail++] = link->node;
        }
        if (head == layer_end) {
            layer_end = tail;
            length++;
        }
    }
    for (uint32_t i = 0; i < tail; i++)
        s->from[s->queue[i]] = NONE;
}

/* The path as a cycle that begins with its smallest node. */
static struct cycle copy_path(const struct search *s)
{
    uint32_t n = (uint32_t)s->path.n, smallest = 0;
    uint32_t *nodes = ARENA_ARRAY(s->arena, uint32_t, n);

    for (uint32_t i = 1; i < n; i++)
        if (s->path.p[i] < s->path.p[smallest])
            smallest = i;
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = s->path.p[(smallest + i) % n];
    return (struct cycle){ nodes, n };
}

/* False when the core is empty. */
static bool find_one(struct search *s, struct cycle *ret_cycle)
{
    while (s->first < dag_count(s->dag) && s->gone[s->first])
        s->first++;
    if (s->first == dag_count(s->dag))
        return false;
    walk_around(s, s->first);

    struct cycle around = copy_path(s);
    uint32_t searches = around.n < SEARCHES_MAX ? around.n : SEARCHES_MAX;

    for (uint32_t i = 0; i < searches; i++)
        shorten_cycle(s, around.nodes[(uint64_t)i * around.n / searches]);
    *ret_cycle = copy_path(s);
    return true;
}

static void extract_cycle(struct search *s, const struct cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n; i++) {
        s->gone[cycle->nodes[i]] = true;
        s->queue[i] = cycle->nodes[i];
    }
    peel_acyclic_nodes(s, cycle->n);
}

size_t cycle_find(struct arena *arena, const struct dag *dag, size_t most, struct cycle *ret_cycles)
{
    struct search search;
    size_t found = 0;

    search_init(&search, arena, dag);
    peel_loose(&search);
    for (; found < most && find_one(&search, &ret_cycles[found]); found++)
        extract_cycle(&search, &ret_cycles[found]);
    search_done(&search);
    return found;
}
