/* zester --local: states and modules on this machine. */
#include "commands/cli/local/commands.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "core/data/options.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/interrupt.h"
#include "commands/cli/local/local.h"
#include "commands/cli/shared/progress.h"
#include "states/local/agent.h"
#include "states/local/functions.h"
#include "states/local/verb.h"
#include "states/state/module.h"
#include "states/state/outcome.h"
#include "states/compile/plan.h"
#include "states/compile/tree.h"
#include "states/compile/unsupported.h"
#include "states/run/plan_binding.h"
#include "states/run/fallback.h"
#include "states/run/lastrun.h"
#include "states/run/run.h"
#include "core/sys/fd.h"

#define ARGS        struct local_args
#define OWN(member) member

/* clang-format off */
static const struct param options[] = {
    PARAM("local",        BOOL,     ARGS, local, "work on this machine, without a master"),
    PARAM("states-dir",   STR,      ARGS, session.states_dir, "the folder of state files (/srv/zester/states, else /srv/salt)", .kind_text = "DIR", .aliases = "file-root"),
    PARAM("settings-dir", STR,      ARGS, session.settings_dir, "the folder of settings files (/srv/zester/settings, else /srv/pillar)", .kind_text = "DIR", .aliases = "pillar-root"),
    PARAM("data-dir",     STR,      ARGS, session.data_dir, "the folder for undo data (/var/lib/zester; ~/.local/state/zester for users other than root)", .kind_text = "DIR"),
    PARAM("id",           STR,      ARGS, session.id, "the name of this machine (default: its host name)", .kind_text = "NAME"),
    PARAM("environment",  STR,      ARGS, session.environment, "use only this environment of the top files (default: all, in order)", .kind_text = "NAME", .aliases = "saltenv"),
    LOCAL_RUN_OPTIONS(ARGS, OWN),
    OPTION_FOREIGN("check", BOOL, "did you mean '--test'?", .aliases = "C"),
    OPTION_FOREIGN("verbose", BOOL, "'--state-output full' shows everything", .aliases = "v"),
    COMMAND_FOREIGN_OPTIONS,
    { 0 },
};
/* clang-format on */

/* --- running -------------------------------------------------------------------------- */

int local_run_plan(struct local *local, const struct plan *plan, struct run_result *result)
{
    struct progress progress;
    struct plan_binding plan_binding;
    struct err err;
    int rc;

    local->session.host.plans = local->args->plan || local->args->format != FORMAT_TEXT;
    if (local->args->plan && local_bind(local, plan, &plan_binding) < 0)
        return local_refuse(local);
    progress_init(&progress, !local->args->quiet && local->args->format == FORMAT_TEXT);
    rc = run_plan(&local->session.arena, &local->session.host, plan,
                  local->session.host.test ? RUN_TEST : RUN_APPLY, progress_sink(&progress), result,
                  &err);
    progress_done(&progress);
    local->session.host.plan_binding = NULL;
    if (rc < 0)
        return local_refuse_err(local, &err);
    if (local->session.revert_on_failure || local->args->revert_on_failure)
        fallback_revert(&local->session.arena, &local->session.host, result);
    session_open_results(&local->session, &local->session.arena, result);
    return CLI_OK;
}

int local_compile(struct local *local, const struct plan **plan)
{
    AUTO_BUF struct buf warnings = BUF_INIT(LOCAL_OUTPUT_MAX);
    struct diags told;
    int result = compile_wish(&local->session.arena, &local->session.host, &local->wish, plan,
                              &local->diags);

    if (result < 0)
        return -1;
    if (local->session.salt_tree && !local->args->quiet)
        (void)fprintf(stderr, "using the Salt tree %s, since there is no /srv/zester/states\n",
                      tree_root(local->session.tree));
    told = *(*plan)->warnings;
    session_open_paths(&local->session, &told);
    session_mask_diags(&local->session, &told);
    diags_print(&told, &warnings);
    (void)fputs(buf_text(&warnings), stderr);
    return 0;
}

/* For 'report' and the heartbeats of an agent on this machine. What cannot be stored does not fail
 * a run. */
static void store_last_run(struct local *local, const struct run_result *result)
{
    const struct lastrun_request request = { local->function, local->wish.refs,
                                             local->session.host.test,
                                             local->session.host.secrets };
    struct lastrun run;
    struct err err;

    if (local->wish.id || local->wish.text.p || !local->session.host.data_dir)
        return;
    if (lastrun_keep(local->cli->arena, local->session.host.data_dir, &request, result,
                     !result            ? "nothing ran: mistakes in the states"
                     : result->canceled ? "execution canceled"
                                        : NULL,
                     &run, &err) < 0)
        (void)fprintf(stderr, "warning: the run is not in the next report: %s\n", err.text);
}

