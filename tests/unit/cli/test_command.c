#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
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

static const struct command commands[] = {
    COMMAND("list"),
    { .name = "ca", .operands = "", .summary = "certificates", .commands = ca_commands },
    { 0 },
};

static const struct program program = {
    .name = "tool",
    .version = "1",
    .summary = "for a test",
    .details = "",
    .statuses = "0 done",
    .commands = commands,
    .globals = globals,
};

/* The exit status; `seen` is what ran. */
static int run_line(const char *text)
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
    return command_main(&program, argc, argv);
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
