#include "core/data/yaml.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/diag.h"
#include "core/base/number.h"
#include "core/data/scalar.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "test.h"

static const struct yaml_options core = { .dialect = YAML_DIALECT_1_2, .tags = yaml_all_tags };
static const struct yaml_options tagged = { .tags = yaml_all_tags };

/* --- showing a tree ------------------------------------------------------------- */

static void show_text(struct buf *out, struct str text)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        const char *escapes = "\"\"\\\\\nn\tt\rr";
        const char *known = NULL;

        for (const char *e = escapes; *e && !known; e += 2)
            known = *e == text.p[i] ? e : NULL;
        if (known)
            buf_printf(out, "\\%c", known[1]);
        else
            buf_add_char(out, text.p[i]);
    }
    buf_add_char(out, '"');
}

static void show(struct buf *out, const struct value *v);

static void show_pair(struct buf *out, const struct value_pair *pair)
{
    show(out, &pair->key);
    buf_add_text(out, ": ");
    show(out, &pair->value);
}

static void show_collection(struct buf *out, const struct value *v)
{
    size_t count = v->kind == VALUE_LIST ? v->list->count : v->map->count;

    buf_add_char(out, v->kind == VALUE_LIST ? '[' : '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_text(out, ", ");
        if (v->kind == VALUE_LIST)
            show(out, &v->list->items[i]);
        else
            show_pair(out, &v->map->pairs[i]);
    }
    buf_add_char(out, v->kind == VALUE_LIST ? ']' : '}');
}

static void show(struct buf *out, const struct value *v)
{
    if (value_tag(v))
        buf_printf(out, "%s ", value_tag(v));
    switch (v->kind) {
    case VALUE_STR: show_text(out, v->s); break;
    case VALUE_BYTES:
        buf_add_text(out, "bytes ");
        base64_encode(v->s, BASE64_STANDARD, out);
        break;
    case VALUE_TIME:
        buf_add_text(out, "time ");
        time_print(out, v->t);
        break;
    case VALUE_LIST:
    case VALUE_MAP: show_collection(out, v); break;
    default: scalar_print(out, v); break;
    }
}

/* One line for each member of the root. */
static void show_root(struct buf *out, const struct value *v)
{
    if (v->kind == VALUE_MAP && v->map->count > 0) {
        for (size_t i = 0; i < v->map->count; i++) {
            show_pair(out, &v->map->pairs[i]);
            buf_add_char(out, '\n');
        }
    } else if (v->kind == VALUE_LIST && v->list->count > 0) {
        for (size_t i = 0; i < v->list->count; i++) {
            buf_add_text(out, "- ");
            show(out, &v->list->items[i]);
            buf_add_char(out, '\n');
        }
    } else {
        show(out, v);
    }
}

static int run_tree(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct str dialect = str_trim(golden_section(golden, "dialect"));
    struct value v;

    if (yaml_parse(&arena, "file.yaml", golden_section(golden, "input"),
                   dialect.n > 0 && str_is(dialect, "1.2") ? &core : &tagged, &v, &diags) < 0) {
        diags_print(&diags, out);
        return -1;
    }
    show_root(out, &v);
    return 0;
}

TEST(documents_become_trees)
{
    test_golden("core/yaml/trees.txt", run_tree);
}

TEST(mistakes_are_reported_with_their_line_and_a_way_out)
{
    test_golden("core/yaml/errors.txt", run_tree);
}

TEST(a_key_that_is_too_long_is_reported_wherever_it_stands)
{
    static const struct {
        const char *before, *after, *place;
    } cases[] = {
        { "a:\n  ", ": 1\n", "file.yaml:2:3: " },
        { "a:\n  \"", "\": 1\n", "file.yaml:2:3: " },
        { "a:\n  - ", ": 1\n", "file.yaml:2:5: " },
        { "a:\n  b: 1\n  ", ": 1\n", "file.yaml:3:3: " },
        { "a: {", ": 1}\n", "file.yaml:1:5: " },
        { "a: [", ": 1]\n", "file.yaml:1:5: " },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char key[1100];
    struct value v;

    memset(key, 'k', sizeof(key));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);

        buf_printf(&text, "%s%.*s%s", cases[i].before, (int)sizeof(key), key, cases[i].after);
        CHECK_INT(yaml_parse(&arena, "file.yaml", buf_view(&text), &tagged, &v, &diags), -1);
        diags_print(&diags, &out);
        CHECK(str_starts(buf_view(&out), str_from(cases[i].place)));
        CHECK(strstr(buf_text(&out), "a key is longer than 1024 characters"));
        CHECK(strstr(buf_text(&out), "write '? ' before it"));
    }
}

/* --- places ----------------------------------------------------------------------- */

