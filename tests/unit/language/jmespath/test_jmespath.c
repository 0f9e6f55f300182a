#include "language/jmespath/jmespath.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "test.h"

struct row {
    const char *data, *expression, *expected; /* JSON, or how the error begins with "column" */
};

static void search_text(const char *json, struct str expression, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct jmespath search = { .arena = &arena };
    struct value data, found;

    buf_clear(out);
    err->code = ERR_NONE;
    if (json_decode(&arena, str_from(json), &data, err) < 0)
        fail_msg("%s", err->text);
    if (jmespath_search(&search, expression, &data, &found, err) < 0)
        buf_add_text(out, err->text);
    else if (json_print(out, &found, JSON_STYLE_COMPACT, err) < 0)
        fail_msg("%s", err->text);
}

static void check_rows(const struct row *rows, size_t count)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    for (size_t i = 0; i < count; i++) {
        search_text(rows[i].data, str_from(rows[i].expression), &out, &err);
        if (strcmp(buf_text(&out), rows[i].expected) != 0)
            fail_msg("%s: got %s, expected %s", rows[i].expression, buf_text(&out),
                     rows[i].expected);
    }
}

#define CHECK_ROWS(...)                                                                            \
    check_rows((const struct row[]){ __VA_ARGS__ },                                                \
               sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

/* clang-format off */

TEST(names_and_quoted_names_look_into_objects)
{
    CHECK_ROWS({ "{\"a\":1}", "a", "1" },
               { "{\"a\":1}", "b", "null" },
               { "{\"a b\":1}", "\"a b\"", "1" },
               { "{\"\\u00e9\\n\":1}", "\"\\u00e9\\n\"", "1" },
               { "{\"a\":{\"b\":{\"c\":2}}}", " a . b.c\n", "2" },
               { "{\"a\":{\"b\":{\"c\":2}}}", "a.x.c", "null" },
               { "[1]", "a", "null" },
               { "{\"_a9\":3}", "_a9", "3" });
}

TEST(an_index_counts_from_either_end)
{
    CHECK_ROWS({ "[1,2,3]", "[0]", "1" },
               { "[1,2,3]", "[-1]", "3" },
               { "[1,2,3]", "[3]", "null" },
               { "[1,2,3]", "[-4]", "null" },
               { "{\"a\":[[1,2]]}", "a[0][1]", "2" },
               { "{\"a\":[{\"b\":[7]}]}", "a[0].b[0]", "7" },
               { "{\"a\":1}", "a[0]", "null" });
}

TEST(slices_are_those_of_python_and_project)
{
    CHECK_ROWS({ "[0,1,2,3]", "[1:3]", "[1,2]" },
               { "[0,1,2,3]", "[:2]", "[0,1]" },
               { "[0,1,2,3]", "[2:]", "[2,3]" },
               { "[0,1,2,3]", "[::2]", "[0,2]" },
               { "[0,1,2,3]", "[::-1]", "[3,2,1,0]" },
               { "[0,1,2,3]", "[-2:]", "[2,3]" },
               { "[0,1,2,3]", "[10:-10:-2]", "[3,1]" },
               { "[0,1,2,3]", "[3:1:-1]", "[3,2]" },
               { "[0,1,2,3]", "[::9223372036854775807]", "[0]" },
               { "[0,1,2,3]", "[::-9223372036854775807]", "[3]" },
               { "[]", "[::-1]", "[]" },
               { "{\"a\":[{\"b\":1},{\"b\":2},{\"b\":3}]}", "a[:2].b", "[1,2]" },
               { "{\"a\":\"text\"}", "a[0:2]", "null" },
               { "[]", "[::0]", "column 4: the step of a slice cannot be 0" });
}

TEST(wildcards_project_and_drop_nulls)
{
    CHECK_ROWS({ "[{\"a\":1},{\"b\":2},{\"a\":3}]", "[*].a", "[1,3]" },
               { "{\"l\":[{\"a\":1},{\"a\":null}]}", "l[*].a", "[1]" },
               { "{\"x\":{\"a\":1},\"y\":{\"a\":2},\"z\":3}", "*.a", "[1,2]" },
               { "{\"o\":{\"x\":[1,2],\"y\":[3]}}", "o.*[0]", "[1,3]" },
               { "{\"o\":{\"x\":{\"p\":1},\"y\":{\"q\":2}}}", "o.*.*", "[[1],[2]]" },
               { "{\"a\":1}", "a[*]", "null" },
               { "[1]", "*", "null" },
               { "[[1,2],[3,4]]", "[*][0]", "[1,3]" },
               { "[[1,2],[3,4]]", "[*].[*]", "[[null],[null]]" },
               { "[{\"a\":[{\"b\":1},{\"b\":2}]},{\"a\":[{\"b\":3}]}]", "[*].a[*].b", "[[1,2],[3]]" });
}

TEST(flatten_joins_one_level_of_lists)
{
    CHECK_ROWS({ "[[1,2],[3,[4]],5]", "[]", "[1,2,3,[4],5]" },
               { "[[1,2],[3,[4]],5]", "[][]", "[1,2,3,4,5]" },
               { "{\"a\":[{\"b\":[{\"c\":1}]},{\"b\":[{\"c\":2},{}]}]}", "a[].b[].c", "[1,2]" },
               { "{\"a\":[{\"b\":[1]},{\"b\":[2]}]}", "a[*].b[]", "[1,2]" },
               { "{\"a\":{}}", "a[]", "null" });
}

TEST(a_pipe_ends_a_projection)
{
    CHECK_ROWS({ "[{\"a\":[1,2]},{\"a\":[3,4]}]", "[*].a[0]", "[1,3]" },
               { "[{\"a\":[1,2]},{\"a\":[3,4]}]", "[*].a | [0]", "[1,2]" },
               { "[{\"a\":[1,2]},{\"a\":[3,4]}]", "([*].a)[0]", "[1,2]" },
               { "{\"a\":{\"b\":1}}", "a | b", "1" });
}

TEST(filters_keep_the_items_for_which_they_hold)
{
#define PEOPLE "[{\"n\":\"ann\",\"a\":30},{\"n\":\"bob\",\"a\":20},{\"n\":\"eve\",\"a\":40,\"x\":true}]"
    CHECK_ROWS({ PEOPLE, "[?a > `25`].n", "[\"ann\",\"eve\"]" },
               { PEOPLE, "[?a >= `30` && a <= `30`].n", "[\"ann\"]" },
               { PEOPLE, "[?n == 'bob' || x].n", "[\"bob\",\"eve\"]" },
               { PEOPLE, "[?!x].n", "[\"ann\",\"bob\"]" },
               { PEOPLE, "[?!(a < `35`)].n | [0]", "\"eve\"" },
               { PEOPLE, "[?n == `ann`].a", "[30]" },
               { PEOPLE, "[?n != 'ann'] | length(@)", "2" },
               { PEOPLE, "[?n > 'b'].n", "[\"bob\",\"eve\"]" },
               { PEOPLE, "[?starts_with(n, 'a')].n", "[\"ann\"]" },
               { "{\"l\":[{\"k\":[{\"v\":1},{\"v\":2}]}]}", "l[].k[?v == `2`][]", "[{\"v\":2}]" },
               { "{\"l\":[{\"k\":[{\"v\":1},{\"v\":2}]}]}", "l[*].k[?v == `2`].v", "[[2]]" },
               { "{\"l\":{}}", "l[?a]", "null" });
}

TEST(comparators_know_the_types_of_json)
{
    CHECK_ROWS({ "{\"a\":1,\"t\":true}", "a == `1.0`", "true" },
               { "{\"a\":1,\"t\":true}", "a == t", "false" },
               { "{\"a\":[1],\"t\":[true]}", "a == t", "false" },
               { "{\"a\":[1,{\"b\":2}]}", "a == `[1, {\"b\": 2}]`", "true" },
               { "{\"a\":[1,{\"b\":2}]}", "a != `[1, {\"b\": 3}]`", "true" },
               { "{\"a\":1,\"s\":\"x\"}", "a < s", "null" },
               { "{\"a\":1,\"s\":\"x\"}", "a == s", "false" },
               { "{}", "a == b", "true" },
               { "{\"a\":[1]}", "a < a", "null" },
               { "{}", "`1` < `2.5`", "true" });
}

TEST(and_or_not_give_the_operand_that_decides)
{
    CHECK_ROWS({ "{\"a\":0,\"b\":\"\",\"c\":[],\"d\":{}}", "b || a", "0" },
               { "{\"a\":0,\"b\":\"\"}", "a && b", "\"\"" },
               { "{\"a\":0,\"b\":\"\"}", "b && a", "\"\"" },
               { "{\"c\":[],\"d\":{}}", "c || d || x", "null" },
               { "{\"c\":[]}", "[!c, !x, !`0`, !!`1`]", "[true,true,false,true]" },
               { "{\"a\":1,\"b\":2}", "x && a || b", "2" },
               { "{\"a\":1,\"b\":2}", "a || x && b", "1" });
}

TEST(multi_selects_make_lists_and_objects)
{
    CHECK_ROWS({ "{\"a\":1,\"b\":2}", "[a, b, c]", "[1,2,null]" },
               { "{\"a\":1,\"b\":2}", "{x: a, \"y z\": b}", "{\"x\":1,\"y z\":2}" },
               { "{\"o\":{\"a\":1}}", "o.[a]", "[1]" },
               { "{\"o\":{\"a\":1}}", "o.{k: a}", "{\"k\":1}" },
               { "{}", "o.[a]", "null" },
               { "{}", "o.{k: a}", "null" },
               { "[{\"a\":1,\"b\":2},{\"a\":3}]", "[*].[a, b]", "[[1,2],[3,null]]" },
               { "[{\"a\":1},{\"a\":3}]", "[].{v: a}", "[{\"v\":1},{\"v\":3}]" });
}

TEST(literals_are_json_and_raw_texts_are_as_they_are)
{
    CHECK_ROWS({ "{}", "`{\"a\": [1, null]}`", "{\"a\":[1,null]}" },
               { "{}", "` \"x\" `", "\"x\"" },
               { "{}", "`a\\`b`", "\"a`b\"" },
               { "{}", "`\"a\\\\`\"`", "column 1: a literal must be JSON" },
               { "{}", "`name`", "\"name\"" },
               { "{}", "`\"`", "column 1: a literal must be JSON" },
               { "{}", "'it\\'s'", "\"it's\"" },
               { "{}", "'a\\nb'", "\"a\\\\nb\"" },
               { "{}", "'\\\\'", "\"\\\\\\\\\"" },
               { "{}", "''", "\"\"" },
               { "{\"a\":1}", "@", "{\"a\":1}" },
               { "{\"a\":1}", "@.a", "1" });
}

TEST(functions_of_numbers)
{
    CHECK_ROWS({ "[1,2,6]", "[sum(@), avg(@), max(@), min(@)]", "[9,3.0,6,1]" },
               { "[]", "[sum(@), avg(@), max(@), min(@)]", "[0,null,null,null]" },
               { "[1.5,-1.5]", "[].[abs(@), ceil(@), floor(@)]", "[[1.5,2,1],[1.5,-1,-2]]" },
               { "[-9223372036854775808]", "abs([0])", "9.223372036854776e+18" },
               { "[9223372036854775807,1]", "sum(@)", "9.223372036854776e+18" },
               { "[1e300]", "floor([0])", "1e+300" },
               { "[\"12\",\"1.5\",\"x\",7,null,[],\"99999999999999999999\"]", "map(&to_number(@), @)",
                 "[12,1.5,null,7,null,null,1e+20]" });
}

TEST(functions_of_texts)
{
    CHECK_ROWS({ "[\"a\",\"b\"]", "join(', ', @)", "\"a, b\"" },
               { "[]", "join(', ', @)", "\"\"" },
               { "{\"s\":\"h\\u00e9llo\"}", "[length(s), reverse(s)]", "[5,\"oll\303\251h\"]" },
               { "{\"s\":\"hello\"}", "[starts_with(s, 'he'), ends_with(s, 'lo'), ends_with(s, 'x')]", "[true,true,false]" },
               { "{\"s\":\"hello\"}", "[contains(s, 'ell'), contains(s, 'x'), contains(s, `1`)]", "[true,false,false]" },
               { "[\"\\u00e9\"]", "to_string(@)", "\"[\\\"\\\\u00e9\\\"]\"" },
               { "[1,\"a\",{\"b\":[true]},\"\\u00e9\"]", "[].to_string(@)", "[\"1\",\"a\",\"{\\\"b\\\":[true]}\",\"\303\251\"]" });
}

TEST(functions_of_containers)
{
    CHECK_ROWS({ "{\"a\":1,\"b\":2}", "[keys(@), values(@), length(@)]", "[[\"a\",\"b\"],[1,2],2]" },
               { "{\"a\":1}", "merge(@, `{\"b\": 2}`, `{\"a\": 3}`)", "{\"a\":3,\"b\":2}" },
               { "[1,2,3]", "[reverse(@), length(@), contains(@, `2`), contains(@, '2')]", "[[3,2,1],3,true,false]" },
               { "[{\"a\":1},{},{\"a\":2}]", "map(&a, @)", "[1,null,2]" },
               { "[1,[2]]", "[].to_array(@)", "[[1],[2]]" },
               { "[1,[2]]", "map(&to_array(@), @)", "[[1],[2]]" },
               { "{\"b\":0}", "not_null(a, b, c)", "0" },
               { "{}", "not_null(a)", "null" },
               { "[1,1.5,\"a\",true,null,[],{}]", "map(&type(@), @)",
                 "[\"number\",\"number\",\"string\",\"boolean\",\"null\",\"array\",\"object\"]" });
}

TEST(functions_that_order_are_stable)
{
    CHECK_ROWS({ "[3,1.5,2]", "sort(@)", "[1.5,2,3]" },
               { "[\"b\",\"a\",\"B\"]", "sort(@)", "[\"B\",\"a\",\"b\"]" },
               { "[]", "sort(@)", "[]" },
               { "[\"b\",\"a\"]", "[max(@), min(@)]", "[\"b\",\"a\"]" },
               { "[{\"k\":2,\"n\":1},{\"k\":1,\"n\":2},{\"k\":2,\"n\":3},{\"k\":1,\"n\":4}]", "sort_by(@, &k)[*].n", "[2,4,1,3]" },
               { "[{\"k\":2,\"n\":1},{\"k\":1,\"n\":2},{\"k\":2,\"n\":3}]", "[max_by(@, &k).n, min_by(@, &k).n]", "[1,2]" },
               { "[]", "[sort_by(@, &k), max_by(@, &k), min_by(@, &k)]", "[[],null,null]" },
               { "[{\"k\":2},{\"k\":\"a\"}]", "sort_by(@, &k)", "column 1: the keys must be all numbers or all strings" },
               { "[{\"k\":2},{}]", "max_by(@, &k)", "column 1: the keys must be all numbers or all strings" });
}

TEST(functions_refuse_other_types_with_the_column)
{
    CHECK_ROWS({ "{\"a\":\"x\"}", "a | abs(@)", "column 5: abs() expects number as argument 1, got string" },
               { "[1,\"a\"]", "sort(@)", "column 1: sort() expects array of numbers or array of strings as argument 1, got array" },
               { "[1]", "join(',', @)", "column 1: join() expects array of strings as argument 2, got array" },
               { "1", "length(@)", "column 1: length() expects string or array or object as argument 1, got number" },
               { "[]", "map(@, @)", "column 1: map() expects &expression as argument 1, got array" },
               { "[]", "to_string(&a)", "column 1: to_string() expects a value as argument 1, got &expression" },
               { "{}", "merge(@, @, `1`)", "column 1: merge() expects object as argument 3, got number" },
               { "{}", "[&a]", "column 3: a reference must be an argument" });
}

TEST(mistakes_have_a_column)
{
    CHECK_ROWS({ "{}", "", "column 1: the expression ends too early" },
               { "{}", "a.", "column 3: the expression ends too early" },
               { "{}", "a..b", "column 3: unexpected '.'" },
               { "{}", "a b", "column 3: unexpected 'b'" },
               { "{}", "a[", "column 3: the expression ends too early" },
               { "{}", "a[b]", "column 3: unexpected 'b'" },
               { "{}", "a[0", "column 4: the expression ends too early" },
               { "{}", "a[1:2:3:4]", "column 8: unexpected ':'" },
               { "{}", "a[1:2 3]", "column 7: unexpected '3'" },
               { "{}", "a.0", "column 3: unexpected '0'" },
               { "{}", "[a,]", "column 4: unexpected ']'" },
               { "{}", "{a: b,}", "column 7: unexpected '}'" },
               { "{}", "{`1`: b}", "column 2: unexpected '`1`'" },
               { "{}", "a = b", "column 3: unexpected '='" },
               { "{}", "\303\251 # b", "column 1: unexpected '\303\251'" },
               { "{}", "'\303\251' #", "column 5: unexpected '#'" },
               { "{}", "'abc", "column 1: missing closing '" },
               { "{}", "a.\"b", "column 3: missing closing \"" },
               { "{}", "\"\\x\"", "column 1: a quoted name must be a JSON text" },
               { "{}", "a[99999999999999999999]", "column 3: invalid number '99999999999999999999'" },
               { "{}", "a[-]", "column 3: invalid number '-'" },
               { "{}", "a{b: c}", "column 2: unexpected '{'" },
               { "{}", "*a", "column 2: unexpected 'a'" },
               { "{}", "a.\"b\"(c)", "column 6: unexpected '('" },
               { "{}", "lenght(a)", "column 1: no function 'lenght' (did you mean 'length'?)" },
               { "{}", "a | qqqqqq(a)", "column 5: no function 'qqqqqq'" },
               { "{}", "length()", "column 1: length() expects 1 argument, got 0" },
               { "{}", "merge()", "column 1: merge() expects at least 1 argument, got 0" },
               { "{}", "join(a)", "column 1: join() expects 2 arguments, got 1" },
               { "{}", "a\\", "column 2: unexpected '\\'" },
               { "{}", "'a\\", "column 1: missing closing '" },
               { "{}", "a\377", "column 2: the expression is not UTF-8" });
}

/* clang-format on */

/* `begin`, `part` many times, `end`. */
static void check_limit(const char *begin, const char *part, size_t count, const char *end,
                        const char *expected)
{
    AUTO_BUF struct buf expression = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    buf_add_text(&expression, begin);
    for (size_t i = 0; i < count; i++)
        buf_add_text(&expression, part);
    buf_add_text(&expression, end);
    search_text("[\"abcdefgh\"]", buf_view(&expression), &out, &err);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(buf_text(&out), expected);
}

TEST(length_depth_and_work_have_limits)
{
    check_limit("'", "x", JMESPATH_LENGTH_MAX, "'", "16384 bytes at most");
    check_limit("", "(", JMESPATH_DEPTH_MAX + 1, "", "200 levels deep at most");
    check_limit("a", ".a", JMESPATH_DEPTH_MAX + 1, "", "200 levels deep at most");
    check_limit("a", "[0]", JMESPATH_DEPTH_MAX + 1, "", "200 levels deep at most");
    check_limit("", "!", JMESPATH_DEPTH_MAX + 1, "a", "200 levels deep at most");
    check_limit("merge(@", ",@", 100, ")", "64 arguments at most");
    check_limit("@", "|[@,@]", 50, "", "more than 2000000 steps");
    check_limit("@", "|[@,@]", 50, "|to_string(@)", "more than 2000000 steps");
    check_limit("@", "|[@,@]", 50, "|@==@", "more than 2000000 steps");
    check_limit("@", "|[@,@][]", 50, "", "more than 2000000 steps");
    check_limit("[0]", "|join('',[@,@])", 50, "", "a text of more than 4194304 bytes");
}

TEST(steps_add_up_over_searches)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct jmespath search = { .arena = &arena, .steps = JMESPATH_STEPS_MAX - 2 };
    struct value data = value_int(1), found;
    struct err err;

    CHECK_INT(jmespath_search(&search, STR("@"), &data, &found, &err), 0);
    CHECK_INT(search.steps, JMESPATH_STEPS_MAX);
    CHECK_INT(jmespath_search(&search, STR("@"), &data, &found, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}
