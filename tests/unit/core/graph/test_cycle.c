#include "core/graph/cycle.h"

#include "core/base/arena.h"
#include "core/graph/letters.h"
#include "test.h"

#define MOST 4

static const struct {
    const char *name, *edges, *cycles;
} cases[] = {
    { "none", "ab ac bd cd", "" },
    { "a node before itself", "bb", "b" },
    { "two nodes", "ab ba", "ab" },
    { "members in order", "ca ab bc", "abc" },
    { "in order also when numbers fall", "ac cb ba", "acb" },
    { "begins with the smallest", "fd de ef", "def" },
    { "what leads there and away is left out", "ab bc cd db de", "bcd" },
    { "a bridge between two cycles is on none", "ab ba bc cd de ed", "ab de" },
    { "the short way around", "ab bc cd de ef fa ea ca", "abc" },
    { "a shortcut seen from another member", "ab bc cd da cb", "bc" },
    { "two types are one edge here", "ab1 ab2 ba1 ba3", "ab" },
    { "three apart", "ab ba cd dc ef fe", "ab cd ef" },
    { "sharing a node is one mistake", "ab ba ac ca", "ab" },
};

TEST(cycles_are_reported_with_their_members_in_order)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(100);
        struct cycle cycles[MOST];
        size_t n = cycle_find(&arena, letters_dag(&arena, 6, cases[i].edges), MOST, cycles);

        for (size_t c = 0; c < n; c++) {
            if (c > 0)
                buf_add_char(&out, ' ');
            for (uint32_t k = 0; k < cycles[c].n; k++)
                buf_add_char(&out, (char)('a' + cycles[c].nodes[k]));
        }
        CHECK_STR(buf_text(&out), cases[i].cycles);
    }
}

TEST(no_more_cycles_are_reported_than_asked_for)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = letters_dag(&arena, 6, "ab ba cd dc ef fe");
    struct cycle cycles[2];

    CHECK_INT(cycle_find(&arena, dag, 2, cycles), 2);
    CHECK_INT(cycles[1].nodes[0], 2);
    CHECK_INT(cycle_find(&arena, dag, 0, NULL), 0);
}

/* A ring around a complete core would show a search that goes through all paths. */
TEST(a_long_ring_with_many_chords_is_shortened_in_time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = dag_new(&arena, 2000);
    struct cycle cycle;

    for (uint32_t i = 0; i < 2000; i++) {
        dag_edge(dag, i, (i + 1) % 2000, 0);
        for (uint32_t k = 2; k < 40; k++)
            dag_edge(dag, i, (i + k) % 2000, 0);
    }
    dag_seal(dag);
    CHECK_INT(cycle_find(&arena, dag, 1, &cycle), 1);
    CHECK_INT(cycle.n, (2000 + 38) / 39);
    for (uint32_t i = 0; i < cycle.n; i++)
        CHECK(dag_types(dag, cycle.nodes[i], cycle.nodes[(i + 1) % cycle.n]) != 0);
}
