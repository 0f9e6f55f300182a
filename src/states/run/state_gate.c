#include "states/run/state_gate.h"

#include <string.h>

#include "core/base/arena.h"
#include "states/run/owed.h"
#include "states/compile/plan.h"

struct asking {
    struct arena *arena;
    const struct state_gate_view *view;
    const struct plan_state *state;
    const struct owed_found *debts;
    struct state_gate state_gate;
};

typedef bool result_fn(const struct state_result *result);

static bool is_broken(const struct state_result *result)
{
    return state_result_is_broken(result);
}

static bool has_changed_result(const struct state_result *result)
{
    return result->outcome == OUTCOME_CHANGED;
}

static bool has_failed_result(const struct state_result *result)
{
    return result->outcome == OUTCOME_FAILED;
}

static bool has_not_failed(const struct state_result *result)
{
    return !has_failed_result(result);
}

/* The first target of the kind for which `is` holds, or NULL. */
static const struct state_result *find_first_target(const struct asking *a, enum requisite kind,
                                                    result_fn *is)
{
    const struct plan_targets *targets = &a->state->requisites[kind];

    for (size_t i = 0; i < targets->n; i++) {
        const struct state_result *result = &a->view->results[a->view->position[targets->p[i]]];

        if (is(result))
            return result;
    }
    return NULL;
}

static bool are_all_broken(const struct asking *a, enum requisite kind)
{
    const struct plan_targets *targets = &a->state->requisites[kind];

    for (size_t i = 0; i < targets->n; i++)
        if (!is_broken(&a->view->results[a->view->position[targets->p[i]]]))
            return false;
    return targets->n > 0;
}

static const char *target_name(const struct asking *a, enum requisite kind)
{
    const struct plan_targets *targets = &a->state->requisites[kind];

    return a->view->names[targets->p[0]];
}

/* Does the state name this source under the kind? */
static bool has_watched_target(const struct asking *a, enum requisite kind, const char *name)
{
    const struct plan_targets *targets = &a->state->requisites[kind];

    for (size_t i = 0; i < targets->n; i++)
        if (strcmp(a->view->names[targets->p[i]], name) == 0)
            return true;
    return false;
}

/* A debt to a source that the state no longer names is still due. */
static bool is_dropped_debt(const struct asking *a, const struct owed_debt *debt)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++)
        if (requisite_rule(kind)->change && has_watched_target(a, kind, debt->source))
            return false;
    return true;
}

/* A debt that counts as a change of a target of this kind, or NULL. */
static const struct owed_debt *find_debt(const struct asking *a, enum requisite kind)
{
    VEC_EACH (&a->debts->list, debt)
        if (a->state->requisites[kind].n > 0 &&
            (has_watched_target(a, kind, (*debt)->source) || is_dropped_debt(a, *debt)))
            return *debt;
    return NULL;
}

/* --- words ------------------------------------------------------------------------- */

static const char *describe_broken(const struct asking *a, const struct state_result *result)
{
    if (result->outcome == OUTCOME_FAILED)
        return arena_printf(a->arena, "%s failed: %s", result->name,
                            result->error ? result->error : "no reason given");
    if (result->cause)
        return arena_printf(a->arena, "%s was skipped: %s", result->name, result->cause);
    return arena_printf(a->arena, "%s was skipped", result->name);
}

static const char *name_other_targets(const struct asking *a, enum requisite kind)
{
    size_t n = a->state->requisites[kind].n;

    return n > 1 ? arena_printf(a->arena, " and %zu more", n - 1) : "";
}

/* --- kinds ------------------------------------------------------------------------- */

static bool refuse_state(struct asking *a, enum skip_reason reason, const char *cause)
{
    a->state_gate.skip = reason;
    a->state_gate.cause = cause;
    return false;
}

static bool check_all_targets(struct asking *a, enum requisite kind)
{
    const struct state_result *broken = find_first_target(a, kind, is_broken);

    return !broken || refuse_state(a, SKIP_REQUIRE_FAILED, describe_broken(a, broken));
}

