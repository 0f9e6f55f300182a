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
#include "states/state/call.h"
#include "states/state/module.h"
#include "states/state/secrets.h"

/* Of the text of mistakes. */
#define ERROR_MAX ((size_t)1 << 20)

/* Positional arguments that stand for none. */
#define NO_NAME "ad-hoc"

/* One call of perform(). */
struct deed {
    struct session *session;
    struct arena *arena;
    const struct perform_request *request;
    const struct run_sink *sink;
    struct value given; /* a copy of the arguments, without `test` */
    struct diags diags;
    struct perform_answer *answer;
};

/* --- answers ---------------------------------------------------------------------- */

static void set_call_failure(struct deed *deed, const char *text)
{
    struct secrets *secrets = deed->session->host.secrets;

    deed->answer->error =
        arena_str(deed->arena, secrets_masked(secrets, deed->arena, str_from(text))).p;
}

static void fail_with_call_diags(struct deed *deed)
{
    AUTO_BUF struct buf text = BUF_INIT(ERROR_MAX);

    session_open_paths(deed->session, &deed->diags);
    diags_print(&deed->diags, &text);
    set_call_failure(deed, arena_str(deed->arena, str_trim_right(buf_view(&text))).p);
}

/* A function has one result, whose details hold what it said. */
static void set_call_success(struct deed *deed, const char *name, struct value said)
{
    struct state_result one = { .name = name, .outcome = OUTCOME_UNCHANGED };

    secrets_mask_value(deed->session->host.secrets, deed->arena, &said);
    one.details = value_map_new(deed->arena, 1);
    value_map_set(deed->arena, one.details, value_text("result"), said);
    VEC_PUSH_IN(deed->arena, &deed->answer->result.states, one);
    deed->answer->success = true;
}

/* A run may do what the stored dry run said, and nothing else. */
static bool bind_plan(struct deed *deed, const struct plan *plan)
{
    struct state_host *host = &deed->session->host;
    struct plan_binding_args *plan_binding = ARENA_NEW(deed->arena, struct plan_binding_args);
    struct run_result now;
    struct err err;

    if (plan_store_find(deed->arena, host->data_dir, deed->request->plan, plan_binding, &err) < 0 ||
        run_plan(deed->arena, host, plan, RUN_TEST, NULL, &now, &err) < 0) {
        set_call_failure(deed, err.text);
        return false;
    }
    if (plan_binding_compare(plan_binding, &now, &deed->diags) < 0) {
        fail_with_call_diags(deed);
        return false;
    }
    host->plan_binding = plan_binding;
    return true;
}

/* What was shown can be applied later. */
static void keep_plan(struct deed *deed)
{
    struct err err;

    if (plan_store_keep(deed->session->host.data_dir, deed->request->job, &deed->answer->result,
                        &err) < 0)
        deed->answer->trouble = arena_printf(deed->arena, "plan not stored: %s", err.text);
}

static void run_plan_now(struct deed *deed, const struct plan *plan)
{
    struct state_host *host = &deed->session->host;
    struct err err;

    host->plans = deed->request->plan || (host->test && deed->request->job);
    if (deed->request->plan && !bind_plan(deed, plan))
        return;
    host->run_id = deed->request->job;
    if (run_plan(deed->arena, host, plan, host->test ? RUN_TEST : RUN_APPLY, deed->sink,
                 &deed->answer->result, &err) < 0) {
        set_call_failure(deed, err.text);
        return;
    }
    if (deed->session->revert_on_failure)
        fallback_revert(deed->arena, host, &deed->answer->result);
    if (host->test && deed->request->job && !deed->answer->result.canceled)
        keep_plan(deed);
    deed->answer->success = run_result_is_success(&deed->answer->result);
    if (deed->answer->result.canceled)
        deed->answer->error = "execution canceled";
}

/* --- functions of states ---------------------------------------------------------- */

static bool has_given(const struct deed *deed, const char *key)
{
    return value_get(&deed->given, key) != NULL;
}

/* The positional argument, unless a pair says the same. */
static struct param_strs list_call_words(struct deed *deed)
{
    const char *id = deed->request->id;
    const char **word;

    if (!id[0] || strcmp(id, NO_NAME) == 0 || has_given(deed, "state") || has_given(deed, "mods"))
        return (struct param_strs){ 0 };
    word = ARENA_ARRAY(deed->arena, const char *, 1);
    *word = id;
    return (struct param_strs){ 1, word };
}

