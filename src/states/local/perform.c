#include "states/local/perform.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "states/compile/compile.h"
#include "states/compile/decl.h"
#include "states/compile/plan.h"
#include "states/compile/unsupported.h"
#include "core/data/record.h"
#include "states/local/agent.h"
#include "states/local/revert_wish.h"
#include "states/local/functions.h"
#include "states/local/session.h"
#include "states/local/show.h"
#include "states/local/verb.h"
#include "states/local/wish.h"
#include "states/run/plan_binding.h"
#include "states/run/fallback.h"
#include "states/run/lastrun.h"
#include "states/run/owed.h"
#include "states/run/plan_store.h"
#include "states/run/revert.h"
#include "states/run/run.h"
#include "states/run/run_list.h"
#include "states/state/call.h"
#include "states/state/module.h"
#include "states/state/secrets.h"

/* Limit for the error text. */
#define ERROR_MAX ((size_t)1 << 20)

/* The positional argument for "none". */
#define NO_NAME "ad-hoc"

/* One call of perform(). */
struct local_call {
    struct session *session;
    struct arena *arena;
    const struct perform_request *request;
    const struct run_sink *sink;
    struct value given; /* a copy of the arguments, without `test` */
    struct diags diags;
    struct perform_answer *answer;
};

/* --- answers ---------------------------------------------------------------------- */

static void set_call_failure(struct local_call *call, const char *text)
{
    struct secrets *secrets = call->session->host.secrets;

    call->answer->error =
        arena_str(call->arena, secrets_masked(secrets, call->arena, str_from(text))).p;
}

static void fail_with_call_diags(struct local_call *call)
{
    AUTO_BUF struct buf text = BUF_INIT(ERROR_MAX);

    session_open_paths(call->session, &call->diags);
    diags_print(&call->diags, &text);
    set_call_failure(call, arena_str(call->arena, str_trim_right(buf_view(&text))).p);
}

/* A function has one result; its details hold the return value. */
static void set_call_success(struct local_call *call, const char *name, struct value said)
{
    struct state_result one = { .name = name, .outcome = OUTCOME_UNCHANGED };

    secrets_mask_value(call->session->host.secrets, call->arena, &said);
    one.details = value_map_new(call->arena, 1);
    value_map_set(call->arena, one.details, value_text("result"), said);
    VEC_PUSH_IN(call->arena, &call->answer->result.states, one);
    call->answer->success = true;
}

/* Bind the run to the stored dry run. */
static bool bind_plan(struct local_call *call, const struct plan *plan)
{
    struct state_host *host = &call->session->host;
    struct plan_binding *plan_binding = ARENA_NEW(call->arena, struct plan_binding);
    struct run_result now;
    struct err err;

    if (plan_store_find(call->arena, host->data_dir, call->request->plan, plan_binding, &err) < 0 ||
        run_plan(call->arena, host, plan, RUN_TEST, NULL, &now, &err) < 0) {
        set_call_failure(call, err.text);
        return false;
    }
    if (plan_binding_compare(plan_binding, &now, &call->diags) < 0) {
        fail_with_call_diags(call);
        return false;
    }
    host->plan_binding = plan_binding;
    return true;
}

/* Store the dry run, so that it can be applied later. */
static void keep_plan(struct local_call *call)
{
    struct err err;

    if (plan_store_keep(call->session->host.data_dir, call->request->job, &call->answer->result,
                        &err) < 0)
        call->answer->trouble = arena_printf(call->arena, "plan not stored: %s", err.text);
}

static void run_plan_now(struct local_call *call, const struct plan *plan)
{
    struct state_host *host = &call->session->host;
    struct err err;

    host->plans = call->request->plan || (host->test && call->request->job);
    if (call->request->plan && !bind_plan(call, plan))
        return;
    host->run_id = call->request->job;
    if (run_plan(call->arena, host, plan, host->test ? RUN_TEST : RUN_APPLY, call->sink,
                 &call->answer->result, &err) < 0) {
        set_call_failure(call, err.text);
        return;
    }
    if (call->session->revert_on_failure)
        fallback_revert(call->arena, host, &call->answer->result);
    if (host->test && call->request->job && !call->answer->result.canceled)
        keep_plan(call);
    call->answer->success = run_result_is_success(&call->answer->result);
    if (call->answer->result.canceled)
        call->answer->error = "execution canceled";
}

