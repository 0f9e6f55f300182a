#include "compile/listen.h"

#include <string.h>

#include "base/arena.h"
#include "compile/plan.h"
#include "state/module.h"

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

void listen_add(struct arena *arena, struct plan_state *states, uint32_t count)
{
    uint32_t next = count;

    for (uint32_t i = 0; i < count; i++)
        if (states[i].requisites[REQUISITE_LISTEN].n > 0)
            states[next++] = new_listener(arena, &states[i]);
}
