/*
 * zester - states on this machine, and the way to the fleet.
 *
 * Talking to the fleet needs libraries that make every start slower, so it is in a separate
 * program, zester-fleet, which has all commands. Here are those that work on this machine; every
 * other line is handed over as it is.
 */
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/local/commands.h"
#include "commands/cli/shared/commands.h"
#include "commands/cli/fleet/ssh/node.h"
#include "commands/cli/shared/zester.h"
#include "core/data/options.h"
#include "fleet/ssh/script.h"
#include "core/sys/program.h"

#define FLEET "zester-fleet"

static const struct command *const quick[] = { &command_render, &command_doc };

static bool is_quick_command(int argc, char **argv)
{
    if (options_has(argc - 1, argv + 1, ZESTER_LOCAL))
        return true;
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(quick); i++)
        if (strcmp(argv[1], quick[i]->name) == 0)
            return true;
    return false;
}

static int refuse_quick_word(struct cli *cli, const char *word)
{
    return cli_usage(cli,
                     "unknown command '%s' (commands of the fleet need '" FLEET
                     "', which is not installed)",
                     word);
}

int main(int argc, char **argv)
{
    const struct command commands[] = { command_render, command_doc, command_completion, { 0 } };
    const struct program program = {
        ZESTER_PROGRAM,
        .commands = commands,
        .globals = command_color_globals,
        .unknown = refuse_quick_word,
    };

    if (argc == 2 && strcmp(argv[1], SSH_SCRIPT_NODE) == 0)
        return ssh_node_main();
    if (!is_quick_command(argc, argv)) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const char *fleet = program_find_beside(&arena, FLEET);

        if (fleet)
            (void)execv(fleet, argv); /* else do what can be done here */
    }
    return command_main(&program, argc, argv);
}
