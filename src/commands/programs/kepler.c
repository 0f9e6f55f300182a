/* kepler - services on this machine, from the command line. */
#include <string.h>

#include "core/base/mem.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/commands.h"
#include "commands/cli/kepler/kepler.h"

static const char details[] =
    "Declare services and what they wait for in kepler.yaml; the daemon starts them in\n"
    "order, keeps them running, and stops them again.\n"
    "\n"
    "  kepler daemon start -d     once\n"
    "  kepler start               start all, and follow what they write\n"
    "  kepler ps                  what runs, and why not\n"
    "\n"
    "every command takes -f FILE, -v and -q, also before its name\n";

/* Command names of similar programs. */
static int unknown_word(struct cli *cli, const char *word)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {
        { "status", "ps" },
        { "list", "ps" },
        { "ls", "ps" },
        { "kill", "stop -s KILL" },
        { "rm", "stop --clean" },
        { "check", "validate" },
        { "version", "--version" },
        { "attach", "logs --follow" },
        { "convert", "config" },
        { "show", "inspect" },

    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word, words[i].theirs) == 0)
            return cli_usage(cli, "unknown command '%s' (did you mean '%s'?)", word, words[i].ours);
    return cli_usage(cli, "unknown command '%s'", word);
}

/* As in all programs, but for the name in its example. */
static struct command make_completion(void)
{
    struct command command = command_completion;

    command.examples = "  source <(kepler completion bash)\n"
                       "  kepler completion fish | source\n";
    return command;
}

int main(int argc, char **argv)
{
    /* clang-format off */
    const struct command commands[] = {
        kepler_command_start,
        kepler_command_up,
        kepler_command_stop,
        kepler_command_down,
        kepler_command_restart,
        kepler_command_reload,
        kepler_command_apply,
        kepler_command_diff,
        kepler_command_wait,
        kepler_command_run,
        kepler_command_recreate,
        kepler_command_ps,
        kepler_command_logs,
        kepler_command_top,
        kepler_command_why,
        kepler_command_events,
        kepler_command_inspect,
        kepler_command_acl,
        kepler_command_daemon,
        kepler_command_prune,
        kepler_command_validate,
        kepler_command_config,
        kepler_command_graph,
        kepler_command_doc,
        make_completion(),
        { 0 },
    };
    /* clang-format on */
    const struct program program = {
        .name = "kepler",
        .summary = "services with dependencies, conditions and health checks",
        .details = details,
        .commands = commands,
        .globals = kepler_globals,
        .statuses =
            "0 done; 1 an error, a refusal, a timeout, or a failure that no service handles;\n"
            "2 no daemon, or wrong usage; 130 after a second Ctrl+C",
        .error_word = "Error",
        .unknown = unknown_word,
        .color_variable = KEPLER_COLOR,
        .usage_status = KEPLER_UNREACHABLE,
    };

    return command_main(&program, argc, argv);
}
