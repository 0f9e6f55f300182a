/* Runs one state: look ahead for prereq, attempts, result. */
#include "states/run/runner.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/pause.h"
#include "states/compile/plan.h"
#include "states/state/secrets.h"
#include "core/sys/cancel.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"

struct runner_spare {
    struct attempt attempt;
    struct runner_spare *next;
};

static struct runner_spare *take_spare(struct runner *runner)
{
    struct runner_spare *spare;

    (void)pthread_mutex_lock(&runner->mutex);
    spare = runner->spares;
    if (spare)
        runner->spares = spare->next;
    (void)pthread_mutex_unlock(&runner->mutex);
    return spare ? spare : mem_zalloc(sizeof(*spare));
}

static void give_spare(struct runner *runner, struct runner_spare *spare)
{
    (void)pthread_mutex_lock(&runner->mutex);
    spare->next = runner->spares;
    runner->spares = spare;
    (void)pthread_mutex_unlock(&runner->mutex);
}

void runner_free_spares(struct runner *runner)
{
    for (struct runner_spare *spare = runner->spares, *next; spare; spare = next) {
        next = spare->next;
        attempt_done(&spare->attempt);
        free(spare);
    }
    runner->spares = NULL;
}

/* --- results -------------------------------------------------------------------------- */

static struct state_result *get_state_result(struct runner *runner, uint32_t state)
{
    return &runner->results[runner->position[state]];
}

/* A state that has reacted, or whose own condition was not met, no longer owes anything. */
static void settle_state_debts(struct runner *runner, uint32_t state,
                               const struct state_gate *state_gate)
{
    const struct state_result *result = get_state_result(runner, state);

    if (runner->test || result->dry || state_result_is_broken(result))
        return;
    if (state_gate->reacts && result->outcome != OUTCOME_SKIPPED)
        reactions_settle(&runner->reactions, state);
    else
        reactions_waive(&runner->reactions, state, &runner->view);
}

static struct value copy_details(struct runner *runner, struct value_map *details)
{
    const struct value all = value_map(details);

    return value_copy(runner->arena, &all);
}

static struct str make_shown_diff(struct runner *runner, struct state_run *run)
{
    struct str text;

    if (run->text.n == 0)
        return (struct str){ "", 0 };
    secrets_mask(runner->host->secrets, &run->text);
    text = buf_view(&run->text);
    if (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    return arena_str(runner->arena, text);
}

/* Under the mutex: everything that stays is copied into the arena of the results. */
static void keep_result_words(struct runner *runner, uint32_t number, struct attempt *attempt,
                              const struct err *err)
{
    struct state_result *result = get_state_result(runner, number);
    struct state_run *run = &attempt->run;

    result->diff = make_shown_diff(runner, run);
    if (err) {
        struct str text = secrets_masked(runner->host->secrets, runner->arena, str_from(err->text));

        result->error = arena_str(runner->arena, text).p;
        runner->canceled |= err->code == ERR_CANCELED;
    }
    if (run->value) {
        struct value *shown = ARENA_NEW(runner->arena, struct value);

        *shown = value_copy(runner->arena, run->value);
        secrets_mask_answer(runner->host->secrets, runner->arena, shown);
        result->value = shown;
    }
    if (run->details && run->details->count > 0) {
        struct value shown = copy_details(runner, run->details);

        secrets_mask_value(runner->host->secrets, runner->arena, &shown);
        result->details = shown.map;
        if (runner->details) {
            struct value *raw = ARENA_NEW(runner->arena, struct value);

            *raw = copy_details(runner, run->details);
            runner->details[number] = raw;
        }
    }
}

/* Most states are unchanged and have no message. */
static bool has_words(const struct attempt *attempt, const struct err *err)
{
    const struct state_run *run = &attempt->run;

    return err || run->text.n > 0 || (run->details && run->details->count > 0);
}

static void keep_hash(struct runner *runner, struct state_result *result,
                      const struct attempt *attempt)
{
    (void)pthread_mutex_lock(&runner->mutex);
    result->hash = plan_binding_hash(runner->arena, &runner->key, attempt->hash);
    (void)pthread_mutex_unlock(&runner->mutex);
}

static void finish_state(struct runner *runner, struct runner_task *task, struct attempt *attempt,
                         const struct err *err)
{
    struct state_result *result = get_state_result(runner, task->state);

    result->dry = runner->plan->states[task->state].dry;
    result->would_change = result->dry && !err && attempt->changed;
    result->outcome = err                                ? OUTCOME_FAILED
                      : attempt->changed && !result->dry ? OUTCOME_CHANGED
                                                         : OUTCOME_UNCHANGED;
    result->cause = task->state_gate.cause;
    result->diff = (struct str){ "", 0 };
    if (runner->world.hashes && result->outcome == OUTCOME_CHANGED)
        keep_hash(runner, result, attempt);
    if (has_words(attempt, err)) {
        (void)pthread_mutex_lock(&runner->mutex);
        keep_result_words(runner, task->state, attempt, err);
        (void)pthread_mutex_unlock(&runner->mutex);
    }
    if (!runner->test)
        reactions_conclude(&runner->reactions, task->state, attempt->traces);
    settle_state_debts(runner, task->state, &task->state_gate);
}

void runner_skip(struct runner *runner, uint32_t state, const struct state_gate *state_gate)
{
    struct state_result *result = get_state_result(runner, state);

    result->outcome = OUTCOME_SKIPPED;
    result->skip_reason = state_gate->skip;
    result->cause = state_gate->cause;
    settle_state_debts(runner, state, state_gate);
}

/* --- prereq --------------------------------------------------------------------------- */

static void set_cause(struct runner *runner, struct state_gate *state_gate, const char *name,
                      const char *words)
{
    (void)pthread_mutex_lock(&runner->mutex);
    if (!state_gate->cause)
        state_gate->cause = arena_printf(runner->arena, "%s %s", name, words);
    (void)pthread_mutex_unlock(&runner->mutex);
}

/* Would a later target of prereq change? Then this state is forced. A target that cannot be checked
 * gives no answer: unless another target decides, the state fails, so that neither acts on a guess.
 *  */
static int look_ahead(struct runner *runner, struct runner_task *task, struct attempt *attempt,
                      struct err *err)
{
    const struct plan_state *state = &runner->plan->states[task->state];
    const struct plan_targets *targets = &state->requisites[REQUISITE_PREREQ];
    const char *last = NULL;
    bool unclear = false;

