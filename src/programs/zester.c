/* zester - states, and later the fleet, from the command line. */
#include "cli/command.h"
#include "cli/commands.h"

static const char details[] =
    "Declare what a machine should be in YAML and Jinja; zester checks what differs,\n"
    "changes only that, and can take it back.\n";

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
        .commands = commands,
    };

    return command_main(&program, argc, argv);
}
