#include "states/run/fallback.h"

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/value.h"
#include "states/run/revert.h"
#include "states/state/host.h"
#include "states/state/outcome.h"

/* State name to the position of its first result, counted from 1. */
static struct map index_state_results(struct arena *arena, const struct run_result *result)
{
    struct map places = MAP_INIT_IN(arena);

    for (size_t i = result->states.n; i-- > 0;)
        (void)map_set(&places, str_from(result->states.p[i].name), (void *)(uintptr_t)(i + 1));
    return places;
}

static void add_result_line(struct arena *arena, struct state_result *state, const char *line)
{
    AUTO_BUF struct buf diff = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&diff, state->diff);
    if (diff.n > 0)
        buf_add_char(&diff, '\n');
    buf_add_text(&diff, line);
    state->diff = buf_copy(&diff, arena);
}

static void fail_state(struct arena *arena, struct state_result *state, const char *error)
{
    state->error = arena_printf(arena, "%s%snot reverted: %s", state->error ? state->error : "",
                                state->error ? "; " : "", error);
    state->outcome = OUTCOME_FAILED;
}

static void note_reverted_state(struct arena *arena, struct state_result *state,
                                const struct state_result *reverted)
{
    const bool is_back = reverted->outcome == OUTCOME_CHANGED;

    if (reverted->outcome == OUTCOME_FAILED)
        fail_state(arena, state, reverted->error ? reverted->error : "unknown reason");
    else if (is_back)
        add_result_line(arena, state, "reverted, because the run failed");
    else if (state->outcome == OUTCOME_CHANGED)
        add_result_line(arena, state, "not reverted: nothing to revert");
    else
        return;
    if (!state->details)
        state->details = value_map_new(arena, 1);
    value_map_set(arena, state->details, value_text("reverted"),
                  value_text(is_back ? "true" : "false"));
}

/* Failures without a state in the run: an unreadable journal. */
static void add_fallback_failure(struct arena *arena, struct run_result *result, const char *name,
                                 const char *error)
{
    struct state_result one = { .name = name };

    fail_state(arena, &one, error);
    VEC_PUSH_IN(arena, &result->states, one);
}

void fallback_revert(struct arena *arena, struct state_host *host, struct run_result *result)
{
    const struct revert_options options = { .target = result->run_id, .has_run = true };
    struct run_result undone;
    struct map places;
    struct err err;

    if (result->test || result->canceled || !result->run_id || run_result_is_success(result))
        return;
    if (revert_run(arena, host, &options, NULL, &undone, &err) < 0) {
        add_fallback_failure(arena, result, "state.revert", err.text);
    } else {
        result->fallback = undone.failed > 0    ? FALLBACK_PARTIAL
                           : undone.changed > 0 ? FALLBACK_WHOLE
                                                : FALLBACK_NONE;
        places = index_state_results(arena, result);
        VEC_EACH (&undone.states, reverted) {
            const uintptr_t place = (uintptr_t)map_find(&places, str_from(reverted->name));

            if (place > 0)
                note_reverted_state(arena, &result->states.p[place - 1], reverted);
            else if (reverted->outcome == OUTCOME_FAILED)
                add_fallback_failure(arena, result, reverted->name, reverted->error);
        }
        result->duration += undone.duration;
    }
    run_result_count(result);
}
