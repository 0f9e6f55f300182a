#include "cli/kepler_lines.h"

#include <stdio.h>

#include "base/buf.h"
#include "data/value.h"

#define OUTPUT_MAX ((size_t)64 << 20)

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

static bool read_line(const struct value *v, struct log_line *ret)
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
        .stream = part[LINE_STREAM].i == SEGMENT_STDOUT ? SEGMENT_STDOUT : SEGMENT_STDERR,
        .lost = part[LINE_FLAGS].i & FLAG_LOST,
        .continues = part[LINE_FLAGS].i & FLAG_CONTINUES,
        .open = part[LINE_FLAGS].i & FLAG_OPEN,
        .text = part[LINE_TEXT].s,
    };
    return true;
}

void kepler_lines_print(const struct value *body, enum log_line_form form)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    const struct value *lines = value_get(body, "lines");

    for (size_t i = 0; lines && value_is(lines, VALUE_LIST) && i < lines->list->count; i++) {
        struct log_line line;

        if (read_line(&lines->list->items[i], &line))
            log_line_print(&line, form, &out);
    }
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    (void)fflush(stdout); /* a failure is told when the command ends */
}