static void show_places(struct buf *out, const struct value *v)
{
    buf_printf(out, "%u:%u", v->line, v->column);
    if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count; i++) {
            buf_add_text(out, i > 0 ? " " : "[");
            show_places(out, &v->list->items[i]);
        }
    else if (v->kind == VALUE_MAP)
        for (size_t i = 0; i < v->map->count; i++) {
            buf_add_text(out, i > 0 ? " " : "{");
            show_places(out, &v->map->pairs[i].key);
            buf_add_char(out, '=');
            show_places(out, &v->map->pairs[i].value);
        }
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP)
        buf_add_char(out, v->kind == VALUE_LIST ? ']' : '}');
}

static const struct {
    const char *text, *places;
} place_cases[] = {
    { "a: 1\n", "1:1{1:1=1:4}" },
    { "\n# c\na:\n  - x\n  - y: z\n", "3:1{3:1=4:3[4:5 5:5{5:5=5:8}]}" },
    { "ü: é # x\nb: 'ß'\n", "1:1{1:1=1:4 2:1=2:4}" },
    { "\xef\xbb\xbf"
      "a: 1\n",
      "1:1{1:1=1:4}" },
    { "a: &x [1]\nb: *x\n", "1:1{1:1=1:4[1:8] 2:1=2:4[1:8]}" },
    { "a: !lua x\n", "1:1{1:1=1:4}" },
    { "a:\r\n  b: |\r\n    t\r\n  c: d\r\n", "1:1{1:1=2:3{2:3=2:6 4:3=4:6}}" },
    /* These three end a line for YAML 1.1, but not for an editor. */
    { "a: \"x\xe2\x80\xa8y\"\nb: 1\n", "1:1{1:1=1:4 2:1=2:4}" },
    { "a: \"x\xc2\x85y\"\nb: 1\n", "1:1{1:1=1:4 2:1=2:4}" },
    { "a: \"x\ry\"\nb: 1\n", "1:1{1:1=1:4 2:1=2:4}" },
    /* An override stands where it was written. */
    { "a: &a {x: 1}\nb: {<<: *a, x: 2}\n", "1:1{1:1=1:4{1:8=1:11} 2:1=2:4{2:13=2:16}}" },
};

TEST(every_value_knows_its_line_and_column)
{
    for (size_t i = 0; i < ARRAY_LEN(place_cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        struct value v;

        CHECK_INT(yaml_parse(&arena, "f", str_from(place_cases[i].text), &tagged, &v, &diags), 0);
        show_places(&out, &v);
        CHECK_STR(buf_text(&out), place_cases[i].places);
    }
}

static void check_refused(struct str text, const struct yaml_options *options, const char *error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v = value_int(7);

    CHECK_INT(yaml_parse(&arena, "f", text, options, &v, &diags), -1);
    CHECK_INT(v.i, 7);
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), error);
}

static void check_fine(struct str text, const struct yaml_options *options)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(yaml_parse(&arena, "f", text, options, &v, &diags), 0);
}

TEST(a_tag_that_means_nothing_is_refused_at_its_place)
{
    static const char *const known[] = { "!secret", "!lua", NULL };
    static const struct yaml_options options = { .tags = known };

    check_fine(STR("a: !secret x\nb: ! y\nc: !!str 1\n"), &options);
    check_refused(STR("a:\n  - !grep -q x\n"), &options, "f:2:5: unknown tag '!grep'");
    check_refused(STR("a: !scret x\n"), &options, "did you mean '!secret'?");
    check_refused(STR("a: !other x\n"), &options,
                  "the tags that mean something here: '!secret', '!lua'; quote a text that begins");
    check_refused(STR("a: !map {b: 1}\n"), &options, "f:1:4: unknown tag '!map'");
    check_refused(STR("!key a: 1\n"), NULL, "f:1:1: unknown tag '!key'");
    check_refused(STR("a: !secret x\n"), NULL, "no tag means anything here");
}

TEST(values_know_file_text_tag_and_quotes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    char text[] = "a: !lua x\nb: 'y'\nc: |\n  z\nd: plain\n";
    char file[] = "x.yaml";
    const struct value *a;
    struct value v;

    CHECK_INT(yaml_parse(&arena, file, str_from(text), &tagged, &v, &diags), 0);
    memset(text, 'X', sizeof(text) - 1); /* the tree has its own */
    memset(file, 'X', sizeof(file) - 1);
    a = value_get(&v, "a");
    CHECK_STR(value_tag(a), "!lua");
    CHECK_STR(a->source->file, "x.yaml");
    CHECK(str_starts(a->source->text, STR("a: !lua x\n")));
    CHECK_STR(value_get(&v, "d")->s.p, "plain");
    CHECK(value_tag(value_get(&v, "b")) == NULL);
    CHECK_INT(a->flags & VALUE_QUOTED, 0);
    CHECK_INT(value_get(&v, "b")->flags & VALUE_QUOTED, VALUE_QUOTED);
    CHECK_INT(value_get(&v, "c")->flags & VALUE_QUOTED, VALUE_QUOTED);
    CHECK_INT(value_get(&v, "d")->flags & VALUE_QUOTED, 0);
    CHECK_INT(v.map->pairs[0].key.flags & VALUE_QUOTED, 0);
}

