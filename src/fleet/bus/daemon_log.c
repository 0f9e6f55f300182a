#include "fleet/bus/daemon_log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "core/sys/clock.h"

#define LINE_MAX ((size_t)8 * LOG_TEXT_MAX)

/* Behind core/base/log.h, which is the one global of the tree. */
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

struct log_entry {
    enum log_level level;
    int64_t ns;
    struct str text;
    const struct log_field *fields;
    size_t count;
};

static void print_log_json(struct buf *out, const struct log_entry *line)
{
    buf_add_text(out, "{\"ts\":\"");
    time_print(out, (struct value_time){ .seconds = line->ns / CLOCK_SECOND,
                                         .nanoseconds = (uint32_t)(line->ns % CLOCK_SECOND) });
    buf_printf(out,
               "\",\"level\":\"%s\",\"component\":\"%s\",\"version\":\"" ZESTER_VERSION
               "\",\"%s_id\":",
               level_words[line->level], state.component, state.component);
    json_print_text(out, str_from(state.id), JSON_STYLE_COMPACT);
    buf_add_text(out, ",\"msg\":");
    json_print_text(out, line->text, JSON_STYLE_COMPACT);
    for (size_t i = 0; i < line->count; i++) {
        buf_printf(out, ",\"%s\":", line->fields[i].name);
        json_print_text(out, str_from(line->fields[i].text), JSON_STYLE_COMPACT);
    }
    buf_add_text(out, "}\n");
}

/* As log_print_line does, with the words for levels that the JSON has, too. */
static void print_log_text(struct buf *out, const struct log_entry *line)
{
    time_print(out, (struct value_time){ .seconds = line->ns / CLOCK_SECOND,
                                         .nanoseconds = (uint32_t)(line->ns % CLOCK_SECOND) });
    buf_printf(out, " %s ", level_words[line->level]);
    buf_add_str(out, line->text);
    for (size_t i = 0; i < line->count; i++)
        buf_printf(out, " %s=%s", line->fields[i].name, line->fields[i].text);
    buf_add_char(out, '\n');
}

/* One write for each line, so that lines of threads do not mix. */
static void print_daemon_log_record(void *context, enum log_level level, int64_t ns,
                                    struct str text, const struct log_field *fields, size_t count)
{
    AUTO_BUF struct buf out = BUF_INIT(LINE_MAX);
    const struct log_entry line = { level, ns, text, fields, count };

    (void)context;
    if (atomic_load(&state.format) == DAEMON_LOG_JSON)
        print_log_json(&out, &line);
    else
        print_log_text(&out, &line);
    (void)fwrite(buf_text(&out), 1, out.n, stderr);
}

static void print_daemon_log_line(void *context, enum log_level level, int64_t ns, struct str text)
{
    print_daemon_log_record(context, level, ns, text, NULL, 0);
}

static const struct log sink = { .sink = print_daemon_log_line,
                                 .record = print_daemon_log_record,
                                 .clock = clock_wall };

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
