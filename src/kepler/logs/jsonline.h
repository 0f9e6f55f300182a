/*
 * jsonline - a line that is a JSON object, as programs with structured logs write them.
 *
 * The message, the level and the time are found under the names that loggers use for
 * them; all other members are attributes. A line without a message is its own
 * message. Nothing here is done when lines are stored, only when they are read.
 *
 * Memory: the arena given. Threads: any.
 */
#ifndef KEPLER_LOGS_JSONLINE_H
#define KEPLER_LOGS_JSONLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct value_map;

enum jsonline_level {
    JSONLINE_TRACE,
    JSONLINE_DEBUG,
    JSONLINE_INFO,
    JSONLINE_WARN,
    JSONLINE_ERROR,
    JSONLINE_FATAL,
    JSONLINE_LEVELS,
};

/* Bytes of a line that is looked into. */
#define JSONLINE_MAX ((size_t)128 << 10)

struct jsonline {
    struct str message; /* the whole line when it has none */
    bool has_level, has_time;
    enum jsonline_level level;
    int64_t time;                       /* wall time, nanoseconds */
    const struct value_map *attributes; /* never NULL; may be empty */
};

/* False when the line is not a JSON object. */
bool jsonline_parse(struct arena *arena, struct str line, struct jsonline *ret);

/* "info"; and back, in any case, with "warning", "critical" and the like: unknown is info. */
const char *jsonline_level_name(enum jsonline_level level);
enum jsonline_level jsonline_level_parse(struct str text);
/* The same; false when it is unknown. */
bool jsonline_level_find(struct str text, enum jsonline_level *ret_level);

#endif