TEST(an_alias_shares_its_tree)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(yaml_parse(&arena, NULL, STR("a: &x [1]\nb: *x\n"), NULL, &v, &diags), 0);
    CHECK(value_get(&v, "a")->list == value_get(&v, "b")->list);
}

/* --- bytes ------------------------------------------------------------------------ */

static const struct {
    struct str text;
    const char *error;
} byte_cases[] = {
    { { "a: 1\nb: \xff\n", 9 }, "f:2:4: byte 0xff is not UTF-8\n" },
    { { "\xc3\xbc: \xc3\xbc\x80\n", 7 }, "f:1:5: byte 0x80 is not UTF-8\n" },
    { { "a: \xed\xa0\x80\n", 7 }, "f:1:4: byte 0xed is not UTF-8\n" },
    { { "a: \xc3", 4 }, "f:1:4: byte 0xc3 is not UTF-8\n" },
    { { "a: 1\nb: x\0y\n", 11 }, "f:2:5: a NUL byte is not allowed in YAML\n" },
    { { "a: \"x\a\"\n", 8 }, "f:1:6: control character U+0007 is not allowed in YAML\n" },
    { { "a: \x7f\n", 5 }, "f:1:4: control character U+007F is not allowed in YAML\n" },
    { { "a: \xc2\x80\n", 6 }, "f:1:4: control character U+0080 is not allowed in YAML\n" },
    { { "a: \xef\xbf\xbf\n", 7 }, "f:1:4: control character U+FFFF is not allowed in YAML\n" },
    { { "\xff\xfe"
        "a\0:\0",
        6 },
      "looks like UTF-16" },
};

TEST(bytes_that_are_not_text_are_refused_at_their_place)
{
    for (size_t i = 0; i < ARRAY_LEN(byte_cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        struct value v;

        CHECK_INT(yaml_parse(&arena, "f", byte_cases[i].text, NULL, &v, &diags), -1);
        CHECK_INT(diags_count(&diags), 1);
        diags_print(&diags, &out);
        CHECK_HAS(buf_text(&out), byte_cases[i].error);
    }
}

/* The check goes in words of eight bytes where it can. */
TEST(a_byte_that_is_not_text_is_found_at_every_offset)
{
    static const char bad[] = { '\x01', '\x1f', '\x7f', '\x80', '\xff' };

    for (size_t at = 3; at < 40; at++)
        for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
            AUTO_ARENA struct arena arena = ARENA_INIT;
            struct diags diags = DIAGS_INIT(&arena);
            char text[] = "a: ~~~~ ~~~ abcdefghijklmnopqrstuvwxyz 0 1 2 3 4\n";
            struct value v;

            text[at] = bad[k];
            CHECK_INT(yaml_parse(&arena, "f", str_from(text), NULL, &v, &diags), -1);
            CHECK_INT(diags.list.p[0].at.column, at + 1);
            text[at] = ' ';
            CHECK_INT(yaml_parse(&arena, "f", str_from(text), NULL, &v, &diags), 0);
        }
}

TEST(the_replacement_character_itself_is_text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(yaml_parse(&arena, NULL, STR("\xef\xbf\xbd\n"), NULL, &v, &diags), 0);
    CHECK_STR(v.s.p, "\xef\xbf\xbd");
}

/* The first line was looked for without end when the text had windows line ends. */
TEST(mistakes_in_texts_with_windows_line_ends_are_reported)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(yaml_parse(&arena, "f", STR("\r\n# x\r\n  a: 1\r\nb: 2\r\n"), NULL, &v, &diags), -1);
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "f:4:1: bad indentation: this line begins before the first one\n"
                              "    4 | b: 2\n"
                              "      | ^\n"
                              "f:3:3: note: the document begins here\n");
}

/* --- limits ------------------------------------------------------------------------- */

static void nest(struct buf *out, size_t depth)
{
    buf_fill(out, '[', depth);
    buf_fill(out, ']', depth);
}

TEST(depth_has_a_limit)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    nest(&text, YAML_DEPTH_MAX);
    check_fine(buf_view(&text), NULL);
    buf_clear(&text);
    nest(&text, YAML_DEPTH_MAX + 1);
    check_refused(buf_view(&text), NULL,
                  "f:1:129: lists and maps are nested too deeply (limit 128)");
    buf_clear(&text);
    buf_fill(&text, '[', 1000000); /* quick, though libyaml alone would take minutes */
    check_refused(buf_view(&text), NULL, "nested too deeply");
    check_refused(STR("a: {b: {c: 1}}"), &(struct yaml_options){ .depth_max = 2 }, "(limit 2)");
}