static int run_state_apply(struct local *local)
{
    struct run_result result;
    const struct plan *plan;

    if (local_compile(local, &plan) < 0) {
        store_last_run(local, NULL);
        return local_refuse(local);
    }
    if (local_run_plan(local, plan, &result) != CLI_OK)
        return CLI_ERROR;
    store_last_run(local, &result);
    return local_print_result(local, &result);
}

static int run_state_highstate(struct local *local)
{
    if (local->wish.refs.n > 0)
        return cli_usage(local->cli, "state.highstate takes no arguments: it uses the top file");
    return run_state_apply(local);
}

/* Salt's other spelling of a dry run. */
static int run_state_test(struct local *local)
{
    local->session.host.test = true;
    return run_state_apply(local);
}

/* Salt's watch over the events of a master. */
static int state_event(struct local *local)
{
    return cli_error(local->cli,
                     "one machine has no events; 'zester event watch' shows those of a fleet");
}

/* One ID of the references that follow, with its requisites. */
static int run_state_sls_id(struct local *local)
{
    local->wish.id = local_shift(local);
    if (!local->wish.id || local_read_wish(local) < 0)
        return local->wish.id ? local_refuse(local)
                              : cli_usage(local->cli, "state.sls_id requires an ID and references");
    return run_state_apply(local);
}

/* A text instead of references; Salt reads it as a template of a Salt file. */
static int run_state_template_str(struct local *local)
{
    const struct value key = value_text("tem");
    const char *text = value_get_text(&local->given, key.s.p);

    if (text)
        (void)value_map_remove(local->given.map, &key);
    else
        text = local_shift(local);
    if (!text || local->words.n > 0)
        return cli_usage(local->cli, "state.template_str requires one text");
    if (local_read_wish(local) < 0)
        return local_refuse(local);
    local->wish.text = str_from(text);
    return run_state_apply(local);
}

/* --- dispatch ---------------------------------------------------------------------------- */

/* How a function uses the words and pairs after it. */
enum word_use {
    READ_WORDS, /* words, and no pairs */
    READ_WISH,  /* references, and their options */
    READ_LATER, /* read by the function itself */
};

struct local_function {
    int (*run)(struct local *local);
    enum word_use use;
};

/* clang-format off */
static const struct local_function functions[] = {
    [VERB_APPLY]          = { run_state_apply,          READ_WISH },
    [VERB_HIGHSTATE]      = { run_state_highstate,      READ_WISH },
    [VERB_SLS_ID]         = { run_state_sls_id,         READ_LATER },
    [VERB_TEMPLATE_STR]   = { run_state_template_str,   READ_LATER },
    [VERB_TEST]           = { run_state_test,           READ_WISH },
    [VERB_SINGLE]         = { local_single,         READ_LATER },
    [VERB_EVENT]          = { state_event,          READ_LATER },
    [VERB_REVERT]         = { local_revert,             READ_LATER },
    [VERB_SHOW]           = { local_show,           READ_WISH },
    [VERB_SHOW_HIGHSTATE] = { local_show_highstate, READ_WISH },
    [VERB_SHOW_TOP]       = { local_show_top,       READ_WISH },
    [VERB_GRAPH]          = { local_graph,          READ_WISH },
    [VERB_CHECK]          = { local_check,          READ_WISH },
    [VERB_SLS_EXISTS]     = { local_sls_exists,     READ_WISH },
    [VERB_ID_EXISTS]      = { local_id_exists,      READ_LATER },
    [VERB_LAST]           = { local_last,           READ_WORDS },
    [VERB_OWED]           = { local_owed,           READ_WORDS },
    [VERB_WAIVE]          = { local_waive,          READ_WORDS },
    [VERB_RUNS]           = { local_runs,           READ_WORDS },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(functions) == VERB_KINDS, "every verb has a row");

/* Beside the verbs: what the last run came to, as a page. */
#define REPORT "report"
static const struct local_function report = { local_report, READ_WORDS };

void local_add_functions(struct buf *out)
{
    for (const struct verb *verb = verb_table; verb->name; verb++)
        buf_printf(out, " %s", verb->name);
    buf_printf(out, " %s", REPORT);
    module_add_names(out);
}

