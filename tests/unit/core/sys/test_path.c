#include "test.h"

#include "core/base/arena.h"
#include "core/sys/path.h"

static struct arena arena = ARENA_INIT;

TEST(paths_are_normalised_without_the_disk)
{
    static const struct {
        const char *path, *want;
    } cases[] = {
        { "/a//b/./c/../d/", "/a/b/d" },
        { "/..", "/" },
        { "/../../a", "/a" },
        { "", "." },
        { "a/..", "." },
        { "a/../..", ".." },
        { "../../x", "../../x" },
        { "../x/..", ".." },
        { "/", "/" },
        { "./a", "a" },
        { "///", "/" },
        { "/a/b/../..", "/" },
        { "..a/b", "..a/b" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(path_normalise(&arena, cases[i].path), cases[i].want);
}

TEST(paths_are_cut_into_folder_and_name)
{
    static const struct {
        const char *path, *folder, *name;
    } cases[] = {
        { "/a/b", "/a", "b" },  { "/a", "/", "a" },   { "a", ".", "a" },   { "/", "/", "/" },
        { "/a/b/", "/a", "b" }, { "a//b", "a", "b" }, { "//a", "/", "a" }, { "", ".", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str name = path_basename(cases[i].path);

        CHECK_STR(path_dirname(&arena, cases[i].path), cases[i].folder);
        CHECK_STR(arena_strndup(&arena, name.p, name.n), cases[i].name);
    }
}

TEST(paths_are_joined)
{
    CHECK_STR(path_join(&arena, "/a", "b"), "/a/b");
    CHECK_STR(path_join(&arena, "/a/", "b"), "/a/b");
    CHECK_STR(path_join(&arena, "/a", "/b"), "/b");
    CHECK_STR(path_join(&arena, "", "b"), "b");
}

TEST(a_path_below_a_folder_is_told_from_one_beside_it)
{
    CHECK(path_is_below("/a/b", "/a"));
    CHECK(path_is_below("/a", "/a/"));
    CHECK(path_is_below("/a", "/"));
    CHECK(!path_is_below("/ab", "/a"));
    CHECK(!path_is_below("/a/../b", "/a"));
    CHECK(!path_is_below("a/b", "/a"));
    CHECK(path_is_below("a/b", "."));
    CHECK(!path_is_below("../b", "."));
}

TEST(paths_that_climb_out_are_noticed)
{
    CHECK(path_escapes("/a"));
    CHECK(path_escapes(".."));
    CHECK(path_escapes("a/../../b"));
    CHECK(!path_escapes("a/../b"));
    CHECK(!path_escapes("..a"));
}
