/*
 * log_line - one stored line, and the ways to show it.
 *
 *     plain   2026-01-31 13:00:00 [INFO] web.pre_start | text       local time
 *     raw     text
 *     json    {"timestamp":"2026-01-31T12:00:00.000Z","level":"info","msg":"text",
 *              "service":"web","hook":"pre_start", ...attributes}
 *
 * A piece of a line that was cut, or stored before its end arrived, shows " ..." where it
 * continues and "... " where it began earlier; json has "partial":true.
 *
 * A line that is a JSON object shows its own message, level and time, except in raw. Lines may
 * hold any bytes. Plain shows control characters as \xNN, so that no service can control a
 * terminal or forge a line; json shows invalid UTF-8 as U+FFFD; raw prints every byte unchanged,
 * line ends included: the pieces of a cut line are one line there.
 *
 * Memory: views, valid as long as the reader states. Threads: any.
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
    int64_t time;               /* arrival, wall time, nanoseconds */
    const char *service, *hook; /* `hook` is "" for the service itself */
    enum segment_stream stream;
    bool lost;            /* not the service's: reports how many lines are missing */
    bool continues, open; /* flags of pieces of one line */
    struct str text;      /* without its line end */
};

enum log_line_form {
    LOG_LINE_PLAIN,
    LOG_LINE_RAW,
    LOG_LINE_JSON,
};

/* The level in the line; else info for stdout and error for stderr. */
void log_line_details(struct arena *arena, const struct log_line *line, struct jsonline *ret);
/* Only the level: fast for lines that are not JSON. */
enum jsonline_level log_line_level(const struct log_line *line);

/* Escape sequences around parts of a plain line, for a colour terminal. */
struct log_line_paint {
    const char *source;                  /* before the names of service and hook */
    const char *levels[JSONLINE_LEVELS]; /* before each level; NULL: none */
    const char *off;                     /* after any of them */
};

/* Appends the line with its end. `paint` is for plain lines; NULL: none. */
void log_line_print(const struct log_line *line, enum log_line_form form,
                    const struct log_line_paint *paint, struct buf *out);

#endif