TEST(aliases_cannot_go_around_the_depth_limit)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&text, "a: &a ");
    nest(&text, 100);
    buf_add_text(&text, "\nb: ");
    buf_fill(&text, '[', 50);
    buf_add_text(&text, "*a");
    buf_fill(&text, ']', 50);
    check_refused(buf_view(&text), NULL,
                  "f:2:54: lists and maps are nested too deeply (limit 128)");
}

TEST(aliases_count_as_their_trees)
{
    AUTO_BUF struct buf bomb = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&bomb, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&bomb, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_printf(&bomb, "*a%d, ", i - 1);
        buf_add_text(&bomb, "]\n");
    }
    check_refused(buf_view(&bomb), NULL,
                  "too many values (limit 1000000, with what aliases stand for)");
    check_fine(STR("a: &a [1, 2]\nb: *a\n"), &(struct yaml_options){ .nodes_max = 9 });
    check_refused(STR("a: &a [1, 2]\nb: *a\n"), &(struct yaml_options){ .nodes_max = 8 },
                  "f:2:4: too many values (limit 8");
}

TEST(sizes_have_limits)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    check_refused(STR("a: 12345"), &(struct yaml_options){ .size_max = 7 },
                  "f: a YAML text of 8 bytes is too long (limit 7)");
    check_refused(STR("a: 12345"), &(struct yaml_options){ .scalar_max = 4 },
                  "f:1:4: a text of 5 bytes is too long (limit 4)");
    check_fine(STR("a: 12345"), &(struct yaml_options){ .scalar_max = 5, .size_max = 8 });
    buf_fill(&text, 'x', YAML_SIZE_MAX + 1);
    check_refused(buf_view(&text), NULL, "(limit 10485760)");
}

TEST(mistakes_beyond_a_hundred_are_not_searched_for)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    for (int i = 0; i < 100000; i++)
        buf_add_text(&text, "a: 1\n");
    CHECK_INT(yaml_parse(&arena, NULL, buf_view(&text), NULL, &v, &diags), -1);
    CHECK_INT(diags_count(&diags), DIAGS_MAX);
}

/* --- several documents ---------------------------------------------------------------- */

TEST(all_documents_of_a_text_become_a_list)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(
        yaml_parse_all(&arena, NULL, STR("a: 1\n---\n- b\n---\n...\n---\nc"), NULL, &v, &diags), 0);
    show(&out, &v);
    CHECK_STR(buf_text(&out), "[{\"a\": 1}, [\"b\"], null, \"c\"]");
    CHECK_INT(yaml_parse_all(&arena, NULL, STR(""), NULL, &v, &diags), 0);
    CHECK_INT(v.list->count, 0);
}

TEST(an_anchor_does_not_reach_into_the_next_document)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(yaml_parse_all(&arena, NULL, STR("a: &x 1\n---\nb: *x\n"), NULL, &v, &diags), -1);
    CHECK_HAS(diags.list.p[0].text, "no anchor '&x'");
}

/* The text with its NUL, right before a page that must not be read. */
static char *put_before_guard(const char *text, size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *copy = p + page - n - 1;

    CHECK(p != MAP_FAILED && n < page);
    CHECK_INT(mprotect(p + page, page, PROT_NONE), 0);
    memcpy(copy, text, n);
    CHECK_INT(mprotect(p, page, PROT_READ), 0);
    return copy;
}

static const char *describe_parse(struct arena *arena, struct str text, bool lasting)
{
    const struct yaml_options options = { .lasting = lasting };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, "case", text, &options, &v, &diags) < 0)
        diags_print(&diags, &out);
    else
        show(&out, &v);
    return buf_copy(&out, arena).p;
}

TEST(a_text_is_read_where_it_is_and_never_beyond_its_end)
{
    static const char text[] = "%YAML 1.1\n---\na: &x [1, 'it''s', \"t\\u00e4\\n\"]\n"
                               "? b c\n: !!str 5 # note\nd: |2-\n    text\n\n   more\n"
                               "e: >+\n  folded \xc3\xa4\n\nf: {<<: {g: *x}, h: ~}\n"
                               "- \xe2\x82\xac\n--- \n...\n";

    for (size_t n = 0; n < sizeof(text); n++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *copy = put_before_guard(text, n);
        const char *expected = describe_parse(&arena, (struct str){ text, n }, false);

        CHECK_STR(describe_parse(&arena, (struct str){ copy, n }, true), expected);
        CHECK_INT(munmap(copy + n + 1 - page, 2 * page), 0);
    }
}
