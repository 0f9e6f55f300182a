#include "commands/cli/shared/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "test.h"

struct line {
    const char *file;
    bool force;
};

#define ARGS struct line

static const struct param globals[] = {
    PARAM("file", STR, ARGS, file, "a file", .aliases = "f"),
    { 0 },
};

static const struct param options[] = {
    PARAM("file", STR, ARGS, file, "a file", .aliases = "f"),
    PARAM("force", BOOL, ARGS, force, "do it all the same"),
    { 0 },
};

/* What ran: "init -f FILE OPERAND". */
static char seen[200];

static int run_any(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct line *line = args;

    (void)snprintf(seen, sizeof(seen), "%s%s%s -f %s%s%s%s", cli->group ? cli->group->name : "",
                   cli->group ? " " : "", cli->command->name, line->file ? line->file : "none",
                   line->force ? " --force" : "", operands.n > 0 ? " " : "",
                   operands.n > 0 ? operands.p[0] : "");
    return CLI_OK;
}

#define COMMAND(word)                                                                              \
    {                                                                                              \
        .name = (word), .operands = "[WHAT]", .summary = "do it", .options = options,              \
        .args_size = sizeof(struct line), .most = 1, .run = run_any                                \
    }

static const struct command ca_commands[] = { COMMAND("init"), COMMAND("issue"), { 0 } };

static int connections;

static int refuse_force(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct line *line = args;

    (void)operands;
    return line->force ? cli_usage(cli, "not with --force") : CLI_OK;
}

static void disconnect(struct cli *cli)
{
    (void)cli;
    connections--;
}

/* `options` is the field `file`; a file called "down" cannot be reached. */
static int connect_file(struct cli *cli, const void *file)
{
    const char *name = *(const char *const *)file;

    if (name && strcmp(name, "down") == 0)
        return CLI_ERROR;
    connections++;
    cli->disconnect = disconnect;
    return CLI_OK;
}

static int run_connected(struct cli *cli, const void *args, struct param_strs operands)
{
    CHECK_INT(connections, 1);
    return run_any(cli, args, operands);
}

static const struct command commands[] = {
    COMMAND("list"),
    { .name = "ask",
      .operands = "",
      .summary = "ask a server",
      .options = options,
      .args_size = sizeof(struct line),
      .check = refuse_force,
      .connect = connect_file,
      .connect_at = offsetof(struct line, file),
      .run = run_connected },
    { .name = "ca", .operands = "", .summary = "certificates", .commands = ca_commands },
    { 0 },
};

static const struct program program = {
    .name = "tool",
    .summary = "for a test",
    .details = "",
    .statuses = "0 done",
    .commands = commands,
    .globals = globals,
};

static const struct param colored_globals[] = {
    PARAM("file", STR, ARGS, file, "a file", .aliases = "f"),
    COMMAND_COLOR_OPTIONS,
    { 0 },
};

static int run_target(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct line *line = args;

    (void)snprintf(seen, sizeof(seen), "%s %s%s%s%s%s", operands.p[0], operands.p[1],
                   line->file ? " -f " : "", line->file ? line->file : "",
                   line->force ? " --force" : "", cli->color ? " in colour" : "");
    return CLI_OK;
}

static const struct command fallback = { .name = "",
                                         .operands = "TARGET FUNCTION",
                                         .summary = "call it",
                                         .options = options,
                                         .args_size = sizeof(struct line),
                                         .least = 2,
                                         .most = 2,
                                         .run = run_target };

static const struct program with_targets = {
    .name = "tool",
    .summary = "for a test",
    .details = "",
    .statuses = "0 done",
    .commands = commands,
    .globals = colored_globals,
    .fallback = &fallback,
};

