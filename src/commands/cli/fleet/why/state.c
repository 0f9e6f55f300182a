#include "commands/cli/fleet/why/state.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/fleet/peels.h"
#include "commands/cli/fleet/runs.h"
#include "commands/cli/fleet/why/fleet.h"
#include "states/run/lastrun.h"
#include "states/state/outcome.h"
#include "fleet/wire/exec.h"

/* "file.managed:/etc/motd" by its name, or by its ID. */
static bool is_state_named(const char *state, const char *name)
{
    const char *colon = strchr(state, ':');

    return strcmp(state, name) == 0 || (colon && strcmp(colon + 1, name) == 0);
}

void why_add_run(struct why_chain *chain, const struct lastrun *run)
{
    struct arena *arena = chain->arena;
    const char *refs = "";

    for (size_t i = 0; i < run->refs.n; i++)
        refs = arena_printf(arena, "%s %s", refs, run->refs.p[i]);
    (void)why_add(chain, &(struct why_link){
                             .kind = "run",
                             .id = run->id[0] ? run->id : "-",
                             .what = arena_printf(arena,
                                                  "%s%s%s: %u state%s, %u changed, %u failed, %u "
                                                  "skipped",
                                                  run->function, refs, run->test ? ", dry run" : "",
                                                  run->states, run->states == 1 ? "" : "s",
                                                  run->changed, run->failed, run->skipped),
                             .time = run->time,
                         });
}

/* --- this machine ------------------------------------------------------------------------ */

static const char *describe_state_change(struct arena *arena, const char *cause, bool test)
{
    return arena_printf(arena, "%s%s%s", test ? "would change" : "changed",
                        cause[0] ? ", because " : "", cause);
}

static const char *describe_found_state(struct arena *arena, const struct lastrun_state *state,
                                        bool test)
{
    switch (state->outcome) {
    case OUTCOME_FAILED: return arena_printf(arena, "failed: %s", state->error);
    case OUTCOME_SKIPPED: return arena_printf(arena, "skipped: %s", state->reason);
    case OUTCOME_CHANGED: return describe_state_change(arena, state->cause, test);
    case OUTCOME_UNCHANGED: break;
    }
    return "unchanged";
}

/* Is it the state that the words of a cause begin with? */
static bool is_cause(const struct lastrun_state *state, const char *cause)
{
    const size_t n = strlen(state->name);

    return strncmp(cause, state->name, n) == 0 && cause[n] == ' ';
}

/* The first state that this one needs and that made it run, or kept it from running; NULL: none
 * did. */
static const struct lastrun_state *find_culprit(const struct lastrun_states *states,
                                                const struct lastrun_state *state)
{
    const bool is_skipped = state->outcome == OUTCOME_SKIPPED;

    if (!value_is(&state->needs, VALUE_LIST))
        return NULL;
    for (size_t i = 0; i < state->needs.list->count; i++) {
        const struct value *place = &state->needs.list->items[i];
        const struct lastrun_state *need;

        if (!value_is(place, VALUE_INT) || place->i < 0 || (uint64_t)place->i >= states->list.n)
            continue;
        need = &states->list.p[place->i];
        if (is_skipped ? need->outcome == OUTCOME_FAILED || need->outcome == OUTCOME_SKIPPED
                       : is_cause(need, state->cause))
            return need;
    }
    return NULL;
}

static const struct lastrun_state *find_named_state(const struct lastrun_states *states,
                                                    const char *name)
{
    VEC_EACH (&states->list, state)
        if (is_state_named(state->name, name))
            return state;
    return NULL;
}

int why_add_state(struct why_chain *chain, const char *data_dir, const char *name,
                  const char **ret_run, struct err *err)
{
    struct lastrun_states states;
    const struct lastrun_state *state;
    struct lastrun run;

    if (lastrun_read(chain->arena, data_dir, &run, err) < 0 ||
        lastrun_read_states(chain->arena, data_dir, &states, err) < 0)
        return -1;
    state = find_named_state(&states, name);
    if (!state)
        return err_set(err, ERR_NOT_FOUND, "no state '%s' in the last run", name);
    for (; state; state = find_culprit(&states, state))
        if (!why_add(chain, &(struct why_link){
                                .kind = "state",
                                .id = state->name,
                                .what = describe_found_state(chain->arena, state, run.test),
                            }))
            break;
    why_add_run(chain, &run);
    *ret_run = run.id;
    return 0;
}

/* --- a peel ------------------------------------------------------------------------------ */

static const char *describe_result(struct arena *arena, const struct exec_result *result, bool test)
{
    if (result->error[0])
        return arena_printf(arena, "failed: %s", result->error);
    if (result->skipped)
        return arena_printf(arena, "skipped: %s",
                            result->cause[0] ? result->cause : result->skip_reason);
    return result->changed ? describe_state_change(arena, result->cause, test) : "unchanged";
}

static const struct exec_result *find_state_result(const struct exec_response *response,
                                                   const char *name)
{
    VEC_EACH (&response->results.list, result)
        if (is_state_named(result->name, name))
            return result;
    return NULL;
}

int why_add_peel_state(struct why_chain *chain, struct fleet *fleet, const char *peel,
                       const char *name, struct err *err)
{
    struct fleet_peels all = FLEET_PEELS_INIT(chain->arena), one = FLEET_PEELS_INIT(chain->arena);
    const struct exec_result *result;
    struct fleet_runs runs;

    if (fleet_peels_find(fleet, peel, &all, &one, err) < 0 ||
        fleet_runs_read(fleet, &one, &runs, err) < 0)
        return -1;
    result = runs.list.n > 0 ? find_state_result(&runs.list.p[0].response, name) : NULL;
    if (!result)
        return err_set(err, ERR_NOT_FOUND, "no state '%.256s' in the last job of %.256s%s", name,
                       peel, runs.list.n > 0 ? "" : ": no job ran states there");
    (void)why_add(chain, &(struct why_link){
                             .kind = "state",
                             .id = result->name,
                             .what = arena_printf(chain->arena, "on %s, %s", one.list.p[0]->name,
                                                  describe_result(chain->arena, result,
                                                                  runs.list.p[0].summary.test)),
                         });
    why_add_run(chain, &runs.list.p[0].summary);
    if (why_add_job(chain, fleet, runs.list.p[0].summary.id, err) == 0)
        return 0;
    return err->code == ERR_NOT_FOUND ? 0 : -1;
}
