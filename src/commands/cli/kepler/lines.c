#include "commands/cli/kepler/lines.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/kepler/kepler.h"
#include "core/data/value.h"

/* The parts of a line, in their order on the wire. */
enum {
    LINE_SEQ,
    LINE_TIME,
    LINE_SERVICE,
    LINE_HOOK,
    LINE_STREAM,
    LINE_FLAGS,
    LINE_TEXT,
    LINE_PARTS
};
enum { FLAG_LOST = 1, FLAG_CONTINUES = 2, FLAG_OPEN = 4 };

/* A stream of a newer daemon may be anything: show it like stderr. */
static enum segment_stream read_line_stream(int64_t number)
{
    return number >= 0 && number < SEGMENT_STREAMS ? (enum segment_stream)number : SEGMENT_STDERR;
}

bool kepler_lines_read(const struct value *v, struct log_line *ret)
{
    static const enum value_kind kinds[LINE_PARTS] = { VALUE_INT, VALUE_INT, VALUE_STR,  VALUE_STR,
                                                       VALUE_INT, VALUE_INT, VALUE_BYTES };
    const struct value *part;

    if (!value_is(v, VALUE_LIST) || v->list->count < LINE_PARTS)
        return false;
    part = v->list->items;
    for (int i = 0; i < LINE_PARTS; i++)
        if (!value_is(&part[i], kinds[i]))
            return false;
    *ret = (struct log_line){
        .seq = (uint64_t)part[LINE_SEQ].i,
        .time = part[LINE_TIME].i,
        .service = part[LINE_SERVICE].s.p,
        .hook = part[LINE_HOOK].s.p,
        .stream = read_line_stream(part[LINE_STREAM].i),
        .lost = part[LINE_FLAGS].i & FLAG_LOST,
        .continues = part[LINE_FLAGS].i & FLAG_CONTINUES,
        .open = part[LINE_FLAGS].i & FLAG_OPEN,
        .text = part[LINE_TEXT].s,
    };
    return true;
}

/* --- colour ----------------------------------------------------------------------------------- */

static const char *color_of_service(struct kepler_lines *lines, const char *name)
{
    const char *code = map_find(&lines->services, str_from(name));

    if (code)
        return code;
    code = color_code(color_of_number(map_count(&lines->services)));
    (void)map_set(&lines->services, arena_str(&lines->arena, str_from(name)),
                  (void *)(uintptr_t)code);
    return code;
}

static void print_kepler_line(struct kepler_lines *lines, const struct log_line *line,
                              struct buf *out)
{
    const struct log_line_paint paint = {
        .source = lines->color ? color_of_service(lines, line->service) : "",
        .levels = {
            [JSONLINE_TRACE] = color_code(COLOR_DIM),  [JSONLINE_DEBUG] = color_code(COLOR_DIM),
            [JSONLINE_WARN] = color_code(COLOR_YELLOW), [JSONLINE_ERROR] = color_code(COLOR_RED),
            [JSONLINE_FATAL] = color_code(COLOR_RED),
        },
        .off = COLOR_OFF,
    };

    log_line_print(line, lines->form, lines->color ? &paint : NULL, out);
}

/* --- all lines -------------------------------------------------------------------------------- */

void kepler_lines_init(struct kepler_lines *lines, enum log_line_form form, bool color)
{
    *lines = (struct kepler_lines){ .out = stdout,
                                    .form = form,
                                    .color = color && form == LOG_LINE_PLAIN };
}

void kepler_lines_done(struct kepler_lines *lines)
{
    map_done(&lines->services);
    arena_done(&lines->arena);
}

void kepler_lines_print(struct kepler_lines *lines, const struct value *body)
{
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    const struct value *list = value_get(body, "lines");

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++) {
        struct log_line line;

        if (kepler_lines_read(&list->list->items[i], &line))
            print_kepler_line(lines, &line, &out);
    }
    (void)fwrite(buf_text(&out), 1, out.n, lines->out);
    (void)fflush(lines->out); /* a failure is reported when the command ends */
}
