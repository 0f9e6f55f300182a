#include "commands/cli/fleet/revert.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "commands/cli/fleet/words.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/terminal.h"
#include "fleet/jobs/rollout.h"
#include "fleet/view/binding.h"
#include "states/local/revert_wish.h"
#include "states/local/wish.h"

static int read_wish(struct cli *cli, const char *id, const struct value *args,
                     struct revert_wish *ret)
{
    struct diags diags = DIAGS_INIT(cli->arena);
    const char *word = strcmp(id, FLEET_BINDING_NO_WORD) == 0 ? "" : id;

    return revert_wish_read(cli->arena, args, word, ret, &diags) < 0 ? cli_diags(cli, &diags)
                                                                     : CLI_OK;
}

int fleet_revert_read(struct cli *cli, const struct fleet_words *words)
{
    struct revert_wish wish;

    return strcmp(words->function, ROLLOUT_FUNCTION) == 0
               ? read_wish(cli, words->id, &words->args, &wish)
               : CLI_OK;
}

static const char *describe_wish(struct arena *arena, const struct revert_wish *wish)
{
    const char *of =
        wish->target[0] ? arena_printf(arena, " of '%s'", wish->target) : ", of any reference,";

    if (wish->to)
        return arena_printf(arena, "all runs%s after run %s", of, wish->to);
    if (wish->since)
        return arena_printf(arena, "all runs%s since %s", of, wish->since);
    return wish->all
               ? arena_printf(arena, "all runs%s", of)
               : arena_printf(arena, "run '%s', or the last run of that reference,", wish->target);
}

int fleet_revert_ask(struct cli *cli, const char *function, const char *id, struct value *args,
                     size_t machines)
{
    struct diags diags = DIAGS_INIT(cli->arena);
    struct value given = value_copy(cli->arena, args);
    struct revert_wish wish;
    bool test = false;

    if (strcmp(function, ROLLOUT_FUNCTION) != 0)
        return CLI_OK;
    if (value_is(&given, VALUE_MAP) && wish_take_test(&given, &test, &diags) < 0)
        return cli_diags(cli, &diags);
    if (test)
        return CLI_OK;
    if (read_wish(cli, id, &given, &wish) != CLI_OK)
        return CLI_ERROR;
    if (wish.yes || (!terminal_can_ask() && !revert_wish_is_many(&wish)))
        return CLI_OK;
    if (!terminal_can_ask())
        return cli_error(cli, REVERT_WISH_UNSURE);
    if (!terminal_agrees(arena_printf(cli->arena, "Revert %s on %zu machine%s?",
                                      describe_wish(cli->arena, &wish), machines,
                                      machines == 1 ? "" : "s")))
        return cli_error(cli, "nothing was reverted");
    if (revert_wish_is_many(&wish))
        value_map_set(cli->arena, args->map, value_text("yes"), value_bool(true));
    return CLI_OK;
}
