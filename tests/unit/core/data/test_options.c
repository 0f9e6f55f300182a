#include "core/data/options.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "test.h"

struct line {
    const char *dir;
    bool test;
    int format;
    struct param_strs search;
    int64_t timeout;
};

#define ARGS struct line

static const struct param table[] = {
    PARAM("dir", STR, ARGS, dir, "a folder", .aliases = "d"),
    PARAM("test", BOOL, ARGS, test, "change nothing", .aliases = "t"),
    PARAM("format", CHOICE, ARGS, format, "how", .choices = "text|json", .default_text = "text"),
    PARAM("search", STRS, ARGS, search, "where", .aliases = "s"),
    PARAM("timeout", DURATION, ARGS, timeout, "how long"),
    OPTION_FOREIGN("grain", STR, "write 'G@os:Debian'", .aliases = "G"),
    OPTION_FOREIGN("check", BOOL, "did you mean '--test'?"),
    { 0 },
};

#define WORDS(...)                                                                                 \
    (char *[]){ __VA_ARGS__ }, (int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *))
#define HAS_FOREIGN(...)                                                                           \
    options_has_foreign(table, (int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *)),          \
                        (char *[]){ __VA_ARGS__ })

TEST(an_option_of_another_program_is_found_before_the_end_of_options)
{
    CHECK(HAS_FOREIGN("web", "--check"));
    CHECK(HAS_FOREIGN("-G", "os:Debian", "ping"));
    CHECK(HAS_FOREIGN("--grain=os:Debian"));
    CHECK(!HAS_FOREIGN("web", "--timeout", "5s", "-", "-x", "--other"));
    CHECK(!HAS_FOREIGN("cmd", "--", "--check"));
}

static int parse(struct arena *arena, char **words, int count, struct line *line,
                 struct param_strs *operands, struct buf *errors)
{
    struct diags diags = DIAGS_INIT(arena);
    int result = options_parse(arena, table, count, words, line, operands, &diags);

    diags_print(&diags, errors);
    return result;
}

TEST(options_stand_anywhere_and_the_rest_are_operands)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf errors = BUF_INIT(4096);
    struct line line = { 0 };
    struct param_strs operands;

    CHECK_INT(parse(&arena,
                    WORDS("web", "--dir=/srv", "-t", "db", "--format", "json", "-sa", "-s", "b",
                          "-s=c=d", "--timeout", "1m", "--", "--dir"),
                    &line, &operands, &errors),
              0);
    CHECK_STR(line.dir, "/srv");
    CHECK(line.test);
    CHECK_INT(line.format, 1);
    CHECK_INT(line.search.n, 3);
    CHECK_STR(line.search.p[1], "b");
    CHECK_STR(line.search.p[2], "c=d");
    CHECK_INT(line.timeout, 60000000000);
    CHECK_INT(operands.n, 3);
    CHECK_STR(operands.p[2], "--dir");
}

TEST(every_mistake_of_a_line_is_reported_at_once)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf errors = BUF_INIT(4096);
    struct line line = { 0 };
    struct param_strs operands;

    CHECK_INT(
        parse(&arena,
              WORDS("--tset", "-x", "--format", "jsno", "--dir", "a", "--dir", "b", "--timeout"),
              &line, &operands, &errors),
        -1);
    CHECK_HAS(buf_text(&errors), "unknown option '--tset'\n      = did you mean '--test'?");
    CHECK_HAS(buf_text(&errors), "unknown option '-x'");
    CHECK_HAS(buf_text(&errors), "option '--dir' given twice");
    CHECK_HAS(buf_text(&errors), "option '--timeout' requires a value");
    CHECK_HAS(buf_text(&errors), "jsno");
}

TEST(a_value_of_an_option_that_is_given_as_an_option_is_understood)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf errors = BUF_INIT(4096);
    struct line line = { 0 };
    struct param_strs operands;

    CHECK_INT(parse(&arena, WORDS("--json"), &line, &operands, &errors), -1);
    CHECK_STR(buf_text(&errors),
              "unknown option '--json'\n      = did you mean '--format json'?\n");
}

