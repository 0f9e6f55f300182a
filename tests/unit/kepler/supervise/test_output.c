#include "kepler/supervise/output.h"

#include "core/data/value.h"
#include "test.h"

struct seen {
    struct output_capture output;
    struct buf passed;
};

static void on_pass(void *self, struct str bytes)
{
    struct seen *seen = self;

    buf_add_str(&seen->passed, bytes);
}

static void begin(struct seen *seen, size_t max)
{
    *seen = (struct seen){ .passed = BUF_INIT(BUF_NO_LIMIT) };
    output_init(&seen->output, max);
}

static void done(struct seen *seen)
{
    output_done(&seen->output);
    buf_done(&seen->passed);
}

static const char *get(const struct seen *seen, const char *key)
{
    struct value values = output_values(&seen->output);
    const struct value *value = value_get(&values, key);

    return value ? value->s.p : NULL;
}

/* Feeds the stream in pieces of every size; returns the bytes that pass. */
static const struct {
    const char *stream, *passed, *key, *value;
} cases[] = {
    { "::output::a=1\n", "", "a", "1" },
    { "hello\n::output::a=1\nworld\n", "hello\nworld\n", "a", "1" },
    { "::output::a=1=2\n", "", "a", "1=2" },
    { "::output::a=\n", "", "a", "" },
    { "::output::a=1\n::output::a=2\n", "", "a", "2" },
    { "::output::=1\n", "", "", NULL },
    { "::output::none\n", "", "none", NULL },
    { " ::output::a=1\n", " ::output::a=1\n", "a", NULL },
    { "::outpu\n", "::outpu\n", "a", NULL },
    { "::output:\n::output::a=1", "::output:\n", "a", "1" },
    { "::output::a=1\r\n", "", "a", "1" },
    { "no end", "no end", "a", NULL },
    { "\n\n", "\n\n", "a", NULL },
    { "::out", "::out", "a", NULL },
};

TEST(marked_lines_are_captured_and_all_others_pass)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 20; step++) {
            struct str rest = str_from(cases[i].stream);
            struct seen seen;

            begin(&seen, 1000);
            for (; rest.n > 0; rest = str_from_offset(rest, step))
                output_feed(&seen.output, str_slice(rest, 0, step), on_pass, &seen);
            output_end(&seen.output, on_pass, &seen);
            CHECK_STR(buf_text(&seen.passed), cases[i].passed);
            if (cases[i].value)
                CHECK_STR(get(&seen, cases[i].key), cases[i].value);
            else
                CHECK(get(&seen, cases[i].key) == NULL);
            done(&seen);
        }
}

TEST(outputs_past_the_limit_are_dropped_and_reported)
{
    struct seen seen;

    begin(&seen, 8);
    output_feed(&seen.output, STR("::output::a=1234\n::output::b=12345\n::output::c=1\n"), on_pass,
                &seen);
    CHECK_STR(get(&seen, "a"), "1234");
    CHECK(get(&seen, "b") == NULL);
    CHECK_STR(get(&seen, "c"), "1");
    CHECK(seen.output.dropped);
    done(&seen);
}

TEST(an_endless_marked_line_is_bounded)
{
    struct seen seen;
    AUTO_BUF struct buf block = BUF_INIT(100000);

    begin(&seen, 1000);
    buf_fill(&block, 'x', 65536);
    output_feed(&seen.output, STR("::output::a="), on_pass, &seen);
    for (int i = 0; i < 100; i++)
        output_feed(&seen.output, buf_view(&block), on_pass, &seen);
    CHECK(seen.output.line.n <= OUTPUT_LINE_MAX);
    output_feed(&seen.output, STR("\nnext\n"), on_pass, &seen);
    CHECK(seen.output.dropped);
    CHECK(get(&seen, "a") == NULL);
    CHECK_STR(buf_text(&seen.passed), "next\n");
    done(&seen);
}

TEST(any_bytes_pass_but_values_are_text)
{
    struct seen seen;

    begin(&seen, 1000);
    output_feed(&seen.output, STR("\xff\x00\xfe\n::output::a=\xff\n::output::b\n"), on_pass, &seen);
    CHECK_INT(seen.passed.n, 4);
    CHECK(get(&seen, "a") == NULL);
    CHECK(seen.output.dropped);
    CHECK_INT(seen.output.broken, 1);
    done(&seen);
}
