#include "graph/critical.h"

#include "base/arena.h"
#include "graph/letters.h"
#include "graph/levels.h"
#include "test.h"

static const struct {
    const char *name, *edges;
    int64_t durations[5];
    const char *path;
    int64_t total;
} cases[] = {
    { "the slowest alone", "", { 1, 9, 3, 2, 1 }, "b", 9 },
    { "a chain adds up", "ab bc", { 1, 1, 1, 2, 1 }, "abc", 3 },
    { "the slow side of a diamond", "ab ac bd cd", { 1, 2, 5, 1, 3 }, "acd", 7 },
    { "few slow ones against many quick ones", "ab bc cd", { 1, 1, 1, 1, 9 }, "e", 9 },
    { "equals: the smaller number", "ac bc", { 4, 4, 1, 0, 0 }, "ac", 5 },
    { "no time at all", "ab", { 0, 0, 0, 0, 0 }, "a", 0 },
    { "a sum too large stays at the end", "ab", { INT64_MAX, 5, 0, 0, 0 }, "a", INT64_MAX },
    { "what is on a cycle has no path", "ab ba", { 9, 9, 1, 2, 3 }, "e", 3 },
};

TEST(the_longest_path_is_found)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(100);
        struct dag *dag = letters_dag(&arena, 5, cases[i].edges);
        struct critical critical;
        struct levels levels;

        (void)levels_build(&arena, dag, &levels);
        critical_find(&arena, dag, &levels, cases[i].durations, &critical);
        for (uint32_t k = 0; k < critical.n; k++)
            buf_add_char(&out, (char)('a' + critical.nodes[k]));
        CHECK_STR(buf_text(&out), cases[i].path);
        CHECK_INT(critical.total, cases[i].total);
    }
}

TEST(an_empty_graph_has_an_empty_path)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct dag *dag = letters_dag(&arena, 0, "");
    struct critical critical;
    struct levels levels;

    (void)levels_build(&arena, dag, &levels);
    critical_find(&arena, dag, &levels, NULL, &critical);
    CHECK_INT(critical.n, 0);
    CHECK_INT(critical.total, 0);
}
