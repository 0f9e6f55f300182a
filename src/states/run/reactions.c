#include "states/run/reactions.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/compile/plan.h"
#include "states/compile/tree.h"
#include "states/run/state_gate.h"
#include "states/state/host.h"
#include "states/state/secrets.h"

/* Targets whose changes are a reason to act; none for other requisites. */
static struct plan_targets find_watched_targets(const struct plan_state *state, enum requisite kind)
{
    return state->requisites[kind].n > 0 && requisite_rule(kind)->change
               ? state->requisites[kind]
               : (struct plan_targets){ NULL, 0 };
}

static size_t count_watched(const struct plan_state *state)
{
    size_t count = 0;

    for (enum requisite kind = 0; kind < REQUISITES; kind++)
        count += find_watched_targets(state, kind).n;
    return count;
}

/* The watchers of each state: count, sum up, fill. */
static void find_watchers(struct reactions *reactions, struct arena *arena)
{
    const struct plan *plan = reactions->plan;
    uint32_t *start = ARENA_ARRAY(arena, uint32_t, (size_t)plan->count + 2);

    for (uint32_t s = 0; s < plan->count; s++)
        for (enum requisite kind = 0; kind < REQUISITES; kind++) {
            const struct plan_targets targets = find_watched_targets(&plan->states[s], kind);

            VEC_EACH (&targets, target)
                start[*target + 2]++;
        }
    for (uint32_t s = 0; s < plan->count; s++)
        start[s + 2] += start[s + 1];
    reactions->watchers = ARENA_ARRAY(arena, uint32_t, start[plan->count + 1] + 1);
    for (uint32_t s = 0; s < plan->count; s++)
        for (enum requisite kind = 0; kind < REQUISITES; kind++) {
            const struct plan_targets targets = find_watched_targets(&plan->states[s], kind);

            VEC_EACH (&targets, target)
                reactions->watchers[start[*target + 1]++] = s;
        }
    reactions->watcher_start = start;
}

/* The names in results, plans and debts: no secret is in them. */
static void find_reaction_names(struct reactions *reactions, struct arena *arena,
                                struct secrets *secrets)
{
    const struct plan *plan = reactions->plan;
    const char **names = ARENA_ARRAY(arena, const char *, (size_t)plan->count + 1);

    for (uint32_t s = 0; s < plan->count; s++)
        names[s] = secrets_masked(secrets, arena, str_from(plan->states[s].name)).p;
    reactions->names = names;
}

/* When in doubt it exists: then its debts stay its own. */
static bool has_source_file(const void *user, const char *file)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct tree *tree = user;
    const char *path;
    struct err ignored;

    return !tree || tree_find(tree, &scratch, str_from(file), &path, &ignored) < 0 || path;
}

int reactions_open(struct reactions *reactions, struct arena *arena, const struct state_host *host,
                   const struct plan *plan, const char *run_id, enum owed_drafts drafts,
                   struct err *err)
{
    *reactions = (struct reactions){ .plan = plan };
    find_watchers(reactions, arena);
    find_reaction_names(reactions, arena, host->secrets);
    if (!host->data_dir)
        return 0;
    reactions->owed = owed_open(host->data_dir, run_id, drafts, err);
    if (!reactions->owed)
        return -1;
    owed_adopt(reactions->owed, has_source_file, host->tree);
    return 0;
}

void reactions_close(struct reactions *reactions)
{
    owed_free(reactions->owed);
    reactions->owed = NULL;
}

/* The state as a watcher. */
static struct owed_state describe_owed_state(const struct reactions *reactions, struct arena *arena,
                                             uint32_t number)
{
    const struct plan_state *state = &reactions->plan->states[number];
    const char **sources = ARENA_ARRAY(arena, const char *, count_watched(state) + 1);
    size_t n = 0;

    for (enum requisite kind = 0; kind < REQUISITES; kind++) {
        const struct plan_targets targets = find_watched_targets(state, kind);

        VEC_EACH (&targets, target)
            sources[n++] = reactions->names[*target];
    }
    return (struct owed_state){ reactions->names[number], state->files, { n, sources } };
}

void reactions_find(struct reactions *reactions, struct arena *arena, uint32_t state,
                    struct owed_found *ret_found)
{
    struct owed_state known;

    *ret_found = (struct owed_found){ 0 };
    if (!reactions->owed || !owed_has_any(reactions->owed) ||
        count_watched(&reactions->plan->states[state]) == 0)
        return;
    known = describe_owed_state(reactions, arena, state);
    owed_find(reactions->owed, arena, &known, ret_found);
}

int reactions_expect(struct reactions *reactions, uint32_t state, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const char *source = reactions->names[state];
    const uint32_t *start = reactions->watcher_start;

    for (uint32_t i = start[state]; i < start[state + 1]; i++) {
        const struct owed_state known =
            describe_owed_state(reactions, &scratch, reactions->watchers[i]);

        if (owed_expect(reactions->owed, &known, source, err) < 0)
            return -1;
    }
    return 0;
}

/* Does the state run only when the target changes? */
static bool needs_change(const struct plan_state *state, uint32_t source)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++) {
        const struct plan_targets targets = find_watched_targets(state, kind);

        if (requisite_rule(kind)->only_change)
            VEC_EACH (&targets, target)
                if (*target == source)
                    return true;
    }
    return false;
}

/* If a debt cannot be removed, the reaction runs once more, which is safe. */
void reactions_conclude(struct reactions *reactions, uint32_t state, enum attempt_traces traces)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct plan_state *states = reactions->plan->states;
    const uint32_t *start = reactions->watcher_start;
    struct err ignored;

    if (!reactions->owed || traces == TRACES_CHANGED)
        return;
    for (uint32_t i = start[state]; i < start[state + 1]; i++) {
        const uint32_t watcher = reactions->watchers[i];
        const struct owed_state known = describe_owed_state(reactions, &scratch, watcher);

        if (traces == TRACES_NONE || needs_change(&states[watcher], state))
            (void)owed_drop(reactions->owed, &known, reactions->names[state], &ignored);
    }
}

static void settle_reaction_debts(struct reactions *reactions, uint32_t state,
                                  const struct param_strs *but)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct owed_state known;
    struct err ignored;

    if (!reactions->owed)
        return;
    known = describe_owed_state(reactions, &scratch, state);
    (void)owed_settle(reactions->owed, &known, but, &ignored);
}

void reactions_settle(struct reactions *reactions, uint32_t state)
{
    settle_reaction_debts(reactions, state, NULL);
}

void reactions_waive(struct reactions *reactions, uint32_t number,
                     const struct state_gate_view *view)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const struct plan_state *state = &reactions->plan->states[number];
    const char **broken = ARENA_ARRAY(&scratch, const char *, count_watched(state) + 1);
    size_t n = 0;

    for (enum requisite kind = 0; kind < REQUISITES; kind++) {
        const struct plan_targets targets = find_watched_targets(state, kind);

        VEC_EACH (&targets, target)
            if (state_result_is_broken(&view->results[view->position[*target]]))
                broken[n++] = reactions->names[*target];
    }
    settle_reaction_debts(reactions, number, &(struct param_strs){ n, broken });
}
