/* zester-peel - the agent of a machine in a fleet, and the commands of that machine: it joins, and
 * raises events. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/beacons/section.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/doctor/health.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/pairs.h"
#include "commands/cli/fleet/setup/supervisor.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/join.h"
#include "fleet/peel/local_event.h"
#include "fleet/peel/main.h"
#include "core/runs/agent.h"
#include "core/sys/clock.h"
#include "core/sys/inherited.h"
#include "core/sys/program.h"
#include "fleet/wire/event.h"

/* --- join ------------------------------------------------------------------------- */

struct join_args {
    struct peel_join join;
    const char *kepler_conf;
    enum supervisor_kind supervisor;
};

#define ARGS struct join_args

/* Timeout for the agent to start and to reach the bus. */
#define READY_NS (INT64_C(30) * CLOCK_SECOND)

/* clang-format off */
static const struct param join_options[] = {
    PARAM("id",          STR,  ARGS, join.id, "the name of this machine; default: its full host name", .kind_text = "ID"),
    PARAM("config",      PATH, ARGS, join.config, "the configuration to write", .kind_text = "FILE", .aliases = "c", .default_text = PEEL_CONF_FILE),
    PARAM("auth-dir",    PATH, ARGS, join.auth_dir, "keys and credentials (/var/lib/zester/auth)", .kind_text = "DIR"),
    PARAM("data-dir",    PATH, ARGS, join.data_dir, "what the agent keeps, and then also the published states (/var/lib/zester)", .kind_text = "DIR"),
    PARAM("health-addr", STR,  ARGS, join.health_addr, "where health and metrics are served (" PEEL_JOIN_HEALTH_ADDR ")", .kind_text = "ADDRESS"),
    PARAM("enroll-port", INT,  ARGS, join.enroll_port, "where the master enrolls machines", PARAM_RANGE(1, 65535), .default_text = "8443"),
    PARAM("port",        INT,  ARGS, join.nats_port, "where the bus is, on a master of this machine", PARAM_RANGE(1, 65535), .default_text = "4222"),
    PARAM("wait",        DURATION, ARGS, join.wait, "how long to wait for approval", PARAM_RANGE(CLOCK_SECOND, INT64_MAX), .default_text = "60s"),
    PARAM("supervisor",  CHOICE, ARGS, supervisor, "supervisor of the agent; auto: systemd where it runs, else kepler", .choices = SUPERVISOR_WORDS, .default_text = "auto"),
    PARAM("kepler-conf", PATH, ARGS, kepler_conf, "its description for kepler", .kind_text = "FILE", .default_text = "/etc/zester/kepler-peel.yaml"),
    { 0 },
};
/* clang-format on */

static bool print_join_step(bool is_new, const char *what, const char *where)
{
    printf("%s %s (%s)\n", is_new ? "created" : "kept   ", what, where);
    (void)fflush(stdout);
    return is_new;
}

static int start_agent(struct cli *cli, const struct join_args *want, bool *ret_changed,
                       struct err *err)
{
    const struct supervised agent = { .name = "peel",
                                      .unit = "zester-peel.service",
                                      .summary = "Agent of zester",
                                      .program = program_find_beside(cli->arena, "zester-peel"),
                                      .flag = "--config",
                                      .conf = want->join.config,
                                      .final_status = PEEL_UNTRUSTED_STATUS,
                                      .keeps_children = true,
                                      .writer = "zester-peel join" };
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
    (void)print_join_step(*ret_changed, "service of the agent",
                          arena_printf(cli->arena, "run by %s", supervisor_name(supervisor.kind)));
    if (supervisor_start(cli->arena, &supervisor, err) < 0)
        return -1;
    if (supervisor.kind != SUPERVISOR_NONE &&
        health_wait_peel(cli, want->join.config, READY_NS, err) < 0)
        return err_wrap(err, "the agent is not ready; see '%s'",
                        supervisor_hint(cli->arena, &supervisor));
    return 0;
}

