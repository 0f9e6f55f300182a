/*
 * jsonline - a line that is a JSON object, as structured loggers write them.
 *
 * The message, the level and the time are found under the keys that common loggers use; all other
 * members are attributes. A line without a message is its own message. Lines are parsed when they
 * are read, not when they are stored.
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

/* Longer lines are not parsed. */
#define JSONLINE_MAX ((size_t)128 << 10)

struct jsonline {
    struct str message; /* the whole line when there is none */
    bool has_level, has_time;
    enum jsonline_level level;
    int64_t time;                       /* wall time, nanoseconds */
    const struct value_map *attributes; /* never NULL; may be empty */
};

/* False when the line is not a JSON object. */
bool jsonline_parse(struct arena *arena, struct str line, struct jsonline *ret);

/* "info"; and back, in any case, including "warning" and "critical": unknown is info. */
const char *jsonline_level_name(enum jsonline_level level);
enum jsonline_level jsonline_level_parse(struct str text);
/* The same; false for an unknown level. */
bool jsonline_level_find(struct str text, enum jsonline_level *ret_level);

#endif
