/*
 * log - the log of a program, one line at a time.
 *
 *     log_info("service started name=%s pid=%d", name, pid);
 *
 * A fixed phrase first, then key=value. Levels: error (someone must act), warning (the program
 * continued, and the text says so), info (a change of state), debug.
 *
 * The program chooses where lines go: log_use keeps a struct with a sink, a clock and
 * a filter that removes secrets. Each may be NULL: then lines go to
 * stderr, without time, as they are. Control characters are escaped after the filter,
 * so that no text from outside can forge a line or steer a terminal.
 *
 * This is the only global. Threads: log from any; log_use once, before they start.
 * The functions behind it are called from the thread that logs and must not log.
 */
#ifndef CORE_BASE_LOG_H
#define CORE_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/mem.h"
#include "core/base/str.h"

struct buf;

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVELS };

/* Longer texts are cut and end in "...". */
#define LOG_TEXT_MAX 16384

/* A field of a line, apart from its message. The name is a constant of the program. */
struct log_field {
    const char *name, *text;
};

/* One line without its end. `ns` is the clock's time, or 0 without a clock. */
typedef void log_sink_fn(void *context, enum log_level level, int64_t ns, struct str text);
/* The same for a line with fields, for a sink that keeps them apart. */
typedef void log_record_fn(void *context, enum log_level level, int64_t ns, struct str text,
                           const struct log_field *fields, size_t count);
/* Nanoseconds since 1970. */
typedef int64_t log_clock_fn(void);
/* Mask secrets in the text, in place. */
typedef void log_mask_fn(void *context, struct buf *text);

struct log {
    log_sink_fn *sink;
    log_clock_fn *clock;
    log_mask_fn *filter;
    void *context;         /* for all but the clock */
    log_record_fn *record; /* NULL: `sink` gets the fields as key=value after the text */
};

/* Keeps `log`, which must live as long as the process. NULL: back to the default. */
void log_use(const struct log *log);

/* Lines above this level are dropped; at first LOG_LEVEL_INFO. Any time, any thread. */
void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);

/* "error", "warning", "info", "debug"; "warn" is an alias of "warning". False when there is no such
 * level. */
bool log_level_find(struct str name, enum log_level *ret_level);

/* errno is kept. */
void log_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_write(enum log_level level, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* Log a message from outside with fields of our own. Where there is a `record`, the message cannot
 * forge a field. At most LOG_FIELDS_MAX fields. */
#define LOG_FIELDS_MAX 8
void log_fields(enum log_level level, const char *message, const struct log_field *fields,
                size_t count);

/* The line as the sink of stderr writes it: "2026-01-31T12:00:00.250Z info text\n". */
void log_print_line(enum log_level level, int64_t ns, struct str text, struct buf *out);

#endif
