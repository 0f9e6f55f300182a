#include "graph/walk.h"

#include "base/arena.h"
#include "graph/letters.h"
#include "graph/reach.h"
#include "test.h"

/* The order shows one wave of ready nodes after another. */
static const struct {
    const char *name, *edges, *only;
    enum dag_way way;
    const char *order;
} cases[] = {
    { "no edges: all at once", "", "", DAG_FORWARD, "abcd" },
    { "a chain runs one by one", "ab bc cd", "", DAG_FORWARD, "a b c d" },
    { "a diamond joins again", "ab ac bd cd", "", DAG_FORWARD, "a bc d" },
    { "an edge said twice counts once", "ab ab", "", DAG_FORWARD, "acd b" },
    { "an edge of two types frees once", "ab1 ab2", "", DAG_FORWARD, "acd b" },
    { "stopping goes the other way", "ab bc cd", "", DAG_REVERSE, "d c b a" },
    { "a diamond is stopped from its end", "ab ac bd cd", "", DAG_REVERSE, "d bc a" },
    { "only some of them", "ab bc cd", "bd", DAG_FORWARD, "bd" },
    { "edges among those still count", "ab bc cd", "cd", DAG_FORWARD, "c d" },
    { "and so they do in reverse", "ab bc cd", "ab", DAG_REVERSE, "b a" },
    { "members of a cycle never come", "ab ba cd", "", DAG_FORWARD, "c d" },
    { "a cycle outside the set does no harm", "ab ba bc cd", "cd", DAG_FORWARD, "c d" },
};

static void run_case(struct walk *walk, struct buf *out)
{
    uint32_t wave[4], n, node;

    while (walk_ready(walk) > 0) {
        if (out->n > 0)
            buf_add_char(out, ' ');
        for (n = 0; walk_next(walk, &node); n++) {
            wave[n] = node;
            buf_add_char(out, (char)('a' + node));
        }
        CHECK_INT(walk_taken(walk), n);
        for (uint32_t i = 0; i < n; i++)
            walk_complete(walk, wave[i]);
    }
}

TEST(a_walk_frees_nodes_in_waves)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(100);
        struct dag *dag = letters_dag(&arena, 4, cases[i].edges);
        struct reach *only = reach_new(&arena, 4);
        struct walk *walk;

        for (const char *p = cases[i].only; *p; p++)
            reach_add(only, (uint32_t)(*p - 'a'));
        walk = walk_new(&arena, dag, cases[i].way, reach_count(only) > 0 ? only : NULL);
        run_case(walk, &out);
        CHECK_STR(buf_text(&out), cases[i].order);

        buf_clear(&out);
        walk_reset(walk);
        run_case(walk, &out);
        CHECK_STR(buf_text(&out), cases[i].order);
    }
}

TEST(a_walk_counts_what_is_ready_taken_and_left)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct walk *walk = walk_new(&arena, letters_dag(&arena, 3, "ac bc"), DAG_FORWARD, NULL);
    uint32_t node = 9;

    CHECK_INT(walk_left(walk), 3);
    CHECK_INT(walk_ready(walk), 2);
    CHECK_INT(walk_waits(walk, 2), 2);
    CHECK(walk_next(walk, &node) && node == 0);
    CHECK(walk_next(walk, &node) && node == 1);
    CHECK(!walk_next(walk, &node));
    CHECK_INT(node, 1);
    CHECK_INT(walk_taken(walk), 2);
    walk_complete(walk, 1);
    CHECK_INT(walk_waits(walk, 2), 1);
    CHECK_INT(walk_waits(walk, 1), 0);
    CHECK(!walk_next(walk, &node));
    CHECK(!walk_is_finished(walk));
    walk_complete(walk, 0);
    CHECK(walk_next(walk, &node) && node == 2);
    walk_complete(walk, 2);
    CHECK(walk_is_finished(walk));
    CHECK_INT(walk_left(walk), 0);
}

TEST(what_became_ready_first_comes_first)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct walk *walk = walk_new(&arena, letters_dag(&arena, 4, "ad bc"), DAG_FORWARD, NULL);
    uint32_t node;

    CHECK(walk_next(walk, &node) && node == 0);
    walk_complete(walk, 0);
    CHECK(walk_next(walk, &node) && node == 1);
    walk_complete(walk, 1);
    CHECK(walk_next(walk, &node) && node == 3);
    CHECK(walk_next(walk, &node) && node == 2);
}
