#include "graph/walk.h"

#include <assert.h>

#include "base/arena.h"
#include "base/vec.h"
#include "graph/reach.h"

/* In place of a count, which is never that large. */
#define TAKEN    UINT32_MAX
#define COMPLETE (UINT32_MAX - 1)

struct walk {
    const struct dag *dag;
    enum dag_way way;
    const struct reach *only;
    uint32_t *waits;     /* a count, TAKEN or COMPLETE, for each node */
    uint32_t *queue;     /* each node enters once: no need to go round */
    uint32_t head, tail; /* of the queue */
    uint32_t taken, left;
};

static bool takes_part(const struct walk *walk, uint32_t node)
{
    return !walk->only || reach_has(walk->only, node);
}

/* What a node waits for lies against the way of the walk. */
static uint32_t count_waits(const struct walk *walk, uint32_t node)
{
    struct dag_links links =
        dag_links(walk->dag, node, walk->way == DAG_FORWARD ? DAG_REVERSE : DAG_FORWARD);
    uint32_t count = 0;

    if (!walk->only)
        return (uint32_t)links.n;
    VEC_EACH (&links, link)
        count += reach_has(walk->only, link->node);
    return count;
}

void walk_reset(struct walk *walk)
{
    walk->head = walk->tail = walk->taken = walk->left = 0;
    for (uint32_t node = 0; node < dag_count(walk->dag); node++) {
        if (!takes_part(walk, node))
            continue;
        walk->left++;
        walk->waits[node] = count_waits(walk, node);
        if (walk->waits[node] == 0)
            walk->queue[walk->tail++] = node;
    }
}

struct walk *walk_new(struct arena *arena, const struct dag *dag, enum dag_way way,
                      const struct reach *only)
{
    struct walk *walk = ARENA_NEW(arena, struct walk);

    walk->dag = dag;
    walk->way = way;
    walk->only = only;
    walk->waits = ARENA_ARRAY(arena, uint32_t, dag_count(dag));
    walk->queue = ARENA_ARRAY(arena, uint32_t, only ? reach_count(only) : dag_count(dag));
    walk_reset(walk);
    return walk;
}

bool walk_next(struct walk *walk, uint32_t *ret_node)
{
    uint32_t node;

    if (walk->head == walk->tail)
        return false;
    node = walk->queue[walk->head++];
    walk->waits[node] = TAKEN;
    walk->taken++;
    *ret_node = node;
    return true;
}

void walk_complete(struct walk *walk, uint32_t node)
{
    struct dag_links links = dag_links(walk->dag, node, walk->way);

    assert(walk->waits[node] == TAKEN);
    walk->waits[node] = COMPLETE;
    walk->taken--;
    walk->left--;
    VEC_EACH (&links, link)
        if (takes_part(walk, link->node) && --walk->waits[link->node] == 0)
            walk->queue[walk->tail++] = link->node;
}

uint32_t walk_waits(const struct walk *walk, uint32_t node)
{
    assert(node < dag_count(walk->dag));
    return walk->waits[node] >= COMPLETE ? 0 : walk->waits[node];
}

uint32_t walk_ready(const struct walk *walk)
{
    return walk->tail - walk->head;
}

uint32_t walk_taken(const struct walk *walk)
{
    return walk->taken;
}

uint32_t walk_left(const struct walk *walk)
{
    return walk->left;
}

bool walk_is_finished(const struct walk *walk)
{
    return walk->left == 0;
}
