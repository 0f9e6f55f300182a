#include "core/data/yaml_block.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

static bool is_accepted(struct str text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct yaml_block block;
    yaml_event_t event = { .type = YAML_NO_EVENT };
    bool kept;

    yaml_block_init(&block, &arena, arena_str(&arena, text));
    while (event.type != YAML_STREAM_END_EVENT)
        if (!yaml_block_next(&block, &event, &kept))
            return false;
    return true;
}

/* Each value with its place, which is `lines` further down than it says. */
static void show(struct buf *out, const struct value *v, uint32_t lines)
{
    buf_printf(out, "%u:%u %s", v->line - lines, v->column, v->flags & VALUE_QUOTED ? "q" : "");
    if (v->kind == VALUE_LIST) {
        for (size_t i = 0; i < v->list->count; i++)
            show(out, &v->list->items[i], lines);
    } else if (v->kind == VALUE_MAP) {
        for (size_t i = 0; i < v->map->count; i++) {
            show(out, &v->map->pairs[i].key, lines);
            show(out, &v->map->pairs[i].value, lines);
        }
    }
    if (v->kind == VALUE_STR)
        buf_printf(out, "[%.*s]", STR_ARG(v->s));
    else
        buf_printf(out, "(%s)\n", value_describe(v));
}

static void show_text(struct buf *out, const char *head, const char *text, uint32_t lines)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    if (yaml_parse(&arena, "t", str_from(arena_printf(&arena, "%s%s", head, text)),
                   &(struct yaml_options){ .tags = yaml_all_tags }, &v, &diags) < 0)
        diags_print(&diags, out);
    else
        show(out, &v, lines);
}

/* --- what is accepted ---------------------------------------------------------------- */

static const char *const accepted[] = {
    "a: 1\nb: two words # comment\n",
    "a: 1",
    ("# head\n\n/etc/motd:\n  file.managed:\n    - mode: '0644'\n"
     "    - contents: |\n        a\n\n          b\n        c\n\n    - user: root\n"),
    "a:\n- 1\n- b: 2\n  c: 3\n-\n- - x\n  - y\nd:\n",
    "a:\n  - 1\n\n  # between\n  -\n    b: 2\n  - |\n   text\n",
    "- a\n- b:\n- 'c': d\n- \"e\" : f\n",
    "a: 'it''s'\nb: \"a\\tb\\n\\\"c\\\\\"\nc: ''\nd: \"\"\n'': e\n",
    "a: |\n\n  x\ny: 1\n",
    "a: |\n  x\n  \n   y\n    \n\n\nb: |-\n  x\n\n\nc: |+\n  x\n\n\nd: 1\n",
    "a: |\n  x\n   ",
    "a: |\n  x",
    "a: |+\n  x\n  ",
    "a: |-\n  x\n\n",
    "a: | # comment\n  x\n  \ty\n  # text\n # comment\nb: 1\n",
    "a: b#c:d e:f\nhttp://x/: -1\n-x: --\nb:   spaces   \n",
    "a:\n  b:\n    c:\n  d: 1\ne:\n  text\nf: 2\n",
    "---\na: 1\n",
    "# first\n---\n- 1\n",
    "\xc3\xa4: \xc3\xb6 # x\n\xc3\xbc\xc3\xbc: 'y'\n\xe2\x82\xac: |\n  \xe2\x82\xac\n",
    "<<:\n  a: 1\nb: 2\n",
    "a: [1, two words, 'it''s', \"\\t\"]\nb: [ ]\nc: []\nd: {}\ne: {a: 1, 'b': x y, \"c\" : ~}\n",
    "- [a, [b, {c: d}], e] # comment\n- { a: [], b: {} }\n- x: [salt://a/b, 10:30, x-1]\n",
    "a: ~\nb: null\nc: 0644\nd: 2024-01-31\ne: yes\n\n",
};

TEST(reading_line_by_line_matches_libyaml)
{
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        AUTO_BUF struct buf ours = BUF_INIT(BUF_NO_LIMIT), theirs = BUF_INIT(BUF_NO_LIMIT);
        const bool marked = strstr(accepted[i], "---\n") != NULL;

        if (!is_accepted(str_from(accepted[i])))
            CHECK_STR(accepted[i], "accepted");
        show_text(&ours, "", accepted[i], 0);
        /* a directive is for libyaml only */
        show_text(&theirs, marked ? "%YAML 1.1\n" : "%YAML 1.1\n---\n", accepted[i],
                  marked ? 1 : 2);
        CHECK_STR(buf_text(&ours), buf_text(&theirs));
    }
}

