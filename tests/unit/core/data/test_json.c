#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"

static unsigned style_of(const struct golden *golden)
{
    static const struct {
        const char *word;
        unsigned style;
    } words[] = {
        { "spaced", JSON_STYLE_SPACED }, { "pretty", JSON_STYLE_PRETTY },
        { "sorted", JSON_STYLE_SORTED }, { "ascii", JSON_STYLE_ASCII },
        { "html", JSON_STYLE_HTML },     { "indent4", JSON_STYLE_INDENT(4) },
    };
    struct str rest = str_trim(golden_section(golden, "style"));
    unsigned style = JSON_STYLE_COMPACT;

    while (rest.p) {
        struct str word = str_cut(&rest, ' ');

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (str_is(word, words[i].word))
                style |= words[i].style;
    }
    return style;
}

static int run_golden(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;
    struct err err;

    if (json_parse(&arena, "in.json", golden_section(golden, "input"), &v, &diags) < 0) {
        diags_print(&diags, out);
        return -1;
    }
    CHECK_INT(json_print(out, &v, style_of(golden), &err), 0);
    return 0;
}

TEST(parsed_values_are_printed_in_every_style)
{
    test_golden("core/json/styles.txt", run_golden);
}

TEST(invalid_json_is_refused_with_its_place)
{
    test_golden("core/json/refuse.txt", run_golden);
}

static const char *printed(struct arena *arena, struct value v, unsigned style)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (json_print(&out, &v, style, &err) < 0)
        return arena_printf(arena, "error: %s", err.text);
    return arena_strdup(arena, buf_text(&out));
}

TEST(doubles_are_as_short_as_python_writes_them)
{
    static const struct {
        double d;
        const char *text;
    } cases[] = {
        { 1, "1.0" },
        { 0.1, "0.1" },
        { 1e16, "1e+16" },
        { 1e15, "1000000000000000.0" },
        { 1e-5, "1e-05" },
        { 0.0001, "0.0001" },
        { -0.0, "-0.0" },
        { 5e-324, "5e-324" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 123456789.125, "123456789.125" },
        { 2.5, "2.5" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(printed(&arena, value_double(cases[i].d), 0), cases[i].text);
}

TEST(numbers_that_are_not_finite_need_a_style)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(printed(&arena, value_double(NAN), 0),
              "error: print JSON: a number that is not finite has no JSON form");
    CHECK_STR(printed(&arena, value_double(NAN), JSON_STYLE_NAN), "NaN");
    CHECK_STR(printed(&arena, value_double(INFINITY), JSON_STYLE_NAN), "Infinity");
    CHECK_STR(printed(&arena, value_double(-INFINITY), JSON_STYLE_NAN), "-Infinity");
}

TEST(bytes_are_text_where_that_is_wanted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(printed(&arena, value_bytes(STR("a\"b")), JSON_STYLE_TEXT), "\"a\\\"b\"");
    CHECK_STR(printed(&arena, value_bytes(STR("caf\xe9")), JSON_STYLE_TEXT), "\"caf\xef\xbf\xbd\"");
}

TEST(bytes_are_base64_and_times_are_rfc_3339)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(printed(&arena, value_bytes(STR("")), 0), "\"\"");
    CHECK_STR(printed(&arena, value_bytes(STR("a")), 0), "\"YQ==\"");
    CHECK_STR(printed(&arena, value_bytes(STR("ab")), 0), "\"YWI=\"");
    CHECK_STR(printed(&arena, value_bytes(STR("\xff\xfe\xfd")), 0), "\"//79\"");
    CHECK_STR(printed(&arena, value_time(0, 0), 0), "\"1970-01-01T00:00:00Z\"");
    CHECK_STR(printed(&arena, value_time(1709208000, 250000000), 0), "\"2024-02-29T12:00:00.25Z\"");
    CHECK_STR(printed(&arena, value_time(-1, 999999999), 0), "\"1969-12-31T23:59:59.999999999Z\"");
    CHECK_STR(printed(&arena, value_time(253402300799, 1), 0),
              "\"9999-12-31T23:59:59.000000001Z\"");
    CHECK_STR(printed(&arena, value_time(-62167219200, 0), 0), "\"0000-01-01T00:00:00Z\"");
    CHECK_STR(printed(&arena, value_time(253402300800, 0), 0), "\"10000-01-01T00:00:00Z\"");
    CHECK_STR(printed(&arena, value_time(-62167219201, 100000000), 0),
              "\"-001-12-31T23:59:59.1Z\"");
}

TEST(keys_that_are_not_text_become_their_text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 0);

    value_map_set(&arena, map, value_text("b"), value_int(1));
    value_map_set(&arena, map, value_null(), value_int(2));
    value_map_set(&arena, map, value_int(10), value_int(3));
    value_map_set(&arena, map, value_int(9), value_int(4));
    value_map_set(&arena, map, value_bool(true), value_int(5));
    value_map_set(&arena, map, value_double(2.5), value_int(6));
    CHECK_STR(printed(&arena, value_map(map), 0),
              "{\"b\":1,\"null\":2,\"10\":3,\"9\":4,\"true\":5,\"2.5\":6}");
    CHECK_STR(printed(&arena, value_map(map), JSON_STYLE_SORTED),
              "{\"null\":2,\"true\":5,\"2.5\":6,\"9\":4,\"10\":3,\"b\":1}");
}