static bool ask_any(struct asking *a, enum requisite kind)
{
    if (!are_all_broken(a, kind))
        return true;
    return refuse_state(a, SKIP_REQUIRE_FAILED,
                        arena_printf(a->arena, "all of %s failed: %s", requisite_name(kind),
                                     describe_broken(a, find_first_target(a, kind, is_broken))));
}

/* A change among those watched; named after the first. */
static void note_target_change(struct asking *a, enum requisite kind, bool forces)
{
    const struct state_result *changed = find_first_target(a, kind, has_changed_result);

    if (!changed)
        return;
    a->state_gate.reacts = true;
    a->state_gate.forced |= forces;
    if (!a->state_gate.cause)
        a->state_gate.cause = arena_printf(a->arena, "%s %s", changed->name,
                                           a->view->test ? "would change" : "changed");
}

static bool ask_success(struct asking *a, enum requisite kind)
{
    return requisite_rule(kind)->one ? ask_any(a, kind) : check_all_targets(a, kind);
}

static bool ask_change(struct asking *a, enum requisite kind)
{
    if (!ask_success(a, kind))
        return false;
    note_target_change(a, kind, false);
    if (find_first_target(a, kind, has_changed_result) || find_debt(a, kind))
        return true;
    return refuse_state(a, SKIP_ONCHANGES_NOT_MET,
                        arena_printf(a->arena, "no change in %s%s", target_name(a, kind),
                                     name_other_targets(a, kind)));
}

static bool ask_failure(struct asking *a, enum requisite kind)
{
    const bool one = requisite_rule(kind)->one;
    const struct state_result *failed = find_first_target(a, kind, has_failed_result);
    const struct state_result *well = find_first_target(a, kind, has_not_failed);

    if (one && !failed)
        return refuse_state(a, SKIP_ONFAIL_NOT_MET,
                            arena_printf(a->arena, "no failure of %s%s", target_name(a, kind),
                                         name_other_targets(a, kind)));
    if (!one && well)
        return refuse_state(a, SKIP_ONFAIL_NOT_MET,
                            arena_printf(a->arena, "%s did not fail", well->name));
    if (!a->state_gate.cause)
        a->state_gate.cause = describe_broken(a, failed);
    return true;
}

static void note_debts(struct asking *a)
{
    for (enum requisite kind = 0; a->debts->list.n > 0 && kind < REQUISITES; kind++) {
        const struct requisite_rule *rule = requisite_rule(kind);
        const struct owed_debt *debt = rule->change ? find_debt(a, kind) : NULL;

        if (!debt)
            continue;
        a->state_gate.reacts = true;
        a->state_gate.forced |= !rule->only_change;
        if (!a->state_gate.cause)
            a->state_gate.cause =
                arena_printf(a->arena, "owed since run %s: %s had changed", debt->run,
                             debt->source[0] ? debt->source : "something");
    }
}

/* Targets that must succeed, changed or not. */
static bool ask_order(struct asking *a)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++) {
        const struct requisite_rule *rule = requisite_rule(kind);

        if (a->state->requisites[kind].n == 0)
            continue;
        if (rule->success && !rule->only_change && !ask_success(a, kind))
            return false;
    }
    return true;
}

/* Is there a change, or a failure, where the state waits for one? */
static void ask_occasion(struct asking *a)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++) {
        const struct requisite_rule *rule = requisite_rule(kind);

        if (a->state->requisites[kind].n == 0)
            continue;
        if ((rule->only_change && !ask_change(a, kind)) || (rule->failure && !ask_failure(a, kind)))
            return;
    }
}

struct state_gate state_gate_ask(struct arena *arena, const struct state_gate_view *view,
                                 uint32_t state, const struct owed_found *debts)
{
    struct asking a = {
        .arena = arena, .view = view, .state = &view->plan->states[state], .debts = debts
    };

    if (!ask_order(&a))
        return a.state_gate;
    for (enum requisite kind = 0; kind < REQUISITES; kind++)
        if (a.state->requisites[kind].n > 0 && requisite_rule(kind)->change &&
            !requisite_rule(kind)->only_change)
            note_target_change(&a, kind, true);
    note_debts(&a);
    ask_occasion(&a);
    if (a.state_gate.skip != SKIP_NONE)
        a.state_gate.forced = false;
    return a.state_gate;
}
