#include "states/run/attempt.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/msgpack.h"
#include "states/run/plan_binding.h"
#include "states/run/guard.h"
#include "states/state/host.h"
#include "states/compile/output.h"
#include "states/compile/dialect.h"
#include "states/compile/plan.h"
#include "states/compile/slot.h"
#include "states/state/secrets.h"
#include "states/undo/undo.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"

struct step {
    struct attempt *attempt;
    const struct attempt_world *world;
    const struct plan_state *state;
    const void *args;
    const struct value *body;
    bool test;            /* never applies */
    const char *forecast; /* "(known after cmd.run:build)": in place of an argument; NULL */
    bool unknown;         /* and they make no sense yet */
};

/* --- arguments ----------------------------------------------------------------------- */

/* A text as details stands for values that a dry run cannot know. */
static const struct value *find_state_output(void *user, uint32_t state)
{
    struct step *step = user;
    const struct value *details = step->world->details(step->world->user, state);

    if (details && details->kind == VALUE_STR)
        step->forecast = details->s.p;
    return details;
}

/* With a forecast in the arguments, an error does not predict the real run. */
static int ignore_failure(struct step *step, int rc, const struct err *err)
{
    if (rc == 0 || !step->forecast || err->code == ERR_CANCELED)
        return rc;
    step->unknown = true;
    buf_clear(&step->attempt->run.text);
    state_differs(&step->attempt->run, "%s", step->forecast);
    return 0;
}

static int find_step_arguments(struct step *step, struct err *err)
{
    struct arena *arena = step->attempt->run.arena;
    struct diags diags = DIAGS_INIT(arena), unknown = DIAGS_INIT(arena);
    struct value *filled;

    step->args = step->state->args;
    step->body = &step->state->body;
    if (!step->state->deferred)
        return 0;
    filled = ARENA_NEW(arena, struct value);
    if (output_fill(arena, step->world->plan->outputs, &step->state->body, find_state_output, step,
                    filled, err) < 0 ||
        slot_fill(arena, step->world->host, filled, filled, &step->forecast, err) < 0)
        return -1;
    step->body = filled;
    if (secrets_add_body(step->world->host->secrets, step->state->module->params, filled))
        step->attempt->run.secret = true;
    if (plan_decode(arena, step->state, filled,
                    plan_is_strict(step->state, step->world->host) ? NULL : &unknown, &step->args,
                    &diags) == 0)
        return 0;
    (void)diags_to_err(&diags, err);
    return ignore_failure(step, -1, err);
}

/* --- canceling ----------------------------------------------------------------------- */

/* Makes walks, reads and copies of this thread cancelable until the work ends. */
static const struct cancel *begin_step_work(const struct step *step)
{
    cancel_begin();
    return cancel_heed(step->world->host->cancel);
}

static int end_work(const struct cancel *before, int rc, struct err *err)
{
    (void)cancel_heed(before);
    return cancel_end(rc, err);
}

/* --- check --------------------------------------------------------------------------- */

/* Do all paths of `creates` exist? */
static int is_created(const struct plan_state *state, bool *ret, struct err *err)
{
    struct fs_info info;

    *ret = state->creates.n > 0;
    for (size_t i = 0; i < state->creates.n && *ret; i++) {
        if (fs_stat(state->creates.p[i], &info, err) < 0)
            return -1;
        *ret = info.kind != FS_NONE;
    }
    return 0;
}

/* Sets run.differs. Forced states are checked in a dry run only, for the report: a module reports
 * what the forced apply would do. */
static int check_state_changes(struct step *step, struct err *err)
{
    struct state_run *run = &step->attempt->run;
    const struct cancel *before;
    bool created;
    int rc;

    if (step->unknown)
        return 0;
    if (!run->forced) {
        if (is_created(step->state, &created, err) < 0)
            return -1;
        if (created) {
            state_say(run, "creates path %s already exists", step->state->creates.p[0]);
            return 0;
        }
    }
    if (!step->state->module->check) {
        run->differs = true;
        return 0;
    }
    before = begin_step_work(step);
    rc = end_work(before, step->state->module->check(run, step->args, err), err);
    return ignore_failure(step, rc, err);
}

