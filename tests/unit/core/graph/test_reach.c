#include "core/graph/reach.h"

#include "core/base/arena.h"
#include "core/graph/letters.h"
#include "test.h"

static const struct {
    const char *name, *edges, *from;
    enum dag_way way;
    uint32_t types;
    const char *reached;
} cases[] = {
    { "nothing depends on the last", "ab bc", "c", DAG_FORWARD, DAG_ALL_TYPES, "c" },
    { "near and far", "ab bc cd", "b", DAG_FORWARD, DAG_ALL_TYPES, "bcd" },
    { "what it needs itself", "ab bc cd", "c", DAG_REVERSE, DAG_ALL_TYPES, "abc" },
    { "of a set", "ab cd ef", "ac", DAG_FORWARD, DAG_ALL_TYPES, "abcd" },
    { "of nothing", "ab cd ef", "", DAG_FORWARD, DAG_ALL_TYPES, "" },
    { "one type only", "ab1 bc2 ad2", "a", DAG_FORWARD, DAG_TYPE(1), "ab" },
    { "either of two types", "ab1 bc2 ad3", "a", DAG_FORWARD, DAG_TYPE(1) | DAG_TYPE(2), "abc" },
    { "a pair with several types", "ab1 ab2 bc2", "a", DAG_FORWARD, DAG_TYPE(2), "abc" },
    { "around a cycle", "ab bc ca cd", "b", DAG_FORWARD, DAG_ALL_TYPES, "abcd" },
};

TEST(all_that_is_connected_is_reached)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(100);
        struct dag *dag = letters_dag(&arena, 6, cases[i].edges);
        struct reach *reach = reach_new(&arena, 6);

        for (const char *p = cases[i].from; *p; p++)
            reach_add(reach, (uint32_t)(*p - 'a'));
        reach_extend(reach, dag, cases[i].way, cases[i].types);
        REACH_EACH (reach, node)
            buf_add_char(&out, (char)('a' + node));
        CHECK_STR(buf_text(&out), cases[i].reached);
        CHECK_INT(reach_count(reach), strlen(cases[i].reached));
    }
}

TEST(a_set_holds_nodes_at_the_edges_of_its_words)
{
    static const uint32_t nodes[] = { 0, 63, 64, 127, 128, 190 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct reach *reach = reach_new(&arena, 191);
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        CHECK(!reach_has(reach, nodes[i]));
        CHECK(reach_add(reach, nodes[i]));
        CHECK(!reach_add(reach, nodes[i]));
        CHECK(reach_has(reach, nodes[i]));
    }
    REACH_EACH (reach, node)
        CHECK_INT(node, nodes[n++]);
    CHECK_INT(n, ARRAY_LEN(nodes));
    CHECK(reach_next(reach, 191) == REACH_END);
    reach_clear(reach);
    CHECK_INT(reach_count(reach), 0);
    CHECK(reach_next(reach, 0) == REACH_END);
}
