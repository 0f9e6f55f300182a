#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/textdiff.h"

static const char *diff(struct buf *out, const char *old, const char *now)
{
    buf_clear(out);
    textdiff(str_from(old), str_from(now), "f", "f", out);
    return buf_text(out);
}

TEST(equal_texts_have_no_diff)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(diff(&out, "a\nb\n", "a\nb\n"), "");
    CHECK_STR(diff(&out, "", ""), "");
}

TEST(a_changed_line_is_shown_with_three_lines_around_it)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(diff(&out, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
              "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(a_text_from_nothing_is_all_new)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(diff(&out, "", "a\nb\n"), "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    CHECK_STR(diff(&out, "a\n", ""), "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
}

TEST(a_missing_last_line_end_is_reported)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(diff(&out, "a\nb", "a\nb\n"),
              "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
}

TEST(far_changes_are_hunks_of_their_own)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(
        diff(&out, "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
        "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
    CHECK_STR(diff(&out, "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
              "--- f\n+++ f\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

TEST(bytes_with_nul_are_binary)
{
    CHECK(textdiff_is_binary(STR("a\0b")));
    CHECK(!textdiff_is_binary(STR("ab")));
    CHECK(!textdiff_is_binary(STR("")));
}

/* --- against the program ---------------------------------------------------------- */

static uint32_t seed = 12345;

static uint32_t roll(uint32_t sides)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % sides;
}

static void make_text(struct buf *text, uint32_t lines, uint32_t words)
{
    buf_clear(text);
    for (uint32_t i = 0; i < lines; i++)
        buf_printf(text, "line %u\n", roll(words));
    if (lines > 0 && roll(4) == 0)
        buf_cut(text, text->n - 1);
}

static void write_file(const char *folder, const char *name, struct str text)
{
    AUTO_BUF struct buf path = BUF_INIT(BUF_NO_LIMIT);
    FILE *file;

    buf_printf(&path, "%s/%s", folder, name);
    file = fopen(buf_text(&path), "we");
    CHECK(file != NULL);
    CHECK(fwrite(text.p, 1, text.n, file) == text.n || text.n == 0);
    CHECK(fclose(file) == 0);
}

static int shell(const char *folder, const char *command)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&line, "cd '%s' && { %s; }", folder, command);
    return system(buf_text(&line));
}

/* Our diff, applied by patch, gives the new text; and it has no more lines than diff's own. */
TEST(a_diff_applied_to_the_old_text_gives_the_new_one)
{
    AUTO_BUF struct buf a = BUF_INIT(BUF_NO_LIMIT), b = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = test_folder();

    for (int i = 0; i < 60; i++) {
        make_text(&a, roll(40), 1 + roll(30));
        make_text(&b, roll(40), 1 + roll(30));
        if (str_eq(buf_view(&a), buf_view(&b)))
            continue;
        buf_clear(&out);
        textdiff(buf_view(&a), buf_view(&b), "a", "a", &out);
        write_file(folder, "a", buf_view(&a));
        write_file(folder, "b", buf_view(&b));
        write_file(folder, "ours", buf_view(&out));
        CHECK_INT(shell(folder, "diff -d -u a b > theirs; test $(grep -c '^[-+]' ours) -le "
                                "$(grep -c '^[-+]' theirs)"),
                  0);
        CHECK_INT(shell(folder, "patch -s -E a < ours && touch a && cmp a b"), 0);
    }
}

TEST(texts_with_nothing_in_common_take_linear_time)
{
    AUTO_BUF struct buf a = BUF_INIT(BUF_NO_LIMIT), b = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 100000; i++) {
        buf_printf(&a, "a %d\n", i);
        buf_printf(&b, "b %d\n", i);
    }
    textdiff(buf_view(&a), buf_view(&b), "a", "b", &out);
    CHECK_HAS(buf_text(&out), "@@ -1,100000 +1,100000 @@\n-a 0\n");
    CHECK_HAS(buf_text(&out), "\n+b 99999\n");
}