/* The next attempt may name another master. */
static void remove_conf(const struct join_args *want)
{
    struct err err;

    if (peel_join_unconfigure(&want->join, &err) == 0)
        printf("removed configuration (%s)\n", want->join.config);
}

static int join_fleet(struct cli *cli, const struct join_args *want, struct err *err)
{
    bool has_conf, has_creds, has_service;
    const char *id;

    if (peel_join_configure(cli->arena, &want->join, &has_conf, err) < 0)
        return -1;
    (void)print_join_step(has_conf, "configuration", want->join.config);
    if (peel_join_enroll(cli->arena, &want->join, &has_creds, &id, err) < 0) {
        if (has_conf && err->code != ERR_TIMEOUT)
            remove_conf(want);
        return -1;
    }
    (void)print_join_step(has_creds, "credentials", id);
    if (start_agent(cli, want, &has_service, err) < 0)
        return -1;
    printf(has_conf || has_creds || has_service
               ? "This machine is peel '%s' of the fleet.\n"
               : "Nothing to do: this machine is already peel '%s'.\n",
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
    return join_fleet(cli, &want, &err) < 0 ? cli_err_root(cli, &err) : CLI_OK;
}

static const struct command command_join = {
    .name = "join",
    .operands = "HOST TOKEN",
    .summary = "join this machine to the fleet of a master",
    .details =
        "HOST is the master, TOKEN what 'zester-master token' printed there. Writes a\n"
        "configuration, enrolls, has systemd or kepler run the agent, and waits until it is\n"
        "connected. What is there already stays as it is; a second run changes nothing.\n",
    .examples = "  zester-peel join master.example.com zt1.TEXT\n",
    .options = join_options,
    .args_size = sizeof(struct join_args),
    .least = 2,
    .most = 2,
    .run = run_join,
};

/* --- event ------------------------------------------------------------------------ */

#undef ARGS
#define ARGS struct event_args

struct event_args {
    const char *config, *data_dir;
    enum fleet_format format;
};

/* clang-format off */
static const struct param event_options[] = {
    PARAM("config",   STR,    ARGS, config, "the configuration of the agent", .kind_text = "FILE", .aliases = "c", .default_text = PEEL_CONF_FILE),
    PARAM("data-dir", PATH,   ARGS, data_dir, "where the agent listens; default: the data_dir of its configuration", .kind_text = "DIR"),
    PARAM("format",   CHOICE, ARGS, format, "output format", .choices = "text|json|yaml", .default_text = "text"),
    { 0 },
};
/* clang-format on */

/* The data folder of the agent. */
static int find_data_dir(struct cli *cli, const struct event_args *want, const char **ret_dir,
                         struct err *err)
{
    struct daemon_line line = { 0 };
    struct diags diags = DIAGS_INIT(cli->arena);
    struct peel_conf conf = { 0 };

    if (strcmp(want->config, PEEL_CONF_FILE) != 0)
        line.file = want->config;
    if (!want->data_dir &&
        daemon_conf_read(&peel_conf_daemon, &line, cli->arena, &conf, &diags, &diags) < 0)
        return diags_to_err(&diags, err);
    *ret_dir = want->data_dir ? want->data_dir : conf.data_dir;
    return 0;
}

static int print_raised(struct cli *cli, enum fleet_format format,
                        const struct local_event_answer *answer)
{
    const char *status = local_event_status_name(answer->status);
    const struct param_pair rows[] = { { "id", answer->id },
                                       { "tag", answer->tag },
                                       { "match_key", answer->key },
                                       { "subject", answer->subject },
                                       { "status", status } };
    struct value_map *map = value_map_new(cli->arena, ARRAY_LEN(rows));
    const struct value result = value_map(map);

    if (format == FLEET_TEXT) {
        printf("Event %s\n  id:        %s\n  tag:       %s\n  match key: %s\n  subject:   %s\n",
               answer->status == LOCAL_EVENT_STORED
                   ? "stored"
                   : "buffered on disk: it is sent once the bus can be reached",
               answer->id, answer->tag, answer->key, answer->subject);
        return CLI_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        value_map_set(cli->arena, map, value_text(rows[i].key), value_text(rows[i].value));
    return fleet_print(cli, format, &result);
}

static int run_event(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;
    const struct param_strs pairs = { operands.n - 1, operands.p + 1 };
    struct local_event event = { 0 };
    struct local_event_answer answer;
    struct unixsock socket;
    const char *data_dir = NULL;
    struct err err;

    if (event_tag_read(cli->arena, str_from(operands.p[0]), &event.tag, &err) < 0 ||
        pairs_read(cli->arena, &pairs, &event.data, &err) < 0 ||
        find_data_dir(cli, want, &data_dir, &err) < 0)
        return cli_err(cli, &err);
    socket = agent_socket(cli->arena, data_dir);
    if (local_event_raise(cli->arena, &socket, &event, &answer, &err) < 0)
        return cli_err(cli, &err);
    return print_raised(cli, want->format, &answer);
}

static const struct command command_raise = {
    .name = "event",
    .operands = "TAG [KEY=VALUE...]",
    .summary = "raise an event through the agent on this machine",
    .details = "For scripts and cron jobs: no credentials are needed, root and the user of the\n"
               "agent may. TAG is written with slashes or dots; the pairs are the data, as texts.\n"
               "Says whether the event is stored in the stream or, when the bus cannot be\n"
               "reached, buffered on disk; both are status 0. At most 100 events at once and 600\n"
               "a minute, of 64 KiB each; 1000 are buffered.\n",
    .examples = "  zester-peel event backup/finished size=3GB\n",
    .options = event_options,
    .args_size = sizeof(struct event_args),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_event,
};

/* --- beacons ---------------------------------------------------------------------- */

#undef ARGS
#define ARGS struct beacons_args

struct beacons_args {
    enum beacons_format { BEACONS_TEXT, BEACONS_MARKDOWN } format;
};

static const struct param beacons_options[] = {
    PARAM("format", CHOICE, ARGS, format, "output format", .choices = "text|markdown",
          .default_text = "text"),
    { 0 },
};

static void print_beacon_words(struct buf *out)
{
    for (const struct beacon_kind *const *kind = beacon_kind_table; *kind; kind++)
        buf_printf(out, " %s", (*kind)->name);
}

static int run_peel_beacons(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct beacons_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < operands.n; i++)
        if (!beacon_kind_find(operands.p[i])) {
            print_beacon_words(&out);
            return cli_error(cli, "unknown beacon '%s'; the beacons are:%s", operands.p[i],
                             buf_text(&out));
        }
    for (const struct beacon_kind *const *kind = beacon_kind_table; *kind; kind++) {
        if (operands.n > 0 && strcmp(operands.p[0], (*kind)->name) != 0)
            continue;
        buf_add_text(&out, out.n > 0 ? "\n" : "");
        (want->format == BEACONS_TEXT ? section_print_doc : section_print_markdown)(*kind, &out);
    }
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

static const struct command command_beacons = {
    .name = "beacons",
    .operands = "[NAME]",
    .summary = "what an agent can watch, and the keys of each beacon",
    .details = "Beacons are sections of 'beacons' in the settings or in peel.yaml.\n",
    .examples = "  zester-peel beacons disk\n",
    .options = beacons_options,
    .args_size = sizeof(struct beacons_args),
    .most = 1,
    .run = run_peel_beacons,
    .words = print_beacon_words,
};

int main(int argc, char **argv)
{
    const struct command commands[] = { command_beacons,     command_call, command_raise,
                                        command_health_peel, command_join, { 0 } };
    const struct program program = {
        .name = "zester-peel",
        .summary = "the agent of a machine in a fleet",
        .statuses = "0 done; 1 failed, or wrong usage; 2 the daemon was given an\n"
                    "unknown option or word",
        .commands = commands,
        .globals = command_daemon_globals,
        .unknown_status = COMMAND_DAEMON_USAGE,
    };

    if (command_is_given(&program, argc, argv))
        return command_main(&program, argc, argv);
    inherited_reset(INHERITED_DAEMON);
    return peel_main(argc, argv);
}
