/* zester-peel - the agent of a machine in a fleet, and the command with which a machine joins. */
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/supervisor.h"
#include "peel/conf.h"
#include "peel/join.h"
#include "peel/main.h"
#include "sys/clock.h"
#include "sys/program.h"

struct join_args {
    struct peel_join join;
    const char *kepler_conf;
    enum supervisor_kind supervisor;
};

#define ARGS struct join_args

/* clang-format off */
static const struct param join_options[] = {
    PARAM("id",          STR,  ARGS, join.id, "the name of this machine; default: its full host name", .kind_text = "ID"),
    PARAM("config",      PATH, ARGS, join.config, "the configuration to write", .kind_text = "FILE", .default_text = PEEL_CONF_FILE),
    PARAM("auth-dir",    PATH, ARGS, join.auth_dir, "keys and credentials (/var/lib/zester/auth)", .kind_text = "DIR"),
    PARAM("data-dir",    PATH, ARGS, join.data_dir, "what the agent keeps (/var/lib/zester)", .kind_text = "DIR"),
    PARAM("health-addr", STR,  ARGS, join.health_addr, "where health and metrics are served (127.0.0.1:9090)", .kind_text = "ADDRESS"),
    PARAM("enroll-port", INT,  ARGS, join.enroll_port, "where the master enrolls machines", PARAM_RANGE(1, 65535), .default_text = "8443"),
    PARAM("port",        INT,  ARGS, join.nats_port, "where the bus is, on a master of this machine", PARAM_RANGE(1, 65535), .default_text = "4222"),
    PARAM("wait",        DURATION, ARGS, join.wait, "how long to wait for approval", PARAM_RANGE(CLOCK_SECOND, INT64_MAX), .default_text = "60s"),
    PARAM("supervisor",  CHOICE, ARGS, supervisor, "who keeps the agent running; auto: systemd where it runs, else kepler", .choices = SUPERVISOR_WORDS, .default_text = "auto"),
    PARAM("kepler-conf", PATH, ARGS, kepler_conf, "its description for kepler", .kind_text = "FILE", .default_text = "/etc/zester/kepler-peel.yaml"),
    { 0 },
};
/* clang-format on */

static bool print_step(bool is_new, const char *what, const char *where)
{
    printf("%s %s (%s)\n", is_new ? "created" : "kept   ", what, where);
    (void)fflush(stdout);
    return is_new;
}

static int start_agent(struct cli *cli, const struct join_args *want, bool *ret_changed,
                       struct err *err)
{
    const struct supervised agent = { "peel",
                                      "zester-peel.service",
                                      "Agent of zester",
                                      program_find_beside(cli->arena, "zester-peel"),
                                      "--config",
                                      want->join.config };
    const struct supervisor supervisor = {
        .kind = supervisor_choose(want->supervisor),
        .services = &agent,
        .count = 1,
        .kepler = program_find_beside(cli->arena, "kepler"),
        .kepler_conf = want->kepler_conf,
    };

    if (!agent.program || (supervisor.kind == SUPERVISOR_KEPLER && !supervisor.kepler))
        return err_set(err, ERR_NOT_FOUND, "no program '%s' beside this one or in PATH",
                       agent.program ? "kepler" : "zester-peel");
    if (supervisor_write(cli->arena, &supervisor, ret_changed, err) < 0)
        return -1;
    (void)print_step(*ret_changed, "service of the agent",
                     arena_printf(cli->arena, "run by %s", supervisor_name(supervisor.kind)));
    return supervisor_start(cli->arena, &supervisor, err);
}

static int join(struct cli *cli, const struct join_args *want, struct err *err)
{
    bool has_conf, has_creds, has_service;
    const char *id;

    if (peel_join_configure(cli->arena, &want->join, &has_conf, err) < 0)
        return -1;
    (void)print_step(has_conf, "configuration", want->join.config);
    if (peel_join_enroll(cli->arena, &want->join, &has_creds, &id, err) < 0)
        return -1;
    (void)print_step(has_creds, "credentials", id);
    if (start_agent(cli, want, &has_service, err) < 0)
        return -1;
    printf(has_conf || has_creds || has_service
               ? "This machine is peel '%s' of the fleet.\n"
               : "Nothing to do: this machine is peel '%s' already.\n",
           id);
    return 0;
}

static int run_join(struct cli *cli, const void *args, struct param_strs operands)
{
    struct join_args want = *(const struct join_args *)args;
    struct token token;
    struct err err;

    if (token_parse(str_from(operands.p[1]), &token, &err) < 0)
        return cli_err(cli, &err);
    if (token.expires <= clock_wall() / CLOCK_SECOND)
        return cli_error(cli, "the join token has expired; make one with 'zester-master token'");
    want.join.host = operands.p[0];
    want.join.token = &token;
    want.join.text = operands.p[1];
    return join(cli, &want, &err) < 0 ? cli_err(cli, &err) : CLI_OK;
}

static const struct command command_join = {
    .name = "join",
    .operands = "HOST TOKEN",
    .summary = "make this machine a peel of the fleet of a master",
    .details = "HOST is the master, TOKEN what 'zester-master token' printed there. Writes a\n"
               "configuration, enrolls, and has systemd or kepler run the agent. What is there\n"
               "already stays as it is; a second run changes nothing.\n",
    .examples = "  zester-peel join master.example.com zt1.TEXT\n",
    .options = join_options,
    .args_size = sizeof(struct join_args),
    .least = 2,
    .most = 2,
    .run = run_join,
};

int main(int argc, char **argv)
{
    const struct command commands[] = { command_join, command_health_peel, { 0 } };
    const struct program program = {
        .name = "zester-peel",
        .version = ZESTER_VERSION,
        .summary = "the agent of a machine in a fleet",
        .statuses = "0 done; 1 it could not be done, or wrong usage",
        .commands = commands,
    };

    if (command_is_named(commands, argc, argv))
        return command_main(&program, argc, argv);
    return peel_main(argc, argv);
}
