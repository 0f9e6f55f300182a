#include "commands/cli/kepler/status_text.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "kepler/config/reason.h"
#include "kepler/config/status.h"
#include "core/sys/clock.h"
#include "core/sys/signals.h"

static void print_status_age(const struct value *service, const char *key, int64_t now,
                             struct buf *out)
{
    number_print_age(now - value_get_int(service, key, 0) * CLOCK_SECOND, out);
}

static void print_ago(const struct value *service, int64_t now, struct buf *out)
{
    if (value_get_int(service, "stopped_at", 0) == 0)
        return;
    buf_add_char(out, ' ');
    print_status_age(service, "stopped_at", now, out);
    buf_add_text(out, " ago");
}

static void print_up(const struct value *service, int64_t now, const char *health, struct buf *out)
{
    buf_add_text(out, "Up ");
    print_status_age(service, "started_at", now, out);
    buf_add_text(out, health);
}

static void print_reason(const struct value *service, const char *key, struct buf *out)
{
    const char *reason = value_get_text(service, key);

    if (!reason)
        return;
    buf_add_text(out, " (");
    reason_print(str_from(reason), out);
    buf_add_char(out, ')');
}

void kepler_status_print(const struct value *service, int64_t now, struct buf *out)
{
    const char *word = value_get_text(service, "status");
    enum status status;

    if (!word || status_parse(str_from(word), &status) < 0) {
        buf_add_text(out, word ? word : "unknown");
        return;
    }
    switch (status) {
    case STATUS_RUNNING: print_up(service, now, "", out); return;
    case STATUS_HEALTHY: print_up(service, now, " (healthy)", out); return;
    case STATUS_UNHEALTHY: print_up(service, now, " (unhealthy)", out); return;
    case STATUS_STARTING: buf_add_text(out, "Starting"); return;
    case STATUS_RESTARTING: buf_add_text(out, "Restarting"); return;
    case STATUS_STOPPING: buf_add_text(out, "Stopping"); return;
    case STATUS_STOPPED:
        buf_add_text(out, "Stopped");
        print_ago(service, now, out);
        print_reason(service, "stop_reason", out);
        return;
    case STATUS_EXITED:
        buf_printf(out, "Exited (%lld)", (long long)value_get_int(service, "exit_code", 0));
        print_ago(service, now, out);
        return;
    case STATUS_KILLED:
        buf_add_text(out, "Killed (");
        signal_print((int)value_get_int(service, "signal", 0), out);
        buf_add_char(out, ')');
        print_ago(service, now, out);
        return;
    case STATUS_FAILED:
        buf_add_text(out, "Failed");
        print_ago(service, now, out);
        print_reason(service, "fail_reason", out);
        return;
    case STATUS_SKIPPED:
        buf_add_text(out, "Skipped");
        print_reason(service, "skip_reason", out);
        return;
    case STATUS_WAITING:
        buf_add_text(out, "waiting");
        print_reason(service, "wait_reason", out);
        return;
    }
}

enum color kepler_status_color(const struct value *service)
{
    static const enum color colors[STATUSES] = {
        [STATUS_STOPPED] = COLOR_DIM,     [STATUS_WAITING] = COLOR_YELLOW,
        [STATUS_STARTING] = COLOR_YELLOW, [STATUS_RUNNING] = COLOR_GREEN,
        [STATUS_HEALTHY] = COLOR_GREEN,   [STATUS_UNHEALTHY] = COLOR_RED,
        [STATUS_STOPPING] = COLOR_YELLOW, [STATUS_RESTARTING] = COLOR_YELLOW,
        [STATUS_EXITED] = COLOR_RED,      [STATUS_KILLED] = COLOR_RED,
        [STATUS_FAILED] = COLOR_RED,      [STATUS_SKIPPED] = COLOR_DIM,
    };
    const char *word = value_get_text(service, "status");
    enum status status;

    if (!word || status_parse(str_from(word), &status) < 0)
        return COLOR_NONE;
    if (status == STATUS_EXITED && value_get_int(service, "exit_code", 0) == 0)
        return COLOR_DIM;
    return colors[status];
}

void kepler_failure_print(const struct value *service, struct buf *out)
{
    const char *reason = value_get_text(service, "fail_reason");

    if (reason) {
        buf_add_text(out, reason);
    } else if (value_get_int(service, "signal", 0) > 0) {
        buf_add_text(out, "killed by ");
        signal_print((int)value_get_int(service, "signal", 0), out);
    } else {
        buf_printf(out, "exit code %lld", (long long)value_get_int(service, "exit_code", 0));
    }
}

const char *kepler_one_line(struct arena *arena, struct str text)
{
    char *bytes = arena_strndup(arena, text.p, text.n);

    for (char *p = bytes; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    return bytes;
}

const char *kepler_fit(struct arena *arena, const char *text, size_t columns)
{
    const struct str whole = str_from(text);

    if (columns == 0 || utf8_count(whole) <= columns)
        return text;
    return arena_printf(arena, "%.*s…", (int)utf8_offset(whole, columns - 1), text);
}
