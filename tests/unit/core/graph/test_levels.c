#include "core/graph/levels.h"

#include "core/base/arena.h"
#include "core/graph/letters.h"
#include "test.h"

/* The levels are separated by blanks; nodes that have none are not shown. */
static const struct {
    const char *name, *edges, *levels;
} cases[] = {
    { "no edges: all at once", "", "abcdef" },
    { "a chain runs one by one", "ab bc cd de ef", "a b c d e f" },
    { "against the numbers", "fe ed dc cb ba", "f e d c b a" },
    { "a diamond joins again", "ab ac bd cd", "aef bc d" },
    { "the longest way counts", "af ab bc cf", "ade b c f" },
    { "an edge said twice counts once", "ab ab", "acdef b" },
    { "types do not matter", "ab1 ab2 bc3", "adef b c" },
    { "within a level by number", "fa ea db", "cdef ab" },
    { "a cycle has no level", "ab ba", "cdef" },
    { "nor has what is behind it", "ab ba bc cd", "ef" },
    { "but what is before it has", "ef fa ab ba", "cde f" },
    { "a node that waits for itself", "aa ab", "cdef" },
    { "nothing is resolved", "ab bc cd de ef fa", "" },
};

static void print_levels(const struct levels *levels, struct buf *out)
{
    for (uint32_t level = 0; level < levels->count; level++) {
        struct level_nodes nodes = levels_get(levels, level);

        if (level > 0)
            buf_add_char(out, ' ');
        VEC_EACH (&nodes, node) {
            buf_add_char(out, (char)('a' + *node));
            CHECK_INT(levels->of[*node], level);
        }
    }
}

TEST(levels_are_waves_of_nodes_that_do_not_wait_for_each_other)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(100);
        struct levels levels;
        bool all = levels_build(&arena, letters_dag(&arena, 6, cases[i].edges), &levels);

        print_levels(&levels, &out);
        CHECK_STR(buf_text(&out), cases[i].levels);
        CHECK_INT(levels.resolved, buf_view(&out).n - (levels.count > 0 ? levels.count - 1 : 0));
        CHECK_INT(all, levels.resolved == 6);
    }
}

TEST(the_empty_graph_has_no_levels_and_no_cycle)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct levels levels;

    CHECK(levels_build(&arena, letters_dag(&arena, 0, ""), &levels));
    CHECK_INT(levels.count, 0);
    CHECK_INT(levels.resolved, 0);
}