TEST(an_option_of_another_program_is_unknown_and_names_ours)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf errors = BUF_INIT(4096), usage = BUF_INIT(4096);
    struct line line = { 0 };
    struct param_strs operands;
    char *words[] = { "-t", "--grain", "os:Debian", "test.ping" };

    CHECK_INT(parse(&arena, WORDS("-G", "os:Debian", "--grain=os:x", "-Gos:y", "--check"), &line,
                    &operands, &errors),
              -1);
    CHECK_STR(buf_text(&errors), "unknown option '-G'\n      = write 'G@os:Debian'\n"
                                 "unknown option '--grain'\n      = write 'G@os:Debian'\n"
                                 "unknown option '-G'\n      = write 'G@os:Debian'\n"
                                 "unknown option '--check'\n      = did you mean '--test'?\n");
    CHECK_INT(options_skip(table, 4, words), 1);
    options_print(table, &usage);
    CHECK(!strstr(buf_text(&usage), "grain") && !strstr(buf_text(&usage), "check"));
}

TEST(a_word_is_found_without_reading_the_rest)
{
    char *words[] = { "a", "--help", "--", "--local" };

    CHECK(options_has(4, words, "--help"));
    CHECK(!options_has(4, words, "--local"));
}

TEST(a_value_that_cannot_be_read_is_reported_by_the_name_of_its_option)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf errors = BUF_INIT(4096);
    struct line line = { 0 };
    struct param_strs operands;

    CHECK_INT(parse(&arena, WORDS("--timeout", "soon"), &line, &operands, &errors), -1);
    CHECK_STR(buf_text(&errors), "'--timeout' must be a duration such as \"10s\", got \"soon\"\n");
}

TEST(the_usage_has_a_word_for_each_value_and_long_explanations_go_on_below)
{
    static const struct param usage[] = {
        PARAM("dir", STR, ARGS, dir, "a folder", .kind_text = "DIR", .aliases = "d,folder"),
        PARAM("test", BOOL, ARGS, test, "change nothing"),
        PARAM("format", CHOICE, ARGS, format, "how", .choices = "text|json",
              .default_text = "text"),
        PARAM("search", STRS, ARGS, search,
              "one word after the other until there are more of them than fit into a line",
              .kind_text = "WORD"),
        PARAM("timeout", DURATION, ARGS, timeout, "nobody sees it", .flags = PARAM_HIDDEN),
        { 0 },
    };
    AUTO_BUF struct buf out = BUF_INIT(4096);

    options_print(usage, &out);
    CHECK_STR(buf_text(&out),
              "  --dir, -d, --folder DIR   a folder\n"
              "  --test                    change nothing\n"
              "  --format text|json        how (text)\n"
              "  --search WORD             one word after the other until there are more of them "
              "than fit into\n"
              "                            a line\n");
}

TEST(options_are_described_by_names_value_and_text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct param usage[] = {
        { .name = "dir",
          .kind = PARAM_STR,
          .kind_text = "DIR",
          .aliases = "d,folder",
          .doc = "a folder" },
        { .name = "secret", .kind = PARAM_STR, .flags = PARAM_HIDDEN },
        { .name = "test", .kind = PARAM_BOOL, .doc = "change nothing" },
        { 0 },
    };
    struct value list = options_describe(&arena, usage);
    const struct value *first = &list.list->items[0], *second = &list.list->items[1];

    CHECK_STR(value_get(first, "names")->s.p, "--dir, -d, --folder");
    CHECK_STR(value_get(first, "value")->s.p, "DIR");
    CHECK_STR(value_get(first, "text")->s.p, "a folder");
    CHECK_STR(value_get(second, "names")->s.p, "--test");
    CHECK_STR(value_get(second, "value")->s.p, "");
}
