/* zester top: a live view of the fleet. */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/live.h"
#include "commands/cli/shared/terminal.h"
#include "commands/cli/fleet/top/feed.h"
#include "commands/cli/fleet/top/frame.h"
#include "commands/cli/fleet/top/model.h"
#include "commands/cli/fleet/top/view.h"
#include "core/sys/clock.h"

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
    struct top_model *model;
    struct top_feed *feed;
    struct top_view view;
    struct live live;
};

/* --- live --------------------------------------------------------------------------- */

static void draw_frame(void *self, struct screen screen, struct buf *out)
{
    struct top *top = self;

    top->view.base.rows = screen.rows;
    top->view.base.columns = screen.columns;
    top_frame_print(top->model, &top->view, clock_wall(), out);
}

static void press_top_key(void *self, int key)
{
    struct top *top = self;

    top_view_press(&top->view, key);
    top->live.is_suspended = top->view.is_suspended;
    top->view.is_suspended = false;
    if (top->view.is_over)
        live_end(&top->live);
}

static void on_fleet_changed(void *self)
{
    struct top *top = self;

    if (top->feed && top_feed_failure(top->feed))
        live_end(&top->live);
    live_redraw(&top->live);
}

static int run_live_top(struct top *top, int64_t timeout, struct err *err)
{
    struct err ignored;

    top->live = (struct live){ .loop = top->cli->fleet->loop,
                               .self = top,
                               .draw = draw_frame,
                               .press = press_top_key,
                               .is_over = top->live.is_over };
    top->view.base.color = top->cli->color;
    if (live_open(&top->live, err) < 0)
        return -1;
    (void)fleet_wait(top->cli->fleet, &top->live.is_over, timeout, &ignored);
    live_close(&top->live);
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
        top->view = (struct top_view){ .list = (enum top_panel)list };
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

    top->feed = top_feed_new(top->cli->fleet, top->model, on_fleet_changed, top, err);
    if (!top->feed)
        return -1;
    if (once)
        result = fleet_wait(top->cli->fleet, top_feed_ready(top->feed), want->fleet.timeout, err);
    else
        result = run_live_top(top, timeout, err);
    if (result == 0 && top_feed_failure(top->feed)) {
        *err = *top_feed_failure(top->feed);
        result = -1;
    }
    return result;
}

static int run_fleet_top(struct cli *cli, const void *args, struct param_strs operands)
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
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    top.model = top_model_new();
    status = run_feed(&top, want, once, &err) < 0 ? cli_err(cli, &err)
             : once                               ? print_once(&top, want)
                                                  : CLI_OK;
    top_feed_free(top.feed);
    top_model_free(top.model);
    return top.live.signo ? 128 + top.live.signo : status;
}

const struct command command_top = {
    .name = "top",
    .operands = "",
    .summary = "watch the fleet: machines, jobs, events, reactions, lag",
    .details =
        "A live view on a terminal. Keys: 1 to 4 or Tab choose the list, j and k or the arrows\n"
        "move, Enter opens a row, s changes the order of machines, r reverses it, / filters the\n"
        "rows, ? explains the keys, q ends.\n"
        "'lag' counts events that no master has handled yet. Without a terminal, --once prints\n"
        "all lists once.\n",
    .examples = "  zester top\n"
                "  zester top --once\n"
                "  zester top --json | jq '.machines[] | select(.online | not).peel_id'\n",
    .statuses = "0 ended by 'q', or printed; 1 an error, no connection, or no terminal",
    .options = top_options,
    .args_size = sizeof(ARGS),
    .run = run_fleet_top,
};
