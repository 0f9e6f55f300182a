#include "commands/cli/shared/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/number.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/screen.h"
#include "core/sys/clock.h"

/* The minimum time between two updates: a thousand quick states must not draw a thousand lines. */
#define DRAW_INTERVAL (50 * CLOCK_MS)
/* A narrower terminal wraps. */
#define COLUMNS_MIN   20
#define LINE_MAX_SIZE 4096

static void draw_run_line(struct progress *progress)
{
    AUTO_BUF struct buf line = BUF_INIT(LINE_MAX_SIZE);
    const size_t columns = screen_size().columns;
    const size_t width = (columns < COLUMNS_MIN ? COLUMNS_MIN : columns) - 1;

    buf_printf(&line, "level %u/%u, %u/%u done, ", progress->level + 1, progress->levels,
               progress->done, progress->states);
    number_print_duration((clock_now() - progress->start) / CLOCK_SECOND * CLOCK_SECOND, &line);
    for (size_t i = 0; i < progress->running.n && line.n < width; i++)
        buf_printf(&line, "%s%s", i == 0 ? ": " : ", ", progress->running.p[i]);
    if (line.n > width)
        buf_cut(&line, width);
    (void)fprintf(stderr, "\r\x1b[K%s", buf_text(&line));
    (void)fflush(stderr);
    progress->drawn = clock_now();
}

static void forget_state(struct progress *progress, const char *name)
{
    for (size_t i = 0; i < progress->running.n; i++)
        if (strcmp(progress->running.p[i], name) == 0) {
            progress->running.p[i] = progress->running.p[--progress->running.n];
            return;
        }
}

static void emit_event(void *self, const struct run_event *event)
{
    struct progress *progress = self;

    switch (event->kind) {
    case RUN_WAITING: (void)fprintf(stderr, "%s\n", event->text); return;
    case RUN_STARTED:
        progress->levels = event->level_count;
        progress->states = event->state_count;
        break;
    case RUN_LEVEL_STARTED: progress->level = event->level; break;
    case RUN_STATE_STARTED: VEC_PUSH(&progress->running, event->name); break;
    case RUN_STATE_FINISHED:
        progress->done++;
        forget_state(progress, event->name);
        break;
    case RUN_FINISHED: return;
    }
    if (progress->on && clock_now() - progress->drawn >= DRAW_INTERVAL)
        draw_run_line(progress);
}

void progress_init(struct progress *progress, bool wanted)
{
    *progress = (struct progress){
        .on = wanted && color_is_terminal(STDERR_FILENO),
        .start = clock_now(),
    };
    progress->drawn = progress->start;
    progress->sink = (struct run_sink){ emit_event, progress, .brief = !progress->on };
}

const struct run_sink *progress_sink(struct progress *progress)
{
    return &progress->sink;
}

void progress_done(struct progress *progress)
{
    if (progress->on)
        (void)fputs("\r\x1b[K", stderr);
    vec_done(&progress->running);
}
