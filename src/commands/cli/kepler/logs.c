/* kepler logs: logs of services. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/lines.h"
#include "core/data/scalar.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "kepler/control/message.h"
#include "kepler/config/hook_phase.h"
#include "kepler/logs/log_query.h"

struct logs_args {
    struct kepler_globals globals; /* but for the file: */
    struct param_strs files;
    const char *since, *until;
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
    PARAM("tail",    INT,  ARGS, tail, "the last N lines", .aliases = "n", PARAM_GIVEN(ARGS, has_tail), PARAM_RANGE(0, INT64_MAX)),
    PARAM("since",   STR,  ARGS, since, "lines since a time, or of this long until now", .kind_text = "TIME"),
    PARAM("until",   STR,  ARGS, until, "lines before a time, or from before this long", .kind_text = "TIME"),
    PARAM("level",   CHOICE, ARGS, level, "only lines of this level and above", .choices = "trace|debug|info|warn|error|fatal", .kind_text = "LEVEL", PARAM_GIVEN(ARGS, has_level)),
    PARAM("hook",    CHOICE, ARGS, hook, "only lines of this hook", .choices = HOOK_CHOICES, .kind_text = "HOOK", PARAM_GIVEN(ARGS, has_hook)),
    PARAM("no-hook", BOOL, ARGS, no_hook, "hide lines of hooks"),
    PARAM("raw",     BOOL, ARGS, raw, "print lines exactly as services wrote them", .aliases = "no-prefix"),
    PARAM("json",    BOOL, ARGS, json, "print lines as JSON objects"),
    PARAM("filter",  STR,  ARGS, filter, "only lines that match, see below", .aliases = "F", .kind_text = "EXPRESSION"),
    PARAM("sql",     BOOL, ARGS, sql, "the EXPRESSION of -F is a WHERE clause in SQL, see below"),
    PARAM("file",    STRS, ARGS, files, "the config (kepler.yaml, else kepler.yml), or, if there is no such file, --follow SERVICE", .kind_text = "FILE", .aliases = "f", .flags = PARAM_BARE),
    PARAM("verbose", BOOL, ARGS, globals.verbose, "print more details", .aliases = "v"),
    PARAM("quiet",   BOOL, ARGS, globals.quiet, "print errors only", .aliases = "q"),
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

/* --- words of the line ------------------------------------------------------------------------ */

/* Could it be the name of a service, and is it not that of a file? */
static bool is_followed_service(const char *word)
{
    struct fs_info info;
    struct err ignored;

    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
        return false;
    return fs_stat(word, &info, &ignored) == 0 && (info.kind == FS_NONE || info.kind == FS_FOLDER);
}

/* -f is the config. In other tools it follows: without a value, and before the name of a service.
 */
static void sort_files(struct arena *arena, struct logs_args *args, struct param_strs *services)
{
    VEC(const char *) names = VEC_INIT;

    for (size_t i = 0; i < services->n; i++)
        VEC_PUSH_IN(arena, &names, services->p[i]);
    for (size_t i = 0; i < args->files.n; i++) {
        const char *word = args->files.p[i];

        if (!is_followed_service(word)) {
            args->globals.file = word;
            continue;
        }
        args->follow = true;
        if (word[0])
            VEC_PUSH_IN(arena, &names, word);
    }
    *services = (struct param_strs){ names.n, names.p };
}

/* As log lines show it: in local time, unless it says otherwise. */
static int64_t read_zone(struct str text, int64_t seconds)
{
    const time_t utc = (time_t)seconds;
    const size_t day = strlen("2024-02-29");
    struct tm tm;

    if (text.n > day &&
        (memchr(text.p + day, 'Z', text.n - day) || memchr(text.p + day, '+', text.n - day) ||
         memchr(text.p + day, '-', text.n - day)))
        return seconds;
    if (!gmtime_r(&utc, &tm))
        return seconds;
    tm.tm_isdst = -1;
    return mktime(&tm);
}

/* "10m", or a time. 0: not given. */
static int read_bound(struct cli *cli, const char *option, const char *text, int64_t *ret)
{
    const int64_t now = clock_wall();
    struct value v;
    int64_t age;
    struct err err;

    *ret = 0;
    if (!text)
        return 0;
    if (number_parse_duration(str_from(text), &age, &err) == 0 && age >= 0) {
        *ret = age < now ? now - age : 1;
        return 0;
    }
    if (!scalar_parse_time(str_from(text), &v))
        return cli_usage(cli,
                         "%s '%s': expected a duration such as 10m, or a time such as "
                         "\"2024-02-29 12:00:00\"",
                         option, text);
    *ret = read_zone(str_from(text), v.t.seconds) * CLOCK_SECOND + v.t.nanoseconds;
    return 0;
}

static const char *find_logs_conflict(const struct logs_args *args)
{
    if (args->sql && !args->filter)
        return "--sql requires -F: the clause is its EXPRESSION";
    if (args->has_head && args->has_tail)
        return "--head and --tail are mutually exclusive";
    if (args->follow && args->until)
        return "--follow and --until are mutually exclusive";
    if (args->has_hook && args->no_hook)
        return "--hook and --no-hook are mutually exclusive";
    if (args->raw && args->json)
        return "--raw and --json are mutually exclusive";
    return NULL;
}

static int show_logs(struct cli *cli, const struct logs_args *args, struct param_strs services)
{
    struct request_logs logs = {
        .services = services,
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
    status = read_bound(cli, "--since", args->since, &logs.since);
    if (status == 0)
        status = read_bound(cli, "--until", args->until, &logs.until);
    if (status != 0)
        return status;
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

static int run_logs(struct cli *cli, const void *raw, struct param_strs operands)
{
    struct logs_args args = *(const struct logs_args *)raw;

    sort_files(cli->arena, &args, &operands);
    return show_logs(cli, &args, operands);
}

const struct command kepler_command_logs = {
    .name = "logs",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show logs of services and their hooks",
    .details =
        "A line is shown as 'TIME [LEVEL] SERVICE.HOOK | text'. Lines of a config that is not\n"
        "loaded can be read too. --head and --tail apply after the other filters.\n"
        "--follow runs until Ctrl+C, or until the config is unloaded or the daemon ends. As in\n"
        "other tools, -f alone and -f SERVICE follow, if there is no file of that name.\n"
        "\n"
        "A TIME is a duration before now (10m, 2h), or a moment (\"2024-02-29 12:00:00\"): in "
        "local\n"
        "time, as in the output, unless it ends with Z or an offset.\n"
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
    .examples = "  kepler logs --tail 20 --follow web\n  kepler logs --since 10m -n 100 web\n  "
                "kepler logs --level warn --json | jq .msg\n"
                "  kepler logs -F '@level:>=warn (timeout OR refused) -@service:probe'\n"
                "  kepler logs --sql -F \"level = 'error' AND line LIKE '%timeout%'\"\n",
    .options = options,
    .args_size = sizeof(struct logs_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_logs,
};
