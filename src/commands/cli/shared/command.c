#include "commands/cli/shared/command.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/build.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "commands/cli/shared/catalog.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/help.h"
#include "core/data/options.h"
#include "core/sys/inherited.h"

/* "zester ca init" */
static void print_command_name(const struct cli *cli)
{
    (void)fputs(cli->program->name, stderr);
    if (cli->group)
        (void)fprintf(stderr, " %s", cli->group->name);
    if (cli->command && cli->command->name[0])
        (void)fprintf(stderr, " %s", cli->command->name);
}

static void print_prefix(const struct cli *cli)
{
    (void)fflush(stdout); /* both may be one terminal */
    if (cli->program->error_word)
        (void)fputs(cli->program->error_word, stderr);
    else
        print_command_name(cli);
    (void)fputs(": ", stderr);
}

static void print_cli_error(const struct cli *cli, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

static void print_cli_error(const struct cli *cli, const char *fmt, va_list args)
{
    print_prefix(cli);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
}

int cli_error(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_cli_error(cli, fmt, args);
    va_end(args);
    return CLI_ERROR;
}

int cli_err(const struct cli *cli, const struct err *err)
{
    return cli_error(cli, "%s", err->text);
}

int cli_err_root(const struct cli *cli, const struct err *err)
{
    const bool is_denied =
        err->code == ERR_SYSTEM && (err->errnum == EACCES || err->errnum == EPERM);

    return cli_error(cli, "%s%s", err->text,
                     is_denied && geteuid() != 0 ? "; this command requires root" : "");
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

/* Print a pointer to --help; returns the exit status of wrong usage. */
static int point_to_help(const struct cli *cli)
{
    (void)fputs("try '", stderr);
    print_command_name(cli);
    (void)fputs(" --help'\n", stderr);
    return cli->program->usage_status ? cli->program->usage_status : CLI_ERROR;
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_cli_error(cli, fmt, args);
    va_end(args);
    return point_to_help(cli);
}

static const struct command *find_in_table(const struct command *table, const char *word)
{
    for (const struct command *c = table; c->name; c++)
        if (strcmp(c->name, word) == 0)
            return c;
    return NULL;
}

static const char *find_other_word(const struct cli *cli, const char *word)
{
    const char *group = cli->group ? cli->group->name : "";

    for (const struct other_word *other = cli->program->other_words; other && other->theirs;
         other++)
        if (strcmp(other->group ? other->group : "", group) == 0 &&
            strcmp(other->theirs, word) == 0)
            return other->ours;
    return NULL;
}

static int refuse_command(struct cli *cli, const char *word)
{
    const char *ours = find_other_word(cli, word);
    const struct command *table = cli->group ? cli->group->commands : cli->program->commands;
    struct suggest near;
    struct str best;

    if (ours)
        return cli_usage(cli, "unknown command '%s'; here it is %s", word, ours);
    suggest_init(&near, str_from(word));
    for (const struct command *c = table; c->name; c++)
        suggest_offer(&near, str_from(c->name));
    best = suggest_best(&near);
    if (best.p)
        return cli_usage(cli, "unknown command '%s' (did you mean '%.*s'?)", word, STR_ARG(best));
    if (cli->program->unknown && !cli->group)
        return cli->program->unknown(cli, word);
    return cli_usage(cli, "unknown command '%s'", word);
}

static int reject_command(struct cli *cli, const char *word)
{
    const int status = refuse_command(cli, word);

    return cli->program->unknown_status && !cli->group ? cli->program->unknown_status : status;
}

static int run_command_line(struct cli *cli, int argc, char **argv);

/* An option before any command is one of the program, or of the line that has no command. */
static int refuse_option(struct cli *cli, int argc, char **argv)
{
    const char *word = argv[0];
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
    if (!cli->program->fallback)
        return cli_usage(cli, "unknown option '%s'", word);
    cli->command = cli->program->fallback;
    return run_command_line(cli, argc, argv); /* which reports it, and what was meant */
}

/* The operand after `count` others: "TOKEN" of "HOST TOKEN", or one of "SERVICE...". */
static struct str next_operand(const struct command *command, size_t count)
{
    struct str rest = str_from(command->operands), next = str_cut(&rest, ' ');

    while (count-- > 0 && rest.n > 0)
        next = str_cut(&rest, ' ');
    if (str_ends(next, STR("...")))
        next.n -= strlen("...");
    return next;
}

static int count_operands(struct cli *cli, const struct param_strs *operands)
{
    const struct command *command = cli->command;
    const size_t count = operands->n;
    const struct str next = next_operand(command, count);

    if (count < (size_t)command->least)
        return cli_usage(cli, "missing %.*s", STR_ARG(next));
    if (command->most != COMMAND_MANY && count > (size_t)command->most)
        return cli_usage(cli, "unexpected '%s'; expected %s", operands->p[command->most],
                         command->operands[0] ? command->operands : "no operands");
    return CLI_OK;
}

static int print_version(const struct program *program)
{
    char text[BUILD_TEXT_MAX];

    build_print(program->name, text);
    (void)fputs(text, stdout);
    return CLI_OK;
}

/* Remove an option with its value wherever it stands before `--`; returns how many words are left.
 */
static int drop_option(const struct param *option, int argc, char **argv)
{
    const struct param table[] = { *option, { 0 } };

    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0;) {
        const int n = options_skip(table, argc - i, argv + i);

        memmove(&argv[i], &argv[i + n], (size_t)(argc - i - n) * sizeof(argv[0]));
        argc -= n;
        i += n == 0;
    }
    return argc;
}

/* Options that all commands share may be given to one that does not need them, as scripts and
 * aliases do. An output format that it does not have is a mistake. */
static int drop_unused_globals(const struct program *program, const struct param *options, int argc,
                               char **argv)
{
    for (const struct param *p = program->globals; p && p->name; p++)
        if (strcmp(p->name, "format") != 0 && !params_find(options, str_from(p->name)))
            argc = drop_option(p, argc, argv);
    return argc;
}

static int run_connected(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct command *command = cli->command;
    int status = command->check ? command->check(cli, args, operands) : CLI_OK;

    if (status == CLI_OK && command->connect)
        status = command->connect(cli, (const char *)args + command->connect_at);
    if (status == CLI_OK)
        status = command->run(cli, args, operands);
    if (cli->disconnect)
        cli->disconnect(cli);
    if (cli->detailed && status != CLI_OK)
        return CLI_ERROR;
    return cli->detailed && cli->changed ? CLI_CHANGED : status;
}

static int run_command_line(struct cli *cli, int argc, char **argv)
{
    static const struct param no_options[] = { { 0 } };
    const struct command *command = cli->command;
    const struct param *options = command->options ? command->options : no_options;
    struct diags diags = DIAGS_INIT(cli->arena);
    struct param_strs operands = { 0 };
    void *args = arena_zalloc(cli->arena, command->args_size > 0 ? command->args_size : 1);

    if (options_has(argc, argv, "--help") || options_has(argc, argv, "-h"))
        return help_print_command(cli, command);
    if (options_has(argc, argv, "--version"))
        return print_version(cli->program);
    argc = drop_unused_globals(cli->program, options, argc, argv);
    if (options_parse(cli->arena, options, argc, argv, args, &operands, &diags) < 0) {
        (void)cli_diags(cli, &diags);
        return point_to_help(cli);
    }

    int status = count_operands(cli, &operands);

    return status == CLI_OK ? run_connected(cli, args, operands) : status;
}

static bool is_either_word(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* Common options, and those of the line that has no command: zester --test 'web*' state.apply. */
static int skip_options(const struct program *program, int argc, char **argv)
{
    const struct param *others = program->fallback ? program->fallback->options : NULL;
    int at = 0, n;

    do {
        n = program->globals ? options_skip(program->globals, argc - at, argv + at) : 0;
        n += others ? options_skip(others, argc - at - n, argv + at + n) : 0;
        at += n;
    } while (n > 0 && at < argc);
    return at;
}

/* Move the command before the options that precede it: they mean the same after it.
 * False when there are only such options. */
static bool put_command_first(const struct program *program, int argc, char **argv)
{
    const int at = skip_options(program, argc, argv);

    if (at > 0 && at < argc) {
        char *command = argv[at];

        memmove(&argv[1], &argv[0], (size_t)at * sizeof(argv[0]));
        argv[0] = command;
    }
    return at < argc;
}

/* A line without any word gets the whole help. */
static int miss_command(const struct cli *cli, int argc)
{
    if (argc == 0 && cli->group)
        (void)help_print_group(cli, cli->group);
    else if (argc == 0)
        (void)help_print_program(cli->program);
    return cli_usage(cli, "missing command");
}

static int run_group(struct cli *cli, int argc, char **argv)
{
    if (!put_command_first(cli->program, argc, argv))
        return miss_command(cli, argc);
    if (is_either_word(argv[0], "--help", "-h"))
        return help_print_group(cli, cli->group);
    cli->command = find_in_table(cli->group->commands, argv[0]);
    if (!cli->command)
        return reject_command(cli, argv[0]);
    return run_command_line(cli, argc - 1, argv + 1);
}

/* A group that does something by itself, and was not given one of its commands. */
static bool runs_alone(const struct command *command, int argc, char **argv)
{
    return command->run && (argc == 0 || argv[0][0] == '-');
}

/* `help`, `help COMMAND`, `help GROUP COMMAND`. */
static int run_help(struct cli *cli, int argc, char **argv)
{
    const struct program *program = cli->program;
    const struct command *command;

    if (!put_command_first(program, argc, argv))
        return help_print_program(program);
    if (program->other && strcmp(argv[0], program->other_word) == 0)
        return help_print_command(cli, program->other);
    command = find_in_table(program->commands, argv[0]);
    if (!command)
        return reject_command(cli, argv[0]);
    if (!command->commands)
        return help_print_command(cli, command);
    if (runs_alone(command, argc - 1, argv + 1))
        return help_print_command(cli, command);
    cli->group = command;
    if (!put_command_first(program, argc - 1, argv + 1))
        return help_print_group(cli, command);
    command = find_in_table(cli->group->commands, argv[1]);
    return command ? help_print_command(cli, command) : reject_command(cli, argv[1]);
}

/* "family.name": does a word after the first look like a function? */
static bool names_function(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *dot = strchr(argv[i], '.');

        if (argv[i][0] != '-' && dot && dot > argv[i] && dot[1] && !strpbrk(argv[i], "/*:@= "))
            return true;
    }
    return false;
}

static struct param_strs list_operands(struct arena *arena, int argc, char **argv)
{
    const char **words = ARENA_ARRAY(arena, const char *, (size_t)argc + 1);
    size_t n = 0;

    for (int i = 0; i < argc; i++)
        if (argv[i][0] != '-')
            words[n++] = argv[i];
    return (struct param_strs){ n, words };
}

static int dispatch_command(struct cli *cli, int argc, char **argv)
{
    const struct program *program = cli->program;

    const bool found = put_command_first(program, argc - 1, argv + 1);

    if (found && strcmp(argv[1], "help") == 0)
        return run_help(cli, argc - 2, argv + 2);
    if (program->other && options_has(argc - 1, argv + 1, program->other_word)) {
        cli->command = program->other;
        return run_command_line(cli, argc - 1, argv + 1);
    }
    if (!found)
        return miss_command(cli, argc - 1);
    if (is_either_word(argv[1], "--help", "-h"))
        return help_print_program(program);
    if (is_either_word(argv[1], "--version", "-V"))
        return print_version(program);
    if (strcmp(argv[1], CATALOG_OPTION) == 0)
        return catalog_print(cli);
    if (argv[1][0] == '-')
        return refuse_option(cli, argc - 1, argv + 1);
    cli->command = find_in_table(program->commands, argv[1]);
    if (!cli->command && program->fallback &&
        (names_function(argc - 1, argv + 1) ||
         options_has_foreign(program->fallback->options, argc - 1, argv + 1))) {
        cli->command = program->fallback;
        return run_command_line(cli, argc - 1, argv + 1);
    }
    if (!cli->command) {
        cli->rest = list_operands(cli->arena, argc - 2, argv + 2);
        return reject_command(cli, argv[1]);
    }
    if (!cli->command->commands || runs_alone(cli->command, argc - 2, argv + 2))
        return run_command_line(cli, argc - 2, argv + 2);
    cli->group = cli->command;
    cli->command = NULL;
    return run_group(cli, argc - 2, argv + 2);
}

static bool is_hung_up(int fd)
{
    struct pollfd end = { .fd = fd, .events = POLLOUT };

    return poll(&end, 1, 0) == 1 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

/* A full disk is an error like any other: lost output is not success. A reader that closes the
 * pipe, as `head` does, has read enough. */
static int flush_output(struct cli *cli, int status)
{
    const int why = fflush(stdout) == 0 ? 0 : errno; /* the error of the earlier write is lost */
    struct err err;

    if ((why == 0 && !ferror(stdout)) || is_hung_up(STDOUT_FILENO))
        return status;
    if (why)
        (void)err_sys(&err, why, "cannot write to standard output");
    else
        (void)err_set(&err, ERR_SYSTEM, "cannot write to standard output");
    if (cli->done)
        (void)err_wrap(&err, "%s; only its report is lost", cli->done);
    (void)cli_err(cli, &err);
    if (cli->detailed)
        return CLI_ERROR;
    return status != CLI_OK ? status : cli->done ? CLI_FAILED : CLI_ERROR;
}

/* The options of the line, where the program has them, win over the environment. */
static bool is_color_wanted(const struct program *program, int argc, char **argv)
{
    const bool has_options =
        program->globals && params_find(program->globals, STR(COMMAND_NO_COLOR));

    if (has_options && options_has(argc, argv, "--" COMMAND_NO_COLOR))
        return false;
    if (has_options && options_has(argc, argv, "--" COMMAND_FORCE_COLOR))
        return true;
    return color_is_wanted(program->color_variable, STDOUT_FILENO);
}

int command_main(const struct program *program, int argc, char **argv)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cli cli = {
        .program = program,
        .arena = &arena,
        .color = is_color_wanted(program, argc, argv),
    };

    inherited_reset(INHERITED_COMMAND);
    return flush_output(&cli, dispatch_command(&cli, argc, argv));
}

const struct param command_color_globals[] = { COMMAND_COLOR_OPTIONS, { 0 } };

const struct param command_daemon_globals[] = {
    { .name = "config",
      .kind = PARAM_STR,
      .doc = "the configuration of the daemon",
      .kind_text = "FILE",
      .aliases = "c" },
    { 0 },
};

bool command_is_given(const struct program *program, int argc, char *const *argv)
{
    const int at = 1 + options_skip(program->globals, argc - 1, argv + 1);

    return at < argc && (argv[at][0] != '-' || strcmp(argv[at], CATALOG_OPTION) == 0);
}
