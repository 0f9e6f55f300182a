/* zester runs TARGET [REF]: the recorded runs of machines, which can be reverted. */
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/direct.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/shared/run_table.h"
#include "core/data/record.h"
#include "core/sys/clock.h"
#include "fleet/view/binding.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"
#include "states/run/run_list.h"

#define FUNCTION "state.runs"

struct runs_args {
    struct fleet_options fleet;
};

static const struct param runs_options[] = {
    FLEET_OPTIONS(struct runs_args, fleet),
    { 0 },
};

/* Masters ask in the name of an operator, who may not ask peels directly. */
static int ask_by_job(struct cli *cli, const struct fleet_question *question, const char *target,
                      struct fleet_answers *ret_answers, struct err *err)
{
    char jid[KSUID_SIZE];
    struct job job = { .jid = jid,
                       .function = question->function,
                       .user = fleet_user(cli->arena),
                       .owner = "",
                       .state_id = question->id,
                       .target_expr = target,
                       .targets = question->peels,
                       .args = question->args,
                       .timeout = question->timeout,
                       .v = EXEC_PROTOCOL };
    bool waits;

    ksuid_new(clock_wall() / CLOCK_SECOND, jid);
    fleet_answers_init(ret_answers, cli->arena, &job.targets);
    if (fleet_listen(cli->fleet, jid, ret_answers, err) < 0 ||
        fleet_dispatch(cli->fleet, &job, &waits, err) < 0)
        return -1;
    if (waits)
        return err_set(err, ERR_BUSY, "job %s waits for approval: zester job approve %s", jid, jid);
    return fleet_collect(cli->fleet, jid, question->timeout, false, ret_answers, err);
}

static int ask_for_runs(struct cli *cli, const struct runs_args *args, struct param_strs operands,
                        struct fleet_answers *ret_answers, struct err *err)
{
    struct fleet_question question = { .function = FUNCTION,
                                       .id = operands.n > 1 ? operands.p[1] : FLEET_BINDING_NO_WORD,
                                       .args = value_map(value_map_new(cli->arena, 0)),
                                       .timeout = args->fleet.timeout };

    if (fleet_resolve(cli->fleet, operands.p[0], &question.peels, err) < 0)
        return -1;
    if (cli->fleet->operator_name)
        return ask_by_job(cli, &question, operands.p[0], ret_answers, err);
    return fleet_ask_peels(cli->fleet, &question, ret_answers, err);
}

static int read_runs(struct arena *arena, const struct fleet_answer *answer, struct value *ret_said,
                     struct run_list *ret, struct err *err)
{
    *ret = (struct run_list){ 0 };
    if (fleet_answer_read(arena, answer, ret_said, err) < 0)
        return -1;
    for (size_t i = 0; ret_said->kind == VALUE_LIST && i < ret_said->list->count; i++) {
        struct run_list_item item;

        if (record_read(arena, &run_list_item_type, 1, &ret_said->list->items[i], &item, err) < 0)
            return -1;
        VEC_PUSH_IN(arena, &ret->list, item);
    }
    return 0;
}

/* One map for each machine: its name, and its runs or the error. */
static struct value describe_runs(struct arena *arena, const char *peel, const struct value *said,
                                  const struct err *err)
{
    struct value_map *map = value_map_new(arena, 2);

    value_map_set(arena, map, value_text("peel_id"), value_text(peel));
    if (err)
        value_map_set(arena, map, value_text("error"), value_text(err->text));
    else
        value_map_set(arena, map, value_text("runs"), *said);
    return value_map(map);
}

static int run_runs(struct cli *cli, const void *options, struct param_strs operands)
{
    const struct runs_args *args = options;
    struct value all = value_list(value_list_new(cli->arena, 4));
    struct run_table table = RUN_TABLE_INIT(cli->arena);
    struct fleet_answers answers;
    struct err *err = ARENA_NEW(cli->arena, struct err);
    int status = CLI_OK;

    if (ask_for_runs(cli, args, operands, &answers, err) < 0)
        return cli_err(cli, err);
    if (answers.count == 0) {
        (void)fprintf(stderr, "No peels matched the target expression.\n");
        return FLEET_NO_TARGET;
    }
    for (size_t i = 0; i < answers.count; i++) {
        const char *peel = peel_id_name(cli->arena, answers.list[i].peel);
        struct run_list *runs = ARENA_NEW(cli->arena, struct run_list);
        struct value said;
        const bool is_read = read_runs(cli->arena, &answers.list[i], &said, runs, err) == 0;

        if (is_read)
            run_table_add(&table, peel, runs);
        else
            (void)fprintf(stderr, "%s: %s\n", peel, err->text);
        value_list_push(
            cli->arena, all.list,
            describe_runs(cli->arena, arena_strdup(cli->arena, peel), &said, is_read ? NULL : err));
        err = is_read ? err : ARENA_NEW(cli->arena, struct err);
        status = is_read ? status : CLI_FAILED;
    }
    if (args->fleet.format != FLEET_TEXT)
        return fleet_print(cli, args->fleet.format, &all) != CLI_OK ? CLI_ERROR : status;
    if (table.list.n == 0 && status == CLI_OK)
        (void)printf("no run is recorded\n");
    return run_table_print(&table) != CLI_OK ? CLI_FAILED : status;
}

const struct command command_runs = {
    .name = "runs",
    .operands = "TARGET [REF]",
    .lookup = "peel list",
    .summary = "list the runs of peels that changed something, and can be reverted",
    .details =
        "A job that ran on several peels is one row. RUN is the beginning of the ID, as much\n"
        "as is needed to tell the listed runs apart; state.revert takes it as it is.\n"
        "Peels keep their newest 200 runs. --format json has all of each run.\n",
    .examples = "  zester runs web-01\n"
                "  zester runs 'web*' nginx --format json\n"
                "  zester web-01 state.revert 3ML9n5Pv\n",
    .statuses =
        "0 success; 1 wrong usage, or no connection; 2 a peel failed or did not answer, or a\n"
        "record is damaged; 5 no peel matched",
    .options = runs_options,
    .args_size = sizeof(struct runs_args),
    FLEET_CONNECT(struct runs_args, fleet),
    .least = 1,
    .most = 2,
    .run = run_runs,
};
