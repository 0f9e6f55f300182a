/* kepler - services on this machine, from the command line. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/kepler.h"

static const char details[] =
    "Declare services and what they wait for in kepler.yaml; the daemon starts them in\n"
    "order, keeps them running, and stops them again.\n"
    "\n"
    "  kepler daemon start -d     once\n"
    "  kepler start               start all, and follow what they write\n"
    "  kepler ps                  what runs, and why not\n"
    "\n"
    "every command takes -f FILE, -v and -q, also before its name\n";

static bool is_among(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Options of all commands. */
static const char *const with_value[] = { "-f", "--file", NULL };
static const char *const flags[] = { "-v", "--verbose", "-q", "--quiet", NULL };

/* Help is the same whatever they say. Returns how many words there are without them. */
static int drop_options(int argc, char **argv)
{
    int n = 0;

    for (int i = 0; i < argc; i++) {
        const struct str word = str_from(argv[i]);

        if (is_among(argv[i], with_value))
            i++;
        else if (!is_among(argv[i], flags) && !str_starts(word, STR("-f")) &&
                 !str_starts(word, STR("--file=")))
            argv[n++] = argv[i];
    }
    return n;
}

/* Options may stand before the command; behind it they mean the same. Returns how many words there
 * are then: options of all commands without a command are nothing to do. */
static int put_command_first(int argc, char **argv)
{
    static const char *const instead[] = { "--help", "-h", "--version", "-V", NULL };
    int at = 1;

    while (at < argc && argv[at][0] == '-' && !is_among(argv[at], instead))
        at += is_among(argv[at], with_value) ? 2 : 1;
    if (at >= argc && argc > 1 && (is_among(argv[1], with_value) || is_among(argv[1], flags)))
        return 1;
    if (at < argc) {
        char *command = argv[at];

        memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(argv[0]));
        argv[1] = command;
        if (strcmp(command, "help") == 0)
            return drop_options(argc, argv);
    }
    return argc;
}

/* What other programs of this kind call it. */
static int unknown_word(struct cli *cli, const char *word)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {
        { "up", "start -d" },       { "down", "stop" },       { "status", "ps" },
        { "list", "ps" },           { "ls", "ps" },           { "reload", "recreate" },
        { "kill", "stop -s KILL" }, { "rm", "stop --clean" }, { "check", "validate" },
        { "version", "--version" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word, words[i].theirs) == 0)
            return cli_usage(cli, "unknown command '%s' (did you mean '%s'?)", word, words[i].ours);
    return cli_usage(cli, "unknown command '%s'", word);
}

/* A command of the original that this version does not have; better than a wrong suggestion, also
 * when it comes with its options. */
struct top_args {
    struct kepler_globals globals;
    bool json, sql;
    const char *history, *interval, *filter;
};

#define ARGS struct top_args
static const struct param top_options[] = {
    PARAM("json", BOOL, ARGS, json, "not supported", .flags = PARAM_HIDDEN),
    PARAM("history", STR, ARGS, history, "not supported", .flags = PARAM_HIDDEN),
    PARAM("interval", STR, ARGS, interval, "not supported", .flags = PARAM_HIDDEN),
    PARAM("filter", STR, ARGS, filter, "not supported", .aliases = "F", .flags = PARAM_HIDDEN),
    PARAM("sql", BOOL, ARGS, sql, "not supported", .flags = PARAM_HIDDEN),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static int run_top(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)args;
    (void)operands;
    return cli_usage(cli, "not supported by this version: see 'kepler ps' and 'kepler logs'");
}

static const struct command command_top = {
    .name = "top",
    .operands = "",
    .summary = "not supported by this version",
    .options = top_options,
    .args_size = sizeof(struct top_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_top,
};

/* As in all programs, but for the name in its example. */
static struct command make_completion(void)
{
    struct command command = command_completion;

    command.examples = "  source <(kepler completion bash)\n";
    return command;
}

int main(int argc, char **argv)
{
    const struct command commands[] = {
        kepler_command_start,
        kepler_command_stop,
        kepler_command_restart,
        kepler_command_run,
        kepler_command_recreate,
        kepler_command_ps,
        kepler_command_logs,
        kepler_command_why,
        kepler_command_inspect,
        kepler_command_daemon,
        kepler_command_prune,
        kepler_command_validate,
        kepler_command_config,
        kepler_command_graph,
        kepler_command_doc,
        make_completion(),
        command_top,
        { 0 },
    };
    const struct program program = {
        .name = "kepler",
        .version = ZESTER_VERSION,
        .summary = "services with dependencies, conditions and health checks",
        .details = details,
        .commands = commands,
        .statuses =
            "0 done; 1 an error, a refusal, a timeout, or a failure that no service handles;\n"
            "2 no daemon, or wrong usage; 130 after a second Ctrl+C",
        .error_word = "Error",
        .unknown = unknown_word,
        .color_variable = KEPLER_COLOR,
        .usage_status = KEPLER_UNREACHABLE,
    };

    return command_main(&program, put_command_first(argc, argv), argv);
}
