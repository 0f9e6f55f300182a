#include "cli/kepler_progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/color.h"
#include "data/value.h"
#include "supervise/status.h"

#define DRAW_MAX     ((size_t)1 << 20)
#define ROWS_UNKNOWN 24

static const char *const words[STATUSES] = {
    [STATUS_STOPPED] = "Stopped",   [STATUS_WAITING] = "Waiting",
    [STATUS_STARTING] = "Starting", [STATUS_RUNNING] = "Started",
    [STATUS_HEALTHY] = "Healthy",   [STATUS_UNHEALTHY] = "Unhealthy",
    [STATUS_STOPPING] = "Stopping", [STATUS_RESTARTING] = "Restarting",
    [STATUS_EXITED] = "Exited",     [STATUS_KILLED] = "Killed",
    [STATUS_FAILED] = "Failed",     [STATUS_SKIPPED] = "Skipped",
};

void kepler_progress_init(struct kepler_progress *progress, bool wanted)
{
    *progress = (struct kepler_progress){ .on = wanted && color_is_terminal(STDERR_FILENO) };
}

static size_t screen_rows(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
                                                                           : ROWS_UNKNOWN;
}

static void draw_line(const struct map_entry *entry, struct buf *out)
{
    buf_printf(out, "\r\033[2K%.*s  %s\n", STR_ARG(entry->key), (const char *)entry->value);
}

/* Back to the first line, then all of them anew. */
static void draw(struct kepler_progress *progress, const struct map_entry *changed)
{
    AUTO_BUF struct buf out = BUF_INIT(DRAW_MAX);

    if (map_count(&progress->lines) + 1 > screen_rows()) {
        draw_line(changed, &out);
    } else {
        if (progress->shown > 0)
            buf_printf(&out, "\033[%zuA", progress->shown);
        MAP_EACH (&progress->lines, entry)
            draw_line(entry, &out);
        progress->shown = map_count(&progress->lines);
    }
    (void)fputs(buf_text(&out), stderr);
}

void kepler_progress_set(struct kepler_progress *progress, const struct value *body)
{
    const struct value *name = value_get(body, "service"), *word = value_get(body, "status");
    const struct value *reason = value_get(body, "reason");
    enum status status;
    struct str key;
    bool told;

    if (!progress->on || !name || !word || !value_is(name, VALUE_STR) ||
        !value_is(word, VALUE_STR) || status_parse(word->s, &status) < 0)
        return;
    told = reason && value_is(reason, VALUE_STR) && reason->s.n > 0;
    key = arena_str(&progress->arena, name->s);
    (void)map_set(&progress->lines, key,
                  arena_printf(&progress->arena, "%s%s%s", words[status], told ? ": " : "",
                               told ? reason->s.p : ""));
    MAP_EACH (&progress->lines, entry)
        if (str_eq(entry->key, key))
            draw(progress, entry);
}

void kepler_progress_done(struct kepler_progress *progress)
{
    map_done(&progress->lines);
    arena_done(&progress->arena);
}
