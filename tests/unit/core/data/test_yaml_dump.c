#include "core/data/yaml_dump.h"

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

static void check_dump(const char *input, const char *output)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;
    struct err err;

    CHECK(yaml_parse(&arena, "input", str_from(input), NULL, &v, &diags) == 0);
    CHECK(yaml_dump(&arena, &out, &v, &err) == 0);
    CHECK_STR(buf_text(&out), output);
}

TEST(keys_are_sorted_and_lists_are_as_deep_as_their_key)
{
    check_dump("{b: [1, {z: 1, a: 2}], a: {}, c: []}", "a: {}\nb:\n- 1\n- a: 2\n  z: 1\nc: []\n");
}

TEST(words_that_mean_something_else_are_quoted)
{
    check_dump("{a: 'yes', b: '1', c: 'x: y', d: null, e: true, f: 1.5, g: ''}",
               "a: 'yes'\nb: '1'\nc: 'x: y'\nd: null\ne: true\nf: 1.5\ng: ''\n");
}

TEST(long_texts_are_folded_at_eighty_columns)
{
    check_dump(
        "k: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc dd",
        "k: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc\n"
        "  dd\n");
}

TEST(too_deep_a_tree_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value v = value_int(1);
    struct err err;

    for (int i = 0; i <= YAML_DEPTH_MAX; i++) {
        struct value_list *list = value_list_new(&arena, 1);

        value_list_push(&arena, list, v);
        v = value_list(list);
    }
    CHECK(yaml_dump(&arena, &out, &v, &err) == -1);
    CHECK(err.code == ERR_LIMIT);
}
