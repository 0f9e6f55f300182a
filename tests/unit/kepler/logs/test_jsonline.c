#include "test.h"

#include <inttypes.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "kepler/logs/jsonline.h"

static int run(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str line = str_trim_right(golden_section(golden, "line"));
    struct value attributes;
    struct jsonline json;
    struct err err;

    if (!jsonline_parse(&arena, line, &json)) {
        buf_add_text(out, "no JSON object\n");
        return 0;
    }
    buf_printf(out, "message: %.*s\n", STR_ARG(json.message));
    if (json.has_level)
        buf_printf(out, "level: %s\n", jsonline_level_name(json.level));
    if (json.has_time)
        buf_printf(out, "time: %" PRId64 "\n", json.time / 1000000);
    attributes = value_map(
        value_copy(&arena, &(struct value){ .kind = VALUE_MAP, .map = value_map_new(&arena, 0) })
            .map);
    for (size_t i = 0; i < json.attributes->count; i++)
        value_map_set(&arena, attributes.map, json.attributes->pairs[i].key,
                      json.attributes->pairs[i].value);
    buf_add_text(out, "attributes: ");
    CHECK_INT(json_print(out, &attributes, JSON_STYLE_COMPACT, &err), 0);
    buf_add_char(out, '\n');
    return 0;
}

TEST(json_lines_have_message_level_time_and_attributes)
{
    test_golden("kepler/logs/jsonline.txt", run);
}

TEST(levels_are_known_by_many_names)
{
    static const struct {
        const char *text;
        enum jsonline_level level;
    } cases[] = {
        { "trace", JSONLINE_TRACE },     { "DEBUG", JSONLINE_DEBUG },
        { "Info", JSONLINE_INFO },       { "warn", JSONLINE_WARN },
        { "WARNING", JSONLINE_WARN },    { "error", JSONLINE_ERROR },
        { "fatal", JSONLINE_FATAL },     { "critical", JSONLINE_FATAL },
        { "emergency", JSONLINE_FATAL }, { "Alert", JSONLINE_FATAL },
        { "verbose", JSONLINE_INFO },    { "", JSONLINE_INFO },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(jsonline_level_parse(str_from(cases[i].text)), cases[i].level);
}

TEST(a_line_beyond_the_limit_is_not_parsed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct jsonline json;

    buf_add_text(&line, "{\"msg\":\"");
    buf_fill(&line, 'x', JSONLINE_MAX - line.n - 2);
    buf_add_text(&line, "\"}");
    CHECK_INT(line.n, JSONLINE_MAX);
    CHECK(jsonline_parse(&arena, buf_view(&line), &json));
    buf_add_char(&line, ' ');
    CHECK(!jsonline_parse(&arena, buf_view(&line), &json));
}