    if (targets->n == 0)
        return 0;
    for (size_t i = 0; i < targets->n; i++) {
        const char *name = runner->reactions.names[targets->p[i]];
        struct err why;

        last = name;
        if (runner->plan->states[targets->p[i]].dry)
            continue; /* it never changes, whatever it finds */
        if (attempt_run(attempt, &runner->ahead, targets->p[i], false, &why) < 0) {
            *err = why;
            (void)err_wrap(err, "check %s", name);
            unclear = true;
        } else if (attempt->changed) {
            task->state_gate.forced = true;
            set_cause(runner, &task->state_gate, name, "would change");
            return 0;
        }
    }
    if (unclear)
        return -1;
    task->state_gate.skip = SKIP_PREREQ_NOT_MET;
    task->state_gate.cause = NULL;
    set_cause(runner, &task->state_gate, last, "would not change");
    return 0;
}

/* --- attempts ------------------------------------------------------------------------- */

static int64_t choose_pause(const struct plan_retry *retry)
{
    const uint64_t more = retry->splay > 0 ? chance_number() % (uint64_t)retry->splay : 0;

    return retry->interval + (int64_t)more;
}

static int try_state(struct runner *runner, const struct runner_task *task, struct attempt *attempt,
                     struct err *err)
{
    const struct plan_state *state = &runner->plan->states[task->state];
    const struct attempt_world *world = state->dry ? &runner->ahead : &runner->world;
    const int64_t more = runner->test || state->dry ? 0 : state->retry.attempts;
    int rc = attempt_run(attempt, world, task->state, task->state_gate.forced, err);

    for (int64_t i = 0; rc < 0 && i < more; i++) {
        if (err->code == ERR_CANCELED)
            break;
        if (!pause_for(runner->host->cancel, choose_pause(&state->retry))) {
            err->code = ERR_CANCELED;
            rc = err_wrap(err, "canceled before the next attempt");
            break;
        }
        rc = attempt_again(attempt, world, task->state, task->state_gate.forced, err);
    }
    attempt_sum_up(attempt);
    return rc;
}

static void run_gated(struct runner *runner, struct runner_task *task, struct attempt *attempt)
{
    struct err err;
    int rc;

    if (look_ahead(runner, task, attempt, &err) < 0) {
        finish_state(runner, task, attempt, &err);
        return;
    }
    if (task->state_gate.skip != SKIP_NONE) {
        runner_skip(runner, task->state, &task->state_gate);
        return;
    }
    rc = try_state(runner, task, attempt, &err);
    finish_state(runner, task, attempt, rc < 0 ? &err : NULL);
}

void runner_execute(struct runner *runner, struct runner_task *task)
{
    struct runner_spare *spare;
    int64_t began = clock_real();

    if (cancel_is_raised(runner->host->cancel)) {
        task->state_gate = (struct state_gate){ .skip = SKIP_CANCELED };
        runner_skip(runner, task->state, &task->state_gate);
        return;
    }
    spare = take_spare(runner);
    run_gated(runner, task, &spare->attempt);
    get_state_result(runner, task->state)->duration = clock_real() - began;
    give_spare(runner, spare);
}

/* --- the look at the end ---------------------------------------------------------------- */

static const char *describe_again(struct runner *runner, struct attempt *attempt,
                                  const struct err *err)
{
    struct secrets *secrets = runner->host->secrets;

    if (err)
        return arena_printf(runner->arena, "would fail: %s",
                            secrets_masked(secrets, runner->arena, str_from(err->text)).p);
    return arena_str(runner->arena, str_trim_right(make_shown_diff(runner, &attempt->run))).p;
}

void runner_check_again(struct runner *runner, uint32_t state)
{
    struct runner_spare *spare;
    struct err err;
    int rc;

    if (cancel_is_raised(runner->host->cancel))
        return;
    spare = take_spare(runner);
    rc = attempt_run(&spare->attempt, &runner->ahead, state, false, &err);
    if ((rc < 0 && err.code != ERR_CANCELED) || (rc == 0 && spare->attempt.changed)) {
        (void)pthread_mutex_lock(&runner->mutex);
        get_state_result(runner, state)->again =
            describe_again(runner, &spare->attempt, rc < 0 ? &err : NULL);
        (void)pthread_mutex_unlock(&runner->mutex);
    }
    give_spare(runner, spare);
}
