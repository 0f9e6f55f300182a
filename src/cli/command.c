#include "cli/command.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/suggest.h"
#include "cli/color.h"
#include "cli/help.h"
#include "cli/options.h"

static void print_prefix(const struct cli *cli)
{
    const char *command = cli->command ? cli->command->name : NULL;

    (void)fprintf(stderr, "%s%s%s: ", cli->program->name, command ? " " : "",
                  command ? command : "");
}

int cli_error(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    print_prefix(cli);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return CLI_ERROR;
}

int cli_err(const struct cli *cli, const struct err *err)
{
    return cli_error(cli, "%s", err->text);
}

int cli_diags(const struct cli *cli, const struct diags *diags)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    diags_print(diags, &text);
    if (diags->list.n > 0 && !diags->list.p[0].at.file)
        print_prefix(cli);
    (void)fputs(buf_text(&text), stderr);
    return CLI_ERROR;
}

static int usage_status(const struct cli *cli)
{
    return cli->program->usage_status ? cli->program->usage_status : CLI_ERROR;
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    print_prefix(cli);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fprintf(stderr, "\ntry '%s%s%s --help'\n", cli->program->name, cli->command ? " " : "",
                  cli->command ? cli->command->name : "");
    return usage_status(cli);
}

static const struct command *find_command(const struct program *program, const char *word)
{
    for (const struct command *c = program->commands; c->name; c++)
        if (strcmp(c->name, word) == 0)
            return c;
    return NULL;
}

static int unknown_command(struct cli *cli, const char *word)
{
    struct suggest near;
    struct str best;

    suggest_init(&near, str_from(word));
    for (const struct command *c = cli->program->commands; c->name; c++)
        suggest_offer(&near, str_from(c->name));
    best = suggest_best(&near);
    if (best.p)
        return cli_usage(cli, "unknown command '%s' (did you mean '%.*s'?)", word, STR_ARG(best));
    if (cli->program->unknown)
        return cli->program->unknown(cli, word);
    return cli_usage(cli, "unknown command '%s'", word);
}

/* An option before any command: one of the program itself was meant. */
static int unknown_option(struct cli *cli, const char *word)
{
    const char *other = cli->program->other_word;
    struct suggest near;
    struct str best;

    suggest_init(&near, str_from(word));
    suggest_offer(&near, STR("--help"));
    suggest_offer(&near, STR("--version"));
    if (other)
        suggest_offer(&near, str_from(other));
    best = suggest_best(&near);
    if (best.p)
        return cli_usage(cli, "unknown option '%s' (did you mean '%.*s'?)", word, STR_ARG(best));
    return cli_usage(cli, "unknown option '%s'", word);
}

static int count_operands(struct cli *cli, size_t count)
{
    const struct command *command = cli->command;

    if (count < (size_t)command->least)
        return cli_usage(cli, "%s is missing", command->operands);
    if (command->most != COMMAND_MANY && count > (size_t)command->most)
        return cli_usage(cli, "too many operands: wants %s",
                         command->operands[0] ? command->operands : "none");
    return CLI_OK;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    static const struct param no_options[] = { { 0 } };
    const struct command *command = cli->command;
    const struct param *options = command->options ? command->options : no_options;
    struct diags diags = DIAGS_INIT(cli->arena);
    struct param_strs operands = { 0 };
    void *args = arena_zalloc(cli->arena, command->args_size > 0 ? command->args_size : 1);

    if (options_has(argc, argv, "--help") || options_has(argc, argv, "-h"))
        return help_print_command(cli->program, command);
    if (options_parse(cli->arena, options, argc, argv, args, &operands, &diags) < 0) {
        (void)cli_diags(cli, &diags);
        return usage_status(cli);
    }
    if (count_operands(cli, operands.n) != CLI_OK)
        return usage_status(cli);
    return command->run(cli, args, operands);
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    const struct program *program = cli->program;

    if (program->other && options_has(argc - 1, argv + 1, program->other_word)) {
        cli->command = program->other;
        return run_command(cli, argc - 1, argv + 1);
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        cli->command = argc > 2 && argv[1][0] != '-' ? find_command(program, argv[2]) : NULL;
        if (cli->command)
            return help_print_command(program, cli->command);
        return argc < 2 ? cli_usage(cli, "what to do is missing") : help_print_program(program);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("%s %s\n", program->name, program->version);
        return CLI_OK;
    }
    if (argv[1][0] == '-')
        return unknown_option(cli, argv[1]);
    cli->command = find_command(program, argv[1]);
    if (!cli->command)
        return unknown_command(cli, argv[1]);
    return run_command(cli, argc - 2, argv + 2);
}

static bool is_hung_up(int fd)
{
    struct pollfd end = { .fd = fd, .events = POLLOUT };

    return poll(&end, 1, 0) == 1 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

/* A full disk is an error like any other: output that is lost is not success. Whoever closes the
 * pipe, as `head` does, has read what was wanted. */
static int flush_output(struct cli *cli, int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (is_hung_up(STDOUT_FILENO))
            return status;
        (void)cli_error(cli, "cannot write to standard output");
        return status == CLI_OK ? CLI_ERROR : status;
    }
    return status;
}

int command_main(const struct program *program, int argc, char **argv)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *no_color = getenv("NO_COLOR");
    struct cli cli = {
        .program = program,
        .arena = &arena,
        .color = color_is_terminal(STDOUT_FILENO) && !(no_color && no_color[0]),
    };

    return flush_output(&cli, dispatch(&cli, argc, argv));
}
