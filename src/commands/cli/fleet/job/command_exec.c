/* zester TARGET FUNCTION: runs a function on peels and shows the results. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/secret_args.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/local/commands.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/direct.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/revert.h"
#include "commands/cli/fleet/run.h"
#include "commands/cli/fleet/secrets.h"
#include "commands/cli/fleet/selection.h"
#include "commands/cli/fleet/words.h"
#include "core/data/options.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/peel_id.h"

/* For a master that does not answer: the results are shown by then. */
#define AUDIT_NS CLOCK_SECOND

struct exec_args {
    struct fleet_options fleet;
    struct fleet_output output;
    bool direct, test, async, preview, revert_on_failure, detailed;
    struct fleet_limits limits;
    struct fleet_batch batch;
    struct fleet_selection_args select;
    int64_t queue, subset;
    struct param_strs secrets;
};

#define ARGS struct exec_args

/* clang-format off */
static const struct param exec_options[] = {
    PARAM("test", BOOL, ARGS, test, "dry run: report what would change, change nothing"),
    PARAM("async", BOOL, ARGS, async, "print the id of the job and do not wait"),
    PARAM("preview", BOOL, ARGS, preview, "only show which peels match"),
    FLEET_SELECTION_OPTIONS(ARGS, select),
    PARAM("subset", INT, ARGS, subset, "run on this many of them, picked at random", PARAM_RANGE(1, 1000000), .kind_text = "N"),
    FLEET_BATCH_OPTIONS(ARGS, batch),
    PARAM("revert-on-failure", BOOL, ARGS, revert_on_failure, "states: each peel where one fails reverts what the run has changed there"),
    COMMAND_DETAILED_OPTION(ARGS, detailed),
    PARAM("queue", DURATION, ARGS, queue, "queue the job this long for peels that are offline or outside their maintenance windows", PARAM_RANGE(CLOCK_SECOND, JOB_QUEUE_MAX * CLOCK_SECOND)),
    FLEET_LIMIT_OPTIONS(ARGS, limits),
    FLEET_SECRET_OPTIONS(ARGS, secrets),
    PARAM("direct", BOOL, ARGS, direct, "query the peels directly: no job, no record, no master"),
    FLEET_LINK_OPTIONS(ARGS, fleet, FLEET_TIMEOUT),
    FLEET_FORMAT_OPTION(ARGS, fleet, .aliases = "output,out,o"),
    FLEET_OUTPUT_OPTIONS(ARGS, output),
    OPTION_FOREIGN("compound",    STR, "write it as the target: 'G@os:Debian and web*'", .aliases = "C"),
    OPTION_FOREIGN("grain",       STR, "write it as the target: 'G@os:Debian'", .aliases = "G"),
    OPTION_FOREIGN("grain-pcre",  STR, "write it as the target: 'P@os:Deb.*'", .aliases = "P"),
    OPTION_FOREIGN("pcre",        STR, "write it as the target: 'E@web-0[1-3]'", .aliases = "E"),
    OPTION_FOREIGN("list",        STR, "write it as the target: 'L@web-01,web-02'", .aliases = "L"),
    OPTION_FOREIGN("pillar",      STR, "write it as the target: 'I@role:web'", .aliases = "I"),
    OPTION_FOREIGN("pillar-pcre", STR, "write it as the target: 'J@role:w.b'", .aliases = "J"),
    OPTION_FOREIGN("nodegroup",   STR, "write it as the target: 'N@group'", .aliases = "N"),
    OPTION_FOREIGN("ipcidr",      STR, "write it as the target: 'S@10.0.0.0/8'", .aliases = "S"),
    OPTION_FOREIGN("batch-size",  STR, "did you mean '--batch'?", .aliases = "b"),
    OPTION_FOREIGN("limit",       STR, "did you mean '--subset', or a target such as 'web* and not web-03'?"),
    OPTION_FOREIGN("all",         BOOL, "write it as an argument of state.revert: 'all=True'"),
    OPTION_FOREIGN("since",       STR, "write it as an argument of state.revert: 'since=2h'"),
    OPTION_FOREIGN("to",          STR, "write it as an argument of state.revert: 'to=RUN-ID'"),
    OPTION_FOREIGN("force",       BOOL, "write it as an argument of state.revert: 'force=True'"),
    OPTION_FOREIGN("yes",         BOOL, "write it as an argument of state.revert: 'yes=True'", .aliases = "y"),
    OPTION_FOREIGN("check",       BOOL, "did you mean '--test'?"),
    OPTION_FOREIGN("module-name", STR, "write the function after the target: zester TARGET cmd.run 'uptime'", .aliases = "m"),
    OPTION_FOREIGN("args",        STR, "write arguments after the function: zester TARGET cmd.run 'uptime'", .aliases = "a"),
    OPTION_FOREIGN("accept-all",  BOOL, "did you mean 'zester enroll approve --all-pending'?", .aliases = "A"),
    OPTION_FOREIGN("list-all",    BOOL, "did you mean 'zester enroll list'?"),
    COMMAND_FOREIGN_OPTIONS,
    { 0 },
};
/* clang-format on */

