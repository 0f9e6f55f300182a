#include "commands/cli/shared/help.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "commands/cli/shared/command.h"
#include "core/data/options.h"

#define HELP_MAX ((size_t)1 << 20)

static void add_examples(struct buf *out, const char *examples)
{
    if (examples)
        buf_printf(out, "\nexamples:\n%s", examples);
}

static void add_statuses(struct buf *out, const char *statuses)
{
    if (statuses)
        buf_printf(out, "\nexit status: %s\n", statuses);
}

static bool has_options(const struct command *command)
{
    return command->options && command->options[0].name;
}

static void print_help_usage(struct buf *out, const struct cli *cli, const struct command *command)
{
    const struct program *program = cli->program;
    bool other = command == program->other;

    const char *name = other ? program->other_word : command->name;

    buf_printf(out, "usage: %s%s%s%s%s%s%s%s\n", program->name, cli->group ? " " : "",
               cli->group ? cli->group->name : "", name[0] ? " " : "", name,
               has_options(command) ? " [OPTIONS]" : "", command->operands[0] ? " " : "",
               command->operands);
}

static void print_help_commands(struct buf *out, const struct command *table)
{
    buf_add_text(out, "\ncommands:\n");
    for (const struct command *c = table; c->name; c++)
        buf_printf(out, "  %-12s %s\n", c->name, c->summary);
}

int help_print_command(const struct cli *cli, const struct command *command)
{
    const struct program *program = cli->program;
    AUTO_BUF struct buf out = BUF_INIT(HELP_MAX);

    print_help_usage(&out, cli, command);
    if (command->commands)
        buf_printf(&out, "       %s %s COMMAND\n", program->name, command->name);
    buf_printf(&out, "\n%s\n", command->summary);
    if (command->details)
        buf_printf(&out, "\n%s", command->details);
    if (command->commands)
        print_help_commands(&out, command->commands);
    if (has_options(command)) {
        buf_add_text(&out, "\noptions:\n");
        options_print(command->options, &out);
    }
    add_examples(&out, command->examples);
    add_statuses(&out, command->statuses ? command->statuses : program->statuses);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

int help_print_group(const struct cli *cli, const struct command *group)
{
    AUTO_BUF struct buf out = BUF_INIT(HELP_MAX);

    buf_printf(&out, "usage: %s %s COMMAND\n\n%s\n", cli->program->name, group->name,
               group->summary);
    if (group->details)
        buf_printf(&out, "\n%s", group->details);
    print_help_commands(&out, group->commands);
    buf_printf(&out, "\nsee '%s %s COMMAND --help' for details\n", cli->program->name, group->name);
    add_examples(&out, group->examples);
    add_statuses(&out, cli->program->statuses);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

int help_print_program(const struct program *program)
{
    AUTO_BUF struct buf out = BUF_INIT(HELP_MAX);

    buf_printf(&out, "%s - %s\n\n%s", program->name, program->summary, program->details);
    print_help_commands(&out, program->commands);
    buf_printf(&out, "\nsee '%s COMMAND --help' for details; '%s --version' prints the version\n",
               program->name, program->name);
    add_statuses(&out, program->statuses);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}
