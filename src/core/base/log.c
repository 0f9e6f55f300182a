#include "core/base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"

/* Maximum text that one call formats before it is filtered and cut. */
#define FORMATTED_MAX  ((size_t)1 << 20)
#define TIME_TEXT_SIZE 32
#define NS_PER_S       INT64_C(1000000000)
#define NS_PER_MS      INT64_C(1000000)

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(ARRAY_LEN(level_names) == LOG_LEVELS, "every level has a name");

static const struct log nothing_set;
static _Atomic(const struct log *) current = &nothing_set;
static _Atomic(enum log_level) highest = LOG_LEVEL_INFO;

void log_use(const struct log *log)
{
    atomic_store(&current, log ? log : &nothing_set);
}

void log_set_level(enum log_level level)
{
    atomic_store(&highest, level);
}

bool log_is_on(enum log_level level)
{
    return level <= atomic_load(&highest);
}

bool log_level_find(struct str name, enum log_level *ret_level)
{
    if (str_is(name, "warn"))
        name = STR("warning");
    for (int i = 0; i < LOG_LEVELS; i++)
        if (str_is(name, level_names[i])) {
            *ret_level = (enum log_level)i;
            return true;
        }
    return false;
}

static void print_log_time(int64_t ns, struct buf *out)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    char text[TIME_TEXT_SIZE];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return;
    buf_printf(out, "%s.%03dZ ", text, (int)(ns % NS_PER_S / NS_PER_MS));
}

void log_print_line(enum log_level level, int64_t ns, struct str text, struct buf *out)
{
    if (ns > 0)
        print_log_time(ns, out);
    buf_printf(out, "%s ", level_names[level]);
    buf_add_str(out, text);
    buf_add_char(out, '\n');
}

/* One write for a line, so that lines of several threads do not mix. */
static void write_stderr(enum log_level level, int64_t ns, struct str text)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;

    log_print_line(level, ns, text, &line);
    rest = buf_view(&line);
    while (rest.n > 0) {
        ssize_t n = write(STDERR_FILENO, rest.p, rest.n);

        if (n < 0 && errno != EINTR)
            return; /* there is nowhere left to report it */
        rest = str_from_offset(rest, n > 0 ? (size_t)n : 0);
    }
}

/* Printable text unchanged, other bytes as \n, \t or \xNN; cut at LOG_TEXT_MAX. */
static void escape_log_text(struct str text, struct buf *out)
{
    assert(text.p || text.n == 0);
    while (text.n > 0) {
        const size_t room = LOG_TEXT_MAX > out->n ? LOG_TEXT_MAX - out->n : 0;
        const size_t plain = utf8_plain_length(text);
        struct str c = str_slice(text, 0, plain > 0 ? plain : utf8_length_at(text));

        if (room == 0) {
            buf_add_text(out, "...");
            return;
        }
        if (plain > room)
            c.n = room;
        if (plain > 0 || !utf8_is_control(c))
            buf_add_str(out, c);
        else if (c.p[0] == '\n' || c.p[0] == '\t')
            buf_add_text(out, c.p[0] == '\n' ? "\\n" : "\\t");
        else
            for (size_t i = 0; i < c.n; i++)
                buf_printf(out, "\\x%02x", (unsigned char)c.p[i]);
        text = str_from_offset(text, c.n);
    }
}

/* The filtered `text` without control characters. */
static void clean_log_text(const struct log *log, struct buf *text, struct buf *out)
{
    if (text->full)
        buf_printf(text, "(text of more than %zu bytes left out)", FORMATTED_MAX);
    if (log->filter)
        log->filter(log->context, text);
    escape_log_text(str_trim_right(buf_view(text)), out);
}

static void write_log_line(const struct log *log, enum log_level level, struct str line)
{
    const int64_t ns = log->clock ? log->clock() : 0;

    if (log->sink)
        log->sink(log->context, level, ns, line);
    else
        write_stderr(level, ns, line);
}

void log_write(enum log_level level, const char *fmt, va_list args)
{
    const struct log *log = atomic_load(&current);
    AUTO_BUF struct buf text = BUF_INIT(FORMATTED_MAX);
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    int kept = errno;

    if (!log_is_on(level))
        return;
    buf_vprintf(&text, fmt, args);
    clean_log_text(log, &text, &line);
    write_log_line(log, level, buf_view(&line));
    errno = kept;
}

static void clean_text(const struct log *log, const char *raw, struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(FORMATTED_MAX);

    buf_add_text(&text, raw);
    clean_log_text(log, &text, out);
}

static void record_line(const struct log *log, enum log_level level, const char *message,
                        const struct log_field *fields, size_t count)
{
    struct buf texts[LOG_FIELDS_MAX + 1];
    struct log_field cleaned[LOG_FIELDS_MAX];

    for (size_t i = 0; i <= count; i++) {
        texts[i] = (struct buf)BUF_INIT(BUF_NO_LIMIT);
        clean_text(log, i < count ? fields[i].text : message, &texts[i]);
        if (i < count)
            cleaned[i] = (struct log_field){ fields[i].name, buf_text(&texts[i]) };
    }
    log->record(log->context, level, log->clock ? log->clock() : 0, buf_view(&texts[count]),
                cleaned, count);
    for (size_t i = 0; i <= count; i++)
        buf_done(&texts[i]);
}

void log_fields(enum log_level level, const char *message, const struct log_field *fields,
                size_t count)
{
    const struct log *log = atomic_load(&current);
    int kept = errno;

    assert(count <= LOG_FIELDS_MAX);
    if (!log_is_on(level))
        return;
    if (log->record) {
        record_line(log, level, message, fields, count);
    } else {
        AUTO_BUF struct buf text = BUF_INIT(FORMATTED_MAX);
        AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);

        buf_add_text(&text, message);
        for (size_t i = 0; i < count; i++)
            buf_printf(&text, " %s=%s", fields[i].name, fields[i].text);
        clean_log_text(log, &text, &line);
        write_log_line(log, level, buf_view(&line));
    }
    errno = kept;
}

#define LOG_FUNCTION(name, level)                                                                  \
    void name(const char *fmt, ...)                                                                \
    {                                                                                              \
        va_list args;                                                                              \
                                                                                                   \
        va_start(args, fmt);                                                                       \
        log_write(level, fmt, args);                                                               \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