TEST(depth_is_limited_both_ways)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value v;

    buf_fill(&text, '[', JSON_DEPTH_MAX);
    buf_fill(&text, ']', JSON_DEPTH_MAX);
    CHECK_INT(json_parse(&arena, NULL, buf_view(&text), &v, &diags), 0);
    CHECK_STR(printed(&arena, v, 0), buf_text(&text));

    struct value_list *outer = value_list_new(&arena, 1);
    value_list_push(&arena, outer, v);
    CHECK_STR(printed(&arena, value_list(outer), 0),
              "error: print JSON: a value nested deeper than the limit of 128");

    buf_clear(&text);
    buf_add_text(&text, "{\"[[\\\"[[\":\n");
    buf_fill(&text, '[', JSON_DEPTH_MAX);
    CHECK_INT(json_parse(&arena, "x", buf_view(&text), &v, &diags), -1);
    CHECK_STR(diags.list.p[0].text, "JSON is nested deeper than the limit of 128");
    CHECK_INT(diags.list.p[0].at.line, 2);
    CHECK_INT(diags.list.p[0].at.column, JSON_DEPTH_MAX);
}

TEST(printing_stops_when_the_buffer_is_full)
{
    AUTO_BUF struct buf out = BUF_INIT(20);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_list *list = value_list_new(&arena, 1);
    struct value v;
    struct err err;

    /* Each level holds the one below twice: 2^60 items, should anybody visit them all. */
    value_list_push(&arena, list, value_int(1));
    for (int i = 0; i < 60; i++) {
        struct value_list *twice = value_list_new(&arena, 2);

        value_list_push(&arena, twice, value_list(list));
        value_list_push(&arena, twice, value_list(list));
        list = twice;
    }
    v = value_list(list);
    CHECK_INT(json_print(&out, &v, 0, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "JSON text is longer than the limit of 20 bytes");
}

TEST(messages_of_machines_fail_in_one_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value v;
    struct err err;

    CHECK_INT(json_decode(&arena, STR("{\"a\": 1}"), &v, &err), 0);
    CHECK_INT(value_get(&v, "a")->i, 1);
    CHECK_INT(json_decode(&arena, STR("{\"a\": }"), &v, &err), -1);
    CHECK_HAS(err.text, "not JSON: ");
    CHECK_HAS(err.text, "line 1:7");
    CHECK_INT(json_decode(&arena, (struct str){ NULL, 0 }, &v, &err), -1);
}

TEST(values_know_the_file_they_came_from)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    CHECK_INT(json_parse(&arena, "in.json", STR("[1]"), &v, &diags), 0);
    CHECK_STR(value_place(&v.list->items[0]).file, "in.json");
    CHECK_INT(value_place(&v.list->items[0]).line, 0);
}

/* A tree that JSON can tell, made of the numbers of a generator. */
static struct value random_value(struct arena *arena, unsigned *seed, int depth)
{
    static const char *const texts[] = { "", "a", "\n\"\\", "\xc3\xa4\xf0\x9f\x98\x80", "</b>" };
    int kind = rand_r(seed) % (depth > 0 ? 7 : 5);
    struct value_list *list = value_list_new(arena, 0);
    struct value_map *map = value_map_new(arena, 0);

    switch (kind) {
    case 0: return value_null();
    case 1: return value_bool(rand_r(seed) & 1);
    case 2: return value_int(((int64_t)rand_r(seed) << 32) - rand_r(seed));
    case 3: return value_double(ldexp((double)rand_r(seed), rand_r(seed) % 2000 - 1030));
    case 4: return value_text(texts[(size_t)rand_r(seed) % ARRAY_LEN(texts)]);
    case 5:
        for (int n = rand_r(seed) % 4; n > 0; n--)
            value_list_push(arena, list, random_value(arena, seed, depth - 1));
        return value_list(list);
    default:
        for (int n = rand_r(seed) % 4; n > 0; n--)
            value_map_set(arena, map, value_text(texts[n]), random_value(arena, seed, depth - 1));
        return value_map(map);
    }
}

TEST(printed_values_read_back_unchanged)
{
    static const unsigned styles[] = { 0, JSON_STYLE_PRETTY | JSON_STYLE_ASCII,
                                       JSON_STYLE_SPACED | JSON_STYLE_HTML };

    for (unsigned seed = 1; seed <= 300; seed++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        unsigned state = seed;
        struct value v = random_value(&arena, &state, 5), back;
        unsigned style = styles[seed % ARRAY_LEN(styles)];
        struct err err = { 0 };

        CHECK_INT(json_decode(&arena, str_from(printed(&arena, v, style)), &back, &err), 0);
        CHECK_STR(err.text, "");
        CHECK(value_equal(&v, &back));
        CHECK_STR(printed(&arena, back, style), printed(&arena, v, style));
    }
}
