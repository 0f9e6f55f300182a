#include "core/data/yaml_print.h"

#include <math.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

static void parse(struct arena *arena, struct str text, enum yaml_dialect dialect,
                  struct value *ret)
{
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);

    if (yaml_parse(arena, "printed", text,
                   &(struct yaml_options){ .dialect = dialect, .tags = yaml_all_tags }, ret,
                   &diags) == 0)
        return;
    diags_print(&diags, &shown);
    print_error("%.*s\n%s", STR_ARG(text), buf_text(&shown));
    CHECK(false);
}

static int run_print(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value v;
    struct err err;

    parse(&arena, golden_section(golden, "input"), YAML_DIALECT_1_1, &v);
    CHECK_INT(yaml_print(out, &v, &err), 0);
    buf_add_text(out, "=== flow\n");
    CHECK_INT(yaml_print_flow(out, &v, &err), 0);
    return 0;
}

TEST(trees_print_as_people_write_them)
{
    test_golden("core/yaml/print.txt", run_print);
}

/* --- read back ----------------------------------------------------------------------- */

static bool same(const struct value *a, const struct value *b);

static bool same_map(const struct value_map *a, const struct value_map *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same(&a->pairs[i].key, &b->pairs[i].key) ||
            !same(&a->pairs[i].value, &b->pairs[i].value))
            return false;
    return true;
}

static bool same_list(const struct value_list *a, const struct value_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same(&a->items[i], &b->items[i]))
            return false;
    return true;
}

/* Stricter than value_equal: 1 is not true, nan is nan, and tags and order count. */
static bool same(const struct value *a, const struct value *b)
{
    const char *x = value_tag(a), *y = value_tag(b);

    if (a->kind != b->kind || !x != !y || (x && strcmp(x, y) != 0))
        return false;
    if (a->kind == VALUE_LIST)
        return same_list(a->list, b->list);
    if (a->kind == VALUE_MAP)
        return same_map(a->map, b->map);
    if (a->kind == VALUE_DOUBLE)
        return isnan(a->d) ? isnan(b->d) : memcmp(&a->d, &b->d, sizeof(a->d)) == 0;
    return value_equal(a, b);
}

static void check_reads_back(struct arena *arena, const struct value *v)
{
    for (int style = 0; style < 2; style++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
        struct err err;

        CHECK_INT(style ? yaml_print_flow(&out, v, &err) : yaml_print(&out, v, &err), 0);
        for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
            struct value again;

            parse(arena, buf_view(&out), d, &again);
            if (!same(v, &again)) {
                print_error("dialect %d:\n%s\n", (int)d, buf_text(&out));
                CHECK(false);
            }
        }
    }
}

static const struct {
    const char *p;
    size_t n;
} texts[] = {
#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
    TEXT(""),
    TEXT(" "),
    TEXT("\n"),
    TEXT("\n\n"),
    TEXT("\t"),
    TEXT("\0"),
    TEXT("a\0b"),
    TEXT("a\n"),
    TEXT("a\nb"),
    TEXT("a\n\n\n"),
    TEXT("\na"),
    TEXT("\n\n  a\nb\n"),
    TEXT("  a\nb\n"),
    TEXT("\ta\nb\n"),
    TEXT("a\n \n"),
    TEXT("a\n  "),
    TEXT("a \nb "),
    TEXT("a\n  b\n c"),
    TEXT("a\r\nb"),
    TEXT("a\rb"),
    TEXT("# a\n# b\n"),
    TEXT("--- a\n...\n"),
    TEXT("---"),
    TEXT("..."),
    TEXT("... a"),
    TEXT("- a"),
    TEXT("-"),
    TEXT("? a"),
    TEXT("a: b"),
    TEXT("a:"),
    TEXT(":a"),
    TEXT("a:b"),
    TEXT("a #b"),
    TEXT("a#b"),
    TEXT("{a"),
    TEXT("a,b"),
    TEXT("[a]"),
    TEXT("*a"),
    TEXT("&a"),
    TEXT("!a"),
    TEXT("|"),
    TEXT(">"),
    TEXT("%a"),
    TEXT("@a"),
    TEXT("`a`"),
    TEXT("it's"),
    TEXT("say \"x\""),
    TEXT("'"),
    TEXT("\\"),
    TEXT("C:\\dir"),
    TEXT("<<"),
    TEXT("="),
    TEXT("~"),
    TEXT("null"),
    TEXT("yes"),
    TEXT("No"),
    TEXT("true"),
    TEXT("0644"),
    TEXT("0o17"),
    TEXT("1e3"),
    TEXT("1:30"),
    TEXT("12"),
    TEXT("1.5"),
    TEXT(".inf"),
    TEXT("2024-01-01"),
    TEXT("99999999999999999999"),
    TEXT("{{ x }}"),
    TEXT("${{ x }}$"),
    TEXT("http://a/b?c=d&e"),
    TEXT("größe"),
    TEXT("\xf0\x9f\x98\x80"),
    TEXT("\xc2\x85"),
    TEXT("a\xc2\x85"
         "b\n"),
    TEXT("a\xe2\x80\xa8"
         "b\nc"),
    TEXT("\xef\xbb\xbf"
         "a"),
    TEXT("\xef\xbf\xbd"),
    TEXT("\xef\xbf\xbf"),
    TEXT("\x1b[1m"),
    TEXT("\x7f"),
    TEXT("\xc2\xa0"),
#undef TEXT
};

