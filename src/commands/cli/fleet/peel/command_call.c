/* zester-peel call: what `zester --local` does, with what the agent of this machine has. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "commands/cli/fleet/commands.h"
#include "commands/cli/local/local.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/data_store.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/peel_settings.h"
#include "states/local/verb.h"

struct call_args {
    struct local_args local;
    const char *config;
};

#define ARGS           struct call_args
#define WITHIN(member) local.member

/* clang-format off */
static const struct param call_options[] = {
    PARAM("config", STR, ARGS, config, "the configuration of the agent", .kind_text = "FILE", .aliases = "c", .default_text = PEEL_CONF_FILE),
    LOCAL_RUN_OPTIONS(ARGS, WITHIN),
    { 0 },
};
/* clang-format on */

static int read_call_conf(struct cli *cli, const char *config, struct peel_conf *ret,
                          struct diags *diags)
{
    const struct daemon_line line = { .file = strcmp(config, PEEL_CONF_FILE) != 0 ? config : NULL };
    struct diags ignored = DIAGS_INIT(cli->arena);

    return daemon_conf_read(&peel_conf_daemon, &line, cli->arena, ret, diags, &ignored);
}

/* Its keys, settings and undo data are for root and its own user alone. */
static int check_rights(const struct peel_conf *conf, struct err *err)
{
    if (access(conf->data_dir, R_OK | W_OK | X_OK) == 0)
        return 0;
    if (errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND,
                       "this machine is not a peel: '%s' does not exist; 'zester-peel join' makes "
                       "it one",
                       conf->data_dir);
    return err_sys(err, errno, "data folder '%s' of the agent: run this as root", conf->data_dir);
}

/* The tree as the agent has it now; a function that needs none works without. */
static void find_call_states(struct cli *cli, const struct peel_conf *conf, const char *function,
                             struct session_options *session)
{
    const struct verb *verb = verb_find(function);
    struct err err;

    session->states_dir = data_store_states(cli->arena, conf, &err);
    if (!session->states_dir)
        session->states_dir = conf->states_cache;
    if (access(session->states_dir, F_OK) != 0 && verb && verb_needs_tree(verb))
        (void)fprintf(stderr, "warning: %s\n", err.text);
}

static int read_call_settings(struct cli *cli, const struct peel_conf *conf, struct value *settings,
                              struct err *err)
{
    bool is_there;

    if (peel_settings_read(cli->arena, conf->data_dir, settings, &is_there, err) < 0)
        return -1;
    if (!is_there) {
        *settings = value_map(value_map_new(cli->arena, 0));
        (void)fprintf(stderr, "warning: " PEEL_SETTINGS_UNKNOWN "\n");
    }
    return 0;
}

static int prepare_call(struct cli *cli, const struct peel_conf *conf, const char *function,
                        struct session_options *session, struct err *err)
{
    struct value *settings = ARENA_NEW(cli->arena, struct value);

    if (check_rights(conf, err) < 0 ||
        peel_identity_find(cli->arena, conf->auth_dir, conf->id, &session->id, err) < 0 ||
        read_call_settings(cli, conf, settings, err) < 0)
        return -1;
    find_call_states(cli, conf, function, session);
    session->settings = settings;
    session->data_dir = conf->data_dir;
    session->facts_file = conf->facts_file;
    session->environment = conf->environment;
    session->loose = session->loose || !conf->strict_params;
    return 0;
}

static int run_call(struct cli *cli, const void *args, struct param_strs operands)
{
    struct call_args want = *(const struct call_args *)args;
    struct diags diags = DIAGS_INIT(cli->arena);
    struct peel_conf conf = { 0 };
    struct err err;

    if (read_call_conf(cli, want.config, &conf, &diags) < 0)
        return cli_diags(cli, &diags);
    if (prepare_call(cli, &conf, operands.p[0], &want.local.session, &err) < 0)
        return cli_err(cli, &err);
    return local_run(cli, &want.local, operands);
}

const struct command command_call = {
    .name = "call",
    .operands = "FUNCTION [WORD...] [NAME=VALUE...]",
    .summary = "run a function here, with the states, settings and name of this peel",
    .details =
        "As 'zester --local', but with what masters have published for this machine, as the\n"
        "agent has it on disk: the states, the settings with their secrets, the facts and the\n"
        "name. Needs neither the bus nor a running agent. A run that applies states waits for one\n"
        "of the agent, and the other way round.\n"
        "Only root and the agent's user can read what is needed. The run is not a job of the\n"
        "fleet: 'state.last' and the next heartbeat show it, 'zester job list' does not.\n"
        "'zester --local --help' lists the functions.\n",
    .examples = "  zester-peel call state.apply web --test\n"
                "  zester-peel call settings.get web:password\n"
                "  zester-peel call state.highstate\n",
    .statuses =
        "0 success, in a dry run even if something would change; 1 wrong usage or a mistake\n"
        "in a file, nothing was changed; 2 a state failed, the run was canceled, or its\n"
        "report could not be written",
    .options = call_options,
    .args_size = sizeof(struct call_args),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_call,
    .words = local_add_functions,
};