/* Those with a parameter for references, in front, and the one that reverts their runs. */
void local_add_ref_functions(struct buf *out)
{
    const char *before = "";

    for (const struct verb *verb = verb_table; verb->name; verb++) {
        if (verb->kind != VERB_REVERT && !str_starts(str_from(verb->signature), STR("mods")))
            continue;
        buf_printf(out, "%s%s", before, verb->name);
        before = "|";
    }
}

static const struct local_function *find_local_function(const char *name)
{
    const struct verb *verb = verb_find(name);

    if (strcmp(name, REPORT) == 0)
        return &report;
    return verb ? &functions[verb->kind] : NULL;
}

static int unknown_function(struct local *local)
{
    const struct verb *of_states =
        verb_find(arena_printf(&local->session.arena, "state.%s", local->function));
    const char *reason = functions_reason(&local->session.arena, local->function, &local->words);
    const struct str family =
        str_slice(str_from(local->function), 0, str_find_char(str_from(local->function), '.', 0));
    const char *meant = functions_meant(&local->session.arena, local->function, &local->words);
    struct suggest near;
    struct str best;

    if (reason && !meant) {
        (void)diag_add(&local->diags, (struct place){ 0 }, "'%s' is not supported: %s",
                       local->function, reason);
        return local_refuse(local);
    }
    if (agent_function_find(local->function)) {
        (void)diag_add(&local->diags, (struct place){ 0 }, "'%s' is a function of the agent",
                       local->function);
        diag_hint(&local->diags, "write 'zester PEEL %s', with the name of a machine of the fleet",
                  local->function);
        return local_refuse(local);
    }
    suggest_init(&near, str_from(local->function));
    verb_offer(&near);
    suggest_offer(&near, STR(REPORT));
    for (size_t i = 0; i < module_count; i++)
        suggest_offer(&near, str_from(module_table[i]->name));
    best = suggest_best(&near);
    (void)diag_add(&local->diags, (struct place){ 0 }, "unknown function '%s'", local->function);
    if (meant)
        diag_hint(&local->diags, "did you mean: zester --local %s", meant);
    else if (of_states)
        diag_hint(&local->diags, "did you mean '%s'?", of_states->name);
    else if (module_has_family(family) && strlen(local->function) <= family.n + 1)
        diag_hint(&local->diags, "'zester doc %.*s' lists the functions of this family",
                  STR_ARG(family));
    else if (best.p)
        diag_hint(&local->diags, "did you mean '%.*s'?", STR_ARG(best));
    else
        diag_hint(&local->diags, "'zester doc' lists all modules");
    return local_refuse(local);
}

static int call_own(struct local *local, const struct local_function *function)
{
    if ((function->use == READ_WISH && local_read_wish(local) < 0) ||
        (function->use == READ_WORDS && local_refuse_pairs(local) < 0))
        return local_refuse(local);
    return function->run(local);
}

/* Does the function apply states, so that --plan works with it? */
static bool applies_states(const struct local_function *function, const struct module *module)
{
    if (!function)
        return module && module_applies(module);
    return function->run == run_state_apply || function->run == run_state_highstate ||
           function->run == run_state_sls_id || function->run == run_state_template_str ||
           function->run == local_single;
}

static int open_local_session(struct local *local, enum session_need need)
{
    struct session_options how = local->args->session;
    struct err err;

    if (cancel_init(&local->cancel, &err) < 0)
        return diag_err(&local->diags, (struct place){ 0 }, &err);
    if (local_open_log(local->args->log_level, &how, &local->diags) < 0)
        return -1;
    how.cancel = &local->cancel;
    interrupt_watch(&local->cancel, local->args->timeout);
    fd_limit_raise();
    return session_init(&local->session, &how, need, &local->diags);
}

static bool asks_for_revert(const struct local_args *args)
{
    return args->revert.all || args->revert.since || args->revert.to || args->revert.yes;
}

