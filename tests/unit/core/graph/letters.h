/*
 * letters - graphs for tests: nodes are letters, "ab" is an edge from a to b, and
 * "ab2" is one of type 2.
 */
#ifndef TESTS_UNIT_CORE_GRAPH_LETTERS_H
#define TESTS_UNIT_CORE_GRAPH_LETTERS_H

#include "core/graph/dag.h"

static inline struct dag *letters_dag(struct arena *arena, uint32_t count, const char *edges)
{
    struct dag *dag = dag_new(arena, count);

    while (*edges) {
        uint32_t before = (uint32_t)(edges[0] - 'a'), after = (uint32_t)(edges[1] - 'a');
        uint8_t type = 0;

        edges += 2;
        if (*edges >= '0' && *edges <= '9')
            type = (uint8_t)(*edges++ - '0');
        dag_edge(dag, before, after, type);
        if (*edges == ' ')
            edges++;
    }
    dag_seal(dag);
    return dag;
}

#endif
