/* zester peel: which machines there are. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/peels.h"
#include "commands/cli/fleet/runs.h"
#include "commands/cli/fleet/peel/delete.h"
#include "commands/cli/fleet/peel/starter.h"
#include "commands/cli/fleet/list.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "fleet/view/trees.h"
#include "fleet/wire/peel_id.h"

struct peel_args {
    struct fleet_options fleet;
};

#define ARGS struct peel_args

static const struct param peel_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

/* clang-format off */
static const struct param delete_options[] = {
    PARAM("force", BOOL, struct peel_delete_args, force, "also delete connected peels"),
    PARAM("reason", STR, struct peel_delete_args, reason, "the reason; stored with the enrollment", .kind_text = "REASON"),
    FLEET_OPTIONS(struct peel_delete_args, fleet),
    { 0 },
};

static const struct param prune_options[] = {
    PARAM("older", DURATION, struct peel_delete_args, older, "not seen for this long: 90d, 26w", PARAM_RANGE(60 * CLOCK_SECOND, INT64_MAX), .default_text = "90d"),
    PARAM("test", BOOL, struct peel_delete_args, test, "list them, and delete nothing"),
    PARAM("reason", STR, struct peel_delete_args, reason, "the reason; stored with the enrollment", .kind_text = "REASON"),
    FLEET_OPTIONS(struct peel_delete_args, fleet),
    { 0 },
};

static const struct param init_options[] = {
    PARAM("output", STR, struct peel_starter_args, output, "write it to this file, which must not exist; default: standard output", .kind_text = "FILE", .aliases = "o"),
    { 0 },
};
/* clang-format on */

/* A line of the list. */
struct listed_peel {
    const struct fleet_peel *peel;
    enum fleet_trees_use use; /* of the published trees */
    const char *why;
};

static const char *print_drift(struct arena *arena, const void *record)
{
    return fleet_peel_describe_drift(arena, ((const struct listed_peel *)record)->peel);
}

static const char *print_trees(struct arena *arena, const void *record)
{
    const struct listed_peel *listed = record;

    if (listed->use == FLEET_TREES_UNKNOWN)
        return "-";
    return listed->use == FLEET_TREES_CURRENT
               ? fleet_trees_use_name(listed->use)
               : arena_printf(arena, "%s: %s", fleet_trees_use_name(listed->use), listed->why);
}

static const struct fleet_column list_columns[] = {
    FLEET_COLUMN("PEEL ID", "peel_id"),
    FLEET_COLUMN("OS", "os"),
    FLEET_COLUMN("ARCH", "arch"),
    FLEET_COLUMN("ONLINE", "online"),
    FLEET_COLUMN("LAST-SEEN", "last_seen", .empty = "-"),
    FLEET_COLUMN("CONVERGED", "converged", .empty = "-"),
    FLEET_COLUMN("TREES", NULL, .cell = print_trees),
    FLEET_COLUMN("DRIFT", NULL, .cell = print_drift),
};

static void add_listed_peel(struct fleet_list *list, const struct fleet_peel *peel,
                            const struct fleet_trees *trees, int64_t now)
{
    struct listed_peel *listed = ARENA_NEW(list->arena, struct listed_peel);
    struct value v = fleet_peel_value(list->arena, peel, now);

    listed->peel = peel;
    listed->use = fleet_trees_describe(list->arena, trees, peel, now, &listed->why);
    value_map_set(list->arena, v.map, value_text("trees"),
                  value_text(fleet_trees_use_name(listed->use)));
    value_map_set(list->arena, v.map, value_text("trees_problem"),
                  listed->why[0] ? value_text(listed->why) : value_null());
    fleet_list_add(list, v, listed);
}

static int run_peel_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_args *want = args;
    struct fleet_peels peels = FLEET_PEELS_INIT(cli->arena);
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, list_columns);
    struct fleet_trees trees;
    int64_t now;
    struct err err;

    (void)operands;
    if (fleet_peels_read_trees(cli->fleet, &trees, &err) < 0 ||
        fleet_peels_read(cli->fleet, &peels, &err) < 0 ||
        fleet_runs_fill(cli->fleet, &peels, &err) < 0)
        return cli_err(cli, &err);
    now = bus_time();
    VEC_EACH (&peels.list, peel)
        add_listed_peel(&list, *peel, &trees, now);
    return fleet_list_print(cli, want->fleet.format, &list);
}