static int dispatch_function(struct local *local, struct param_strs operands)
{
    const struct local_function *function = find_local_function(local->function);
    const struct verb *verb = verb_find(local->function);
    const struct module *module = module_find(str_from(local->function));
    enum session_need need = verb && verb_needs_tree(verb) ? SESSION_TREE : SESSION_NOTHING;

    if (open_local_session(local, need) < 0 || local_read_words(local, operands) < 0)
        return local_refuse(local);
    if (local->args->plan && (function || module) && !applies_states(function, module))
        return cli_usage(local->cli, "%s cannot be used with --plan: it applies no states",
                         local->function);
    local->session.host.function = local->function;
    if (asks_for_revert(local->args) && (!verb || verb->kind != VERB_REVERT))
        return cli_usage(local->cli, "--all, --since, --to and --yes are options of state.revert");
    if (local->args->detailed && (function || module) && !verb_applies(local->function))
        return cli_usage(local->cli, COMMAND_DETAILED_REFUSAL, local->function);
    if (function)
        return call_own(local, function);
    if (local_has_template_function(local, module))
        return local_call_template_function(local);
    if (!module)
        return unknown_function(local);
    return module_applies(module) ? local_apply_module(local, module)
                                  : local_call_module(local, module);
}

/* The report says 'canceled', as after Ctrl-C. */
static void report_timeout(const struct local *local)
{
    AUTO_BUF struct buf limit = BUF_INIT(BUF_NO_LIMIT);

    number_print_duration(local->args->timeout, &limit);
    (void)cli_error(local->cli, "canceled after %s, the --timeout of this run", buf_text(&limit));
}

int local_run(struct cli *cli, const struct local_args *args, struct param_strs operands)
{
    struct local_args own = *args;
    struct local local = {
        .cli = cli,
        .args = &own,
        .diags = DIAGS_INIT(cli->arena),
        .function = operands.p[0],
    };
    int status;

    cli->detailed = args->detailed;
    if ((strcmp(local.function, REPORT) != 0 && local_choose_format(cli, &own) != CLI_OK) ||
        report_detail_choose(cli, &own.state_output, &local.detail) != CLI_OK)
        return CLI_ERROR;
    status = dispatch_function(&local, operands);
    if (interrupt_timed_out())
        report_timeout(&local);
    interrupt_forget();
    session_done(&local.session);
    cancel_done(&local.cancel);
    return status;
}

static int run_local(struct cli *cli, const void *args, struct param_strs operands)
{
    return local_run(cli, args, operands);
}

const struct command command_local = {
    .name = "--local",
    .operands = "FUNCTION [WORD...] [NAME=VALUE...]",
    .summary = "apply states, or call a module, on this machine",
    .details =
        "functions of states:\n"
        "  state.apply [REF...]      apply the states of REF (default: those of the top file)\n"
        "  state.highstate           apply the states of the top file\n"
        "  state.sls_id ID REF       apply one ID of REF, with its requisites\n"
        "  state.template_str SLS    apply the states of a text, which is a Salt file\n"
        "  state.single STATE NAME   apply one state; the word state.single can be omitted,\n"
        "                            except for questions such as service.enabled\n"
        "  state.revert REF|RUN-ID   revert the last run of REF, or a run; --all, --since, --to: "
        "more\n"
        "  state.runs [REF]          list the runs that changed something\n"
        "  state.show REF            show the compiled states\n"
        "  state.show_top            show what the top file assigns to this machine\n"
        "  state.graph REF           show the levels of a run; --format dot or svg draws them\n"
        "  state.check REF           only check for mistakes\n"
        "  state.sls_exists REF      whether REF exists and has no mistakes\n"
        "  state.id_exists ID REF    whether a state of REF has the ID\n"
        "  state.last                show the last run and its states\n"
        "  state.owed                list reactions that are still due\n"
        "  state.waive STATE         drop the reactions that a state owes\n"
        "  report                    write the last run as an HTML file (--out FILE)\n"
        "Functions that take REF also accept pillar='{KEY: VALUE}', exclude=REF, and test=True "
        "for\n"
        "a dry run.\n"
        "Every module can be called directly too: 'zester doc' lists them.\n",
    .examples = "  zester --local state.apply web --test\n"
                "  zester --local --states-dir ./states state.graph web --format svg > web.svg\n"
                "  zester --local cmd.run 'uptime'\n"
                "  zester --local file.managed /etc/motd contents='hello' --test\n",
    .statuses =
        "0 success, in a dry run even if something would change; 1 wrong usage or a mistake\n"
        "in a file, nothing was changed; 2 a state failed, the run was canceled, or its\n"
        "report could not be written. With --detailed-exitcode: 0 nothing changed; 2 something\n"
        "changed, or would change with --test; 1 anything else",
    .options = options,
    .args_size = sizeof(struct local_args),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_local,
    .words = local_add_functions,
    .ref_functions = local_add_ref_functions,
    .ref_lookup = "--local cp.list_states",
};