/* For heartbeats and reports. */
static void keep_last_run_report(struct deed *deed, struct param_strs refs)
{
    const struct lastrun_request request = { deed->request->function, refs,
                                             deed->session->host.test,
                                             deed->session->host.secrets };
    struct lastrun *run = ARENA_NEW(deed->arena, struct lastrun);
    struct err err;

    deed->answer->last_run = run;
    if (lastrun_keep(deed->arena, deed->session->host.data_dir, &request,
                     deed->answer->result.run_id ? &deed->answer->result : NULL,
                     deed->answer->error, run, &err) < 0 &&
        !deed->answer->trouble)
        deed->answer->trouble = arena_printf(deed->arena, "last run not stored: %s", err.text);
}

/* Mistakes in the request are not a run. */
static void compile_and_run(struct deed *deed, struct param_strs words, const char *only)
{
    struct compile_wish wish = { .id = only };
    const struct plan *plan;

    if (wish_read(deed->session, deed->request->function, words, &deed->given, &wish,
                  &deed->diags) < 0) {
        fail_with_call_diags(deed);
        return;
    }
    if (session_compile(deed->session, &wish, &plan, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        run_plan_now(deed, plan);
    if (!only && deed->session->host.data_dir)
        keep_last_run_report(deed, wish.refs);
}

static void call_state_apply(struct deed *deed)
{
    compile_and_run(deed, list_call_words(deed), NULL);
}

static void call_state_highstate(struct deed *deed)
{
    compile_and_run(deed, (struct param_strs){ 0 }, NULL);
}

static void call_state_test(struct deed *deed)
{
    deed->session->host.test = deed->answer->test = true;
    call_state_apply(deed);
}

static void call_state_sls_id(struct deed *deed)
{
    if (deed->request->id[0] && has_given(deed, "mods"))
        compile_and_run(deed, (struct param_strs){ 0 }, deed->request->id);
    else
        set_call_failure(deed, "state.sls_id requires an ID, and mods=REF");
}

static const char *take_text_argument(struct deed *deed, const char *key)
{
    const struct value name = value_text(key);
    const char *text = value_get_text(&deed->given, key);

    if (text)
        (void)value_map_remove(deed->given.map, &name);
    return text;
}

/* The positional argument, or the pair of that name. */
static const char *take_word_argument(struct deed *deed, const char *key)
{
    const char *text = take_text_argument(deed, key);

    if (text)
        return text;
    return deed->request->id[0] && strcmp(deed->request->id, NO_NAME) != 0 ? deed->request->id
                                                                           : NULL;
}

/* A run of its own text has no reference, so heartbeats do not tell of it. */
static void call_state_template_str(struct deed *deed)
{
    const char *text = take_word_argument(deed, "tem");
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (!text) {
        set_call_failure(deed, "state.template_str requires a text");
        return;
    }
    if (wish_read(deed->session, deed->request->function, (struct param_strs){ 0 }, &deed->given,
                  &wish, &deed->diags) < 0) {
        fail_with_call_diags(deed);
        return;
    }
    wish.text = str_from(text);
    if (session_compile(deed->session, &wish, &plan, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        run_plan_now(deed, plan);
}

static void apply_single(struct deed *deed, const struct module *module, const char *name)
{
    /* "ad-hoc", which stands for no word, is not the name of a package */
    const bool has_name = name[0] && strcmp(name, NO_NAME) != 0;
    const struct param *missing = has_name ? NULL : module_missing(module, &deed->given);
    const struct plan *plan;

    if (missing)
        set_call_failure(deed, arena_printf(deed->arena, "%s requires a %s argument", module->name,
                                            missing->name));
    else if (compile_single(deed->arena, &deed->session->host, module->name, name, &deed->given,
                            &plan, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        run_plan_now(deed, plan);
}

/* 'state.single fun=pkg.installed name=vim', or the function as the positional argument. */
static void state_single(struct deed *deed)
{
    const char *fun = take_text_argument(deed, "fun");
    const struct value where = value_text(fun ? fun : deed->request->id);
    const struct module *module = decl_module(where.s, &where, &deed->diags);
    const char *name = value_get_text(&deed->given, "name");

    if (!module)
        fail_with_call_diags(deed);
    else
        apply_single(deed, module, name ? name : NO_NAME);
}

static void call_state_revert(struct deed *deed)
{
    const struct value *force = value_get(&deed->given, "force");
    const char *target = take_text_argument(deed, "target");
    struct revert_options how = { .target = target ? target : deed->request->id };
    struct err err;

    how.has_run = deed->request->has_run && deed->request->has_run(deed->request->self, how.target);
    how.force = value_is(force, VALUE_BOOL) ? force->b
                : value_is(force, VALUE_STR)
                    ? strcasecmp(force->s.p, "true") == 0 || strcmp(force->s.p, "1") == 0
                    : false;
    if (!how.target[0] || strcmp(how.target, NO_NAME) == 0) {
        set_call_failure(deed, "state.revert requires a reference, or the id of a job or run");
    } else if (deed->session->host.test) {
        set_call_failure(deed, "a revert has no dry run; nothing was reverted");
    } else if (revert_run(deed->arena, &deed->session->host, &how, deed->sink,
                          &deed->answer->result, &err) < 0) {
        set_call_failure(deed, err.text);
    } else {
        deed->answer->success = run_result_is_success(&deed->answer->result);
    }
}

static void state_show_top(struct deed *deed)
{
    struct compile_wish wish = { 0 };
    struct value refs;

    if (wish_read(deed->session, deed->request->function, (struct param_strs){ 0 }, &deed->given,
                  &wish, &deed->diags) < 0 ||
        compile_top_refs(deed->arena, &deed->session->host, &refs, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        set_call_success(deed, deed->request->function, refs);
}

/* --- functions that show states --------------------------------------------------- */

static const struct plan *compile_shown(struct deed *deed)
{
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (wish_read(deed->session, deed->request->function, list_call_words(deed), &deed->given,
                  &wish, &deed->diags) == 0 &&
        session_compile(deed->session, &wish, &plan, &deed->diags) == 0)
        return plan;
    fail_with_call_diags(deed);
    return NULL;
}

static void state_show(struct deed *deed)
{
    const struct plan *plan = compile_shown(deed);

    if (plan)
        set_call_success(deed, deed->request->function, show_plan(deed->arena, plan));
}

/* Mistakes mean no. */
static void state_sls_exists(struct deed *deed)
{
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (wish_read(deed->session, deed->request->function, list_call_words(deed), &deed->given,
                  &wish, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else if (wish.refs.n == 0)
        set_call_failure(deed, "state.sls_exists requires references");
    else
        set_call_success(
            deed, deed->request->function,
            value_bool(session_compile(deed->session, &wish, &plan, &deed->diags) == 0));
}

static void state_id_exists(struct deed *deed)
{
    const char *ids = take_word_argument(deed, "ids");
    struct compile_wish wish = { 0 };
    const struct plan *plan;

    if (!ids || !has_given(deed, "mods"))
        set_call_failure(deed, "state.id_exists requires IDs, and mods=REF");
    else if (wish_read(deed->session, deed->request->function, (struct param_strs){ 0 },
                       &deed->given, &wish, &deed->diags) < 0 ||
             session_compile(deed->session, &wish, &plan, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        set_call_success(deed, deed->request->function,
                         value_bool(wish_has_ids(plan, wish_read_ids(deed->arena, ids))));
}

/* As text, by one of the functions of states/local/show.h. */
static void show_plan_text(struct deed *deed,
                           void (*print)(const struct plan *plan, struct buf *out))
{
    AUTO_BUF struct buf out = BUF_INIT(ERROR_MAX);
    const struct plan *plan = compile_shown(deed);

    if (!plan)
        return;
    print(plan, &out);
    set_call_success(deed, deed->request->function, value_str(buf_copy(&out, deed->arena)));
}

static void state_graph(struct deed *deed)
{
    show_plan_text(deed, show_levels);
}

static void state_check(struct deed *deed)
{
    show_plan_text(deed, show_counts);
}

/* --- the last run ----------------------------------------------------------------- */

static void state_last(struct deed *deed)
{
    struct value last;
    struct err err;

    if (lastrun_read_value(deed->arena, deed->session->host.data_dir, &last, &err) == 0)
        set_call_success(deed, deed->request->function, last);
    else
        set_call_failure(deed,
                         err.code == ERR_NOT_FOUND ? "no run of states is on record" : err.text);
}

/* --- owed work -------------------------------------------------------------------- */

static void state_owed(struct deed *deed)
{
    struct value list = value_list(value_list_new(deed->arena, 0));
    struct owed_debts debts;
    struct err err;

    if (owed_list(deed->arena, deed->session->host.data_dir, &debts, &err) < 0) {
        set_call_failure(deed, err.text);
        return;
    }
    VEC_EACH (&debts.list, debt)
        value_list_push(deed->arena, list.list, record_value(deed->arena, &owed_debt_type, debt));
    set_call_success(deed, deed->request->function, list);
}

static void state_waive(struct deed *deed)
{
    const char *state = deed->request->id;
    struct err err;
    bool found;

    if (!state[0] || strcmp(state, NO_NAME) == 0)
        set_call_failure(deed, "state.waive requires the name of a state, as shown by state.owed");
    else if (deed->session->host.test)
        set_call_failure(deed, "state.waive has no dry run; nothing was waived");
    else if (owed_waive(deed->session->host.data_dir, state, &found, &err) < 0)
        set_call_failure(deed, err.text);
    else if (!found)
        set_call_failure(deed,
                         arena_printf(deed->arena,
                                      "'%s' owes no reaction; 'state.owed' lists the states that "
                                      "do",
                                      state));
    else
        set_call_success(
            deed, deed->request->function,
            value_text(arena_printf(deed->arena, "%s no longer owes a reaction", state)));
}

/* --- dispatch --------------------------------------------------------------------- */

typedef void verb_fn(struct deed *deed);

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
};
_Static_assert(ARRAY_LEN(verbs) == VERB_KINDS, "every verb has a row");

/* Functions of these families answer from memory, unless they act. */
static const char *const quick_families[] = { "facts.", "grains.", "settings.", "pillar.", "sys." };
/* clang-format on */

/* NULL: not one of an agent. */
static const struct verb *find_local_verb(const char *name)
{
    const struct verb *verb = verb_find(name);

    return verb && verbs[verb->kind] ? verb : NULL;
}

/* A state of the same name comes before the function, unless it only answers. */
static bool is_answer_module(const struct module *module)
{
    return module->call && (!module->apply || strcmp(module->name, "test.ping") == 0);
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
static void call_wished_module(struct deed *deed, const struct module *module)
{
    const struct param *primary = params_find_primary(module->params);
    const char *id = deed->request->id;
    const bool has_word =
        primary && id[0] && strcmp(id, NO_NAME) != 0 && !has_given(deed, primary->name);
    const struct value word = value_text(id);
    struct value said;

    if (deed->request->plan) {
        set_call_failure(
            deed, arena_printf(deed->arena, "%s has no plan; nothing was done", module->name));
        return;
    }
    if (deed->session->host.test && (module->flags & MODULE_ACTS)) {
        set_call_failure(
            deed, arena_printf(deed->arena, "%s has no dry run; nothing was done", module->name));
        return;
    }
    if (call_function(deed->arena, &deed->session->host, module, &deed->given,
                      has_word ? &word : NULL, &said, &deed->diags) < 0)
        fail_with_call_diags(deed);
    else
        set_call_success(deed,
                         module->apply
                             ? arena_printf(deed->arena, "%s:%s", module->name, id[0] ? id : "ping")
                             : module->name,
                         value_copy(deed->arena, &said));
}

const char *perform_unknown(struct arena *arena, const char *name)
{
    const char *reason = unsupported_reason(str_from(name));
    struct suggest near;
    struct str best;

    if (reason)
        return arena_printf(arena, "'%s' is not supported: %s", name, reason);
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

static void dispatch_call(struct deed *deed)
{
    const char *name = deed->request->function;
    const struct verb *verb = find_local_verb(name);
    const struct module *module = verb ? NULL : module_find(str_from(name));

    if (verb)
        verbs[verb->kind](deed);
    else if (!module)
        set_call_failure(deed, perform_unknown(deed->arena, name));
    else if (is_answer_module(module))
        call_wished_module(deed, module);
    else
        apply_single(deed, module, deed->request->id[0] ? deed->request->id : NO_NAME);
}

void perform(struct session *session, const struct perform_request *request,
             const struct run_sink *sink, struct perform_answer *ret_answer)
{
    struct deed deed = {
        .session = session,
        .arena = &session->arena,
        .request = request,
        .sink = sink,
        .diags = DIAGS_INIT(&session->arena),
        .answer = ret_answer,
    };

    *ret_answer = (struct perform_answer){ 0 };
    deed.given = request->args.kind == VALUE_MAP ? value_copy(deed.arena, &request->args)
                                                 : value_map(value_map_new(deed.arena, 0));
    session_hide_secrets(session, &deed.given);
    if (wish_take_test(&deed.given, &session->host.test, &deed.diags) < 0) {
        fail_with_call_diags(&deed);
        return;
    }
    ret_answer->test = session->host.test;
    dispatch_call(&deed);
}
