/*
 * log_line - one stored line, and the ways to show it.
 *
 *     plain   2026-01-31 13:00:00 [INFO] web.pre_start | text       local time
 *     raw     text
 *     json    {"timestamp":"2026-01-31T12:00:00.000Z","level":"info","msg":"text",
 *              "service":"web","hook":"pre_start", ...attributes}
 *
 * A piece of a line that was cut, or that was stored before its end came, shows " ..." where
 * it goes on and "... " where it began before; json says "partial":true.
 *
 * A line that is a JSON object shows its own message, level and time, but in raw. Lines may hold
 * any bytes. Plain shows control characters as \xNN, since nothing that a service writes may steer
 * a terminal or forge a line; json shows invalid UTF-8 as U+FFFD; raw gives every byte as it came,
 * line ends included: the pieces of a line that was cut are one line there.
 *
 * Memory: views, which live as long as the reader says. Threads: any.
 */
#ifndef KEPLER_LOGS_LOG_LINE_H
#define KEPLER_LOGS_LOG_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "kepler/logs/jsonline.h"
#include "kepler/logs/segment.h"

struct arena;
struct buf;

struct log_line {
    uint64_t seq;
    int64_t time;               /* when it came, wall time, nanoseconds */
    const char *service, *hook; /* `hook` is "" for the service itself */
    enum segment_stream stream;
    bool lost;            /* not a line of the service: says how many are missing */
    bool continues, open; /* pieces of one line */
    struct str text;      /* without its end */
};

enum log_line_form {
    LOG_LINE_PLAIN,
    LOG_LINE_RAW,
    LOG_LINE_JSON,
};

/* What the line says of itself; else stdout is info, stderr is error. */
void log_line_details(struct arena *arena, const struct log_line *line, struct jsonline *ret);
/* The level alone: quick for lines that are not JSON. */
enum jsonline_level log_line_level(const struct log_line *line);

/* What to write around parts of a plain line, for a terminal that knows colours. */
struct log_line_paint {
    const char *source;                  /* before the name of the service and its hook */
    const char *levels[JSONLINE_LEVELS]; /* before each level; NULL: nothing there */
    const char *off;                     /* after any of them */
};

/* Append the line with its end. `paint` is for plain lines; NULL: none. */
void log_line_print(const struct log_line *line, enum log_line_form form,
                    const struct log_line_paint *paint, struct buf *out);

#endif