/* The exit status; `seen` is what ran. */
static int run_line_of(const struct program *tool, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *argv[16] = { (char[]){ "tool" } };
    struct str rest = str_from(text);
    int argc = 1;

    seen[0] = '\0';
    while (rest.n > 0) {
        struct str word = str_cut(&rest, ' ');

        argv[argc++] = arena_strndup(&arena, word.p, word.n);
    }
    return command_main(tool, argc, argv);
}

static int run_line(const char *text)
{
    return run_line_of(&program, text);
}

TEST(options_of_all_commands_may_stand_before_command_and_group)
{
    static const struct {
        const char *line, *seen;
    } cases[] = {
        { "list", "list -f none" },
        { "list -f a x", "list -f a x" },
        { "-f a list x", "list -f a x" },
        { "--file=a list", "list -f a" },
        { "--file a list --force", "list -f a --force" },
        { "ca init x", "ca init -f none x" },
        { "-f a ca init --force", "ca init -f a --force" },
        { "ca -f a issue x", "ca issue -f a x" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(run_line(cases[i].line), CLI_OK);
        CHECK_STR(seen, cases[i].seen);
    }
}

TEST(a_command_with_a_connection_is_checked_connected_run_and_disconnected)
{
    CHECK_INT(run_line("ask -f a"), CLI_OK);
    CHECK_STR(seen, "ask -f a");
    CHECK_INT(connections, 0);
    CHECK_INT(run_line("ask -f down"), CLI_ERROR);
    CHECK_STR(seen, "");
    CHECK_INT(run_line("ask --force"), CLI_ERROR);
    CHECK_STR(seen, "");
    CHECK_INT(connections, 0);
}

TEST(a_line_without_a_command_is_an_error_and_runs_nothing)
{
    static const char *const lines[] = { "",        "-f",      "-f a", "ca",
                                         "-f a ca", "ca inti", "nope", "--force list" };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        CHECK_INT(run_line(lines[i]), CLI_ERROR);
        CHECK_STR(seen, "");
    }
}

TEST(help_of_a_group_and_of_its_commands_runs_nothing)
{
    static const char *const lines[] = { "help",      "help ca",        "help ca init",
                                         "ca --help", "ca init --help", "-f a help ca" };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        CHECK_INT(run_line(lines[i]), CLI_OK);
        CHECK_STR(seen, "");
    }
}

TEST(options_of_a_call_may_stand_before_its_target)
{
    static const struct {
        const char *line, *seen;
    } cases[] = {
        { "web a.b", "web a.b" },
        { "--force web a.b", "web a.b --force" },
        { "-f x --force web a.b", "web a.b -f x --force" },
        { "--force --file=x web a.b", "web a.b -f x --force" },
        { "--force -f x web a.b", "web a.b -f x --force" },
        { "web --force a.b", "web a.b --force" },
        { "--force list", "list -f none --force" },
        { "--force ca init x", "ca init -f none --force x" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(run_line_of(&with_targets, cases[i].line), CLI_OK);
        CHECK_STR(seen, cases[i].seen);
    }
    CHECK_INT(run_line_of(&with_targets, "--nope web a.b"), CLI_ERROR);
    CHECK_INT(run_line_of(&with_targets, "--force"), CLI_ERROR);
}

TEST(colour_can_be_forced_and_switched_off_anywhere_in_the_line)
{
    static const struct {
        const char *line, *seen;
    } cases[] = {
        { "web a.b --force-color", "web a.b in colour" },
        { "--force-color web a.b --force", "web a.b --force in colour" },
        { "--force --force-color web a.b", "web a.b --force in colour" },
        { "--force-color web a.b --no-color", "web a.b" },
        { "--no-color web a.b --force-color", "web a.b" },
        { "list --no-color x", "list -f none x" },
    };

    (void)setenv("NO_COLOR", "1", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(run_line_of(&with_targets, cases[i].line), CLI_OK);
        CHECK_STR(seen, cases[i].seen);
    }
    CHECK_INT(run_line("list --force-color"), CLI_ERROR); /* a program without these options */
}