TEST(every_text_reads_back_as_root_item_value_and_key)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct value text = value_str((struct str){ texts[i].p, texts[i].n });
        struct value_list *inner = value_list_new(&arena, 1);
        struct value_list *outer = value_list_new(&arena, 1);
        struct value_map *map = value_map_new(&arena, 1);
        struct value v;

        check_reads_back(&arena, &text);
        value_list_push(&arena, inner, text);
        value_list_push(&arena, inner, text);
        value_map_set(&arena, map, text, text);
        value_map_set(&arena, map, value_text("list"), value_list(inner));
        value_list_push(&arena, outer, value_map(map));
        value_list_push(&arena, outer, value_list(inner));
        v = value_list(outer);
        check_reads_back(&arena, &v);
    }
}

TEST(keys_of_any_length_read_back)
{
    static const size_t lengths[] = { 1, 998, 999, 1000, 1001, 1024, 1025, 5000 };

    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf key = BUF_INIT(BUF_NO_LIMIT);
        struct value_map *inner = value_map_new(&arena, 1);
        struct value_map *map = value_map_new(&arena, 1);
        struct value v = value_map(map);

        buf_fill(&key, 'k', lengths[i]);
        value_map_set(&arena, inner, value_str(buf_view(&key)), value_text("a\nb\n"));
        value_map_set(&arena, inner, value_int(1), value_int(2));
        value_map_set(&arena, map, value_str(buf_view(&key)), value_map(inner));
        check_reads_back(&arena, &v);
    }
}

TEST(tags_of_any_letters_read_back)
{
    static const char *const tags[] = { "!lua", "!a b", "!a!b", "!a,b", "![x]",  "!größe",
                                        "!a%b", "!{x}", "!a#b", "!'",   "!a/b:c" };

    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct value_source source = { .tag = tags[i] };
        struct value_map *map = value_map_new(&arena, 1);
        struct value_list *list = value_list_new(&arena, 1);
        struct value text = value_text("a\nb\n");
        struct value v = value_map(map);

        text.source = &source;
        v.source = &source;
        value_list_push(&arena, list, text);
        value_list_push(&arena, list, v);
        value_map_set(&arena, map, text, value_list(list));
        value_map_remove(map, &text); /* an empty map in the list; then the key again */
        value_map_set(&arena, map, value_text("k"), text);
        check_reads_back(&arena, &v);
        check_reads_back(&arena, &text);
        v = value_list(list);
        v.source = &source;
        check_reads_back(&arena, &v);
    }
}

/* --- random trees ---------------------------------------------------------------------- */

static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

static struct str draw_text(struct arena *arena)
{
    static const char letters[] = "ab1.:-#'\"\\ \n\t,[]{}&*!|>%@?=~_+eEx0TZ";
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (draw(4) == 0) {
        size_t pick = draw(ARRAY_LEN(texts));

        return (struct str){ texts[pick].p, texts[pick].n };
    }
    for (uint32_t n = draw(12); n > 0; n--) {
        if (draw(12) == 0)
            utf8_add(&text, draw(0x3000));
        else
            buf_add_char(&text, letters[draw(sizeof(letters) - 1)]);
    }
    return buf_copy(&text, arena);
}