/* --- what to send ------------------------------------------------------------------- */

static int64_t find_timeout(const struct exec_args *args, const struct fleet_words *words)
{
    if (args->fleet.has_timeout)
        return args->fleet.timeout;
    if (args->limits.node_timeout > 0)
        return fleet_limits_timeout(&args->limits);
    return fleet_words_timeout(words, args->fleet.timeout);
}

/* --- running ------------------------------------------------------------------------ */

static int print_preview(struct cli *cli, const struct exec_args *args,
                         const struct param_strs *peels)
{
    struct value_list *list = value_list_new(cli->arena, peels->n);
    struct value all = value_list(list);

    for (size_t i = 0; i < peels->n; i++) {
        const char *name = peel_id_name(cli->arena, peels->p[i]);

        if (args->fleet.format == FLEET_TEXT)
            (void)printf("%s\n", name);
        value_list_push(cli->arena, list, value_text(name));
    }
    return args->fleet.format == FLEET_TEXT ? CLI_OK : fleet_print(cli, args->fleet.format, &all);
}

/* Picks `count` targets at random, in their order. */
static struct param_strs pick_subset(struct arena *arena, struct param_strs peels, size_t count)
{
    const char **picked = ARENA_ARRAY(arena, const char *, count);
    size_t n = 0;

    for (size_t i = 0; i < peels.n && n < count; i++)
        if (chance_number() % (peels.n - i) < count - n)
            picked[n++] = peels.p[i];
    return (struct param_strs){ n, picked };
}

/* --- direct ------------------------------------------------------------------------- */

/* How many succeeded, for the audit. */
static const char *describe_answers(struct arena *arena, const struct fleet_answers *answers)
{
    size_t succeeded = 0, silent = 0;

    for (size_t i = 0; i < answers->count; i++) {
        succeeded += answers->list[i].success;
        silent += answers->list[i].is_unreachable;
    }
    return arena_printf(arena, "%zu of %zu succeeded, %zu did not answer", succeeded,
                        answers->count, silent);
}

/* The peels are asked at once, and what they say is shown at once: nothing waits for the audit but
 * the end of the command. One that is killed meanwhile has been announced. */
static int run_direct(struct cli *cli, struct fleet *fleet, const struct exec_args *args,
                      const struct fleet_run *how, const struct job *job,
                      const struct value *secrets)
{
    const struct fleet_question question = { .function = job->function,
                                             .id = job->state_id,
                                             .args = job->args,
                                             .peels = job->targets,
                                             .timeout = job->timeout,
                                             .window = args->limits.force_window ? EXEC_WINDOW_FORCE
                                                                                 : NULL,
                                             .node_timeout = args->limits.node_timeout,
                                             .user = job->user,
                                             .secrets = *secrets };
    struct audit_notice notice = { .act = AUDIT_DIRECT,
                                   .function = job->function,
                                   .target = job->target_expr,
                                   .peels = (uint32_t)job->targets.n };
    struct fleet_notice *sent = ARENA_ARRAY(cli->arena, struct fleet_notice, 2);
    const int64_t began = clock_now();
    struct fleet_answers_style style;
    struct fleet_answers answers;
    struct err err;
    int status;

    if (fleet_run_style(cli, how, job->function, &style) != CLI_OK)
        return CLI_ERROR;
    fleet_notice_send(cli, fleet, &notice, AUDIT_NS, &sent[0]);
    if (fleet_ask_peels(fleet, &question, &answers, &err) < 0)
        return cli_err(cli, &err);
    style.took = clock_now() - began;
    status = fleet_answers_print(cli, &answers, &style);
    (void)fflush(stdout);
    notice.act = AUDIT_DIRECT_END;
    notice.outcome = describe_answers(cli->arena, &answers);
    fleet_notice_send(cli, fleet, &notice, AUDIT_NS, &sent[1]);
    fleet_notices_wait(fleet, sent, 2);
    return status;
}

