/* zester ssh: functions and states on machines without an agent. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/secret_args.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/answers.h"
#include "commands/cli/fleet/run.h"
#include "commands/cli/fleet/secrets.h"
#include "commands/cli/fleet/revert.h"
#include "commands/cli/fleet/words.h"
#include "commands/cli/shared/interrupt.h"
#include "commands/cli/fleet/ssh/round.h"
#include "commands/cli/shared/table.h"
#include "core/data/yaml.h"
#include "states/local/perform.h"
#include "states/local/session.h"
#include "fleet/ssh/call.h"
#include "fleet/ssh/tree_files.h"
#include "fleet/ssh/roster.h"
#include "fleet/ssh/settings.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/program.h"

#define CONFIG_MAX ((size_t)4 << 20)

struct ssh_args {
    const char *roster, *config, *states_dir, *settings_dir;
    bool test, preview, clean, revert_on_failure, detailed;
    int64_t parallel, timeout;
    bool has_timeout;
    enum fleet_format format;
    struct fleet_output output;
    struct param_strs secrets;
};

#define ARGS struct ssh_args

/* clang-format off */
static const struct param ssh_options[] = {
    PARAM("roster", STR, ARGS, roster, "the machines, and how ssh reaches them", .default_text = SSH_ROSTER_FILE, .kind_text = "FILE"),
    PARAM("test", BOOL, ARGS, test, "dry run: report what would change, change nothing"),
    PARAM("preview", BOOL, ARGS, preview, "only show which machines match"),
    PARAM("clean", BOOL, ARGS, clean, "remove the copy of zester and of the states from the machines; undo data stays"),
    PARAM("parallel", INT, ARGS, parallel, "at most this many machines at once", .default_text = "20", PARAM_RANGE(1, 1000), .kind_text = "N"),
    PARAM("timeout", DURATION, ARGS, timeout, "end the run on each machine after this time; states: 5m, a highstate: 10m, anything else", .default_text = "60s", PARAM_GIVEN(ARGS, has_timeout), PARAM_RANGE(CLOCK_MS, 7 * 86400 * CLOCK_SECOND)),
    PARAM("revert-on-failure", BOOL, ARGS, revert_on_failure, "states: each machine where one fails reverts what the run has changed there"),
    COMMAND_DETAILED_OPTION(ARGS, detailed),
    PARAM("states-dir", STR, ARGS, states_dir, "the folder of state files (/srv/zester/states, else /srv/salt)", .kind_text = "DIR", .aliases = "file-root"),
    PARAM("settings-dir", STR, ARGS, settings_dir, "the folder of settings files (/srv/zester/settings, else /srv/pillar)", .kind_text = "DIR", .aliases = "pillar-root"),
    FLEET_SECRET_OPTIONS(ARGS, secrets),
    PARAM("config", STR, ARGS, config, "for N@: a configuration with 'nodegroups' (" FLEET_CONFIG ")", .kind_text = "FILE"),
    PARAM("format", CHOICE, ARGS, format, "output format", .choices = "text|json|yaml", .default_text = "text", .aliases = "output,o"),
    FLEET_OUTPUT_OPTIONS(ARGS, output),
    { 0 },
};
/* clang-format on */

/* --- files ------------------------------------------------------------------------------- */

