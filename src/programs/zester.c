/* zester - states, and later the fleet, from the command line. */
#include <string.h>

#include "cli/command.h"
#include "cli/commands.h"

static const char details[] =
    "Declare what a machine should be in YAML and Jinja; zester checks what differs,\n"
    "changes only that, and can take it back.\n"
    "\n"
    "on this machine:\n"
    "  zester --local state.apply REF --test    what would change\n"
    "  zester --local state.apply REF           change it\n"
    "  zester --local state.revert REF          take it back\n"
    "  zester --local cmd.run 'uptime'          any module by hand\n"
    "  zester --local --help                    all options\n";

/* The fleet will take a target here; until then every word that is no command is a mistake. */
static int unknown_word(struct cli *cli, const char *word)
{
    if (strchr(word, '.'))
        return cli_usage(cli, "unknown command '%s' (did you mean 'zester --local %s'?)", word,
                         word);
    return cli_usage(cli, "unknown command '%s' (to work on this machine say --local first)", word);
}

int main(int argc, char **argv)
{
    const struct command commands[] = {
        command_render,
        command_doc,
        command_completion,
        { 0 },
    };
    const struct program program = {
        .name = "zester",
        .version = ZESTER_VERSION,
        .summary = "bring machines to a declared state, and keep them there",
        .details = details,
        .statuses = "0 done; 1 wrong usage, or a mistake in a file; 2 a state failed (--local)",
        .commands = commands,
        .other_word = "--local",
        .other = &command_local,
        .unknown = unknown_word,
    };

    return command_main(&program, argc, argv);
}