/* --- the command -------------------------------------------------------------------- */

/* Input from files and from the terminal. */
struct exec_wish {
    struct fleet_selection selection;
    struct value secrets; /* a map; null: none */
};

/* Names that a peel would refuse are refused here. */
static int read_exec_secrets(struct arena *arena, const struct exec_args *args,
                             const struct job *job, struct value *ret, struct err *err)
{
    AUTO_ARENA struct arena whole = ARENA_INIT;
    struct value all;

    *ret = value_null();
    if (args->preview)
        return 0;
    if (fleet_secrets_read(arena, &args->secrets, ret, err) < 0)
        return -1;
    return exec_lay_secrets(&whole, &job->args, ret, &all, err);
}

static int run_on(struct cli *cli, const struct exec_args *args, const struct exec_wish *wish,
                  struct job *job)
{
    struct fleet *fleet = cli->fleet;
    const struct fleet_run how = { .format = args->fleet.format,
                                   .async = args->async,
                                   .output = args->output,
                                   .batch = args->batch };
    struct err err;

    if (fleet_resolve(fleet, job->target_expr, &job->targets, &err) < 0 ||
        fleet_select(fleet, &wish->selection, &job->targets, &err) < 0)
        return cli_err(cli, &err);
    job->target_expr = fleet_selection_text(cli->arena, job->target_expr, &args->select);
    if (job->targets.n == 0) {
        (void)fprintf(stderr, "No peels matched the target expression.\n");
        return FLEET_NO_TARGET;
    }
    if (args->subset > 0 && (size_t)args->subset < job->targets.n)
        job->targets = pick_subset(cli->arena, job->targets, (size_t)args->subset);
    if (args->preview)
        return print_preview(cli, args, &job->targets);
    if (fleet_revert_ask(cli, job->function, job->state_id, &job->args, job->targets.n) != CLI_OK)
        return CLI_ERROR;
    if (args->queue > 0)
        fleet_note_queue(cli->arena, job, args->queue);
    fleet_note_limits(cli->arena, job, &args->limits);
    if (args->direct)
        return run_direct(cli, fleet, args, &how, job, &wish->secrets);
    if (fleet_secrets_seal(fleet, &wish->secrets, job, &err) < 0)
        return cli_err(cli, &err);
    return fleet_run_job(cli, fleet, job, &how);
}

