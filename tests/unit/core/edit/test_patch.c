/* Patches are read and applied as patch(1) does it. */
#include "core/edit/patch.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

#define HEAD "--- a/f\n+++ b/f\n"

static const char *const words[] = {
    [PATCH_APPLIED] = "applied",
    [PATCH_FITS] = "fits",
    [PATCH_MISFITS] = "misfits",
};

TEST(hunks_are_found_where_they_fit)
{
    static const struct {
        const char *name, *text, *patch, *verdict, *made;
    } cases[] = {
        { "a line is replaced", "a\nb\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "fits",
          "a\nB\nc\n" },
        { "applied already", "a\nB\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "applied",
          "a\nB\nc\n" },
        { "it has moved", "x\ny\nz\na\nb\nc\nd\n", HEAD "@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n", "fits",
          "x\ny\nz\na\nB\nc\nd\n" },
        { "a line of context differs", "a\nX\nc\nd\ne\nf\n",
          HEAD "@@ -1,6 +1,6 @@\n a\n b\n-c\n+C\n d\n e\n f\n", "misfits", "" },
        { "an outer line of context differs", "X\nb\nc\nd\ne\nf\ng\n",
          HEAD "@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n", "fits",
          "X\nb\nc\nD\ne\nf\ng\n" },
        { "and is not applied again", "X\nb\nc\nD\ne\nf\ng\n",
          HEAD "@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n", "applied",
          "X\nb\nc\nD\ne\nf\ng\n" },
        { "what would fit twice is applied once", "a\nx\na\na\n",
          HEAD "@@ -1,2 +1,3 @@\n a\n+x\n a\n", "applied", "a\nx\na\na\n" },
        { "it does not fit", "one\n", HEAD "@@ -1 +1 @@\n-two\n+three\n", "misfits", "" },
        { "two hunks, the second moves with the first", "a\nb\nc\nd\ne\nf\ng\nh\n",
          HEAD "@@ -1,2 +1,3 @@\n a\n+new\n b\n@@ -7,2 +8,1 @@\n g\n-h\n", "fits",
          "a\nnew\nb\nc\nd\ne\nf\ng\n" },
        { "the last line gets its end", "a\nb",
          HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "fits", "a\nb\n" },
        { "the last line loses its end", "a\nb\n",
          HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "fits", "a\nb" },
        { "lines end as those of the file do", "a\r\nb\r\n", HEAD "@@ -1,2 +1,3 @@\n a\n+x\n b\n",
          "fits", "a\r\nx\r\nb\r\n" },
        { "into nothing", "", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", "fits",
          "a\nb\n" },
        { "an empty line without its blank", "a\n\nb\n", HEAD "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
          "fits", "a\n\nc\n" },
        { "words around it", "a\n",
          "commit 1\n\ndiff --git a/f b/f\nindex 1..2\n" HEAD
          "@@ -1 +1 @@ main()\n-a\n+b\n-- \n2.39\n",
          "fits", "b\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct patch patch;
        struct err err;
        size_t hunk;

        if (patch_parse(&arena, str_from(cases[i].patch), &patch, &err) < 0)
            CHECK_STR(err.text, cases[i].name);
        CHECK_STR(
            arena_printf(&arena, "%s: %s", cases[i].name,
                         words[patch_try(str_from(cases[i].text), &patch.parts.p[0], &out, &hunk)]),
            arena_printf(&arena, "%s: %s", cases[i].name, cases[i].verdict));
        CHECK_STR(arena_printf(&arena, "%s: %s", cases[i].name, buf_text(&out)),
                  arena_printf(&arena, "%s: %s", cases[i].name, cases[i].made));
    }
}

TEST(an_invalid_patch_is_refused_with_its_line)
{
    static const struct {
        const char *patch, *error;
    } cases[] = {
        { "hello\n", "no unified diff found" },
        { "--- a\nhello\n",
          "line 2 of the patch: '+++' does not follow '---': not a unified diff" },
        { "--- a\n+++ b\nhello\n", "line 2 of the patch: no hunk follows the names of a file" },
        { HEAD "@@ -1,2 +1,2 @@\n a\n", "line 4 of the patch: it ends in the middle of a hunk" },
        { HEAD "@@ -1 +1 @@\n?a\n",
          "line 4 of the patch: a hunk line must begin with ' ', '-' or '+'" },
        { HEAD "@@ -1 +0,0 @@\n+a\n",
          "line 4 of the patch: the lines of the hunk do not match its header" },
        { HEAD "@@ -999999999999 +1 @@\n a\n",
          "line 2 of the patch: no hunk follows the names of a file" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct patch patch;
        struct err err;

        CHECK_INT(patch_parse(&arena, str_from(cases[i].patch), &patch, &err), -1);
        CHECK_STR(err.text, cases[i].error);
    }
}

TEST(names_lose_so_many_folders)
{
    const struct patch_part part = { .old_name = STR("a/src/x.c"), .new_name = STR("b/src/x.c") };
    const struct patch_part gone = { .old_name = STR("a/x.c"), .new_name = STR("/dev/null") };

    CHECK_STR(patch_name(&part, 0).p, "b/src/x.c");
    CHECK_STR(patch_name(&part, 1).p, "src/x.c");
    CHECK_STR(patch_name(&part, 2).p, "x.c");
    CHECK(patch_name(&part, 3).p == NULL);
    CHECK(patch_removes(&gone) && !patch_creates(&gone));
    CHECK_STR(patch_name(&gone, 1).p, "x.c");
}
