/* local_owed - state.owed and state.waive: reactions that are still due. */
#include "commands/cli/local/local.h"

#include <stdio.h>

#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "core/data/record.h"
#include "states/run/owed.h"

/* The record does not name the state, but a run with that state finds it by file name.
 */
static int report_damage(struct local *local, const struct owed_debts *debts)
{
    int status = CLI_OK;

    VEC_EACH (&debts->damaged, damage)
        status = cli_error(local->cli,
                           "the file '%s/owed/%s' is damaged (%s): the next run of its state "
                           "reacts anyway, or drop it with 'state.waive %s'",
                           local->session.host.data_dir, damage->file, damage->why, damage->file);
    return status;
}

/* Reactions that are still due. */
int local_owed(struct local *local)
{
    struct arena *arena = &local->session.arena;
    struct value list = value_list(value_list_new(arena, 0));
    struct owed_debts debts;
    struct err err;

    if (local->words.n > 0)
        return cli_usage(local->cli, "state.owed takes no arguments, got '%s'", local->words.p[0]);
    if (owed_list(arena, local->session.host.data_dir, &debts, &err) < 0)
        return local_refuse_err(local, &err);
    VEC_EACH (&debts.list, debt) {
        value_list_push(arena, list.list, record_value(arena, &owed_debt_type, debt));
        if (!local_wants_record(local))
            printf("%s\n", owed_describe(arena, debt));
    }
    if (local_wants_record(local)) {
        int status = local_print(local, &list);

        return status == CLI_OK ? report_damage(local, &debts) : status;
    }
    if (debts.list.n == 0 && debts.damaged.n == 0)
        printf("no reactions are owed\n");
    return report_damage(local, &debts);
}

int local_waive(struct local *local)
{
    struct err err;
    bool found;

    if (local->words.n != 1)
        return cli_usage(local->cli,
                         "state.waive requires the name of a state, as shown by state.owed");
    if (local->session.host.test)
        return cli_usage(local->cli, "state.waive has no dry run; nothing was waived");
    if (owed_waive(local->session.host.data_dir, local->words.p[0], &found, &err) < 0)
        return local_refuse_err(local, &err);
    if (!found)
        return cli_error(local->cli, "'%s' owes no reaction; 'state.owed' lists the states that do",
                         local->words.p[0]);
    printf("%s no longer owes a reaction\n", local->words.p[0]);
    return CLI_OK;
}
