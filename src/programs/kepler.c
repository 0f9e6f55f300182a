/* kepler - services on this machine, from the command line. */
#include <string.h>

#include "base/mem.h"
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

/* Is this word an option of all commands that is followed by a value? */
static bool takes_value(const char *word)
{
    return strcmp(word, "-f") == 0 || strcmp(word, "--file") == 0;
}

/* Options may stand before the command; behind it they mean the same. */
static void put_command_first(int argc, char **argv)
{
    int at = 1;

    while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--help") != 0 &&
           strcmp(argv[at], "-h") != 0 && strcmp(argv[at], "--version") != 0 &&
           strcmp(argv[at], "-V") != 0)
        at += takes_value(argv[at]) ? 2 : 1;
    if (at >= argc || at == 1 || argv[at][0] == '-')
        return;
    char *command = argv[at];

    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(argv[0]));
    argv[1] = command;
}

/* A command of the original that this version does not have; better than a wrong suggestion. */
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
        .usage_status = KEPLER_UNREACHABLE,
    };

    put_command_first(argc, argv);
    return command_main(&program, argc, argv);
}
