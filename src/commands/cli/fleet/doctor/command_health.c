/* zester-master health, zester-peel health: the checks of the daemon that runs on this machine. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/daemon_conf.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/doctor/health.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/table.h"
#include "core/data/json.h"
#include "core/http/probe.h"
#include "core/sys/clock.h"

#define ASK_NS   (5 * CLOCK_SECOND)
#define PAUSE_MS 100
#define READY    200

#define MASTER_CONF "/etc/zester/master.yaml"
#define MASTER_PORT "9091"
#define PEEL_CONF   "/etc/zester/peel.yaml"
#define PEEL_PORT   "9090"

struct health_args {
    const char *config, *address;
    int64_t wait;
    enum fleet_format format;
};

#define ARGS struct health_args

/* clang-format off */
#define HEALTH_OPTIONS(file, port)                                                                 \
    PARAM("config", STR, ARGS, config, "the configuration of the daemon (" file ")", .kind_text = "FILE", .aliases = "c"), \
    PARAM("health-addr", STR, ARGS, address, "its health address; default: as configured, else 127.0.0.1:" port, .kind_text = "ADDRESS"), \
    PARAM("wait", DURATION, ARGS, wait, "how long to wait until it is ready", PARAM_RANGE(0, INT64_MAX), .default_text = "0s"), \
    PARAM("format", CHOICE, ARGS, format, "output format", .choices = "text|json|yaml", .default_text = "text"), \
    { 0 }

static const struct param master_options[] = { HEALTH_OPTIONS(MASTER_CONF, MASTER_PORT) };
static const struct param peel_options[] = { HEALTH_OPTIONS(PEEL_CONF, PEEL_PORT) };
/* clang-format on */

/* Differences between the two daemons. */
struct health_daemon {
    const char *config, *address;
};

static const struct health_daemon daemon_master = { MASTER_CONF, "127.0.0.1:" MASTER_PORT };
static const struct health_daemon daemon_peel = { PEEL_CONF, "127.0.0.1:" PEEL_PORT };

/* --- where to ask --------------------------------------------------------------------- */

/* Everything else in the file is the business of the daemon. Empty: it serves no health. */
static int find_address(struct cli *cli, const struct health_args *want,
                        const struct health_daemon *daemon, const char **ret_address,
                        struct diags *diags)
{
    const struct param rows[] = {
        PARAM("health_addr", STR, struct health_daemon, address, "",
              .default_text = daemon->address),
        { 0 },
    };
    const struct daemon_conf conf = { .program = cli->program->name,
                                      .file = daemon->config,
                                      .rows = rows,
                                      .size = sizeof(struct health_daemon),
                                      .lenient = true };
    const struct daemon_line line = { .file = want->config,
                                      .given = value_map(value_map_new(cli->arena, 1)) };
    struct diags ignored = DIAGS_INIT(cli->arena);
    struct health_daemon found = { 0 };

    if (daemon_conf_read(&conf, &line, cli->arena, &found, diags, &ignored) < 0)
        return -1;
    *ret_address = found.address;
    return 0;
}

static int read_address(struct cli *cli, const struct health_args *want,
                        const struct health_daemon *daemon, const char **ret_address)
{
    struct diags diags = DIAGS_INIT(cli->arena);

    *ret_address = want->address;
    if (want->address)
        return CLI_OK;
    if (find_address(cli, want, daemon, ret_address, &diags) < 0)
        return cli_diags(cli, &diags);
    return (*ret_address)[0] ? CLI_OK
                             : cli_error(cli, "it serves no health: 'health_addr' is empty");
}

/* --- asking --------------------------------------------------------------------------- */

static int ask_daemon(struct arena *arena, const char *address, struct probe_answer *ret,
                      struct value *ret_body, struct err *err)
{
    if (probe_get(arena, address, "/readyz", ASK_NS, ret, err) < 0)
        return -1;
    return json_decode(arena, ret->body, ret_body, err);
}

/* The first answer that says that it is ready, or the last one in time. */
static int wait_until_ready(struct arena *arena, const char *address, int64_t wait,
                            struct probe_answer *ret, struct value *ret_body, struct err *err)
{
    int64_t deadline = clock_after(clock_now(), wait);
    int result;

