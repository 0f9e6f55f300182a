#include "commands/cli/shared/live.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "commands/cli/shared/keys.h"
#include "commands/cli/shared/terminal.h"
#include "core/sys/clock.h"

/* Ages go on without news; with news, not more often than this. */
#define DRAW_IDLE    CLOCK_SECOND
#define DRAW_SOONEST (100 * CLOCK_MS)
/* Keys that are read at once. */
#define KEYS_MAX 256

static void on_live_draw(struct timer *timer);

static void draw_later(struct live *live, int64_t pause)
{
    timer_set(loop_timers(live->loop), &live->timer, clock_after(clock_now(), pause), on_live_draw);
}

static void on_live_draw(struct timer *timer)
{
    struct live *live = container_of(timer, struct live, timer);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    live->draw(live->self, screen_size(), &out);
    terminal_draw(buf_view(&out));
    live->drawn = clock_now();
    draw_later(live, DRAW_IDLE);
}

void live_redraw(struct live *live)
{
    const int64_t since = clock_now() - live->drawn;

    if (live->is_open)
        draw_later(live, since < DRAW_SOONEST ? DRAW_SOONEST - since : 0);
}

void live_end(struct live *live)
{
    live->is_over = true;
    if (live->over)
        live->over(live->self);
}

/* --- keys and signals --------------------------------------------------------------- */

static void suspend_view(struct live *live)
{
    struct err err;

    live->is_suspended = false;
    terminal_close();
    (void)raise(SIGSTOP);
    if (terminal_open(&err) < 0)
        live_end(live);
}

static void on_keys(struct watch *watch, uint32_t events)
{
    struct live *live = container_of(watch, struct live, keys);
    char bytes[KEYS_MAX];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    struct str rest = { bytes, n > 0 ? (size_t)n : 0 };
    int key;

    if ((n < 0 && errno != EINTR && errno != EAGAIN) || (n <= 0 && (events & WATCH_HUP))) {
        live_end(live); /* the terminal is gone */
        return;
    }
    while ((key = key_next(&rest)) != KEY_NONE)
        live->press(live->self, key);
    if (live->is_suspended)
        suspend_view(live);
    draw_later(live, 0);
}

static void on_live_end(void *self, int signo)
{
    struct live *live = self;

    live->signo = signo;
    live_end(live);
}

static void on_resize(void *self, int signo)
{
    (void)signo;
    live_redraw(self);
}

static int watch_live_signals(struct live *live, struct err *err)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (loop_on_signal(live->loop, ends[i], on_live_end, live, err) < 0)
            return -1;
    return loop_on_signal(live->loop, SIGWINCH, on_resize, live, err);
}

int live_open(struct live *live, struct err *err)
{
    if (watch_live_signals(live, err) < 0 || terminal_open(err) < 0)
        return -1;
    if (watch_start(&live->keys, live->loop, STDIN_FILENO, WATCH_READ, on_keys, err) < 0) {
        terminal_close();
        return -1;
    }
    live->is_open = true;
    draw_later(live, 0);
    return 0;
}

void live_close(struct live *live)
{
    if (!live->is_open)
        return;
    live->is_open = false;
    watch_stop(&live->keys);
    timer_clear(loop_timers(live->loop), &live->timer);
    terminal_close();
}
