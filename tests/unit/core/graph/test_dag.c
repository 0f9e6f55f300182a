#include "core/graph/dag.h"

#include "core/base/arena.h"
#include "test.h"

TEST(neighbours_are_sorted_whatever_the_order_of_the_edges)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = dag_new(&arena, 5);

    dag_edge(dag, 2, 4, 0);
    dag_edge(dag, 2, 0, 3);
    dag_edge(dag, 1, 0, 0);
    dag_edge(dag, 2, 0, 1);
    dag_seal(dag);

    struct dag_links after = dag_after(dag, 2), before = dag_before(dag, 0);

    CHECK_INT(after.n, 3);
    CHECK(after.p[0].node == 0 && after.p[0].type == 1);
    CHECK(after.p[1].node == 0 && after.p[1].type == 3);
    CHECK(after.p[2].node == 4 && after.p[2].type == 0);
    CHECK_INT(before.n, 3);
    CHECK(before.p[0].node == 1 && before.p[1].node == 2 && before.p[2].node == 2);
    CHECK(before.p[1].type == 1 && before.p[2].type == 3);
    CHECK_INT(dag_after(dag, 3).n, 0);
    CHECK_INT(dag_before(dag, 3).n, 0);
}

TEST(an_edge_said_twice_counts_once_and_each_type_counts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = dag_new(&arena, 3);

    for (int i = 0; i < 5; i++) {
        dag_edge(dag, 0, 1, 7);
        dag_edge(dag, 0, 1, 31);
        dag_edge(dag, 1, 2, 0);
    }
    dag_seal(dag);
    CHECK_INT(dag_edge_count(dag), 3);
    CHECK_INT(dag_types(dag, 0, 1), DAG_TYPE(7) | DAG_TYPE(31));
    CHECK_INT(dag_types(dag, 1, 2), DAG_TYPE(0));
    CHECK_INT(dag_types(dag, 1, 0), 0);
    CHECK_INT(dag_types(dag, 2, 2), 0);
}

TEST(a_graph_may_have_no_edges_and_even_no_nodes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *none = dag_new(&arena, 0), *alone = dag_new(&arena, 1);

    dag_seal(none);
    dag_seal(alone);
    CHECK_INT(dag_count(none), 0);
    CHECK_INT(dag_edge_count(none), 0);
    CHECK_INT(dag_links(alone, 0, DAG_FORWARD).n, 0);
    CHECK_INT(dag_links(alone, 0, DAG_REVERSE).n, 0);
}