static const struct command peel_commands[] = {
    { .name = "list",
      .operands = "",
      .summary = "list the peels, whether they are connected, and whether they have drifted",
      .details =
          "CONVERGED is when a run of states last succeeded with nothing left to change, of "
          "whatever\n"
          "kind: a job, the schedule, 'zester --local' on the machine itself. DRIFT says what the "
          "last\n"
          "run found: 'none', the states that failed, those that a dry run would change, or those "
          "that\n"
          "would change again after the run. It is 'unknown' once something else has changed the\n"
          "machine: a single state, a revert, a run that was killed. A dry run on all machines\n"
          "('zester \'*\' state.highstate --test') brings it up to date. Peels report it with "
          "their\n"
          "heartbeat; of those that are down, the jobs of the last seven days tell. TREES says\n"
          "whether the machine uses the published states and settings, or why not.\n",
      .examples =
          "  zester peel list --format json\n"
          "  zester peel list --format json | jq -r '.[] | select(.drift != \"none\").peel_id'\n",
      .options = peel_options,
      .args_size = sizeof(ARGS),
      FLEET_CONNECT(ARGS, fleet),
      .run = run_peel_list },
    { .name = "init",
      .operands = "",
      .summary = "write a starter configuration for an agent",
      .details = "Needs no connection. Most keys are commented out: they have defaults.\n"
                 "'zester-peel join HOST TOKEN' on the machine itself needs no such file.\n",
      .examples = "  zester peel init\n"
                  "  zester peel init -o /etc/zester/peel.yaml\n",
      .statuses = "0 done; 1 wrong usage, or the file exists",
      .options = init_options,
      .args_size = sizeof(struct peel_starter_args),
      .run = peel_run_init },
    { .name = "delete",
      .operands = "PEEL...",
      .summary = "remove machines that no longer exist from the fleet",
      .details =
          "Revokes their credentials, then removes their data from the fleet: facts, sealed\n"
          "settings, basket, enrollments. Jobs that were queued for them are not sent. A peel "
          "that\n"
          "is connected is refused without --force. The record of revoked credentials stays\n"
          "until they end, so that servers go on refusing them; records of past jobs end by\n"
          "themselves. A machine with the same name can enroll again.\n",
      .examples = "  zester peel delete web-01\n"
                  "  zester peel delete web-01 web-02 --force --reason 'sold'\n",
      .statuses = "0 all were deleted; 1 wrong usage, no connection, or one was not",
      .options = delete_options,
      .args_size = sizeof(struct peel_delete_args),
      .least = 1,
      .most = COMMAND_MANY,
      .run = peel_run_delete,
      .lookup = "peel list" },
    { .name = "prune",
      .operands = "",
      .summary = "delete machines that have not been seen for a long time",
      .details =
          "Like 'zester peel delete'. Machines are kept if masters do not know when they were\n"
          "last seen.\n",
      .examples = "  zester peel prune --older 90d --test\n"
                  "  zester peel prune --older 90d --reason 'not seen for 90 days'\n",
      .statuses =
          "0 all were deleted, or there are none; 1 wrong usage, no connection, or one was not",
      .options = prune_options,
      .args_size = sizeof(struct peel_delete_args),
      FLEET_CONNECT(struct peel_delete_args, fleet),
      .run = peel_run_prune },
    { 0 },
};

const struct command command_peel = {
    .name = "peel",
    .operands = "",
    .summary = "list the machines of the fleet, and remove those that are gone",
    .examples = "  zester peel list\n"
                "  zester peel delete web-01\n",
    .commands = peel_commands,
};

/* --- kv fact get -------------------------------------------------------------------- */

static int print_fact(struct cli *cli, const struct value *facts, const char *peel,
                      const char *path)
{
    const struct value *v = facts;
    struct str rest = path ? str_from(path) : (struct str){ 0 };

    while (rest.p) {
        struct str part = str_cut(&rest, '.');

        v = value_get(v, arena_str(cli->arena, part).p);
        if (!v)
            return cli_error(cli, "'%s' has no fact '%s'", peel, path);
    }
    return fleet_print(cli, FLEET_JSON, v);
}

static int run_fact_get(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_args *want = args;
    char id[PEEL_ID_SIZE];
    struct str bytes;
    struct value facts;
    struct err err;
    int result;

    if (strcmp(operands.p[0], "get") != 0)
        return cli_usage(cli, "unknown word '%s' (the command is 'zester kv fact get PEEL [KEY]')",
                         operands.p[0]);
    if (peel_id_read(operands.p[1], id, &err) < 0)
        return cli_err(cli, &err);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    result = fleet_bucket_get(cli->fleet, STORE_FACTS, id, &bytes, &err);
    if (result < 0 && err.code == ERR_NOT_FOUND)
        return cli_error(cli, "'%s' has published no facts", operands.p[1]);
    if (result < 0 || msgpack_decode_front(cli->arena, bytes, &facts, &err) < 0)
        return cli_err(cli, &err);
    return print_fact(cli, &facts, operands.p[1], operands.n > 2 ? operands.p[2] : NULL);
}

static const struct command kv_commands[] = {
    { .name = "fact",
      .operands = "get PEEL [KEY]",
      .summary = "the facts that a peel has published, as JSON",
      .examples = "  zester kv fact get web-01 os.family\n",
      .options = peel_options,
      .args_size = sizeof(ARGS),
      .least = 2,
      .most = 3,
      .run = run_fact_get },
    { 0 },
};

const struct command command_kv = {
    .name = "kv",
    .operands = "",
    .summary = "show what the fleet stores about a peel",
    .examples = "  zester kv fact get web-01\n",
    .commands = kv_commands,
};
