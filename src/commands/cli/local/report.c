/* local_report - the last run on this machine: as an HTML file, and as data (state.last). */
#include "commands/cli/local/local.h"

#include <string.h>

#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/report/file.h"
#include "commands/cli/shared/report/machine.h"
#include "commands/cli/shared/report/page.h"
#include "states/run/drift.h"
#include "states/run/lastrun.h"
#include "core/sys/clock.h"

static enum report_form find_report_form(int format)
{
    return format == FORMAT_JSON ? REPORT_JSON : format == FORMAT_YAML ? REPORT_YAML : REPORT_HTML;
}

static int write_local_report(struct local *local, const struct lastrun *run,
                              const struct lastrun_states *states)
{
    struct arena *arena = local->cli->arena;
    const int64_t now = clock_wall();
    struct report_machine machine = {
        .name = local->session.host.peel_id,
        .os = "",
        .is_online = true,
        .drift = drift_name(drift_find(run)),
        .drift_text = drift_describe(arena, run),
        .run = run,
        .shown = run,
        .note = "",
    };
    struct report_page page = {
        .title = "zester report",
        .about = machine.name,
        .warning = "",
        .now = { now / CLOCK_SECOND, 0 },
        .count = 1,
    };

    report_machine_add_stored(arena, states, &machine);
    if (strcmp(states->id, run->id) != 0)
        machine.note = "The states are those of another run: the last one could not store its own.";
    return report_file_write(local->cli, local->args->out, find_report_form(local->args->format),
                             &page, &machine);
}

/* Runs that were never made have no report; anything else is an error. */
static int refuse_missing_run(struct local *local, const struct err *err)
{
    if (err->code != ERR_NOT_FOUND)
        return cli_err(local->cli, err);
    return cli_error(local->cli, "no recorded run in '%s'; run 'zester --local state.apply' first",
                     local->session.host.data_dir);
}

int local_report(struct local *local)
{
    const char *data_dir = local->session.host.data_dir;
    struct lastrun run;
    struct lastrun_states states;
    struct err err;

    if (local->words.n > 0)
        return cli_usage(local->cli, "report takes no arguments, got '%s'; --out names the file",
                         local->words.p[0]);
    if (lastrun_read(local->cli->arena, data_dir, &run, &err) < 0 ||
        lastrun_read_states(local->cli->arena, data_dir, &states, &err) < 0)
        return refuse_missing_run(local, &err);
    return write_local_report(local, &run, &states);
}

int local_last(struct local *local)
{
    struct value last;
    struct err err;

    if (local->words.n > 0)
        return cli_usage(local->cli, "state.last takes no arguments, got '%s'", local->words.p[0]);
    if (lastrun_read_value(local->cli->arena, local->session.host.data_dir, &last, &err) < 0)
        return refuse_missing_run(local, &err);
    return local_print_answer(local, &last);
}
