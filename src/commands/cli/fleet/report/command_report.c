/* zester report: the last runs of the fleet as one HTML file. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/own_runs.h"
#include "commands/cli/fleet/runs.h"
#include "commands/cli/shared/report/file.h"
#include "commands/cli/shared/report/machine.h"
#include "commands/cli/shared/report/page.h"
#include "core/sys/clock.h"

/* For machines whose last run was not a job. */
#define ASK_NS (INT64_C(10) * 1000000000)

struct report_args {
    struct fleet_options fleet;
    const char *out;
};

#define ARGS struct report_args

/* clang-format off */
static const struct param report_options[] = {
    PARAM("out", STR, ARGS, out, "where to write it; '-' is standard output (default: " REPORT_FILE_NAME ", and standard output for --format json and yaml)", .kind_text = "FILE"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* --- machines ----------------------------------------------------------------------- */

static struct report_state read_state(struct arena *arena, const struct exec_result *result,
                                      size_t count)
{
    struct report_state state = {
        .name = result->name,
        .level = result->level,
        .outcome = result->skipped    ? OUTCOME_SKIPPED
                   : result->error[0] ? OUTCOME_FAILED
                   : result->changed  ? OUTCOME_CHANGED
                                      : OUTCOME_UNCHANGED,
        .duration = result->duration > 0 ? result->duration : 0,
        .error = result->skipped ? "" : result->error,
        .reason = result->skipped ? result->skip_reason : "",
        .again = result->again,
        .diff = result->diff,
    };

    report_machine_read_needs(arena, &result->needs, count, &state);
    return state;
}

static void add_run_states(struct arena *arena, struct report_machine *machine,
                           const struct fleet_runs_item *run)
{
    machine->shown = &run->summary;
    VEC_EACH (&run->response.results.list, result)
        VEC_PUSH_IN(arena, &machine->states,
                    read_state(arena, result, run->response.results.list.n));
    if (machine->run && strcmp(machine->run->id, run->summary.id) != 0)
        machine->note = machine->run->test
                            ? "The last run that acted; a dry run came later."
                            : "A later run was not a job: only its summary is known.";
}

/* Add the states of a run that was not a job. */
static void add_own_states(struct arena *arena, struct report_machine *machine, const char *id,
                           const struct fleet_own_runs *own)
{
    const struct lastrun_states *states = map_find(&own->states, str_from(id));
    const char *error = map_find(&own->errors, str_from(id));

    if (states) {
        machine->shown = machine->run;
        machine->note = "";
        machine->states.n = 0;
        report_machine_add_stored(arena, states, machine);
    } else if (error) {
        machine->note =
            arena_printf(arena, "%s It was asked for its last run: %s.", machine->note, error);
    }
}

static struct report_machine describe_fleet_machine(struct arena *arena,
                                                    const struct fleet_peel *peel)
{
    return (struct report_machine){
        .name = peel->name,
        .os = peel->os,
        .is_online = fleet_peel_is_online(peel, bus_time()),
        .drift = drift_name(fleet_peel_drift(peel)),
        .drift_text = fleet_peel_describe_drift(arena, peel),
        .run = peel->has_run ? &peel->run : NULL,
        .note = "",
    };
}

struct found_runs {
    struct fleet_runs jobs;
    struct fleet_own_runs own;
};

static int write_fleet_report(struct cli *cli, const struct report_args *want,
                              const struct fleet_peels *peels, const struct found_runs *found,
                              const char *target)
{
    struct report_machine *machines =
        ARENA_ARRAY(cli->arena, struct report_machine, peels->list.n + 1);
    const struct fleet_runs *runs = &found->jobs;
    const int64_t now = clock_wall();
    struct report_page page = {
        .title = "zester report",
        .about = target ? arena_printf(cli->arena, "machines of %s", target) : "all machines",
        .warning = runs->is_cut
                       ? "The states of some machines are left out: together they are larger "
                         "than a report can be."
                       : "",
        .now = { now / CLOCK_SECOND, 0 },
        .count = peels->list.n,
    };
    static const enum report_form forms[] = {
        [FLEET_TEXT] = REPORT_HTML, [FLEET_JSON] = REPORT_JSON, [FLEET_YAML] = REPORT_YAML
    };
    size_t next = 0;

    for (size_t i = 0; i < peels->list.n; i++) {
        machines[i] = describe_fleet_machine(cli->arena, peels->list.p[i]);
        if (next < runs->list.n && runs->list.p[next].peel == peels->list.p[i])
            add_run_states(cli->arena, &machines[i], &runs->list.p[next++]);
        else
            machines[i].note = "No job of the last seven days ran states here.";
        add_own_states(cli->arena, &machines[i], peels->list.p[i]->id, &found->own);
    }
    return report_file_write(cli, want->out, forms[want->fleet.format], &page, machines);
}

/* --- the command -------------------------------------------------------------------- */

static void keep_targets(struct fleet_peels *all, struct param_strs ids, struct fleet_peels *ret)
{
    *ret = (struct fleet_peels)FLEET_PEELS_INIT(all->arena);
    for (size_t i = 0; i < ids.n; i++) {
        struct fleet_peel *peel = map_find(&all->by_id, str_from(ids.p[i]));

        if (!peel)
            continue;
        (void)map_set(&ret->by_id, str_from(peel->id), peel);
        VEC_PUSH_IN(ret->arena, &ret->list, peel);
    }
    fleet_peels_sort(ret);
}

static int read_runs(struct fleet *fleet, struct fleet_peels *peels, int64_t timeout,
                     struct found_runs *ret_found, struct err *err)
{
    if (fleet_runs_read(fleet, peels, &ret_found->jobs, err) < 0)
        return -1;
    return fleet_own_runs_read(fleet, peels, &ret_found->jobs, timeout < ASK_NS ? timeout : ASK_NS,
                               &ret_found->own, err);
}

static int read_peels(struct cli *cli, struct fleet *fleet, const char *target,
                      struct fleet_peels *ret_peels, struct err *err)
{
    struct fleet_peels all = FLEET_PEELS_INIT(cli->arena);
    struct param_strs ids;

    if (fleet_peels_read(fleet, &all, err) < 0)
        return -1;
    *ret_peels = all;
    if (target && fleet_resolve(fleet, target, &ids, err) < 0)
        return -1;
    if (target)
        keep_targets(&all, ids, ret_peels);
    return 0;
}

static int run_report(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct report_args *want = args;
    const char *target = operands.n > 0 ? operands.p[0] : NULL;
    struct fleet_peels peels;
    struct found_runs found;
    struct err err;

    if (read_peels(cli, cli->fleet, target, &peels, &err) < 0 ||
        read_runs(cli->fleet, &peels, want->fleet.timeout, &found, &err) < 0)
        return cli_err(cli, &err);
    if (target && peels.list.n == 0) {
        (void)fputs("No peels matched the target expression.\n", stderr);
        return FLEET_NO_TARGET;
    }
    return write_fleet_report(cli, want, &peels, &found, target);
}

const struct command command_report = {
    .name = "report",
    .operands = "[TARGET]",
    .lookup = "peel list",
    .summary = "write the last runs of all machines as one HTML file, or as data",
    .details =
        "The file stands alone and works without scripts and without a network: which machines\n"
        "have converged, failures folded by cause, the slowest states, what depends on what,\n"
        "and the states of each machine. It holds differences of files, so only its owner may\n"
        "read it at first. With --format json or yaml the same numbers and texts are printed\n"
        "for programs. 'zester --local report' does the same for this machine.\n",
    .examples = "  zester report\n"
                "  zester report 'web*' --out /tmp/web.html\n"
                "  zester report --format json | jq .summary\n",
    .statuses = "0 written; 1 an error, or no connection; 5 no target matched",
    .options = report_options,
    .args_size = sizeof(ARGS),
    .least = 0,
    .most = 1,
    FLEET_CONNECT(ARGS, fleet),
    .run = run_report,
};