/* --- apply --------------------------------------------------------------------------- */

/* A revert must hide the same content as apply. */
static bool hides_content(const struct step *step)
{
    struct shown {
        bool changes;
    } shown = { true };
    static const struct param param[] = {
        PARAM("show_changes", BOOL, struct shown, changes, "show what changes"),
        { 0 },
    };
    static const struct params_policy policy = { 0 };
    struct diags ignored = DIAGS_INIT(step->attempt->run.arena); /* its own table has read it */
    const struct value *given = value_get(step->body, "show_changes");

    if (!given)
        given = value_get(step->body, "show_diff");
    if (given)
        (void)params_decode_one(ignored.arena, param, &policy, given, &shown, &ignored);
    return !shown.changes;
}

static int begin_attempt_step(struct step *step, struct err *err)
{
    struct attempt *attempt = step->attempt;
    const char *shown =
        secrets_masked(step->world->host->secrets, attempt->run.arena, str_from(step->state->name))
            .p;
    const struct undo_state state = {
        .name = step->state->name,
        .shown = shown != step->state->name ? shown : NULL,
        .module = step->state->module->name,
        .id = step->state->id,
        .body = step->state->module->revert ? step->body : NULL,
        .level = step->state->level,
        .retry = step->state->retry,
        .secret = attempt->run.secret,
        .hidden = hides_content(step),
    };
    const struct attempt_world *world = step->world;

    if (world->before_apply &&
        world->before_apply(world->user, (uint32_t)(step->state - world->plan->states), err) < 0)
        return -1;
    attempt->change = (struct change){ .undo = world->undo, .drafts = world->drafts };
    attempt->run.change = &attempt->change;
    return undo_begin(world->undo, &state, &attempt->change.number, err);
}

/* A failed module has left its file changes and its noted changes. */
static enum attempt_traces find_traces(const struct step *step, int rc, const struct err *err)
{
    const struct state_run *run = &step->attempt->run;

    if (rc == 0)
        return run->unchanged ? TRACES_NONE : TRACES_CHANGED;
    if (step->attempt->change.acted)
        return TRACES_CHANGED;
    if (run->notes && run->notes->count > 0)
        return run->untouched ? TRACES_NONE : TRACES_CHANGED;
    if (!(step->state->module->flags & MODULE_NO_UNDO))
        return TRACES_NONE;
    return err->code == ERR_CANCELED ? TRACES_CHANGED : TRACES_UNKNOWN;
}

static void end_attempt(struct step *step, int rc, const struct err *err)
{
    struct attempt *attempt = step->attempt;
    enum state_outcome outcome = rc < 0                   ? OUTCOME_FAILED
                                 : attempt->run.unchanged ? OUTCOME_UNCHANGED
                                                          : OUTCOME_CHANGED;
    struct err ignored;

    /* A journal that can no longer be written fails the next state that needs it. */
    (void)change_finish(&attempt->run, &ignored);
    (void)undo_end(step->world->undo, attempt->change.number, outcome, &ignored);
    attempt->traces = find_traces(step, rc, err);
    attempt->run.change = NULL;
}

/* Move the differences of check to the text of the change. Returns that text. */
static struct str report_as_done(struct attempt *attempt)
{
    struct state_run *run = &attempt->run;
    const struct str found = arena_str(run->arena, buf_view(&run->text));

    if (run->done && run->text.n > 0) {
        buf_clear(&run->text);
        buf_add_str(&run->text, buf_view(&run->done->text));
    }
    run->done = NULL;
    return found;
}

/* Restore the differences after a failure. The text of apply follows or replaces them. */
static void report_as_found(struct attempt *attempt, struct str found)
{
    struct buf *text = &attempt->run.text;
    const struct str done = buf_view(&attempt->done.text);
    struct str more;

    if (done.n == 0 || !str_starts(buf_view(text), done))
        return;
    more = arena_str(attempt->run.arena, str_from_offset(buf_view(text), done.n));
    buf_clear(text);
    buf_add_str(text, found);
    buf_add_str(text, more);
}

