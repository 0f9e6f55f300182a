#include "commands/cli/kepler/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/kepler/status_text.h"
#include "commands/cli/shared/screen.h"
#include "core/data/value.h"
#include "kepler/config/reason.h"
#include "kepler/config/status.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define DRAW_MAX ((size_t)1 << 20)
/* The frame time of the spinner. */
#define TURN (100 * CLOCK_MS)

static const char *const words[STATUSES] = {
    [STATUS_STOPPED] = "Stopped",   [STATUS_WAITING] = "Waiting",
    [STATUS_STARTING] = "Starting", [STATUS_RUNNING] = "Started",
    [STATUS_HEALTHY] = "Healthy",   [STATUS_UNHEALTHY] = "Unhealthy",
    [STATUS_STOPPING] = "Stopping", [STATUS_RESTARTING] = "Restarting",
    [STATUS_EXITED] = "Exited",     [STATUS_KILLED] = "Killed",
    [STATUS_FAILED] = "Failed",     [STATUS_SKIPPED] = "Skipped",
};

struct kepler_progress_line {
    enum status status;
    bool checked; /* it has a health check */
    const char *reason;
};

void kepler_progress_init(struct kepler_progress *progress, bool wanted)
{
    *progress = (struct kepler_progress){ .on = wanted && color_is_terminal(STDERR_FILENO) };
}

/* --- drawing --------------------------------------------------------------------------------- */

static bool is_moving(const struct kepler_progress_line *line)
{
    return status_is_active(line->status) && !status_is_running(line->status);
}

static void print_progress_line(const struct map_entry *entry, char mark, struct buf *out)
{
    const struct kepler_progress_line *line = entry->value;

    buf_printf(out, "%c %.*s  %s", mark, STR_ARG(entry->key), words[line->status]);
    if (line->reason) {
        buf_add_text(out, ": ");
        reason_print(str_from(line->reason), out);
    }
    buf_add_char(out, '\n');
}

static void draw_progress_line(const struct kepler_progress *progress,
                               const struct map_entry *entry, struct buf *out)
{
    static const char marks[] = { '|', '/', '-', '\\' };

    print_progress_line(entry,
                        is_moving(entry->value) ? marks[progress->turn % sizeof(marks)] : ' ', out);
}

/* Screen rows of a text of whole lines; the terminal wraps long lines. */
static size_t count_screen_rows(struct str text, size_t columns)
{
    size_t rows = 0;

    while (text.n > 0) {
        size_t width = utf8_count(str_cut(&text, '\n'));

        rows += width > columns ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

/* Move to the first line and redraw all. False when they do not fit. */
static bool draw_lines(struct kepler_progress *progress)
{
    AUTO_BUF struct buf lines = BUF_INIT(DRAW_MAX);
    const struct screen size = screen_size();
    size_t rows;

    MAP_EACH (&progress->lines, entry)
        draw_progress_line(progress, entry, &lines);
    rows = count_screen_rows(buf_view(&lines), size.columns);
    if (rows + 1 > size.rows)
        return false;
    if (progress->shown > 0)
        (void)fprintf(stderr, "\033[%zuA\r\033[J", progress->shown);
    (void)fputs(buf_text(&lines), stderr);
    progress->shown = rows;
    return true;
}

static void draw_change(struct kepler_progress *progress, struct str key)
{
    AUTO_BUF struct buf out = BUF_INIT(DRAW_MAX);

    if (draw_lines(progress))
        return;
    progress->shown = 0;
    MAP_EACH (&progress->lines, entry)
        if (str_eq(entry->key, key))
            draw_progress_line(progress, entry, &out);
    (void)fputs(buf_text(&out), stderr);
}

static void on_turn(struct timer *timer)
{
    struct kepler_progress *progress = container_of(timer, struct kepler_progress, timer);

    progress->turn++;
    if (progress->shown > 0)
        (void)draw_lines(progress);
    timer_set(progress->timers, timer, clock_after(clock_now(), TURN), on_turn);
}

void kepler_progress_start(struct kepler_progress *progress, struct loop *loop)
{
    progress->timers = loop_timers(loop);
    if (progress->on)
        timer_set(progress->timers, &progress->timer, clock_after(clock_now(), TURN), on_turn);
}

void kepler_progress_stop(struct kepler_progress *progress)
{
    if (progress->timers)
        timer_clear(progress->timers, &progress->timer);
    progress->timers = NULL;
}

void kepler_progress_leave(struct kepler_progress *progress)
{
    progress->shown = 0;
}

/* --- state ----------------------------------------------------------------------------------- */

void kepler_progress_set(struct kepler_progress *progress, const struct value *body)
{
    const struct value *name = value_get(body, "service"), *word = value_get(body, "status");
    const struct value *reason = value_get(body, "reason"), *check = value_get(body, "check");
    struct kepler_progress_line *line;
    enum status status;
    struct str key;

    if (!name || !word || !value_is(name, VALUE_STR) || !value_is(word, VALUE_STR) ||
        status_parse(word->s, &status) < 0)
        return;
    key = arena_str(&progress->arena, name->s);
    line = map_find(&progress->lines, key);
    if (!line) {
        line = ARENA_NEW(&progress->arena, struct kepler_progress_line);
        (void)map_set(&progress->lines, key, line);
    }
    line->status = status;
    line->checked = check && value_is(check, VALUE_BOOL) && check->b;
    line->reason = reason && value_is(reason, VALUE_STR) && reason->s.n > 0
                       ? kepler_one_line(&progress->arena, reason->s)
                       : NULL;
    if (progress->on)
        draw_change(progress, key);
}

bool kepler_progress_print_pending(const struct kepler_progress *progress, struct buf *out)
{
    const char *comma = "";

    MAP_EACH (&progress->lines, entry) {
        const struct kepler_progress_line *line = entry->value;

        if (!is_moving(line) && !(line->status == STATUS_RUNNING && line->checked))
            continue;
        buf_printf(out, "%s%.*s is %s", comma, STR_ARG(entry->key), status_name(line->status));
        comma = ", ";
    }
    return comma[0] != '\0';
}

bool kepler_progress_is_up(const struct kepler_progress *progress, const char *service)
{
    const struct kepler_progress_line *line = map_find(&progress->lines, str_from(service));

    return !line || (line->status != STATUS_SKIPPED && line->status != STATUS_FAILED &&
                     line->status != STATUS_WAITING);
}

const char *kepler_progress_find_skip(const struct kepler_progress *progress, const char *service)
{
    const struct kepler_progress_line *line = map_find(&progress->lines, str_from(service));

    if (!line || line->status != STATUS_SKIPPED)
        return NULL;
    return line->reason ? line->reason : "without a reason";
}

void kepler_progress_print_not_started(const struct kepler_progress *progress, struct buf *out)
{
    MAP_EACH (&progress->lines, entry) {
        const struct kepler_progress_line *line = entry->value;

        if (line->status == STATUS_SKIPPED || line->status == STATUS_WAITING)
            print_progress_line(entry, ' ', out);
    }
}

void kepler_progress_done(struct kepler_progress *progress)
{
    kepler_progress_stop(progress);
    map_done(&progress->lines);
    arena_done(&progress->arena);
}