/* --- what is left to libyaml ---------------------------------------------------------- */

static const char *const refused[] = {
    "",
    "# nothing\n",
    "---\n",
    "text\n",
    "'text'\n",
    "|\n  text\n",
    " a: 1\n",
    "a: [1,\n  2]\n",
    "a: [1, 2\n",
    "a: [1, 2]]\n",
    "a: [1, 2}\n",
    "a: [1, 2]: b\n",
    "a: [1, 2] b\n",
    "a: [1, 2]#b\n",
    "a: [1, ]\n",
    "a: [, 1]\n",
    "a: [b: c]\n",
    "a: [b #c\n",
    "a: ['b' c]\n",
    "a: [- b]\n",
    "a: [&b c]\n",
    "a: [? b]\n",
    "a: {b}\n",
    "a: {b: }\n",
    "a: {b:c}\n",
    "a: {b: c d: e}\n",
    "a: {[b]: c}\n",
    "a: {{ b }}\n",
    "a:\n  [b]\n",
    "[a, b]\n",
    "{a: b}\n",
    "a: &x 1\n",
    "a: *x\n",
    "a: !tag 1\n",
    "a: >\n  folded\n",
    "a: |2\n  text\n",
    "a: |\n     \n  text\n",
    "a: |\ntext\n",
    "a: |\n",
    "a: |\n  x\n \ty\n",
    "a: two\n  lines\n",
    "a: 'two\n  lines'\n",
    "a: \"\\x41\"\n",
    "a: \"two\\\n  lines\"\n",
    "? a\n: b\n",
    "a:\t1\n",
    "a: b\tc\n",
    "a: 1\n\t\nb: 2\n",
    "a: b: c\n",
    "a: - b\n",
    "a: @b\n",
    "a: `b`\n",
    "a: 'b' c\n",
    "a: 'b'#c\n",
    "a\n",
    "a: 1\nb\n",
    "a: 1\n- b\n",
    "- a\nb: 1\n",
    "a:\n  b: 1\n c: 2\n",
    "a: 1\n  b: 2\n",
    "a: 1\n---\nb: 2\n",
    "---\n---\na: 1\n",
    "--- a\n",
    "a: 1\n...\n",
    "%YAML 1.1\n---\na: 1\n",
    ("\xef\xbb\xbf"
     "a: 1\n"),
};

TEST(anything_else_is_left_to_libyaml)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (is_accepted(str_from(refused[i])))
            CHECK_STR(refused[i], "refused");
}

static void add_times(struct buf *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buf_add_text(out, text);
}

TEST(keys_that_are_too_long_and_deep_levels_are_left_to_libyaml)
{
    AUTO_BUF struct buf key = BUF_INIT(BUF_NO_LIMIT), deep = BUF_INIT(BUF_NO_LIMIT);

    add_times(&key, "k", 1020);
    buf_add_text(&key, ": 1\n");
    CHECK(!is_accepted(buf_view(&key)));
    add_times(&deep, "- ", YAML_BLOCK_DEPTH_MAX);
    buf_add_text(&deep, "a\n");
    CHECK(is_accepted(buf_view(&deep)));
    buf_clear(&deep);
    add_times(&deep, "- ", YAML_BLOCK_DEPTH_MAX);
    add_times(&deep, "[", YAML_BLOCK_ITEMS_MAX);
    add_times(&deep, "]", YAML_BLOCK_ITEMS_MAX);
    CHECK(!is_accepted(buf_view(&deep)));
    buf_clear(&deep);
    add_times(&deep, "- ", YAML_BLOCK_DEPTH_MAX + 1);
    buf_add_text(&deep, "a\n");
    CHECK(!is_accepted(buf_view(&deep)));
}

TEST(all_levels_close_and_open_on_one_line)
{
    AUTO_BUF struct buf deep = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 3; i++) {
        add_times(&deep, "- ", YAML_BLOCK_DEPTH_MAX);
        buf_add_text(&deep, "\n");
    }
    CHECK(is_accepted(buf_view(&deep)));
}

TEST(mistakes_are_explained_as_ever)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    show_text(&out, "", "a: 1\nb: 2\na: 3\n", 0);
    CHECK_HAS(buf_text(&out), "t:3:1");
    CHECK_HAS(buf_text(&out), "duplicate key 'a'");
    buf_clear(&out);
    show_text(&out, "", "a: 1\nb: 2\n  c: 3\n", 0);
    CHECK_HAS(buf_text(&out), "t:3:3");
}