static int apply_state_changes(struct step *step, struct err *err)
{
    struct state_run *run = &step->attempt->run;
    const struct cancel *before;
    struct str found;
    int rc;

    if (!step->state->module->apply)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be applied: it is a function",
                       step->state->module->name);
    if (begin_attempt_step(step, err) < 0)
        return -1;
    if (!(step->state->module->flags & MODULE_IDLE))
        (void)host_facts(run->host); /* collect facts now at the latest, before anything changes */
    found = report_as_done(step->attempt);
    before = begin_step_work(step);
    rc = end_work(before, step->state->module->apply(run, step->args, err), err);
    if (rc < 0 || run->unchanged)
        report_as_found(step->attempt, found);
    end_attempt(step, rc, err);
    if (rc < 0)
        return -1;
    step->attempt->changed = !run->unchanged;
    return step->state->dialect->check_decides ? 0 : guard_check(run, step->state, err);
}

/* Apply check_cmd to the result of a state; not to a canceled one. */
static int decide_changes(struct step *step, int rc, struct err *err)
{
    struct state_run *run = &step->attempt->run;
    const char *failure = rc < 0 ? arena_strdup(run->arena, err->text) : NULL;

    if (!step->state->dialect->check_decides || step->state->check_cmd.n == 0 ||
        (rc < 0 && err->code == ERR_CANCELED))
        return rc;
    if (guard_check(run, step->state, err) < 0)
        return -1;
    if (failure)
        state_say(run, "check_cmd succeeded although the state failed: %s", failure);
    return 0;
}

/* --- the attempt ---------------------------------------------------------------------- */

/* May it change something, by the plan that the run is held to? That has names without secrets. */
static bool is_planned(const struct step *step)
{
    const struct state_host *host = step->world->host;
    const struct str name = str_from(step->state->name);

    return !host->plan_binding ||
           plan_binding_has(host->plan_binding,
                            secrets_masked(host->secrets, step->attempt->run.arena, name).p);
}

/* The plan does not say that the state changes: one that would have to fails. */
static int stay_within(struct step *step, struct err *err)
{
    struct state_run *run = &step->attempt->run;

    if (run->forced && check_state_changes(step, err) < 0)
        return -1;
    if (!run->differs)
        return 0;
    return err_set(err, ERR_INVALID, "would change now, but is not in the plan");
}

/* check_cmd runs again after a try that changed something, although nothing is left to change. */
static int check_past(struct step *step, struct err *err)
{
    const bool checks =
        step->attempt->past.traces != TRACES_NONE && !step->state->dialect->check_decides;

    return checks ? guard_check(&step->attempt->run, step->state, err) : 0;
}

/* Decode the arguments and ask the guards. */
static int prepare_state(struct step *step, bool *ret_met, struct err *err)
{
    const struct cancel *before = begin_step_work(step);
    int rc = find_step_arguments(step, err);

    if (rc == 0)
        rc = guard_ask(&step->attempt->run, step->state, ret_met, err);
    return end_work(before, rc, err);
}

/* Hash the bound data of the module, the whole declaration and the unmasked difference. */
static int hash_change(struct step *step, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
    struct state_run *run = &step->attempt->run;

    if (msgpack_encode(&body, step->body, err) < 0)
        return -1;
    state_bind(run, buf_view(&body));
    state_bind(run, buf_view(&run->text));
    sha256_end(run->plan_binding, step->attempt->hash);
    return 0;
}

static int run_guarded_step(struct step *step, struct err *err)
{
    struct state_run *run = &step->attempt->run;
    bool met;

    if (prepare_state(step, &met, err) < 0)
        return -1;
    if (!met) {
        buf_clear(&run->text);
        state_say(run, GUARD_NOT_MET);
        return check_past(step, err);
    }
    if ((!run->forced || step->test) && check_state_changes(step, err) < 0)
        return step->test ? -1 : decide_changes(step, -1, err);
    if (step->test) {
        step->attempt->changed = run->differs;
        return run->plan_binding && run->differs ? hash_change(step, err) : 0;
    }
    if (!is_planned(step)) {
        if (stay_within(step, err) < 0)
            return -1;
        if (!run->acts)
            return 0;
    }
    if (!run->differs && !run->forced && !run->acts)
        return decide_changes(step, check_past(step, err), err);
    return decide_changes(step, apply_state_changes(step, err), err);
}

