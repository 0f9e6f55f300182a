/* Every case is edited twice: the second time nothing may change. */
#include "test.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"

#define CHUNKS_MAX 4

static struct str view(const char *text)
{
    return text ? str_from(text) : (struct str){ NULL, 0 };
}

/* --- append, prepend ---------------------------------------------------------------- */

struct ends_case {
    const char *name, *text, *chunks[CHUNKS_MAX], *after;
    bool prepend, header, ignore_blanks;
    size_t lines;
};

/* clang-format off */
static const struct ends_case ends_cases[] = {
    { "a line is added to an empty text", "", { "a" }, "a\n", .lines = 1 },
    { "a line that is there stays alone", "x\na\ny\n", { "a" }, "x\na\ny\n", .lines = 0 },
    { "a part of a line is not the line", "#foobar\n", { "foo" }, "#foobar\nfoo\n", .lines = 1 },
    { "the last line gets its end", "x", { "a" }, "x\na\n", .lines = 1 },
    { "a text without end that has the line stays", "x\na", { "a" }, "x\na", .lines = 0 },
    { "lines of a chunk belong together", "}\na {\n", { "a {\n}\n" }, "}\na {\na {\n}\n", .lines = 2 },
    { "the same line twice is added once", "", { "a", "a" }, "a\n", .lines = 1 },
    { "lines end as those of the text", "x\r\n", { "a" }, "x\r\na\r\n", .lines = 1 },
    { "blanks count", "a  b\n", { "a b" }, "a  b\na b\n", .lines = 1 },
    { "blanks do not count when told so", "\ta  b\n", { "a b" }, "\ta  b\n", .ignore_blanks = true },
    { "an empty line is a line", "x\n", { "\n" }, "x\n\n", .lines = 1 },
    { "prepend keeps the order", "x\n", { "a", "b" }, "a\nb\nx\n", .prepend = true, .lines = 2 },
    { "prepend is content anywhere", "x\na\n", { "a" }, "x\na\n", .prepend = true },
    { "a header must be first", "x\na\n", { "a" }, "a\nx\na\n", .prepend = true, .header = true, .lines = 1 },
    { "a header that is first stays", "a\nb\nx\n", { "a", "b" }, "a\nb\nx\n", .prepend = true, .header = true },
    { "prepend to a text without end", "x", { "a" }, "a\nx", .prepend = true, .lines = 1 },
};
/* clang-format on */

static void run_ends(const struct ends_case *c, const char *text, const char *after, size_t lines)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct str parts[CHUNKS_MAX];
    struct edit_chunks chunks = { .p = parts,
                                  .ignore_blanks = c->ignore_blanks,
                                  .header = c->header };
    size_t added;
    struct err err;

    for (; chunks.n < CHUNKS_MAX && c->chunks[chunks.n]; chunks.n++)
        parts[chunks.n] = str_from(c->chunks[chunks.n]);
    CHECK_INT(
        (c->prepend ? edit_prepend : edit_append)(str_from(text), &chunks, &out, &added, &err), 0);
    CHECK_STR(buf_text(&out), after);
    CHECK_INT(added, lines);
}

static bool is_stopped(const void *user)
{
    return user != NULL;
}

