/* local_runs - state.runs: the runs of this machine that changed something. */
#include "commands/cli/local/local.h"

#include <stdio.h>

#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/run_table.h"
#include "states/run/run_list.h"
#include "states/state/secrets.h"

static int print_runs_record(struct local *local, const struct run_list *runs)
{
    struct value list = run_list_value(&local->session.arena, runs);

    secrets_mask_value(local->session.host.secrets, &local->session.arena, &list);
    return local_print(local, &list);
}

int local_runs(struct local *local)
{
    struct arena *arena = &local->session.arena;
    const char *refs = local_shift(local);
    struct run_table table = RUN_TABLE_INIT(local->cli->arena);
    struct run_list runs;
    struct err err;

    if (local->words.n > 0)
        return cli_usage(local->cli, "state.runs takes one reference, got '%s' as well",
                         local->words.p[0]);
    if (run_list_read(arena, &local->session.host, refs ? refs : "", &runs, &err) < 0)
        return local_refuse_err(local, &err);
    if (local_wants_record(local))
        return print_runs_record(local, &runs);
    run_table_add(&table, "", &runs);
    if (table.list.n == 0 && table.damaged == 0)
        (void)printf(refs ? "no run of '%s' is recorded\n" : "no run is recorded\n", refs);
    return run_table_print(&table);
}
