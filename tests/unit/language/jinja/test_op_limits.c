/* An operation whose result is too large fails beforehand, and names the limit. */
#include "language/jinja/filters/builtins.h"
#include "language/jinja/container.h"
#include "language/jinja/format.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "ops_line.h"

static const struct {
    const char *line, *error;
} cases[] = {
    { "add [9223372036854775807, 1]", "integer overflow: 9223372036854775807 + 1" },
    { "sub [-9223372036854775808, 1]", "integer overflow: -9223372036854775808 - 1" },
    { "mul [9223372036854775807, 2]", "integer overflow: 9223372036854775807 * 2" },
    { "floordiv [-9223372036854775808, -1]", "integer overflow: -9223372036854775808 // -1" },
    { "neg [-9223372036854775808]", "integer overflow: 0 - -9223372036854775808" },
    { "pow [10, 19]", "integer overflow: 10 ** 19" },
    { "pow [10.0, 400]", "numerical result out of range" },
    { "pow [-8, 0.5]", "cannot be raised to a fractional power" },
    { "mul [\"ab\", 9000000000]", "a text may have 67108864 bytes at most" },
    { "mul [[1], 9000000000]", "a list may have 4194304 items at most" },
    { "list [{\"$r\": [0, 9000000000, 1]}]", "a list may have 4194304 items at most" },
    { "call [\"a\", \"center\", 9000000000]", "a text may have 67108864 bytes at most" },
    { "call [\"a\", \"expandtabs\", 9000000000]", "a tab may have 1000 columns at most" },
    { "mod [\"%9000000000d\", 1]", "a format may ask for 1000000 characters at most" },
    { "mod [\"%.9000f\", 1]", "a format may ask for 1000 characters at most" },
    { "mod [\"%d\", 1e300]", "integer overflow: 1e+300 needs more than 64 bits" },
    { "call [\"{:9000000000}\", \"format\", 1]", "a format may ask for 1000000 characters" },
    { "call [\"{:.9000}\", \"format\", 1.5]", "a format may ask for 1000 characters" },
    { "call [\"a\", \"replace\", \"a\"]", "replace() missing 1 required positional argument" },
    { "call [\"a\", \"upper\", 1]", "upper() takes 1 positional argument but 2 were given" },
    { "call [\"a\", \"translate\", {}]", "'str object' has no attribute 'translate'" },
};

TEST(a_text_that_is_too_large_names_its_limit)
{
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        ops_line(str_from(cases[i].line), &options, &out);
        CHECK_HAS(buf_text(&out), cases[i].error);
    }
}

TEST(numbers_at_the_edge_of_64_bits_still_work)
{
    static const struct {
        const char *line, *result;
    } edges[] = {
        { "add [9223372036854775806, 1]", "9223372036854775807\n" },
        { "mod [-9223372036854775808, -1]", "0\n" },
        { "pow [2, 62]", "4611686018427387904\n" },
        { "pow [-2, 63]", "-9223372036854775808\n" },
        { "mul [\"\", 9000000000]", "''\n" },
        { "mod [\"%d\", -9223372036854775808]", "'-9223372036854775808'\n" },
        { "slice [[1, 2, 3], -9223372036854775808, 9223372036854775807]", "[1, 2, 3]\n" },
        { "slice [[1, 2, 3], null, null, -9223372036854775808]", "[3]\n" },
        { "slice [{\"$r\": [0, 9223372036854775807, 1]}, -1, null]",
          "range(9223372036854775806, 9223372036854775807)\n" },
        { "len [{\"$r\": [0, 9223372036854775807, 1]}]", "9223372036854775807\n" },
    };
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };

    for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        ops_line(str_from(edges[i].line), &options, &out);
        CHECK_STR(buf_text(&out), edges[i].result);
    }
}

/* Lists in lists, `depth` of them. */
static struct value nested(struct render *render, unsigned depth)
{
    struct value v = value_int(1);

    for (unsigned i = 0; i < depth; i++) {
        struct value_list *list = container_new_list(render, 1);

        value_list_push(render->arena, list, v);
        v = value_list(list);
    }
    return v;
}

TEST(containers_nested_too_deep_are_an_error)
{
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value one, two;
    struct render render;
    bool same;

    render_init(&render, NULL, &options, &arena);
    one = nested(&render, 600);
    two = nested(&render, 600);
    CHECK_INT(op_print(&render, &one, &out), -1);
    CHECK_STR(render.error_text, "containers are nested more than 500 deep");
    render_init(&render, NULL, &options, &arena);
    CHECK_INT(op_compare(&render, OP_EQ, &one, &two, &same), -1);
    CHECK_STR(render.error_text, "containers are nested more than 500 deep");
}

TEST(times_print_as_datetimes)
{
    static const struct jinja_options options = { .builtins = &filter_builtins, .lenient = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const struct {
        int64_t seconds;
        uint32_t nanoseconds;
        const char *text, *repr;
    } times[] = {
        { 0, 0, "1970-01-01 00:00:00", "datetime.datetime(1970, 1, 1, 0, 0)" },
        { 1704164645, 0, "2024-01-02 03:04:05", "datetime.datetime(2024, 1, 2, 3, 4, 5)" },
        { 1709164800, 250000000, "2024-02-29 00:00:00.250000",
          "datetime.datetime(2024, 2, 29, 0, 0, 0, 250000)" },
        { -1, 0, "1969-12-31 23:59:59", "datetime.datetime(1969, 12, 31, 23, 59, 59)" },
        { -62135596800, 0, "0001-01-01 00:00:00", "datetime.datetime(1, 1, 1, 0, 0)" },
    };
    struct render render;

    render_init(&render, NULL, &options, &arena);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT), repr = BUF_INIT(BUF_NO_LIMIT);
        const struct value v = value_time(times[i].seconds, times[i].nanoseconds);

        CHECK_INT(op_print(&render, &v, &text), 0);
        CHECK_STR(buf_text(&text), times[i].text);
        CHECK_INT(op_repr(&render, &v, &repr), 0);
        CHECK_STR(buf_text(&repr), times[i].repr);
    }
}

TEST(markup_makes_the_whole_of_a_concatenation_markup_when_escaping_is_on)
{
    static const struct jinja_options plain = { .builtins = &filter_builtins, .lenient = true };
    static const struct jinja_options escaping = { .builtins = &filter_builtins,
                                                   .lenient = true,
                                                   .autoescape = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value parts[] = { value_text("<"), value_text("<b>"), value_int(1) }, joined;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct render render;

    parts[1].flags = VALUE_SAFE;
    render_init(&render, NULL, &plain, &arena);
    CHECK_INT(op_concat(&render, parts, 3, &joined), 0);
    CHECK_STR(joined.s.p, "<<b>1");
    render_init(&render, NULL, &escaping, &arena);
    CHECK_INT(op_concat(&render, parts, 3, &joined), 0);
    CHECK_STR(joined.s.p, "&lt;<b>1");
    CHECK_INT(joined.flags, VALUE_SAFE);
    CHECK_INT(op_output(&render, &parts[0], &out), 0);
    CHECK_INT(op_output(&render, &parts[1], &out), 0);
    CHECK_STR(buf_text(&out), "&lt;<b>");
}