    while ((result = ask_daemon(arena, address, ret, ret_body, err)) < 0 || ret->status != READY) {
        if (clock_now() >= deadline)
            break;
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return result;
}

static void print_checks(struct cli *cli, const struct value *body)
{
    static const char *const heads[] = { "CHECK", "STATUS", "NOTE" };
    const struct value *checks = value_get(body, "checks");
    const size_t count = value_is(checks, VALUE_MAP) ? checks->map->count : 0;
    struct table table = TABLE_INIT(cli->arena, heads);

    for (size_t i = 0; i < count; i++) {
        const struct value_pair *pair = &checks->map->pairs[i];
        const char **row = table_add(&table);

        row[0] = pair->key.s.p;
        row[1] = value_get_text(&pair->value, "status");
        row[2] = value_get_text(&pair->value, "message");
    }
    (void)table_print(&table);
}

static int show_health(struct cli *cli, const struct health_args *want,
                       const struct health_daemon *daemon)
{
    struct probe_answer answer;
    const char *address;
    struct value body;
    struct err err;

    if (read_address(cli, want, daemon, &address) != CLI_OK)
        return CLI_ERROR;
    if (wait_until_ready(cli->arena, address, want->wait, &answer, &body, &err) < 0)
        return cli_error(cli, "%s is not running: %s", cli->program->name, err.text);
    if (want->format == FLEET_TEXT)
        print_checks(cli, &body);
    else if (fleet_print(cli, want->format, &body) != CLI_OK)
        return CLI_ERROR;
    return answer.status == READY ? CLI_OK : CLI_FAILED;
}

/* The first check that has not passed, for a message. */
static const char *find_problem(struct arena *arena, const struct value *body)
{
    const struct value *checks = value_get(body, "checks");
    const size_t count = value_is(checks, VALUE_MAP) ? checks->map->count : 0;

    for (size_t i = 0; i < count; i++) {
        const struct value_pair *pair = &checks->map->pairs[i];
        const char *status = value_get_text(&pair->value, "status");
        const char *message = value_get_text(&pair->value, "message");

        if (status && strcmp(status, "ok") != 0)
            return arena_printf(arena, "%s is %s%s%s", pair->key.s.p, status,
                                message && message[0] ? ": " : "", message ? message : "");
    }
    return "no reason given";
}

int health_wait_peel(struct cli *cli, const char *config, int64_t wait, struct err *err)
{
    const struct health_args want = { .config = config };
    struct probe_answer answer;
    struct diags mistakes = DIAGS_INIT(cli->arena);
    const char *address;
    struct value body;

    if (find_address(cli, &want, &daemon_peel, &address, &mistakes) < 0 || !address[0])
        return 0; /* the agent itself reports mistakes of its file */
    if (wait_until_ready(cli->arena, address, wait, &answer, &body, err) < 0)
        return -1;
    if (answer.status != READY)
        return err_set(err, ERR_TIMEOUT, "%s", find_problem(cli->arena, &body));
    return 0;
}

static int run_master(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return show_health(cli, args, &daemon_master);
}

static int run_peel(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return show_health(cli, args, &daemon_peel);
}

#define HEALTH_COMMAND(program, table, function)                                                   \
    {                                                                                              \
        .name = "health", .operands = "",                                                          \
        .summary = "check whether the daemon on this machine is ready",                            \
        .details =                                                                                 \
            "Asks the daemon for its checks, as /readyz shows them: for people, and as the\n"      \
            "health check of a supervisor.\n",                                                     \
        .examples = "  " program " health --wait 30s\n",                                           \
        .statuses = "0 ready; 1 not running, or wrong usage; 2 running and not ready",             \
        .options = (table), .args_size = sizeof(struct health_args), .run = (function),            \
    }

const struct command command_health_master =
    HEALTH_COMMAND("zester-master", master_options, run_master);
const struct command command_health_peel = HEALTH_COMMAND("zester-peel", peel_options, run_peel);