/* It names commands and keys that we use, so others must not be able to write to it. */
static int read_guarded(struct arena *arena, const char *path, struct str *ret_text,
                        struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;

    if (fs_open(path, &fd, &info, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND,
                       "roster '%s' does not exist: create it, or name another with --roster",
                       path);
    if ((info.uid != 0 && info.uid != geteuid()) || (info.mode & 022) != 0)
        return err_set(
            err, ERR_UNSAFE,
            "'%s' must be owned by you or root, and writable only by its owner (chmod go-w)", path);
    return fs_read_fd(arena, fd, path, SSH_ROSTER_SIZE_MAX, ret_text, err);
}

/* Names for targets, if the target has one. */
static int read_fact_groups(struct cli *cli, const struct ssh_args *args, const char *target,
                            const struct value **ret_groups)
{
    const char *path = args->config ? args->config : FLEET_CONFIG;
    struct diags diags = DIAGS_INIT(cli->arena);
    struct value *doc = ARENA_NEW(cli->arena, struct value);
    struct str text;
    struct err err;

    *ret_groups = NULL;
    if (!strstr(target, "N@"))
        return CLI_OK;
    if (fs_read(cli->arena, path, CONFIG_MAX, &text, &err) < 0)
        return cli_err(cli, &err);
    if (!text.p && args->config)
        return cli_error(cli, "configuration '%s' does not exist", path);
    if (text.p && yaml_parse(cli->arena, path, text, NULL, doc, &diags) < 0)
        return cli_diags(cli, &diags);
    *ret_groups = value_get(doc, "nodegroups");
    return CLI_OK;
}

static int read_machines(struct cli *cli, const struct ssh_args *args, const char *target,
                         struct ssh_machines *ret)
{
    struct diags diags = DIAGS_INIT(cli->arena);
    const struct value *groups;
    struct ssh_machines all;
    struct str text;
    struct err err;

    if (read_fact_groups(cli, args, target, &groups) != CLI_OK)
        return CLI_ERROR;
    if (read_guarded(cli->arena, args->roster, &text, &err) < 0)
        return cli_err(cli, &err);
    if (ssh_roster_parse(cli->arena, args->roster, text, &all, &diags) < 0)
        return cli_diags(cli, &diags);
    if (ssh_roster_find(cli->arena, &all, target, groups, ret, &err) < 0)
        return cli_err(cli, &err);
    if (ret->list.n > 0)
        return CLI_OK;
    if (all.list.n == 0)
        return cli_error(cli,
                         "roster '%s' names no machine; add a line such as 'web-01: 192.0.2.7'",
                         args->roster);
    (void)fprintf(stderr, "No machine of the roster matched the target expression.\n");
    return FLEET_NO_TARGET;
}

static bool is_tree_folder(const char *path)
{
    struct fs_info info;
    struct err ignored;

    return fs_stat(path, &info, &ignored) == 0 && info.kind == FS_FOLDER;
}

static int open_ssh_settings(struct cli *cli, const struct ssh_args *args,
                             struct ssh_question *question)
{
    const char *folder = session_find_settings(args->settings_dir);
    struct ssh_settings *settings = ARENA_NEW(cli->arena, struct ssh_settings);
    struct err err;

    if (!is_tree_folder(folder))
        return args->settings_dir
                   ? cli_error(cli, "the folder of settings '%s' does not exist", folder)
                   : CLI_OK;
    if (ssh_settings_open(cli->arena, folder, settings, &err) < 0)
        return cli_err(cli, &err);
    question->settings = settings;
    return CLI_OK;
}

static int read_states(struct cli *cli, const struct ssh_args *args, bool is_needed,
                       struct ssh_question *question)
{
    const char *folder = session_find_states(args->states_dir);
    struct ssh_tree *tree = ARENA_NEW(cli->arena, struct ssh_tree);
    struct err err;

    if (!is_tree_folder(folder))
        return is_needed || args->states_dir
                   ? cli_error(cli, "the folder of states '%s' does not exist (--states-dir DIR)",
                               folder)
                   : CLI_OK;
    if (ssh_tree_open(cli->arena, folder, tree, &err) < 0)
        return cli_err(cli, &err);
    question->tree = tree;
    return CLI_OK;
}

/* Functions that only answer need neither, so that mistakes there do not matter. */
static int read_trees(struct cli *cli, const struct ssh_args *args, const char *function,
                      struct ssh_question *question)
{
    const enum perform_class class = perform_class(function);
    const struct str name = str_from(function);

    if ((class != PERFORM_QUICK || str_starts(name, STR("settings.")) ||
         str_starts(name, STR("pillar."))) &&
        open_ssh_settings(cli, args, question) != CLI_OK)
        return CLI_ERROR;
    return class == PERFORM_QUICK
               ? CLI_OK
               : read_states(cli, args, class == PERFORM_STATES || class == PERFORM_SHOW, question);
}

/* --- the command --------------------------------------------------------------------------- */

/* Completion reads the table. */
static int print_machines(struct cli *cli, const struct ssh_args *args,
                          const struct ssh_machines *machines)
{
    static const char *const heads[] = { "MACHINE", "HOST" };
    const struct value names = value_list(value_list_new(cli->arena, machines->list.n));
    struct table table = TABLE_INIT(cli->arena, heads);

    VEC_EACH (&machines->list, machine) {
        const char **row = table_add(&table);

        row[0] = machine->name;
        row[1] = machine->host;
        value_list_push(cli->arena, names.list, value_text(machine->name));
    }
    return args->format == FLEET_TEXT ? table_print(&table)
                                      : fleet_print(cli, args->format, &names);
}

static int read_ssh_request(struct cli *cli, const struct ssh_args *args,
                            struct param_strs operands, struct exec_request *ret)
{
    struct fleet_words words;

    *ret = (struct exec_request){ .v = EXEC_PROTOCOL, .jid = "", .module = "", .id = "" };
    if (args->clean)
        return operands.n == 1 ? CLI_OK : cli_usage(cli, "--clean takes only a target");
    if (operands.n < 2)
        return cli_usage(cli, "missing FUNCTION");
    if (fleet_words_read(cli, (struct param_strs){ operands.n - 2, operands.p + 2 }, operands.p[1],
                         &words) != CLI_OK)
        return CLI_ERROR;
    if (args->secrets.n == 0 && fleet_words_missing(&words))
        return cli_usage(cli, "%s requires a %s argument", words.function,
                         fleet_words_missing(&words)->name);
    if (perform_class(words.function) == PERFORM_UNKNOWN)
        return cli_error(cli, "%s", perform_unknown(cli->arena, words.function));
    if (args->revert_on_failure && fleet_words_revert_on_failure(cli, &words) != CLI_OK)
        return CLI_ERROR;
    if (fleet_revert_read(cli, &words) != CLI_OK)
        return CLI_ERROR;
    if (args->detailed && fleet_words_detailed(cli, &words, NULL) != CLI_OK)
        return CLI_ERROR;
    if (args->test)
        fleet_words_set(cli, &words, "test");
    ret->module = words.function;
    ret->id = words.id;
    ret->args = words.args;
    ret->plan = ret->window = "";
    ret->user = fleet_user(cli->arena);
    ret->timeout = args->has_timeout ? args->timeout : fleet_words_timeout(&words, args->timeout);
    return CLI_OK;
}

/* Secrets are asked for last, when everything else is right. */
static int read_ssh_secrets(struct cli *cli, const struct ssh_args *args,
                            struct exec_request *request)
{
    AUTO_ARENA struct arena whole = ARENA_INIT;
    struct value all;
    struct err err;

    if (fleet_secrets_read(cli->arena, &args->secrets, &request->secret_args, &err) < 0 ||
        exec_lay_secrets(&whole, &request->args, &request->secret_args, &all, &err) < 0)
        return cli_err(cli, &err);
    return CLI_OK;
}

static int ask_machines(struct cli *cli, const struct ssh_args *args,
                        const struct ssh_machines *machines, struct ssh_question *question)
{
    const struct ssh_round round = { .question = question,
                                     .machines = machines,
                                     .parallel = (unsigned)args->parallel,
                                     .clean = args->clean };
    const struct fleet_run how = { .format = args->format, .output = args->output };
    const int64_t began = clock_now();
    struct fleet_answers_style style;
    struct fleet_answers answers;
    struct cancel cancel;
    struct err err;
    int rc;

    if (fleet_run_style(cli, &how, question->request->module, &style) != CLI_OK)
        return CLI_ERROR;
    if (cancel_init(&cancel, &err) < 0)
        return cli_err(cli, &err);
    question->cancel = &cancel;
    interrupt_watch(&cancel, 0);
    fd_limit_raise();
    rc = ssh_round_run(cli->arena, &round, &answers, &err);
    interrupt_forget();
    cancel_done(&cancel);
    style.took = clock_now() - began;
    return rc < 0 ? cli_err(cli, &err) : fleet_answers_print(cli, &answers, &style);
}

static int run_ssh(struct cli *cli, const void *options, struct param_strs operands)
{
    const struct ssh_args *args = options;
    struct exec_request request;
    struct ssh_question question = { .ssh = program_find(cli->arena, "ssh"), .request = &request };
    struct ssh_machines machines;
    int status;

    if (args->detailed && (args->preview || args->clean))
        return cli_usage(cli, "--detailed-exitcode is about results: leave out %s",
                         args->preview ? "--preview" : "--clean");
    if (!args->preview || operands.n > 1 || args->clean)
        status = read_ssh_request(cli, args, operands, &request);
    else
        status = CLI_OK;
    if (status == CLI_OK)
        status = read_machines(cli, args, operands.p[0], &machines);
    if (status != CLI_OK || args->preview)
        return status != CLI_OK ? status : print_machines(cli, args, &machines);
    if (!args->clean &&
        fleet_revert_ask(cli, request.module, request.id, &request.args, machines.list.n) != CLI_OK)
        return CLI_ERROR;
    if (!question.ssh)
        return cli_error(cli, "ssh is not installed (apt install openssh-client)");
    if (!args->clean && (read_trees(cli, args, request.module, &question) != CLI_OK ||
                         read_ssh_secrets(cli, args, &request) != CLI_OK))
        return CLI_ERROR;
    status = ask_machines(cli, args, &machines, &question);
    secret_args_wipe(&request.secret_args);
    if (question.tree) {
        struct ssh_tree tree = *question.tree;

        ssh_tree_close(&tree);
    }
    return status;
}

const struct command command_ssh = {
    .name = "ssh",
    .operands = "TARGET [FUNCTION] [WORD] [KEY=VALUE...]",
    .summary = "run a function or a state on machines without an agent, over ssh",
    .details =
        "TARGET selects machines of the roster by name, and by the facts that it gives them.\n"
        "A roster is a file in YAML:\n"
        "\n"
        "  web-01: 192.0.2.7\n"
        "  db-01: {host: db.example.com, user: deploy, identity: ~/.ssh/db, sudo: true,\n"
        "          facts: {roles: [db]}}\n"
        "\n"
        "No bus and no master is needed. zester is copied to ~/.cache/zester-ssh there once, the\n"
        "states when they change; settings are rendered here, and a machine gets its own alone.\n"
        "Host keys are always checked, and keys are the only way to log in.\n",
    .examples = "  zester ssh '*' test.ping\n"
                "  zester ssh 'web*' state.apply nginx --test\n"
                "  zester ssh 'G@roles:db' state.highstate --parallel 5\n"
                "  zester ssh web-01 state.revert nginx\n"
                "  zester ssh db-01 cmd.run 'psql -f /root/new.sql' --secret env.PGPASSWORD\n"
                "  zester ssh '*' --clean\n",
    .statuses =
        "0 success; 1 wrong usage, or a mistake in a file; 2 a machine failed; 3 a machine\n"
        "was not reached; 4 both; 5 no machine matched. With --detailed-exitcode: 0 nothing\n"
        "changed; 2 something changed, or would change with --test; 1 anything else",
    .options = ssh_options,
    .args_size = sizeof(ARGS),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_ssh,
    .lookup = "ssh '*' --preview",
};