static struct value draw_scalar(struct arena *arena)
{
    switch (draw(9)) {
    case 0: return value_null();
    case 1: return value_bool(draw(2) == 0);
    case 2: return value_int((int64_t)((uint64_t)draw(1U << 24) << draw(40)) * (draw(2) ? 1 : -1));
    case 3: return value_double(ldexp((double)draw(1000000) - 500000, (int)draw(200) - 100));
    case 4: return value_time((int64_t)draw(1U << 24) * 15000 - 60000000000, draw(4) * 250000001);
    case 5: return value_bytes(draw_text(arena));
    default: return value_str(draw_text(arena));
    }
}

static struct value draw_tree(struct arena *arena, unsigned depth)
{
    static const struct value_source tagged = { .tag = "!tag" };
    struct value v;

    if (depth == 0 || draw(3) == 0) {
        v = draw_scalar(arena);
    } else if (draw(2) == 0) {
        v = value_list(value_list_new(arena, 0));
        for (uint32_t n = draw(5); n > 0; n--)
            value_list_push(arena, v.list, draw_tree(arena, depth - 1));
    } else {
        v = value_map(value_map_new(arena, 0));
        for (uint32_t n = draw(5); n > 0; n--)
            value_map_set(arena, v.map, draw_scalar(arena), draw_tree(arena, depth - 1));
    }
    if (draw(10) == 0 && (v.kind == VALUE_STR || v.kind == VALUE_LIST || v.kind == VALUE_MAP))
        v.source = &tagged;
    return v;
}

TEST(random_trees_read_back_in_both_styles_and_dialects)
{
    for (state = 1; state < 3000; state++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const uint32_t seed = state;
        struct value v = draw_tree(&arena, 4);

        check_reads_back(&arena, &v);
        state = seed;
    }
}

/* --- refusals ---------------------------------------------------------------------------- */

static void check_refused(const struct value *v, size_t max, enum err_code code, const char *text)
{
    for (int style = 0; style < 2; style++) {
        AUTO_BUF struct buf out = BUF_INIT(max);
        struct err err;

        CHECK_INT(style ? yaml_print_flow(&out, v, &err) : yaml_print(&out, v, &err), -1);
        CHECK_INT(err.code, code);
        CHECK_HAS(err.text, text);
    }
}

TEST(values_without_a_yaml_form_are_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value object = { .kind = VALUE_OBJECT };
    struct value late = value_time(INT64_C(253402300800), 0);
    struct value_list *list = value_list_new(&arena, 1);
    struct value_map *map = value_map_new(&arena, 1);
    struct value v = value_list(list);

    check_refused(&object, BUF_NO_LIMIT, ERR_UNSUPPORTED, "an object");
    check_refused(&late, BUF_NO_LIMIT, ERR_UNSUPPORTED, "9999");
    value_list_push(&arena, list, object);
    check_refused(&v, BUF_NO_LIMIT, ERR_UNSUPPORTED, "an object");
    value_map_set(&arena, map, value_list(value_list_new(&arena, 0)), value_null());
    v = value_map(map);
    check_refused(&v, BUF_NO_LIMIT, ERR_UNSUPPORTED, "a list as a key");
    v = value_text("longer than that");
    check_refused(&v, 8, ERR_LIMIT, "limit 8");
}

TEST(depth_has_a_limit_which_is_that_of_the_parser)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value v = value_list(value_list_new(&arena, 1));

    for (int i = 1; i < YAML_DEPTH_MAX; i++) {
        struct value_list *list = value_list_new(&arena, 1);

        value_list_push(&arena, list, v);
        v = value_list(list);
    }
    check_reads_back(&arena, &v);
    struct value_list *list = value_list_new(&arena, 1);

    value_list_push(&arena, list, v);
    v = value_list(list);
    check_refused(&v, BUF_NO_LIMIT, ERR_LIMIT, "limit 128");
}