/* Prepare for another state; memory is reused. */
static void reset_attempt(struct attempt *attempt, const struct attempt_world *world,
                          const struct plan_state *state, bool forced)
{
    struct buf text = attempt->run.text;

    buf_clear(&attempt->done.text);
    attempt->done.text.max = ATTEMPT_TEXT_MAX;
    arena_clear(&attempt->arena);
    buf_clear(&text);
    text.max = ATTEMPT_TEXT_MAX;
    attempt->run = (struct state_run){
        .arena = &attempt->arena,
        .name = state->name,
        .test = !world->undo,
        .forced = forced,
        .secret = state->secret,
        .host = world->host,
        .managed = world->plan->managed,
        .salt = state->dialect->written_order,
        .runas = state->tool_user,
        .umask = state->has_umask ? &state->umask : NULL,
        .text = text,
        .done = world->undo ? &attempt->done : NULL,
    };
    attempt->changed = false;
    attempt->traces = TRACES_NONE;
    if (world->hashes) {
        sha256_init(&attempt->plan_binding);
        attempt->run.plan_binding = &attempt->plan_binding;
    }
    if (world->group && world->undo)
        attempt->run.group = world->group(world->user, (uint32_t)(state - world->plan->states));
}

static void forget_past(struct attempt *attempt)
{
    struct attempt_past *past = &attempt->past;

    buf_clear(&past->text);
    past->text.max = ATTEMPT_TEXT_MAX;
    past->details = NULL;
    past->traces = TRACES_NONE;
    arena_clear(&past->arena);
}

/* A change by one try remains a change when the next try finds it done. */
static void keep_past(struct attempt *attempt)
{
    struct attempt_past *past = &attempt->past;
    struct value details;

    if (attempt->traces == TRACES_NONE)
        return;
    if (attempt->traces > past->traces)
        past->traces = attempt->traces;
    if (attempt->traces != TRACES_CHANGED)
        return; /* the output of a failed command is part of the failure */
    buf_add_str(&past->text, buf_view(&attempt->run.text));
    if (!attempt->run.details)
        return;
    details = value_map(attempt->run.details);
    details = value_copy(&past->arena, &details);
    past->details = details.map;
}

/* The text of the last try comes last, and its details win. */
void attempt_sum_up(struct attempt *attempt)
{
    const struct attempt_past *past = &attempt->past;
    struct state_run *run = &attempt->run;
    const struct str last = arena_str(run->arena, buf_view(&run->text));

    if (past->traces == TRACES_NONE)
        return;
    buf_clear(&run->text);
    buf_add_str(&run->text, buf_view(&past->text));
    buf_add_str(&run->text, last);
    for (size_t i = 0; past->details && i < past->details->count; i++) {
        const struct value_pair *pair = &past->details->pairs[i];

        if (!run->details)
            run->details = value_map_new(run->arena, past->details->count);
        if (!value_map_find(run->details, &pair->key))
            value_map_set(run->arena, run->details, pair->key, pair->value);
    }
    if (past->traces > attempt->traces)
        attempt->traces = past->traces;
    attempt->changed = true;
}

void attempt_done(struct attempt *attempt)
{
    buf_done(&attempt->past.text);
    arena_done(&attempt->past.arena);
    buf_done(&attempt->run.text);
    buf_done(&attempt->done.text);
    arena_done(&attempt->arena);
}

static int run_attempt_once(struct attempt *attempt, const struct attempt_world *world,
                            uint32_t state, bool forced, struct err *err)
{
    struct step step = {
        .attempt = attempt,
        .world = world,
        .state = &world->plan->states[state],
        .test = !world->undo,
    };

    reset_attempt(attempt, world, step.state, forced);
    if (step.state->mistake)
        return err_set(err, ERR_INVALID, "%s", step.state->mistake);
    return run_guarded_step(&step, err);
}

int attempt_run(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                bool forced, struct err *err)
{
    forget_past(attempt);
    return run_attempt_once(attempt, world, state, forced, err);
}

int attempt_again(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                  bool forced, struct err *err)
{
    keep_past(attempt);
    return run_attempt_once(attempt, world, state, forced, err);
}
