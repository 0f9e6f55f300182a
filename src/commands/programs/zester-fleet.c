/* zester-fleet - all commands of zester; run by zester, not by hand. */
#include <string.h>

#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/local/commands.h"
#include "commands/cli/shared/commands.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/zester.h"

/* A target without a function, or a mistyped command. */
static int refuse_fleet_word(struct cli *cli, const char *word)
{
    if (strchr(word, '.') && !strpbrk(word, "*?[@"))
        return cli_usage(cli, "unknown command '%s' (did you mean 'zester --local %s'?)", word,
                         word);
    return cli_usage(cli,
                     "unknown command '%s' (on peels: 'zester TARGET FUNCTION'; on this machine: "
                     "'zester --local FUNCTION')",
                     word);
}

int main(int argc, char **argv)
{
    /* clang-format off */
    const struct command commands[] = {
        command_ssh,
        command_apply,
        command_orchestrate,
        command_peel,
        command_job,
        command_runs,
        command_kv,
        command_fileserver,
        command_enroll,
        command_doctor,
        command_nats_auth,
        command_operator,
        command_ca,
        command_event,
        command_reactor,
        command_report,
        command_top,
        command_update,
        command_settings,
        command_why,
        command_basket,
        command_render,
        command_doc,
        command_completion,
        command_version,
        { 0 },
    };
    /* clang-format on */
    const struct program program = {
        ZESTER_PROGRAM,
        .commands = commands,
        .globals = fleet_globals,
        .fallback = &command_exec,
        .unknown = refuse_fleet_word,
    };

    return command_main(&program, argc, argv);
}