/* --- functions of states ---------------------------------------------------------- */

static bool has_given(const struct local_call *call, const char *key)
{
    return value_get(&call->given, key) != NULL;
}

/* The positional argument, unless a pair says the same. */
static struct param_strs list_call_words(struct local_call *call)
{
    const char *id = call->request->id;
    const char **word;

    if (!id[0] || strcmp(id, NO_NAME) == 0 || has_given(call, "state") || has_given(call, "mods"))
        return (struct param_strs){ 0 };
    word = ARENA_ARRAY(call->arena, const char *, 1);
    *word = id;
    return (struct param_strs){ 1, word };
}

/* Store the last run, for heartbeats and reports. */
static void keep_last_run_report(struct local_call *call, struct param_strs refs)
{
    const struct lastrun_request request = { call->request->function, refs,
                                             call->session->host.test,
                                             call->session->host.secrets };
    struct lastrun *run = ARENA_NEW(call->arena, struct lastrun);
    struct err err;

    call->answer->last_run = run;
    if (lastrun_keep(call->arena, call->session->host.data_dir, &request,
                     call->answer->result.run_id ? &call->answer->result : NULL,
                     call->answer->error, run, &err) < 0 &&
        !call->answer->trouble)
        call->answer->trouble = arena_printf(call->arena, "last run not stored: %s", err.text);
}

