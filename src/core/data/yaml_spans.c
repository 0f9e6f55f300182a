#include "core/data/yaml_spans.h"

#include <string.h>
#include <yaml.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml.h"
#include "core/data/yaml_text.h"

#define PATH_MAX_BYTES 4096

/* An open list or map. */
struct level {
    bool is_map, at_key; /* at_key: a key comes next */
    size_t items;
    struct str key;
};

struct span_scan {
    struct arena *arena;
    struct str text;
    const char *const *tags;
    struct yaml_spans *spans;
    struct yaml_cursor cursor;
    struct level levels[YAML_DEPTH_MAX + 1];
    size_t depth; /* levels[depth - 1] is the innermost */
};

static const char *print_path(const struct span_scan *scan)
{
    AUTO_BUF struct buf path = BUF_INIT(PATH_MAX_BYTES);

    for (size_t i = 0; i < scan->depth; i++) {
        const struct level *level = &scan->levels[i];

        if (i > 0)
            buf_add_char(&path, '.');
        if (level->is_map)
            buf_add_str(&path, level->key);
        else
            buf_printf(&path, "%zu", level->items - 1);
    }
    return buf_copy(&path, scan->arena).p;
}

/* A node begins: a key, or a value. Returns whether it is a key. */
static bool enter_node(struct span_scan *scan)
{
    struct level *level = scan->depth ? &scan->levels[scan->depth - 1] : NULL;

    if (!level)
        return false;
    if (!level->is_map) {
        level->items++;
        return false;
    }
    level->at_key = !level->at_key;
    return !level->at_key;
}

static size_t find_offset(struct span_scan *scan, size_t index)
{
    yaml_cursor_move(&scan->cursor, scan->text, index);
    return scan->cursor.offset;
}

static bool is_span_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void add_span(struct span_scan *scan, const yaml_event_t *event, const char *anchor,
                     struct yaml_span span)
{
    span.line = (uint32_t)event->start_mark.line + 1;
    span.start = find_offset(scan, event->start_mark.index);
    span.end = find_offset(scan, event->end_mark.index);
    while (span.end > span.start && is_span_blank(scan->text.p[span.end - 1]))
        span.end--;
    span.anchor = anchor ? arena_strdup(scan->arena, anchor) : NULL;
    VEC_PUSH_IN(scan->arena, &scan->spans->list, span);
}

/* NULL: not one of the wanted tags. */
static const char *find_wanted_tag(const struct span_scan *scan, const yaml_char_t *tag)
{
    for (const char *const *known = scan->tags; tag && *known; known++)
        if (strcmp((const char *)tag, *known) == 0)
            return *known;
    return NULL;
}

static void read_span_scalar(struct span_scan *scan, const yaml_event_t *event)
{
    const struct str value = { (const char *)event->data.scalar.value, event->data.scalar.length };
    const char *tag = find_wanted_tag(scan, event->data.scalar.tag);
    bool is_key = enter_node(scan);

    if (is_key)
        scan->levels[scan->depth - 1].key = arena_str(scan->arena, value);
    if (tag)
        add_span(scan, event, (const char *)event->data.scalar.anchor,
                 (struct yaml_span){ .tag = tag,
                                     .value = arena_str(scan->arena, value),
                                     .path = print_path(scan),
                                     .is_value = !is_key });
}

static int open_span_level(struct span_scan *scan, const yaml_event_t *event, bool is_map,
                           struct err *err)
{
    const char *tag = find_wanted_tag(scan, is_map ? event->data.mapping_start.tag
                                                   : event->data.sequence_start.tag);

    if (enter_node(scan))
        scan->levels[scan->depth - 1].key = STR("?");
    if (tag)
        add_span(scan, event, NULL, (struct yaml_span){ .tag = tag, .is_value = false });
    if (scan->depth >= YAML_DEPTH_MAX)
        return err_set(err, ERR_LIMIT, "line %zu: nested more than %d levels deep",
                       event->start_mark.line + 1, YAML_DEPTH_MAX);
    scan->levels[scan->depth++] = (struct level){ .is_map = is_map, .at_key = is_map };
    return 0;
}

static int read_span_event(struct span_scan *scan, const yaml_event_t *event, struct err *err)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: read_span_scalar(scan, event); return 0;
    case YAML_ALIAS_EVENT:
        if (enter_node(scan))
            scan->levels[scan->depth - 1].key = STR("*");
        return 0;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return open_span_level(scan, event, event->type == YAML_MAPPING_START_EVENT, err);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: scan->depth--; return 0;
    default: return 0;
    }
}

static int read_span_events(struct span_scan *scan, yaml_parser_t *parser, struct err *err)
{
    for (bool is_end = false; !is_end;) {
        yaml_event_t event;
        int result;

        if (!yaml_parser_parse(parser, &event))
            return err_set(err, ERR_INVALID, "line %zu: not valid YAML",
                           parser->problem_mark.line + 1);
        is_end = event.type == YAML_STREAM_END_EVENT;
        result = read_span_event(scan, &event, err);
        yaml_event_delete(&event);
        if (result < 0)
            return -1;
    }
    return 0;
}

int yaml_find_tagged(struct arena *arena, struct str text, const char *const *tags,
                     struct yaml_spans *ret_spans, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&scratch);
    struct span_scan *scan = ARENA_NEW(&scratch, struct span_scan);
    yaml_parser_t parser;
    bool odd_breaks;
    int result;

    *ret_spans = (struct yaml_spans){ VEC_INIT };
    *scan = (struct span_scan){ arena, text, tags, ret_spans, .cursor = YAML_CURSOR_INIT };
    if (text.n > YAML_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", YAML_SIZE_MAX);
    if (yaml_text_check("", text, &odd_breaks, &diags) < 0)
        return err_set(err, ERR_INVALID, "line %u: a byte that YAML does not allow",
                       diags.list.p[0].at.line);
    if (!yaml_parser_initialize(&parser))
        return err_set(err, ERR_SYSTEM, "out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    result = read_span_events(scan, &parser, err);
    yaml_parser_delete(&parser);
    return result;
}