static int run_exec(struct cli *cli, const void *options, struct param_strs operands)
{
    const struct exec_args *args = options;
    struct job job = { .jid = "",
                       .function = operands.p[1],
                       .user = fleet_user(cli->arena),
                       .owner = "",
                       .state_id = "",
                       .target_expr = operands.p[0],
                       .v = EXEC_PROTOCOL };
    struct exec_wish wish;
    struct fleet_words words;
    struct err err;
    int status;

    if (fleet_words_read(cli, (struct param_strs){ operands.n - 2, operands.p + 2 }, job.function,
                         &words) != CLI_OK)
        return CLI_ERROR;
    if (args->secrets.n == 0 && fleet_words_missing(&words))
        return cli_usage(cli, "%s requires a %s argument", job.function,
                         fleet_words_missing(&words)->name);
    if (fleet_revert_read(cli, &words) != CLI_OK)
        return CLI_ERROR;
    if (args->fleet.has_timeout && args->limits.node_timeout > args->fleet.timeout)
        return cli_usage(cli, "--node-timeout is longer than --timeout, the time of the whole job");
    if (args->direct && args->queue > 0)
        return cli_usage(cli, "--queue requires a job: leave out --direct");
    if (args->direct && fleet_batch_option(&args->batch))
        return cli_usage(cli, "%s requires a job: leave out --direct",
                         fleet_batch_option(&args->batch));
    if (args->revert_on_failure && fleet_words_revert_on_failure(cli, &words) != CLI_OK)
        return CLI_ERROR;
    if (args->detailed && fleet_words_detailed(cli, &words,
                                               args->async     ? "--async"
                                               : args->preview ? "--preview"
                                                               : NULL) != CLI_OK)
        return CLI_ERROR;
    if (args->batch.rollout.revert == FLEET_REVERT_MACHINE)
        fleet_words_set(cli, &words, "revert_on_failure");
    if (args->test)
        fleet_words_set(cli, &words, "test");
    job.state_id = words.id;
    job.args = words.args;
    job.timeout = find_timeout(args, &words);
    if (fleet_check_target(cli->arena, job.target_expr, &err) < 0 ||
        fleet_selection_read(cli->arena, &args->select, &wish.selection, &err) < 0 ||
        read_exec_secrets(cli->arena, args, &job, &wish.secrets, &err) < 0)
        return cli_err(cli, &err);
    status = fleet_attach(cli, &args->fleet);
    if (status == CLI_OK)
        status = run_on(cli, args, &wish, &job);
    secret_args_wipe(&wish.secrets);
    return status;
}

const struct command command_exec = {
    .name = "",
    .operands = "TARGET FUNCTION [WORD...] [KEY=VALUE...]",
    .lookup = "peel list",
    .ref_functions = local_add_ref_functions,
    .ref_lookup = "--local --states-dir /var/lib/zester/states cp.list_states", /* of a master */
    .summary = "run a function or a state on the peels of a fleet",
    .details =
        "TARGET selects peels: a glob on their IDs, or an expression with G@fact:value,\n"
        "I@setting:value, E@regex, L@a,b and 'and', 'or', 'not', parentheses.\n"
        "'zester doc' lists functions.\n"
        "\n"
        "--secret gives the function an argument that is neither stored nor shown in clear:\n"
        "NAME is typed in (or a line of standard input), NAME=@FILE the content of a file,\n"
        "NAME=env:VARIABLE a variable. 'env.PASSWORD' is a key of the argument 'env'.\n",
    .examples = "  zester '*' test.ping\n"
                "  zester 'web*' cmd.run 'uptime'\n"
                "  zester 'G@os.family:debian and not db*' state.apply nginx --test\n"
                "  zester '*' state.highstate --batch 20% --max-failures 2\n"
                "  zester 'web*' state.apply app --batch 2 --revert-on-failure\n"
                "  zester 'web*' state.apply nginx --subset 2\n"
                "  zester 'web*' state.apply nginx --exclude web-03 --exclude-file broken.txt\n"
                "  zester '*' test.ping --target-file rack-12.txt --preview\n"
                "  zester 'laptop*' state.apply vpn --queue 8h\n"
                "  zester '*' cmd.run 'apt-get update' --node-timeout 2m\n"
                "  zester 'db*' state.apply kernel --queue 3d    # in their maintenance windows\n"
                "  zester db-01 cmd.run 'psql -f /root/new.sql' --secret env.PGPASSWORD\n"
                "  zester 'db*' state.apply app --secret pillar.db.password=@password.txt\n",
    .statuses =
        "0 success; 1 wrong usage, or no connection; 2 a peel failed; 3 a peel did not respond;\n"
        "4 both; 5 no peel matched. With --detailed-exitcode: 0 nothing changed; 2 something\n"
        "changed, or would change with --test; 1 anything else",
    .options = exec_options,
    .args_size = sizeof(ARGS),
    .least = 2,
    .most = COMMAND_MANY,
    .run = run_exec,
};