/* Mistakes in the request are not a run. */
static void compile_and_run(struct local_call *call, struct param_strs words, const char *only)
{
    struct compile_wish wish = { .id = only };
    const struct plan *plan;

    if (wish_read(call->session, call->request->function, words, &call->given, &wish,
                  &call->diags) < 0) {
        fail_with_call_diags(call);
        return;
    }
    if (session_compile(call->session, &wish, &plan, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        run_plan_now(call, plan);
    if (!only && call->session->host.data_dir)
        keep_last_run_report(call, wish.refs);
}

static void call_state_apply(struct local_call *call)
{
    compile_and_run(call, list_call_words(call), NULL);
}

static void call_state_highstate(struct local_call *call)
{
    compile_and_run(call, (struct param_strs){ 0 }, NULL);
}

static void call_state_test(struct local_call *call)
{
    call->session->host.test = call->answer->test = true;
    call_state_apply(call);
}

static void call_state_sls_id(struct local_call *call)
{
    if (call->request->id[0] && has_given(call, "mods"))
        compile_and_run(call, (struct param_strs){ 0 }, call->request->id);
    else
        set_call_failure(call, "state.sls_id requires an ID, and mods=REF");
}

static const char *take_text_argument(struct local_call *call, const char *key)
{
    const struct value name = value_text(key);
    const char *text = value_get_text(&call->given, key);

    if (text)
        (void)value_map_remove(call->given.map, &name);
    return text;
}

/* The positional argument, or the pair of that name. */
static const char *take_word_argument(struct local_call *call, const char *key)
{
    const char *text = take_text_argument(call, key);

    if (text)
        return text;
    return call->request->id[0] && strcmp(call->request->id, NO_NAME) != 0 ? call->request->id
                                                                           : NULL;
}

/* A run of a template text has no reference, so heartbeats do not report it. */
static void call_state_template_str(struct local_call *call)
{
    const char *text = take_word_argument(call, "tem");
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (!text) {
        set_call_failure(call, "state.template_str requires a text");
        return;
    }
    if (wish_read(call->session, call->request->function, (struct param_strs){ 0 }, &call->given,
                  &wish, &call->diags) < 0) {
        fail_with_call_diags(call);
        return;
    }
    wish.text = str_from(text);
    if (session_compile(call->session, &wish, &plan, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        run_plan_now(call, plan);
}

static void apply_single(struct local_call *call, const struct module *module, const char *name)
{
    /* "ad-hoc", which stands for no word, is not the name of a package */
    const bool has_name = name[0] && strcmp(name, NO_NAME) != 0;
    const struct param *missing = has_name ? NULL : module_missing(module, &call->given);
    const struct plan *plan;

    if (missing)
        set_call_failure(call, arena_printf(call->arena, "%s requires a %s argument", module->name,
                                            missing->name));
    else if (compile_single(call->arena, &call->session->host, module->name, name, &call->given,
                            &plan, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        run_plan_now(call, plan);
}

/* 'state.single fun=pkg.installed name=vim', or the function as the positional argument. */
static void state_single(struct local_call *call)
{
    const char *fun = take_text_argument(call, "fun");
    const struct value where = value_text(fun ? fun : call->request->id);
    const struct module *module = decl_module(where.s, &where, &call->diags);
    const char *name = value_get_text(&call->given, "name");

    if (!module)
        fail_with_call_diags(call);
    else
        apply_single(call, module, name ? name : NO_NAME);
}

static void call_state_revert(struct local_call *call)
{
    const char *id = call->request->id;
    struct revert_options how;
    struct revert_wish wish;
    struct err err;

    if (revert_wish_read(call->arena, &call->given, strcmp(id, NO_NAME) == 0 ? "" : id, &wish,
                         &call->diags) < 0 ||
        revert_wish_choose(&wish, &how, &call->diags) < 0) {
        fail_with_call_diags(call);
        return;
    }
    how.test = call->session->host.test;
    how.has_run = call->request->has_run && call->request->has_run(call->request->self, how.target);
    if (revert_wish_is_many(&wish) && !wish.yes && !how.test)
        set_call_failure(call, "state.revert: " REVERT_WISH_UNSURE);
    else if (revert_run(call->arena, &call->session->host, &how, call->sink, &call->answer->result,
                        &err) < 0)
        set_call_failure(call, err.text);
    else
        call->answer->success = run_result_is_success(&call->answer->result);
}

static void state_show_top(struct local_call *call)
{
    struct compile_wish wish = { 0 };
    struct value refs;

    if (wish_read(call->session, call->request->function, (struct param_strs){ 0 }, &call->given,
                  &wish, &call->diags) < 0 ||
        compile_top_refs(call->arena, &call->session->host, &refs, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        set_call_success(call, call->request->function, refs);
}

/* --- functions that show states --------------------------------------------------- */

static const struct plan *compile_shown(struct local_call *call)
{
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (wish_read(call->session, call->request->function, list_call_words(call), &call->given,
                  &wish, &call->diags) == 0 &&
        session_compile(call->session, &wish, &plan, &call->diags) == 0)
        return plan;
    fail_with_call_diags(call);
    return NULL;
}

static void state_show(struct local_call *call)
{
    const struct plan *plan = compile_shown(call);

    if (plan)
        set_call_success(call, call->request->function, show_plan(call->arena, plan));
}

/* Diagnostics mean no. */
static void state_sls_exists(struct local_call *call)
{
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (wish_read(call->session, call->request->function, list_call_words(call), &call->given,
                  &wish, &call->diags) < 0)
        fail_with_call_diags(call);
    else if (wish.refs.n == 0)
        set_call_failure(call, "state.sls_exists requires references");
    else
        set_call_success(
            call, call->request->function,
            value_bool(session_compile(call->session, &wish, &plan, &call->diags) == 0));
}

static void state_id_exists(struct local_call *call)
{
    const char *ids = take_word_argument(call, "ids");
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (!ids || !has_given(call, "mods"))
        set_call_failure(call, "state.id_exists requires IDs, and mods=REF");
    else if (wish_read(call->session, call->request->function, (struct param_strs){ 0 },
                       &call->given, &wish, &call->diags) < 0 ||
             session_compile(call->session, &wish, &plan, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        set_call_success(call, call->request->function,
                         value_bool(wish_has_ids(plan, wish_read_ids(call->arena, ids))));
}

/* Show the plan as text, with a function of states/local/show.h. */
static void show_plan_text(struct local_call *call,
                           void (*print)(const struct plan *plan, struct buf *out))
{
    AUTO_BUF struct buf out = BUF_INIT(ERROR_MAX);
    const struct plan *plan = compile_shown(call);

    if (!plan)
        return;
    print(plan, &out);
    set_call_success(call, call->request->function, value_str(buf_copy(&out, call->arena)));
}

static void state_graph(struct local_call *call)
{
    show_plan_text(call, show_levels);
}

static void state_check(struct local_call *call)
{
    show_plan_text(call, show_counts);
}

/* --- the last run ----------------------------------------------------------------- */

static void state_last(struct local_call *call)
{
    struct value last;
    struct err err;

    if (lastrun_read_value(call->arena, call->session->host.data_dir, &last, &err) == 0)
        set_call_success(call, call->request->function, last);
    else
        set_call_failure(call,
                         err.code == ERR_NOT_FOUND ? "no run of states is on record" : err.text);
}

/* --- owed work -------------------------------------------------------------------- */

static void state_owed(struct local_call *call)
{
    struct value list = value_list(value_list_new(call->arena, 0));
    struct owed_debts debts;
    struct err err;

    if (owed_list(call->arena, call->session->host.data_dir, &debts, &err) < 0) {
        set_call_failure(call, err.text);
        return;
    }
    VEC_EACH (&debts.list, debt)
        value_list_push(call->arena, list.list, record_value(call->arena, &owed_debt_type, debt));
    set_call_success(call, call->request->function, list);
}

static void state_runs(struct local_call *call)
{
    const char *ref = take_word_argument(call, "ref");
    struct run_list runs;
    struct err err;

    if (run_list_read(call->arena, &call->session->host, ref ? ref : "", &runs, &err) < 0)
        set_call_failure(call, err.text);
    else
        set_call_success(call, call->request->function, run_list_value(call->arena, &runs));
}

static void state_waive(struct local_call *call)
{
    const char *state = call->request->id;
    struct err err;
    bool found;

    if (!state[0] || strcmp(state, NO_NAME) == 0)
        set_call_failure(call, "state.waive requires the name of a state, as shown by state.owed");
    else if (call->session->host.test)
        set_call_failure(call, "state.waive has no dry run; nothing was waived");
    else if (owed_waive(call->session->host.data_dir, state, &found, &err) < 0)
        set_call_failure(call, err.text);
    else if (!found)
        set_call_failure(call,
                         arena_printf(call->arena,
                                      "'%s' owes no reaction; 'state.owed' lists the states that "
                                      "do",
                                      state));
    else
        set_call_success(
            call, call->request->function,
            value_text(arena_printf(call->arena, "%s no longer owes a reaction", state)));
}

/* --- dispatch --------------------------------------------------------------------- */

typedef void verb_fn(struct local_call *call);

/* clang-format off */
static verb_fn *const verbs[] = {
    [VERB_APPLY]          = call_state_apply,
    [VERB_HIGHSTATE]      = call_state_highstate,
    [VERB_SLS_ID]         = call_state_sls_id,
    [VERB_TEMPLATE_STR]   = call_state_template_str,
    [VERB_TEST]           = call_state_test,
    [VERB_SINGLE]         = state_single,
    [VERB_REVERT]         = call_state_revert,
    [VERB_SHOW]           = state_show,
    [VERB_SHOW_HIGHSTATE] = state_show,
    [VERB_SHOW_TOP]       = state_show_top,
    [VERB_GRAPH]          = state_graph,
    [VERB_CHECK]          = state_check,
    [VERB_SLS_EXISTS]     = state_sls_exists,
    [VERB_ID_EXISTS]      = state_id_exists,
    [VERB_LAST]           = state_last,
    [VERB_OWED]           = state_owed,
    [VERB_WAIVE]          = state_waive,
    [VERB_RUNS]           = state_runs,
};
_Static_assert(ARRAY_LEN(verbs) == VERB_KINDS, "every verb has a row");

/* Functions of these families answer from memory, unless they act. */
static const char *const quick_families[] = { "facts.", "grains.", "settings.", "pillar.", "sys." };
/* clang-format on */

/* NULL: not an agent function. */
static const struct verb *find_local_verb(const char *name)
{
    const struct verb *verb = verb_find(name);

    return verb && verbs[verb->kind] ? verb : NULL;
}

/* A ping is answered at once, without a run. */
static bool is_answer_module(const struct module *module)
{
    return !module_applies(module) || strcmp(module->name, "test.ping") == 0;
}

static bool is_quick_module(const struct module *module)
{
    for (size_t i = 0; i < ARRAY_LEN(quick_families); i++)
        if (str_starts(str_from(module->name), str_from(quick_families[i])))
            return true;
    return strcmp(module->name, "test.ping") == 0;
}

enum perform_class perform_class(const char *name)
{
    const struct verb *verb = find_local_verb(name);
    const struct module *module = verb ? NULL : module_find(str_from(name));

    if (verb)
        return verb->class;
    if (!module)
        return PERFORM_UNKNOWN;
    if (!is_answer_module(module) || (module->flags & MODULE_ACTS))
        return PERFORM_ACT;
    return is_quick_module(module) ? PERFORM_QUICK : PERFORM_READ;
}

/* The positional argument is the primary parameter, unless a pair says it. */
static void call_wished_module(struct local_call *call, const struct module *module)
{
    const struct param *primary = params_find_primary(module->params);
    const char *id = call->request->id;
    const bool has_word =
        primary && id[0] && strcmp(id, NO_NAME) != 0 && !has_given(call, primary->name);
    const struct value word = value_text(id);
    struct value said;

    if (call->request->plan) {
        set_call_failure(
            call, arena_printf(call->arena, "%s has no plan; nothing was done", module->name));
        return;
    }
    if (call->session->host.test && (module->flags & MODULE_ACTS)) {
        set_call_failure(
            call, arena_printf(call->arena, "%s has no dry run; nothing was done", module->name));
        return;
    }
    if (call_function(call->arena, &call->session->host, module, &call->given,
                      has_word ? &word : NULL, &said, &call->diags) < 0)
        fail_with_call_diags(call);
    else
        set_call_success(call,
                         module_applies(module)
                             ? arena_printf(call->arena, "%s:%s", module->name, id[0] ? id : "ping")
                             : module->name,
                         value_copy(call->arena, &said));
}

const char *perform_unknown(struct arena *arena, const char *name)
{
    const char *reason = functions_reason(arena, name, &(struct param_strs){ 0 });
    const char *meant = functions_meant(arena, name, &(struct param_strs){ 0 });
    struct suggest near;
    struct str best;

    if (reason && !meant)
        return arena_printf(arena, "'%s' is not supported: %s", name, reason);
    if (meant)
        return arena_printf(arena, "unknown function '%s' (did you mean '%s'?)", name, meant);
    suggest_init(&near, str_from(name));
    verb_offer(&near);
    agent_function_offer(&near);
    for (size_t i = 0; i < module_count; i++)
        suggest_offer(&near, str_from(module_table[i]->name));
    best = suggest_best(&near);
    if (!best.p)
        return arena_printf(arena, "unknown function '%s'", name);
    return arena_printf(arena, "unknown function '%s' (did you mean '%.*s'?)", name, STR_ARG(best));
}

static void dispatch_call(struct local_call *call)
{
    const char *name = call->request->function;
    const struct verb *verb = find_local_verb(name);
    const struct module *module = verb ? NULL : module_find(str_from(name));

    if (verb)
        verbs[verb->kind](call);
    else if (!module)
        set_call_failure(call, perform_unknown(call->arena, name));
    else if (is_answer_module(module))
        call_wished_module(call, module);
    else
        apply_single(call, module, call->request->id[0] ? call->request->id : NO_NAME);
}

void perform(struct session *session, const struct perform_request *request,
             const struct run_sink *sink, struct perform_answer *ret_answer)
{
    struct local_call call = {
        .session = session,
        .arena = &session->arena,
        .request = request,
        .sink = sink,
        .diags = DIAGS_INIT(&session->arena),
        .answer = ret_answer,
    };

    *ret_answer = (struct perform_answer){ 0 };
    call.given = request->args.kind == VALUE_MAP ? value_copy(call.arena, &request->args)
                                                 : value_map(value_map_new(call.arena, 0));
    session_hide_secrets(session, &call.given);
    if (wish_take_test(&call.given, &session->host.test, &call.diags) < 0) {
        fail_with_call_diags(&call);
        return;
    }
    ret_answer->test = session->host.test;
    session->host.function = request->function;
    session->host.by = request->by;
    dispatch_call(&call);
}
