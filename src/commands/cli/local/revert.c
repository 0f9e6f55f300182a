/* local_revert - state.revert on this machine: what it would do, a question, and then it does. */
#include "commands/cli/local/local.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/progress.h"
#include "commands/cli/shared/terminal.h"
#include "states/local/revert_wish.h"
#include "states/run/revert.h"
#include "states/state/outcome.h"
#include "states/state/secrets.h"

/* Options and NAME=VALUE say the same. */
static int read_revert_wish(struct local *local, struct revert_wish *wish)
{
    const struct local_args *args = local->args;
    const char *word = local_shift(local);

    if (local->words.n > 0)
        return diag_add(&local->diags, (struct place){ 0 },
                        "state.revert takes one reference or run ID, got '%s' as well",
                        local->words.p[0]);
    if (args->revert.all)
        value_map_set(&local->session.arena, local->given.map, value_text("all"), value_bool(true));
    if (args->revert.since)
        value_map_set(&local->session.arena, local->given.map, value_text("since"),
                      value_text(args->revert.since));
    if (args->revert.to)
        value_map_set(&local->session.arena, local->given.map, value_text("to"),
                      value_text(args->revert.to));
    if (revert_wish_read(&local->session.arena, &local->given, word ? word : "", wish,
                         &local->diags) < 0)
        return -1;
    wish->force |= args->force;
    wish->yes |= args->revert.yes;
    return 0;
}

static int run_revert(struct local *local, const struct revert_options *how,
                      struct run_result *ret_result)
{
    struct progress progress;
    struct err err;
    int rc;

    progress_init(&progress, !local->args->quiet && local->args->format == FORMAT_TEXT);
    rc = revert_run(&local->session.arena, &local->session.host, how, progress_sink(&progress),
                    ret_result, &err);
    progress_done(&progress);
    return rc < 0 ? diag_err(&local->diags, (struct place){ 0 }, &err) : 0;
}

/* On standard error: standard output is for the result. */
static void show_forecast(struct local *local, const struct run_result *result)
{
    AUTO_BUF struct buf text = BUF_INIT(LOCAL_OUTPUT_MAX), shown = BUF_INIT(LOCAL_OUTPUT_MAX);

    report_text(result, local->detail, false, &text);
    secrets_mask(local->session.host.secrets, &text);
    columns_print_lines(&shown, buf_view(&text));
    (void)fputs(buf_text(&shown), stderr);
}

static bool ask_user(struct local *local, const struct run_result *result)
{
    const size_t n = result->reverted.n;

    show_forecast(local, result);
    return terminal_agrees(n == 1 ? "Revert this run?"
                                  : arena_printf(local->cli->arena, "Revert these %zu runs?", n));
}

/* 1: it may begin; 0: somebody said no; -1: a mistake. */
static int ask_before_revert(struct local *local, const struct revert_wish *wish,
                             struct revert_options *how)
{
    struct revert_options dry = *how;
    struct run_result *result = ARENA_NEW(local->cli->arena, struct run_result);

    if (wish->yes || how->test)
        return 1;
    if (!terminal_can_ask())
        return revert_wish_is_many(wish)
                   ? diag_add(&local->diags, (struct place){ 0 },
                              "more than one run may be reverted, and there is no terminal to ask: "
                              "use --yes, or --test to see them")
                   : 1;
    dry.test = true;
    if (run_revert(local, &dry, result) < 0)
        return -1;
    how->agreed = result;
    if (result->reverted.n == 0 || (result->reverted.n == 1 && !result->destroys))
        return 1;
    return ask_user(local, result);
}

int local_revert(struct local *local)
{
    struct revert_options how;
    struct revert_wish wish;
    struct run_result result;
    int may;

    if (read_revert_wish(local, &wish) < 0 || revert_wish_choose(&wish, &how, &local->diags) < 0)
        return local_refuse(local);
    how.test = local->session.host.test;
    may = ask_before_revert(local, &wish, &how);
    if (may == 0)
        return cli_error(local->cli, "nothing was reverted");
    if (may < 0 || run_revert(local, &how, &result) < 0)
        return local_refuse(local);
    return local_print_result(local, &result);
}
