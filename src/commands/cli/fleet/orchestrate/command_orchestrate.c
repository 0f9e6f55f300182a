/* zester orchestrate: a tree of states whose steps are jobs for the machines of the fleet. */
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/local/local.h"
#include "commands/cli/fleet/orchestrate/orchestra.h"
#include "commands/cli/fleet/orchestrate/orchestra_job.h"
#include "commands/cli/fleet/orchestrate/published_tree.h"
#include "core/sys/clock.h"
#include "fleet/wire/job.h"

struct orchestrate_args {
    struct fleet_options fleet;
    const char *job;
    struct fleet_limits limits;
    struct local_args local;
};

#define ARGS struct orchestrate_args

/* clang-format off */
static const struct param orchestrate_options[] = {
    PARAM("test", BOOL, ARGS, local.session.test, "dry run: the jobs are dry runs on the peels, nothing is changed"),
    PARAM("states-dir", STR, ARGS, local.session.states_dir, "the folder of state files (/srv/zester/states, else /srv/salt, else what masters publish)", .kind_text = "DIR"),
    PARAM("settings-dir", STR, ARGS, local.session.settings_dir, "the folder of settings files (/srv/zester/settings, else /srv/pillar)", .kind_text = "DIR"),
    PARAM("data-dir", STR, ARGS, local.session.data_dir, "the folder for the records of runs (/var/lib/zester/orchestrate)", .kind_text = "DIR"),
    PARAM("parallel", INT, ARGS, local.session.parallel, "at most this many steps at once", PARAM_RANGE(0, 4096)),
    PARAM("job", STR, ARGS, job, "the run of a reaction, as masters start it: all else comes from the record of this job, and its return is written in MessagePack", .kind_text = "ID"),
    PARAM("quiet", BOOL, ARGS, local.quiet, "no progress", .aliases = "q"),
    REPORT_DETAIL_OPTION(ARGS, local.state_output),
    FLEET_LIMIT_OPTIONS(ARGS, limits),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

/* Before any step: is there a fleet at all? */
static int try_fleet(struct cli *cli, const struct fleet_options *options)
{
    struct fleet *fleet;
    struct err err;

    if (fleet_open(cli->arena, options, &fleet, &err) < 0)
        return cli_err(cli, &err);
    fleet_close(fleet);
    return CLI_OK;
}

static struct param_strs make_words(struct cli *cli, struct param_strs operands)
{
    const char **words = ARENA_ARRAY(cli->arena, const char *, operands.n + 1);

    words[0] = "state.apply";
    for (size_t i = 0; i < operands.n; i++)
        words[i + 1] = operands.p[i];
    return (struct param_strs){ operands.n + 1, words };
}

/* A machine without a folder of states, as a master is, uses what the fleet publishes. */
static int find_states(struct cli *cli, const struct fleet_options *fleet,
                       struct session_options *session, struct published_tree *tree)
{
    struct err err;

    if (session->states_dir || access(session_find_states(NULL), F_OK) == 0)
        return CLI_OK;
    if (published_tree_open(cli->arena, fleet, tree, &err) < 0)
        return cli_err(cli, &err);
    session->states_dir = tree->folder;
    return CLI_OK;
}

static int run_orchestrate(struct cli *cli, const void *options, struct param_strs operands)
{
    static const int formats[] = {
        [FLEET_TEXT] = FORMAT_TEXT,
        [FLEET_JSON] = FORMAT_JSON,
        [FLEET_YAML] = FORMAT_YAML,
    };
    const struct orchestrate_args *args = options;
    struct local_args local = args->local;
    struct published_tree tree = { 0 };
    struct orchestra orchestra;
    int status;

    if (args->job)
        return orchestra_run_job(cli, &args->fleet, &args->local.session, args->job);
    if (operands.n == 0)
        return cli_usage(cli, "missing REF");
    if (try_fleet(cli, &args->fleet) != CLI_OK)
        return CLI_ERROR;
    orchestra_init(&orchestra, &args->fleet,
                   &(struct orchestra_about){ .user = fleet_user(cli->arena),
                                              .ref = operands.p[0],
                                              .limits = &args->limits });
    if (find_states(cli, &args->fleet, &local.session, &tree) != CLI_OK) {
        orchestra_done(&orchestra);
        published_tree_done(&tree);
        return CLI_ERROR;
    }
    local.session.fleet = &orchestra.fleet;
    local.format = formats[args->fleet.format];
    local.timeout = args->fleet.has_timeout ? args->fleet.timeout : 0;
    status = local_run(cli, &local, make_words(cli, operands));
    orchestra_done(&orchestra);
    published_tree_done(&tree);
    return status;
}

const struct command command_orchestrate = {
    .name = "orchestrate",
    .operands = "REF... [NAME=VALUE...]",
    .summary = "run a tree of states whose steps are jobs for the fleet",
    .details =
        "REF is a file of the folder of states on this machine, as for state.apply; without\n"
        "such a folder, of the states that masters publish. Its steps\n"
        "are fleet.state (apply states on peels) and fleet.function (run a function on them),\n"
        "with the ordinary requisites between them; 'zester doc fleet.state' describes them.\n"
        "A step has changed when a peel has, and fails when a peel does, unless max_failures\n"
        "allows that. Other states of the tree run on this machine. The report is that of a\n"
        "state run. --timeout ends the run; jobs that were dispatched go on.\n",
    .examples = "  zester orchestrate deploy --test\n"
                "  zester orchestrate deploy pillar='{version: 1.2.3}'\n",
    .statuses =
        "0 success; 1 wrong usage, a mistake in a file, or no connection: no job was sent;\n"
        "2 a step failed, or the run was canceled",
    .options = orchestrate_options,
    .args_size = sizeof(ARGS),
    .most = COMMAND_MANY,
    .run = run_orchestrate,
};
