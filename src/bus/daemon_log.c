#include "bus/daemon_log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "data/json.h"
#include "data/time_text.h"
#include "data/value.h"
#include "sys/clock.h"

#define LINE_MAX ((size_t)8 * LOG_TEXT_MAX)

/* Behind base/log.h, which is the one global of the tree. */
static struct {
    const char *component, *id;
    _Atomic(enum daemon_log_format) format;
} state;

static const char *const level_words[LOG_LEVELS] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

static void print_json(struct buf *out, enum log_level level, int64_t ns, struct str text)
{
    buf_add_text(out, "{\"ts\":\"");
    time_print(out, (struct value_time){ .seconds = ns / CLOCK_SECOND,
                                         .nanoseconds = (uint32_t)(ns % CLOCK_SECOND) });
    buf_add_text(out, "\",\"level\":\"");
    buf_add_text(out, level_words[level]);
    buf_add_text(out, "\",\"component\":\"");
    buf_add_text(out, state.component);
    buf_add_text(out, "\",\"version\":\"" ZESTER_VERSION "\",\"");
    buf_add_text(out, state.component);
    buf_add_text(out, "_id\":");
    json_print_text(out, str_from(state.id), JSON_STYLE_COMPACT);
    buf_add_text(out, ",\"msg\":");
    json_print_text(out, text, JSON_STYLE_COMPACT);
    buf_add_text(out, "}\n");
}

/* One write for each line, so that lines of threads do not mix. */
static void print_line(void *context, enum log_level level, int64_t ns, struct str text)
{
    AUTO_BUF struct buf line = BUF_INIT(LINE_MAX);

    (void)context;
    if (atomic_load(&state.format) == DAEMON_LOG_JSON)
        print_json(&line, level, ns, text);
    else
        log_print_line(level, ns, text, &line);
    (void)fwrite(buf_text(&line), 1, line.n, stderr);
}

static const struct log sink = { .sink = print_line, .clock = clock_wall };

void daemon_log_start(const char *component, const char *id)
{
    state.component = component;
    state.id = id;
    log_use(&sink);
}

void daemon_log_set(enum daemon_log_format format, enum daemon_log_level level)
{
    static const enum log_level levels[] = {
        [DAEMON_LOG_DEBUG] = LOG_LEVEL_DEBUG,
        [DAEMON_LOG_INFO] = LOG_LEVEL_INFO,
        [DAEMON_LOG_WARN] = LOG_LEVEL_WARNING,
        [DAEMON_LOG_ERROR] = LOG_LEVEL_ERROR,
    };

    atomic_store(&state.format, format);
    log_set_level(levels[level]);
}