TEST(adding_lines_can_be_stopped)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    const struct str line = STR("a");
    const struct edit_chunks chunks = {
        .p = &line, .n = 1, .is_stopped = is_stopped, .user = &out
    };
    size_t added;
    struct err err;

    CHECK_INT(edit_append(STR("x\n"), &chunks, &out, &added, &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
    CHECK_INT(edit_prepend(STR("x\n"), &chunks, &out, &added, &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
}

TEST(missing_lines_are_added_and_those_that_are_there_are_not)
{
    for (size_t i = 0; i < ARRAY_LEN(ends_cases); i++) {
        const struct ends_case *c = &ends_cases[i];

        run_ends(c, c->text, c->after, c->lines);
        run_ends(c, c->after, c->after, 0);
    }
}

/* --- line --------------------------------------------------------------------------- */

struct line_case {
    const char *name, *text;
    struct edit_line args;
    const char *after;
};

#define S(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
/* clang-format off */
static const struct line_case line_cases[] = {
    { "ensure adds at the end", "a\n", { .content = S("b") }, "a\nb\n" },
    { "ensure finds its own line", "a\nb\nc\n", { .content = S("b") }, "a\nb\nc\n" },
    { "ensure replaces the first match", "p=1\np=2\n", { .content = S("p=3"), .match = S("^p=") }, "p=3\np=2\n" },
    { "ensure is content when the first match is the content", "p=3\np=2\n",
      { .content = S("p=3"), .match = S("^p=") }, "p=3\np=2\n" },
    { "ensure with a pattern that misses its content replaces one line, once", "foo\nfoo\n",
      { .content = S("bar"), .match = S("foo") }, "bar\nfoo\n" },
    { "ensure inserts after", "a\nc\n", { .content = S("b"), .after = S("^a") }, "a\nb\nc\n" },
    { "ensure inserts before", "a\nc\n", { .content = S("b"), .before = S("^c") }, "a\nb\nc\n" },
    { "after wins", "a\nc\nd\n", { .mode = EDIT_LINE_INSERT, .content = S("b"), .after = S("^a"), .before = S("^d") },
      "a\nb\nc\nd\n" },
    { "no anchor: the end", "a\n", { .content = S("b"), .after = S("zzz") }, "a\nb\n" },
    { "between two anchors nothing else", "a\nx\nc\n", { .content = S("b"), .after = S("^a"), .before = S("^c") }, "a\nb\nc\n" },
    { "between two anchors, added", "a\nc\n", { .content = S("b"), .after = S("^a"), .before = S("^c") }, "a\nb\nc\n" },
    { "between two anchors, there", "a\nx\nb\nc\n", { .content = S("b"), .after = S("^a"), .before = S("^c") }, "a\nx\nb\nc\n" },
    { "at the start", "a\n", { .mode = EDIT_LINE_INSERT, .content = S("b"), .location = EDIT_AT_START }, "b\na\n" },
    { "a missing end stays missing", "a", { .content = S("b") }, "a\nb" },
    { "into an empty text", "", { .content = S("b") }, "b\n" },
    { "indentation comes from the line beside", "s {\n    a\n}\n",
      { .content = S("b"), .after = S("a$"), .indent = true }, "s {\n    a\n    b\n}\n" },
    { "indentation of one's own stays", "    a\n", { .content = S("  b"), .after = S("a"), .indent = true }, "    a\n  b\n" },
    { "an indented line is the line", "  b\n", { .content = S("b"), .indent = true }, "  b\n" },
    { "replace changes every match", "x1\ny\nx2\n", { .mode = EDIT_LINE_REPLACE, .content = S("z"), .match = S("^x") }, "z\ny\nz\n" },
    { "replace adds nothing", "y\n", { .mode = EDIT_LINE_REPLACE, .content = S("z"), .match = S("^x") }, "y\n" },
    { "replace keeps the indentation", "\tx\n", { .mode = EDIT_LINE_REPLACE, .content = S("z"), .match = S("x"), .indent = true }, "\tz\n" },
    { "insert of a line that is there", "b\na\n", { .mode = EDIT_LINE_INSERT, .content = S("b"), .after = S("a") }, "b\na\n" },
    { "insert of several lines", "a\n", { .mode = EDIT_LINE_INSERT, .content = S("b\nc\n") }, "a\nb\nc\n" },
    { "delete every match", "a1\nb\na2\n", { .mode = EDIT_LINE_DELETE, .match = S("^a") }, "b\n" },
    { "delete by content is exact", "a\nab\n", { .mode = EDIT_LINE_DELETE, .content = S("a") }, "ab\n" },
    { "delete of the last line keeps the missing end", "a\nb", { .mode = EDIT_LINE_DELETE, .match = S("b") }, "a" },
    { "what is no pattern is a part of a line", "f(x\n", { .content = S("g"), .match = S("f(") }, "g\n" },
    { "carriage returns stay", "a\r\nb\r\n", { .content = S("c"), .match = S("^b$") }, "a\r\nc\r\n" },
};
/* clang-format on */

static void run_line(const struct line_case *c, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct err err = { 0 };

    CHECK_INT(edit_line(str_from(text), &c->args, &out, &err), 0);
    CHECK_STR(buf_text(&out), c->after);
}

TEST(a_line_is_ensured_replaced_inserted_or_deleted_once)
{
    for (size_t i = 0; i < ARRAY_LEN(line_cases); i++) {
        run_line(&line_cases[i], line_cases[i].text);
        run_line(&line_cases[i], line_cases[i].after);
    }
}

TEST(more_than_one_line_between_two_anchors_is_an_error)
{
    const struct edit_line args = { .content = S("b"), .after = S("^a"), .before = S("^c") };
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct err err;

    CHECK_INT(edit_line(STR("a\nx\ny\nc\n"), &args, &out, &err), -1);
    CHECK_HAS(err.text, "2 lines between '^a' and '^c'");
}

TEST(a_content_of_two_lines_can_only_be_inserted)
{
    const struct edit_line args = { .content = S("a\nb\n"), .match = S("x") };
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct err err;

    CHECK_INT(edit_line(STR("x\n"), &args, &out, &err), -1);
    CHECK_STR(err.text, "the content has more than one line");
}

/* --- replace ------------------------------------------------------------------------ */

struct replace_case {
    const char *name, *text, *pattern;
    struct edit_replace args;
    const char *after;
    size_t found;
};

/* clang-format off */
static const struct replace_case replace_cases[] = {
    { "all of them", "a1a2\n", "a\\d", { .repl = S("x") }, "xx\n", 2 },
    { "some of them", "a a a\n", "a", { .repl = S("a"), .count = 2 }, "a a a\n", 2 },
    { "lines have ends and beginnings", "p 1\nq 2\n", "^q.*$", { .repl = S("q 3") }, "p 1\nq 3\n", 1 },
    { "groups by backslash", "k=v\n", "^(\\w+)=(\\w)$", { .repl = S("\\1: \\2\\n") }, "k: v\n\n", 1 },
    { "groups by dollar", "k=v\n", "^(\\w+)=(?<val>\\w)$", { .repl = S("$1: ${val}${1}") }, "k: vk\n", 1 },
    { "groups by name", "k=v\n", "^(?P<key>\\w+)=v", { .repl = S("\\g<key> \\g<1>") }, "k k\n", 1 },
    { "a group that is not there is text", "k\n", "k", { .repl = S("$HOME ${X} $1 \\9") }, "$HOME ${X} $1 \\9\n", 1 },
    { "escaped", "k\n", "(k)", { .repl = S("\\$1 \\\\1") }, "$1 \\1\n", 1 },
    { "literal", "k\n", "(k)", { .repl = S("\\1$1"), .literal = true }, "\\1$1\n", 1 },
    { "foo to foobar settles", "foo\n", "foo", { .repl = S("foobar") }, "foobar\n", 1 },
    { "foo to barfoo settles", "foo foo\n", "foo", { .repl = S("barfoo") }, "barfoo barfoo\n", 2 },
    { "an empty match settles", "x\n", "^(?=x)", { .repl = S("# ") }, "# x\n", 1 },
    { "not found: appended", "x", "^y=.*", { .repl = S("y=1"), .append = true }, "x\ny=1\n", 0 },
    { "not found: prepended", "x\n", "^y=.*", { .repl = S("y=1"), .prepend = true }, "y=1\nx\n", 0 },
    { "not found: other content", "x\n", "^y$", { .repl = S("z"), .append = true, .not_found = S("w") }, "x\nw\n", 0 },
    { "bytes that are no text do no harm", "\xff" "a\xff\n", "a", { .repl = S("b") }, "\xff" "b\xff\n", 1 },
    { "nothing to do", "x\n", "y", { .repl = S("z") }, "x\n", 0 },
};
/* clang-format on */

static void run_replace(const struct replace_case *c, const char *text, bool count)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *pattern = NULL;
    struct edit_replace args = c->args;
    size_t found = 0;
    struct err err;

    CHECK_INT(matcher_new(&arena, str_from(c->pattern), MATCHER_MULTILINE | MATCHER_MANY, &pattern,
                          NULL, &err),
              0);
    args.pattern = pattern;
    CHECK_INT(edit_replace(str_from(text), &args, &out, &found, &err), 0);
    CHECK_STR(buf_text(&out), c->after);
    if (count)
        CHECK_INT(found, c->found);
}

/* 200,000 lines, each with a match: what looks at the whole text for each of them takes minutes. */
static void replace_many(const char *last_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(EDIT_SIZE_MAX);
    struct edit_replace args = { .repl = STR("v\\1") };
    size_t found = 0;
    struct err err;

    for (int i = 0; i < 200000; i++)
        buf_printf(&text, "key%d = value%d\n", i, i);
    buf_add_text(&text, last_line);
    CHECK_INT(matcher_new(&arena, STR("value(\\d+)"), MATCHER_MANY, &args.pattern, NULL, &err), 0);
    CHECK_INT(edit_replace(buf_view(&text), &args, &out, &found, &err), 0);
    CHECK_INT(found, 200000);
}

TEST(many_matches_take_time_in_proportion)
{
    replace_many("");
}

TEST(many_matches_in_text_that_is_not_utf8_take_time_in_proportion)
{
    replace_many("caf\xe9\n");
}

TEST(a_replacement_can_be_stopped)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct edit_replace args = { .repl = STR("b"), .is_stopped = is_stopped, .user = &args };
    size_t found;
    struct err err;

    CHECK_INT(matcher_new(&arena, STR("a"), MATCHER_MANY, &args.pattern, NULL, &err), 0);
    CHECK_INT(edit_replace(STR("aaa"), &args, &out, &found, &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
}

TEST(matches_are_replaced_once)
{
    for (size_t i = 0; i < ARRAY_LEN(replace_cases); i++) {
        run_replace(&replace_cases[i], replace_cases[i].text, true);
        run_replace(&replace_cases[i], replace_cases[i].after, false);
    }
}

/* --- comment ------------------------------------------------------------------------ */

static const struct {
    const char *name, *text, *regex;
    bool uncomment;
    const char *after;
    size_t found;
} comment_cases[] = {
    { "comment", "a\nb\n", "^a", false, "#a\nb\n", 1 },
    { "commented lines stay", "#a\n  # a\n", "^a", false, "#a\n  # a\n", 2 },
    { "an indented line", "  a\n", "a$", false, "#  a\n", 1 },
    { "uncomment", "#a\n# b\n", "^a", true, "a\n# b\n", 1 },
    { "uncomment with a blank", "# a=1\n", "^a=", true, "a=1\n", 1 },
    { "uncomment keeps the indentation", "  #a\n", "^a", true, "  a\n", 1 },
    { "no comment, nothing to do", "a\n", "^a", true, "a\n", 1 },
    { "two marks are no line in a comment", "##a\n", "a", true, "##a\n", 0 },
    { "no line", "b\n", "^a", false, "b\n", 0 },
};

TEST(lines_go_into_comments_and_out_of_them_once)
{
    for (size_t i = 0; i < ARRAY_LEN(comment_cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct matcher *pattern = NULL;
        struct edit_comment args = { .mark = STR("#") };
        struct err err;

        CHECK_INT(matcher_new(&arena, str_from(comment_cases[i].regex), 0, &pattern, NULL, &err),
                  0);
        args.pattern = pattern;
        for (int again = 0; again < 2; again++) {
            AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
            const char *text = again ? comment_cases[i].after : comment_cases[i].text;
            size_t found;

            CHECK_INT((comment_cases[i].uncomment ? edit_uncomment : edit_comment)(
                          str_from(text), &args, &out, &found, &err),
                      0);
            CHECK_STR(buf_text(&out), comment_cases[i].after);
            CHECK_INT(found, comment_cases[i].found);
        }
    }
}

/* --- keys and values ---------------------------------------------------------------- */

static const struct {
    const char *name, *text, *separator, *uncomment;
    struct edit_pair pair;
    size_t count;
    bool no_append, prepend, ignore_case;
    const char *after;
} key_cases[] = {
    { "set", "a=1\nb=2\n", "=", "", { S("b"), S("3") }, 1, .after = "a=1\nb=3\n" },
    { "add", "a=1", "=", "", { S("b"), S("3") }, 1, .after = "a=1\nb=3\n" },
    { "blanks around the separator do not count",
      "a = 1\n",
      "=",
      "",
      { S("a"), S("1") },
      1,
      .after = "a = 1\n" },
    { "the separator is written as it is",
      "a=1\n",
      " = ",
      "",
      { S("a"), S("2") },
      1,
      .after = "a = 2\n" },
    { "a blank separator",
      "UMASK\t\t022\nUMASKX 1\n",
      " ",
      "",
      { S("UMASK"), S("027") },
      1,
      .after = "UMASK 027\nUMASKX 1\n" },
    { "a blank separator that is in order",
      "UMASK\t\t022\n",
      " ",
      "",
      { S("UMASK"), S("022") },
      1,
      .after = "UMASK\t\t022\n" },
    { "a tab to write", "", "\t", "", { S("K"), S("v") }, 1, .after = "K\tv\n" },
    { "a key that begins like another",
      "ab=1\n",
      "=",
      "",
      { S("a"), S("2") },
      1,
      .after = "ab=1\na=2\n" },
    { "indentation stays", "  a=1\n", "=", "", { S("a"), S("2") }, 1, .after = "  a=2\n" },
    { "only the first", "a=1\na=1\n", "=", "", { S("a"), S("2") }, 1, .after = "a=2\na=1\n" },
    { "all of them", "a=1\na=1\n", "=", "", { S("a"), S("2") }, 0, .after = "a=2\na=2\n" },
    { "comments are left alone", "#a=1\n", "=", "", { S("a"), S("1") }, 1, .after = "#a=1\na=1\n" },
    { "uncomment", "# a=1\n", "=", "#", { S("a"), S("1") }, 1, .after = "a=1\n" },
    { "an active line before a comment",
      "#a=1\na=0\n",
      "=",
      "#",
      { S("a"), S("1") },
      1,
      .after = "#a=1\na=1\n" },
    { "not there, not added",
      "x=1\n",
      "=",
      "",
      { S("a"), S("1") },
      1,
      .no_append = true,
      .after = "x=1\n" },
    { "prepend",
      "x=1\n",
      "=",
      "",
      { S("a"), S("1") },
      1,
      .no_append = true,
      .prepend = true,
      .after = "a=1\nx=1\n" },
    { "case of keys",
      "Port=1\n",
      "=",
      "",
      { S("port"), S("1") },
      1,
      .ignore_case = true,
      .after = "Port=1\n" },
    { "an empty value", "a=1\n", "=", "", { S("a"), S("") }, 1, .after = "a=\n" },
};

TEST(a_key_has_its_value_once)
{
    for (size_t i = 0; i < ARRAY_LEN(key_cases); i++)
        for (int again = 0; again < 2; again++) {
            const struct edit_keyvalue args = {
                .pairs = &key_cases[i].pair,
                .n = 1,
                .separator = str_from(key_cases[i].separator),
                .uncomment = str_from(key_cases[i].uncomment),
                .count = key_cases[i].count,
                .append = !key_cases[i].no_append,
                .prepend = key_cases[i].prepend,
                .key_ignore_case = key_cases[i].ignore_case,
            };
            AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
            const char *text = again ? key_cases[i].after : key_cases[i].text;
            struct edit_keyvalue_found found;
            struct err err;

            CHECK_INT(edit_keyvalue(str_from(text), &args, &out, &found, &err), 0);
            CHECK_STR(buf_text(&out), key_cases[i].after);
            CHECK_INT(found.changed, strcmp(text, key_cases[i].after) != 0);
        }
}

TEST(a_value_cannot_smuggle_in_a_line)
{
    const struct edit_pair pair = { S("a"), S("1\nevil=1") };
    const struct edit_keyvalue args = { .pairs = &pair, .n = 1, .separator = S("=") };
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct edit_keyvalue_found found;
    struct err err;

    CHECK_INT(edit_keyvalue(STR(""), &args, &out, &found, &err), -1);
    CHECK_HAS(err.text, "must be on one line");
}

/* --- blocks ------------------------------------------------------------------------- */

static const struct {
    const char *name, *text, *content, *before, *behind;
    bool append, prepend, newline;
    const char *after;
    enum edit_block_found found;
} block_cases[] = {
    { "replace", "x\n<<\nold\n>>\ny\n", "new", NULL, NULL, .after = "x\n<<\nnew\n>>\ny\n",
      .found = EDIT_BLOCK_REPLACED },
    { "the same", "<<\nold\n>>\n", "old\n\n", NULL, NULL, .after = "<<\nold\n>>\n",
      .found = EDIT_BLOCK_SAME },
    { "missing", "x\n", "new", NULL, NULL, .after = "x\n", .found = EDIT_BLOCK_MISSING },
    { "appended", "x", "new", NULL, NULL, .append = true, .after = "x\n<<\nnew\n>>\n",
      .found = EDIT_BLOCK_ADDED },
    { "appended with an empty line", "x\n", "new", NULL, NULL, .append = true, .newline = true,
      .after = "x\n<<\nnew\n>>\n\n", .found = EDIT_BLOCK_ADDED },
    { "prepended", "x\n", "new", NULL, NULL, .prepend = true, .after = "<<\nnew\n>>\nx\n",
      .found = EDIT_BLOCK_ADDED },
    { "before a line", "x\ny\n", "new", "^y", NULL, .after = "x\n<<\nnew\n>>\ny\n",
      .found = EDIT_BLOCK_ADDED },
    { "after a line", "x\ny\n", "new", NULL, "^x", .after = "x\n<<\nnew\n>>\ny\n",
      .found = EDIT_BLOCK_ADDED },
    { "no such line: appended", "x\n", "new", "^z", NULL, .append = true,
      .after = "x\n<<\nnew\n>>\n", .found = EDIT_BLOCK_ADDED },
    { "emptied", "<<\nold\n>>\n", "", NULL, NULL, .after = "<<\n>>\n",
      .found = EDIT_BLOCK_REPLACED },
    { "the last start before the end", "<<\n<<\nold\n>>\n", "new", NULL, NULL,
      .after = "<<\n<<\nnew\n>>\n", .found = EDIT_BLOCK_REPLACED },
    { "a marker inside a line is none", "a <<\n>>\n", "new", NULL, NULL, .append = true,
      .after = "a <<\n>>\n<<\nnew\n>>\n", .found = EDIT_BLOCK_ADDED },
    { "carriage returns", "<<\r\nold\r\n>>\r\n", "new", NULL, NULL, .after = "<<\r\nnew\r\n>>\r\n",
      .found = EDIT_BLOCK_REPLACED },
};

static void run_block(size_t i, const char *text, enum edit_block_found want)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *before = NULL, *behind = NULL;
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    struct edit_block args = {
        .start = STR("<<"),
        .end = STR(">>"),
        .content = str_from(block_cases[i].content),
        .append = block_cases[i].append,
        .prepend = block_cases[i].prepend,
        .append_newline = block_cases[i].newline,
    };
    enum edit_block_found found;
    struct err err;

    if (block_cases[i].before)
        CHECK_INT(matcher_new(&arena, view(block_cases[i].before), 0, &before, NULL, &err), 0);
    if (block_cases[i].behind)
        CHECK_INT(matcher_new(&arena, view(block_cases[i].behind), 0, &behind, NULL, &err), 0);
    args.before = before;
    args.after = behind;
    CHECK_INT(edit_block(str_from(text), &args, &out, &found, &err), 0);
    CHECK_STR(buf_text(&out), block_cases[i].after);
    CHECK_INT(found, want);
}

TEST(the_lines_between_two_markers_are_set_once)
{
    for (size_t i = 0; i < ARRAY_LEN(block_cases); i++) {
        const enum edit_block_found found = block_cases[i].found;

        run_block(i, block_cases[i].text, found);
        run_block(i, block_cases[i].after,
                  found == EDIT_BLOCK_MISSING ? EDIT_BLOCK_MISSING : EDIT_BLOCK_SAME);
    }
}

TEST(a_block_that_nothing_ends_is_an_error)
{
    const struct edit_block args = { .start = S("<<"), .end = S(">>"), .append = true };
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    enum edit_block_found found;
    struct err err;

    CHECK_INT(edit_block(STR("x\n<<\ny\n"), &args, &out, &found, &err), -1);
    CHECK_STR(err.text, "the marker '<<' in line 2 has no '>>' after it");
}

TEST(a_content_with_a_marker_in_it_is_refused)
{
    const struct edit_block args = { .start = S("<<"), .end = S(">>"), .content = S("a\n>>\n") };
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);
    enum edit_block_found found;
    struct err err;

    CHECK_INT(edit_block(STR(""), &args, &out, &found, &err), -1);
    CHECK_STR(err.text, "the content holds a marker: '>>'");
}

TEST(a_text_that_grows_beyond_its_limit_is_an_error)
{
    const struct str line = STR("0123456789");
    const struct edit_chunks chunks = { .p = &line, .n = 1 };
    AUTO_BUF struct buf out = BUF_INIT(8);
    size_t lines;
    struct err err;

    CHECK_INT(edit_append(STR("x\n"), &chunks, &out, &lines, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "exceed the limit of 8 bytes");
}
