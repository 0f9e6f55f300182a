#include "states/run/guard.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/state/call.h"
#include "states/state/variables.h"
#include "states/state/host.h"
#include "states/compile/dialect.h"
#include "states/compile/plan.h"
#include "states/compile/salt.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/process.h"

/* Limit for guard output; enough to explain a failure. */
#define OUTPUT_MAX 4096
#define STATUS_MAX 64

/* The rights of the user that guards run as. */
static int find_guard_user(struct arena *arena, const char *name, struct process_user *ret,
                           struct err *err)
{
    const struct account *account;
    struct account_gids gids = { 0 };

    if (account_find(arena, name, &account, err) < 0)
        return -1;
    if (!account)
        return err_set(err, ERR_NOT_FOUND, "no user '%s'", name);
    if (account_groups(arena, account, &gids, err) < 0)
        return -1;
    *ret = (struct process_user){ account->uid, account->gid, gids.list.p, gids.list.n };
    return 0;
}

static int run_guard(struct state_run *run, const struct plan_state *state, const char *command,
                     struct process_result *ret, struct err *err)
{
    const struct process_bounds bounds = { .output_max = OUTPUT_MAX };
    struct process_spec spec = {
        .command = command,
        .env = variables_make(run->host->variables, run->arena),
    };
    struct process_user user;

    if (state->guard_user) {
        if (find_guard_user(run->arena, state->guard_user, &user, err) < 0)
            return -1;
        spec.user = &user;
    }
    if (process_run(&spec, &bounds, run->host->cancel, run->arena, ret, err) < 0)
        return -1;
    if (ret->canceled)
        return err_set(err, ERR_CANCELED, "canceled");
    return 0;
}

/* In a dry run an earlier state may still have to create the user of the guards: they cannot run.
 *  */
static bool is_user_to_come(struct state_run *run, const struct plan_state *state)
{
    const struct account *account = NULL;
    struct err ignored; /* reported when the guard runs */

    return run->test && state->guard_user &&
           account_find(run->arena, state->guard_user, &account, &ignored) == 0 && !account;
}

/* Python's truth; service.status answers in words, one of which means no. */
static bool is_yes(const struct plan_guard *guard, const struct value *answer)
{
    if (guard->is_status)
        return answer->kind == VALUE_INT && answer->i == 0;
    if (guard->path)
        answer = value_path(answer, str_from(guard->path), ':');
    return answer && value_is_true(answer) &&
           !(answer->kind == VALUE_STR && str_is(answer->s, "stopped"));
}

/* Functions that only templates have: grains.get, config.get, slsutil... */
static int call_template_function(struct state_run *run, const struct plan_guard *guard,
                                  struct value *ret, struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena);

    if (salt_call_by_hand(run->arena, run->host, guard->command, &guard->words, &guard->pairs, ret,
                          &diags) < 0)
        return diags_to_err(&diags, err);
    return 0;
}

static int ask_guard(struct state_run *run, const struct plan_state *state,
                     const struct plan_guard *guard, bool *ret_yes, struct err *err)
{
    struct process_result result;
    struct value answer;

    if (guard->function || guard->words.kind == VALUE_LIST) {
        if (guard->function ? call_decoded(run->arena, run->host, guard->function, guard->args,
                                           &answer, err) < 0
                            : call_template_function(run, guard, &answer, err) < 0)
            return -1;
        *ret_yes = is_yes(guard, &answer);
        return 0;
    }
    if (run_guard(run, state, guard->command, &result, err) < 0)
        return -1;
    *ret_yes = process_status_ok(result.status);
    return 0;
}

/* Are all answers as required: yes for onlyif, no for unless? */
static int ask_list(struct state_run *run, const struct plan_state *state, const char *word,
                    const struct plan_guards *guards, bool wants, bool *met, struct err *err)
{
    for (size_t i = 0; i < guards->n && *met; i++) {
        bool yes;

        if (ask_guard(run, state, &guards->p[i], &yes, err) < 0)
            return err_wrap(err, "%s \"%s\"", word, guards->p[i].command);
        *met = yes == wants;
    }
    return 0;
}

/* The answers to `unless`: one yes holds the state back, in a Salt file only if all say yes. */
static int ask_unless(struct state_run *run, const struct plan_state *state, bool *met,
                      struct err *err)
{
    bool one_says_no = state->unless.n == 0;

    if (!state->dialect->unless_all)
        return ask_list(run, state, "unless", &state->unless, false, met, err);
    for (size_t i = 0; i < state->unless.n && *met && !one_says_no; i++) {
        bool yes;

        if (ask_guard(run, state, &state->unless.p[i], &yes, err) < 0)
            return err_wrap(err, "unless \"%s\"", state->unless.p[i].command);
        one_says_no = !yes;
    }
    *met = *met && one_says_no;
    return 0;
}

int guard_ask(struct state_run *run, const struct plan_state *state, bool *ret_met, struct err *err)
{
    bool met = true;

    if (is_user_to_come(run, state)) {
        *ret_met = true;
        return 0;
    }
    if (ask_list(run, state, "onlyif", &state->onlyif, true, &met, err) < 0 ||
        ask_unless(run, state, &met, err) < 0)
        return -1;
    *ret_met = met;
    return 0;
}

static int report_guard_failure(const char *command, const struct process_result *result,
                                struct err *err)
{
    AUTO_BUF struct buf status = BUF_INIT(STATUS_MAX);
    struct str said = str_trim(result->err.n > 0 ? result->err : result->out);

    process_status_print(result->status, &status);
    if (said.n == 0)
        return err_set(err, ERR_INVALID, "check_cmd \"%s\": %s", command, buf_text(&status));
    return err_set(err, ERR_INVALID, "check_cmd \"%s\": %s: %.*s", command, buf_text(&status),
                   STR_ARG(said));
}

int guard_check(struct state_run *run, const struct plan_state *state, struct err *err)
{
    for (size_t i = 0; i < state->check_cmd.n; i++) {
        const char *command = state->check_cmd.p[i].command;
        struct process_result result;

        if (run_guard(run, state, command, &result, err) < 0)
            return err_wrap(err, "check_cmd \"%s\"", command);
        if (!process_status_ok(result.status))
            return report_guard_failure(command, &result, err);
    }
    return 0;
}
