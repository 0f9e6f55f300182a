/* zester-fleet - all commands of zester; run by zester, not by hand. */
#include <string.h>

#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/local/commands.h"
#include "commands/cli/shared/commands.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/zester.h"
#include "states/local/functions.h"

/* Words of Salt, Ansible, Puppet and kubectl. */
/* clang-format off */
static const struct other_word other_words[] = {
    { NULL, "accept",    "'zester enroll approve ID'; 'zester enroll list' shows who waits" },
    { NULL, "agent",     "'zester --local state.highstate', or with --test to look first" },
    { NULL, "approve",   "'zester enroll approve ID' for a machine, 'zester job approve JID' for a job" },
    { NULL, "check",     "'zester --local state.check REF' for files, '--test' for machines" },
    { NULL, "config",    "'/etc/zester/master.yaml', or --config FILE; 'zester doctor' checks it" },
    { NULL, "describe",  "'zester PEEL facts.items', 'zester job show JID' or 'zester why STATE'" },
    { NULL, "diff",      "'zester TARGET state.apply REF --test', or 'zester --local state.apply REF --test'" },
    { NULL, "exec",      "\"zester TARGET cmd.run 'COMMAND'\"" },
    { NULL, "facter",    "'zester TARGET facts.items', or 'zester --local facts.items'" },
    { NULL, "facts",     "'zester TARGET facts.items', or 'zester --local facts.items'" },
    { NULL, "get",       "'zester peel list', 'zester job list' or 'zester enroll list'" },
    { NULL, "grains",    "'zester TARGET facts.items', or 'zester --local facts.items'" },
    { NULL, "hosts",     "'zester peel list'" },
    { NULL, "init",      "'zester-master setup' on the first machine, 'zester-peel join HOST TOKEN' on the others" },
    { NULL, "inventory", "'zester peel list'; for 'zester ssh', the roster /etc/zester/roster" },
    { NULL, "join",      "'zester-peel join HOST TOKEN', with a token from 'zester-master token'" },
    { NULL, "key",       "'zester enroll list', and 'zester enroll approve ID'" },
    { NULL, "keys",      "'zester enroll list', and 'zester enroll approve ID'" },
    { NULL, "list",      "'zester peel list', 'zester job list' or 'zester enroll list'" },
    { NULL, "logs",      "'zester job show JID', or 'kepler logs SERVICE' on the machine" },
    { NULL, "ls",        "'zester peel list', 'zester job list' or 'zester enroll list'" },
    { NULL, "minions",   "'zester peel list'" },
    { NULL, "node",      "'zester peel list'" },
    { NULL, "nodes",     "'zester peel list'" },
    { NULL, "pillar",    "'zester settings show PEEL', or 'zester --local settings.items'" },
    { NULL, "ping",      "\"zester '*' test.ping\"" },
    { NULL, "plan",      "'zester TARGET state.apply REF --test', then 'zester apply PLAN-ID'" },
    { NULL, "puppet",    "'zester --local state.highstate', or with --test to look first" },
    { NULL, "revert",    "'zester TARGET state.revert REF', or 'zester --local state.revert REF'" },
    { NULL, "rollback",  "'zester TARGET state.revert REF' for states, 'zester fileserver rollback' for files" },
    { NULL, "run",       "\"zester TARGET cmd.run 'COMMAND'\"" },
    { NULL, "salt-call", "'zester --local FUNCTION'" },
    { NULL, "salt-key",  "'zester enroll list', and 'zester enroll approve ID' or --all-pending" },
    { NULL, "salt-run",  "'zester job show JID', 'zester peel list' or 'zester orchestrate REF'" },
    { NULL, "setup",     "'zester-master setup' on the first machine, 'zester-peel join HOST TOKEN' on the others" },
    { NULL, "shell",     "\"zester TARGET cmd.run 'COMMAND'\"" },
    { NULL, "status",    "'zester peel list', or 'zester top' to watch" },
    { NULL, "token",     "'zester-master token'" },
    { NULL, "undo",      "'zester TARGET state.revert REF', or 'zester --local state.revert REF'" },
    { NULL, "validate",  "'zester --local state.check REF'" },
    { "enroll", "accept",     "'zester enroll approve ID'" },
    { "enroll", "accept-all", "'zester enroll approve --all-pending'" },
    { "enroll", "delete",     "'zester enroll revoke ID', or 'zester peel delete PEEL' for all that is known of a machine" },
    { "enroll", "list-all",   "'zester enroll list'" },
    { "enroll", "remove",     "'zester enroll revoke ID', or 'zester peel delete PEEL' for all that is known of a machine" },
    { "event", "follow",      "'zester event watch'" },
    { "event", "show",        "'zester event why ID'" },
    { "event", "stream",      "'zester event watch'" },
    { "event", "tail",        "'zester event watch'" },
    { "job", "cancel",        "'zester job kill JID'" },
    { "job", "get",           "'zester job show JID'" },
    { "job", "logs",          "'zester job show JID'" },
    { "job", "lookup",        "'zester job show JID'" },
    { "job", "lookup_jid",    "'zester job show JID'" },
    { "job", "rerun",         "'zester job retry JID'" },
    { "job", "result",        "'zester job show JID'" },
    { "job", "status",        "'zester job show JID'" },
    { "job", "stop",          "'zester job kill JID'" },
    { "peel", "add",          "'zester-peel join HOST TOKEN' on that machine, with a token from 'zester-master token'" },
    { "peel", "describe",     "'zester PEEL facts.items'" },
    { "peel", "get",          "'zester PEEL facts.items'" },
    { "peel", "remove",       "'zester peel delete PEEL'" },
    { "peel", "rm",           "'zester peel delete PEEL'" },
    { "peel", "show",         "'zester PEEL facts.items'" },
    { "peel", "status",       "'zester peel list'" },
    { "settings", "get",      "'zester settings show PEEL', or 'zester PEEL settings.get KEY'" },
    { "settings", "list",     "'zester settings show PEEL'" },
    { 0 },
};
/* clang-format on */

/* Does the line mean this function, as other tools write it? `front` is what comes before it. */
static bool refuse_function(struct cli *cli, const char *front, const char *name,
                            const struct param_strs *words)
{
    const char *meant = functions_meant(cli->arena, name, words);
    const char *reason = meant ? NULL : functions_reason(cli->arena, name, words);

    if (meant)
        (void)cli_usage(cli, "unknown function '%s'; did you mean: zester %s %s", name, front,
                        meant);
    else if (reason)
        (void)cli_usage(cli, "'%s' is not supported: %s", name, reason);
    return meant || reason;
}

/* A target without a function, or a mistyped command. */
static int refuse_fleet_word(struct cli *cli, const char *word)
{
    const struct param_strs rest = cli->rest;

    if (refuse_function(cli, ZESTER_LOCAL, word, &rest))
        return CLI_ERROR;
    if (rest.n > 0 && refuse_function(cli, functions_quote(cli->arena, word), rest.p[0],
                                      &(struct param_strs){ rest.n - 1, rest.p + 1 }))
        return CLI_ERROR;
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
        .other_words = other_words,
        .unknown = refuse_fleet_word,
    };

    return command_main(&program, argc, argv);
}
