/* zester top: a live view of the fleet. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/fleet/link.h"
#include "cli/screen.h"
#include "cli/terminal.h"
#include "cli/top/feed.h"
#include "cli/top/frame.h"
#include "cli/top/model.h"
#include "cli/top/view.h"
#include "sys/clock.h"
#include "sys/loop.h"

/* Ages go on without news; with news, not more often than this. */
#define DRAW_IDLE    CLOCK_SECOND
#define DRAW_SOONEST (100 * CLOCK_MS)
/* Keys that are read at once. */
#define KEYS_MAX 256

struct top_args {
    struct fleet_options fleet;
    bool once, json;
};

#define ARGS struct top_args

/* clang-format off */
static const struct param top_options[] = {
    PARAM("once", BOOL, ARGS, once, "print one frame as text, and end"),
    PARAM("json", BOOL, ARGS, json, "the same as JSON"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

struct top {
    struct cli *cli;
    struct fleet *fleet;
    struct top_model *model;
    struct top_feed *feed;
    struct top_view view;
    struct watch keys;
    struct timer timer;
    int64_t drawn;
    bool is_live, is_over;
    int signo; /* that ended it; 0: none */
};

/* --- the screen --------------------------------------------------------------------- */

static void on_draw(struct timer *timer);

static void draw_later(struct top *top, int64_t pause)
{
    timer_set(loop_timers(top->fleet->loop), &top->timer, clock_after(clock_now(), pause), on_draw);
}

static void draw_frame(struct top *top)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct screen screen = screen_size();

    top->view.rows = screen.rows;
    top->view.columns = screen.columns;
    top_frame_print(top->model, &top->view, clock_wall(), &out);
    terminal_draw(buf_view(&out));
    top->drawn = clock_now();
}

static void on_draw(struct timer *timer)
{
    struct top *top = container_of(timer, struct top, timer);

    draw_frame(top);
    draw_later(top, DRAW_IDLE);
}

static void on_changed(void *self)
{
    struct top *top = self;
    const int64_t since = clock_now() - top->drawn;

    if (top->feed && top_feed_failure(top->feed))
        top->is_over = true;
    if (top->is_live)
        draw_later(top, since < DRAW_SOONEST ? DRAW_SOONEST - since : 0);
}

/* --- keys and signals --------------------------------------------------------------- */

/* Others use the terminal until the shell resumes us. */
static void suspend_view(struct top *top)
{
    struct err err;

    top->view.is_suspended = false;
    terminal_close();
    (void)raise(SIGSTOP);
    if (terminal_open(&err) < 0)
        top->is_over = true;
}

static void on_keys(struct watch *watch, uint32_t events)
{
    struct top *top = container_of(watch, struct top, keys);
    char bytes[KEYS_MAX];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    struct str rest = { bytes, n > 0 ? (size_t)n : 0 };
    int key;

    if ((n < 0 && errno != EINTR && errno != EAGAIN) || (n <= 0 && (events & WATCH_HUP))) {
        top->is_over = true; /* the terminal is gone */
        return;
    }
    while ((key = top_key_next(&rest)) != TOP_KEY_NONE)
        top_view_press(&top->view, key);
    if (top->view.is_suspended)
        suspend_view(top);
    top->is_over = top->is_over || top->view.is_over;
    draw_later(top, 0);
}

static void on_end(void *self, int signo)
{
    struct top *top = self;

    top->signo = signo;
    top->is_over = true;
}

static void on_resize(void *self, int signo)
{
    (void)signo;
    draw_later(self, 0);
}

static int watch_signals(struct top *top, struct err *err)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (loop_on_signal(top->fleet->loop, ends[i], on_end, top, err) < 0)
            return -1;
    return loop_on_signal(top->fleet->loop, SIGWINCH, on_resize, top, err);
}

/* --- live --------------------------------------------------------------------------- */

static int run_live(struct top *top, int64_t timeout, struct err *err)
{
    struct err ignored;

    if (watch_signals(top, err) < 0 || terminal_open(err) < 0)
        return -1;
    top->is_live = true;
    top->view.color = top->cli->color;
    if (watch_start(&top->keys, top->fleet->loop, STDIN_FILENO, WATCH_READ, on_keys, err) < 0) {
        terminal_close();
        return -1;
    }
    draw_later(top, 0);
    (void)fleet_wait(top->fleet, &top->is_over, timeout, &ignored);
    top->is_live = false;
    watch_stop(&top->keys);
    timer_clear(loop_timers(top->fleet->loop), &top->timer);
    terminal_close();
    return 0;
}

/* --- once --------------------------------------------------------------------------- */

static int print_once(struct top *top, const struct top_args *want)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    fleet_peels_sort(&top->model->peels);
    if (want->json || want->fleet.format != FLEET_TEXT) {
        const struct value frame = top_frame_value(top->cli->arena, top->model, clock_wall());

        return fleet_print(top->cli, want->json ? FLEET_JSON : want->fleet.format, &frame);
    }
    for (int list = 0; list < TOP_LISTS; list++) {
        top->view = (struct top_view){ .list = (enum top_list)list };
        buf_add_text(&out, list > 0 ? "\n" : "");
        top_frame_print(top->model, &top->view, clock_wall(), &out);
    }
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}

/* --- the command -------------------------------------------------------------------- */

static int run_feed(struct top *top, const struct top_args *want, bool once, struct err *err)
{
    const int64_t timeout = want->fleet.has_timeout ? want->fleet.timeout : CLOCK_NEVER;
    int result;

    top->feed = top_feed_new(top->fleet, top->model, on_changed, top, err);
    if (!top->feed)
        return -1;
    if (once)
        result = fleet_wait(top->fleet, top_feed_ready(top->feed), want->fleet.timeout, err);
    else
        result = run_live(top, timeout, err);
    if (result == 0 && top_feed_failure(top->feed)) {
        *err = *top_feed_failure(top->feed);
        result = -1;
    }
    return result;
}

static int run_top(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct top_args *want = args;
    const bool once = want->once || want->json || want->fleet.format != FLEET_TEXT;
    struct top top = { .cli = cli };
    struct err err;
    int status;

    (void)operands;
    if (!once && !terminal_is_there())
        return cli_usage(cli,
                         "top draws on a terminal; use --once for one frame as text, or --json");
    if (fleet_open(cli->arena, &want->fleet, &top.fleet, &err) < 0)
        return cli_err(cli, &err);
    top.model = top_model_new();
    status = run_feed(&top, want, once, &err) < 0 ? cli_err(cli, &err)
             : once                               ? print_once(&top, want)
                                                  : CLI_OK;
    top_feed_free(top.feed);
    fleet_close(top.fleet);
    top_model_free(top.model);
    return top.signo ? 128 + top.signo : status;
}

const struct command command_top = {
    .name = "top",
    .operands = "",
    .summary = "watch the fleet: machines, jobs, events, reactions, lag",
    .details =
        "A live view on a terminal. Keys: 1 to 4 or Tab choose the list, j and k or the arrows\n"
        "move, s changes the order of machines, r reverses it, / filters the rows, q ends.\n"
        "'lag' counts events that no master has handled yet. Without a terminal, --once prints\n"
        "all lists once.\n",
    .examples = "  zester top\n"
                "  zester top --once\n"
                "  zester top --json | jq '.machines[] | select(.online | not).peel_id'\n",
    .statuses = "0 ended by 'q', or printed; 1 an error, no connection, or no terminal",
    .options = top_options,
    .args_size = sizeof(ARGS),
    .run = run_top,
};
