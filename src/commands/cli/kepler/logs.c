/* kepler logs: logs of services. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/lines.h"
#include "kepler/control/message.h"
#include "kepler/config/hook_phase.h"
#include "kepler/logs/log_query.h"

struct logs_args {
    struct kepler_globals globals;
    bool follow, no_hook, raw, json, sql, has_head, has_tail;
    bool has_hook, has_level;
    int64_t head, tail;
    enum jsonline_level level;
    enum hook_phase hook;
    const char *filter;
};

#define ARGS struct logs_args
/* In the order of enum hook_phase. */
#define HOOK_CHOICES                                                                               \
    "pre_start|post_start|pre_stop|post_stop|pre_restart|post_restart|post_exit|pre_cleanup|"      \
    "post_healthcheck_success|post_healthcheck_fail"

/* clang-format off */
static const struct param options[] = {
    PARAM("follow",  BOOL, ARGS, follow, "keep showing new lines"),
    PARAM("head",    INT,  ARGS, head, "the first N lines", PARAM_GIVEN(ARGS, has_head), PARAM_RANGE(0, INT64_MAX)),
    PARAM("tail",    INT,  ARGS, tail, "the last N lines", PARAM_GIVEN(ARGS, has_tail), PARAM_RANGE(0, INT64_MAX)),
    PARAM("level",   CHOICE, ARGS, level, "only lines of this level and above", .choices = "trace|debug|info|warn|error|fatal", .kind_text = "LEVEL", PARAM_GIVEN(ARGS, has_level)),
    PARAM("hook",    CHOICE, ARGS, hook, "only lines of this hook", .choices = HOOK_CHOICES, .kind_text = "HOOK", PARAM_GIVEN(ARGS, has_hook)),
    PARAM("no-hook", BOOL, ARGS, no_hook, "hide lines of hooks"),
    PARAM("raw",     BOOL, ARGS, raw, "print lines exactly as services wrote them"),
    PARAM("json",    BOOL, ARGS, json, "print lines as JSON objects"),
    PARAM("filter",  STR,  ARGS, filter, "only lines that match, see below", .aliases = "F", .kind_text = "EXPRESSION"),
    PARAM("sql",     BOOL, ARGS, sql, "the EXPRESSION of -F is a WHERE clause in SQL, see below"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
/* clang-format on */

struct showing {
    struct kepler_lines lines;
    bool answered;
    int status;
    bool quiet;
};

static void on_logs_message(void *self, struct kepler_client *client, const struct message *message)
{
    struct showing *showing = self;

    if (message->kind == MESSAGE_EVENT && strcmp(message->name, "lines") == 0) {
        kepler_lines_print(&showing->lines, &message->body);
        return;
    }
    if (message->kind == MESSAGE_EVENT && strcmp(message->name, "unloaded") == 0 && !showing->quiet)
        kepler_warn("the config is not loaded: showing stored lines only");
    if (message->kind != MESSAGE_REPLY)
        return;
    showing->answered = true;
    showing->status = kepler_client_check(message);
    if (showing->status == 0)
        showing->status = kepler_tell(showing->quiet, stderr, &message->body);
    kepler_client_stop(client);
}

static const char *find_logs_conflict(const struct logs_args *args)
{
    if (args->sql && !args->filter)
        return "--sql requires -F: the clause is its EXPRESSION";
    if (args->has_head && args->has_tail)
        return "--head and --tail are mutually exclusive";
    if (args->has_hook && args->no_hook)
        return "--hook and --no-hook are mutually exclusive";
    if (args->raw && args->json)
        return "--raw and --json are mutually exclusive";
    return NULL;
}

static int run_logs(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct logs_args *args = raw;
    struct request_logs logs = {
        .services = operands,
        .follow = args->follow,
        .no_hook = args->no_hook,
        .hook = args->has_hook ? hook_phase_name(args->hook) : NULL,
        .query = args->filter,
        .sql = args->sql,
        .level = args->has_level ? jsonline_level_name(args->level) : NULL,
        .head = args->head,
        .tail = args->tail,
        .has_head = args->has_head,
        .has_tail = args->has_tail,
    };
    struct showing showing = { .quiet = args->globals.quiet };
    const struct log_query *query;
    struct kepler_client client;
    struct err err;
    int status;

    if (find_logs_conflict(args))
        return cli_usage(cli, "%s", find_logs_conflict(args));
    if (args->filter && !args->sql &&
        log_query_parse(cli->arena, str_from(args->filter), &query, &err) < 0)
        return cli_usage(cli, "the filter '%s': %s", args->filter, err.text);
    if (kepler_config_path(cli->arena, &args->globals, &logs.config, &err) < 0)
        return kepler_err(&err);
    kepler_lines_init(&showing.lines,
                      args->raw    ? LOG_LINE_RAW
                      : args->json ? LOG_LINE_JSON
                                   : LOG_LINE_PLAIN,
                      cli->color);
    status = kepler_client_open(&client, cli->arena, on_logs_message, &showing);
    if (status == 0) {
        (void)kepler_client_send(&client, REQUEST_LOGS, &logs);
        kepler_client_run(&client);
        status =
            showing.answered ? showing.status : kepler_error("lost the connection to the daemon");
    }
    kepler_client_done(&client);
    kepler_lines_done(&showing.lines);
    return status;
}

const struct command kepler_command_logs = {
    .name = "logs",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show logs of services and their hooks",
    .details =
        "A line is shown as 'TIME [LEVEL] SERVICE.HOOK | text'. Lines of a config that is not\n"
        "loaded can be read too. --head and --tail apply after the other filters.\n"
        "--follow runs until Ctrl+C, or until the config is unloaded or the daemon ends.\n"
        "\n"
        "An EXPRESSION of -F is made of\n"
        "  timeout \"two words\"        text of the line, in any case; GET* is all of it\n"
        "  @service:web @hook:pre_*    fields, also level, message and timestamp\n"
        "  @http.status:>=500          attributes of lines that are JSON; > >= < <=\n"
        "  a b, a OR b, NOT a, (a)     both, one of them, not; -a and !a are NOT a\n"
        "\n"
        "With --sql it is the WHERE clause of a SELECT from the table\n"
        "  logs(id, timestamp, service, hook, level, line, attributes)\n"
        "which has the lines that the other options select. timestamp is milliseconds since 1970;\n"
        "attributes are JSON: attributes ->> '$.http.status' >= 500. Conditions on id and service\n"
        "are fast. A search ends with an error when it finds nothing for 5 seconds.\n",
    .examples =
        "  kepler logs --tail 20 --follow web\n  kepler logs --level warn --json | jq .msg\n"
        "  kepler logs -F '@level:>=warn (timeout OR refused) -@service:probe'\n"
        "  kepler logs --sql -F \"level = 'error' AND line LIKE '%timeout%'\"\n",
    .options = options,
    .args_size = sizeof(struct logs_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_logs,
};
