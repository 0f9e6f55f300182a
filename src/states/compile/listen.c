#include "states/compile/listen.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "states/compile/plan.h"
#include "states/compile/written.h"
#include "states/state/module.h"

uint32_t listen_count(const struct plan_state *states, uint32_t count)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++)
        found += states[i].requisites[REQUISITE_LISTEN].n > 0;
    return found;
}

/* A change of one is required, and forces apply; failures of others do not matter. */
static struct plan_state new_listener(struct arena *arena, const struct plan_state *state)
{
    struct plan_state listener = *state;

    listener.name = arena_printf(arena, "%s:listener_%s", state->module->name, state->id);
    listener.listener = true;
    memset(listener.requisites, 0, sizeof(listener.requisites));
    listener.requisites[REQUISITE_ONCHANGES_ANY] = state->requisites[REQUISITE_LISTEN];
    listener.requisites[REQUISITE_WATCH_ANY] = state->requisites[REQUISITE_LISTEN];
    return listener;
}

/* The rank of the state that wrote the first `listen` or `listen_in`. */
static double find_rank(const struct plan_state *states, const struct plan_state *state)
{
    const struct plan_targets *targets = &state->requisites[REQUISITE_LISTEN];
    double least = written_rank(state, WRITTEN_CAP);

    for (size_t i = 0; !state->listens && i < targets->n; i++) {
        const double rank = written_rank(&states[targets->p[i]], WRITTEN_CAP);

        least = i == 0 || rank < least ? rank : least;
    }
    return least;
}

/* For qsort_r; those of one state as it lists them. */
static int compare_listeners(const void *a, const void *b, void *user)
{
    const struct plan_state *states = user;
    const struct plan_state *one = &states[*(const uint32_t *)a];
    const struct plan_state *other = &states[*(const uint32_t *)b];
    const double x = find_rank(states, one), y = find_rank(states, other);

    if (x != y)
        return x < y ? -1 : 1;
    if (one->listens != other->listens)
        return one->listens ? -1 : 1;
    return one->heard < other->heard ? -1 : one->heard > other->heard;
}

void listen_add(struct arena *arena, struct plan_state *states, uint32_t count)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, listen_count(states, count));
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        if (states[i].requisites[REQUISITE_LISTEN].n > 0)
            order[n++] = i;
    qsort_r(order, n, sizeof(*order), compare_listeners, states);
    for (uint32_t i = 0; i < n; i++)
        states[count + i] = new_listener(arena, &states[order[i]]);
}
