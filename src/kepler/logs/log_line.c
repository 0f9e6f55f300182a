#include "kepler/logs/log_line.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/data/json.h"
#include "core/data/value.h"

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

enum { TIME_TEXT_MAX = 32, LEVEL_MAX = 16 };

static enum jsonline_level level_of_stream(const struct log_line *line)
{
    static const enum jsonline_level levels[] = {
        [SEGMENT_STDOUT] = JSONLINE_INFO,
        [SEGMENT_STDERR] = JSONLINE_ERROR,
        [SEGMENT_WARNINGS] = JSONLINE_WARN,
    };
    _Static_assert(ARRAY_LEN(levels) == SEGMENT_STREAMS, "every stream has a level");

    return line->lost ? JSONLINE_WARN : levels[line->stream];
}

void log_line_details(struct arena *arena, const struct log_line *line, struct jsonline *ret)
{
    const bool piece = line->continues || line->open || line->lost;

    if (piece || !jsonline_parse(arena, line->text, ret))
        *ret = (struct jsonline){ .message = line->text, .attributes = value_map_new(arena, 0) };
    if (!ret->has_level)
        ret->level = level_of_stream(line);
    if (!ret->has_time)
        ret->time = line->time;
}

enum jsonline_level log_line_level(const struct log_line *line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct jsonline details;

    if (line->text.n == 0 || line->text.p[0] != '{')
        return level_of_stream(line);
    log_line_details(&arena, line, &details);
    return details.level;
}

/* --- plain ---------------------------------------------------------------------------- */

/* Text without control sequences, and without the other half of a line end. */
static void add_visible(struct buf *out, struct str text)
{
    if (str_ends(text, STR("\r")))
        text.n--;
    while (text.n > 0) {
        struct str rest = text;
        const uint32_t c = utf8_next(&rest);
        const size_t n = text.n - rest.n;
        const bool bad = c == UTF8_BAD && n == 1;

        if (bad || (c < ' ' && c != '\t') || (c >= 0x7f && c < 0xa0))
            for (size_t i = 0; i < n; i++)
                buf_printf(out, "\\x%02x", (unsigned char)text.p[i]);
        else
            buf_add(out, text.p, n);
        text = rest;
    }
}

static void add_local_time(struct buf *out, int64_t ns)
{
    const time_t seconds = (time_t)(ns / NS_PER_S);
    char text[TIME_TEXT_MAX];
    struct tm tm;

    if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
        buf_add_text(out, text);
}

static void add_line_source(const struct log_line *line, struct buf *out)
{
    buf_add_text(out, line->service);
    if (line->hook[0] != '\0')
        buf_printf(out, ".%s", line->hook);
}

static void add_level(enum jsonline_level level, struct buf *out)
{
    buf_add_char(out, '[');
    for (const char *p = jsonline_level_name(level); *p; p++)
        buf_add_char(out, (char)toupper((unsigned char)*p));
    buf_add_char(out, ']');
}

static void print_line_plain(const struct log_line *line, const struct jsonline *details,
                             const struct log_line_paint *paint, struct buf *out)
{
    static const struct log_line_paint no_paint = { .source = "", .off = "" };
    const char *on;

    if (line->continues && line->text.n == 0)
        return; /* the end of a line that was shown when it was open */
    paint = paint ? paint : &no_paint;
    on = paint->levels[details->level];
    add_local_time(out, details->time);
    buf_printf(out, " %s", on ? on : "");
    add_level(details->level, out);
    buf_printf(out, "%s %s", on ? paint->off : "", paint->source);
    add_line_source(line, out);
    buf_printf(out, " |%s %s", paint->off, line->continues ? "... " : "");
    add_visible(out, details->message);
    buf_add_text(out, line->open ? " ...\n" : "\n");
}

/* --- json ----------------------------------------------------------------------------- */

/* Valid UTF-8 from any bytes. */
static struct str clean_line_text(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (utf8_is_valid(text))
        return arena_str(arena, text);
    while (text.n > 0)
        utf8_add(&out, utf8_next(&text));
    return buf_copy(&out, arena);
}

static void add_utc(struct arena *arena, struct value_map *map, int64_t ns)
{
    const time_t seconds = (time_t)(ns / NS_PER_S);
    char text[TIME_TEXT_MAX] = "";
    struct tm tm;

    if (gmtime_r(&seconds, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    value_map_set(
        arena, map, value_text("timestamp"),
        value_text(arena_printf(arena, "%s.%03dZ", text, (int)(ns % NS_PER_S / NS_PER_MS))));
}

static void print_line_json(struct arena *arena, const struct log_line *line,
                            const struct jsonline *details, struct buf *out)
{
    struct value_map *map = value_map_new(arena, details->attributes->count + 6);
    const struct value object = value_map(map);
    const size_t begin = out->n;
    struct err err;

    add_utc(arena, map, details->time);
    value_map_set(arena, map, value_text("level"), value_text(jsonline_level_name(details->level)));
    value_map_set(arena, map, value_text("msg"),
                  value_str(clean_line_text(arena, details->message)));
    value_map_set(arena, map, value_text("service"), value_text(line->service));
    if (line->hook[0] != '\0')
        value_map_set(arena, map, value_text("hook"), value_text(line->hook));
    if (line->open || line->continues)
        value_map_set(arena, map, value_text("partial"), value_bool(true));
    for (size_t i = 0; i < details->attributes->count; i++) {
        const struct value_pair *pair = &details->attributes->pairs[i];

        if (!value_map_find(map, &pair->key))
            value_map_set(arena, map, pair->key, pair->value);
    }
    if (json_print(out, &object, JSON_STYLE_COMPACT, &err) < 0)
        buf_cut(out, begin); /* only a full buffer, which its owner sees */
    else
        buf_add_char(out, '\n');
}

void log_line_print(const struct log_line *line, enum log_line_form form,
                    const struct log_line_paint *paint, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct jsonline details;

    if (form == LOG_LINE_RAW) {
        buf_add_str(out, line->text);
        if (!line->open)
            buf_add_char(out, '\n');
        return;
    }
    log_line_details(&arena, line, &details);
    if (form == LOG_LINE_JSON)
        print_line_json(&arena, line, &details, out);
    else
        print_line_plain(line, &details, paint, out);
}
