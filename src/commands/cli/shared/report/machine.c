#include "commands/cli/shared/report/machine.h"

#include "core/base/arena.h"
#include "commands/cli/shared/report/fold.h"
#include "core/data/value.h"
#include "states/run/lastrun.h"

void report_machine_read_needs(struct arena *arena, const struct value *needs, size_t count,
                               struct report_state *state)
{
    uint32_t *places;

    if (needs->kind != VALUE_LIST || needs->list->count == 0 || needs->list->count > count)
        return;
    places = ARENA_ARRAY(arena, uint32_t, needs->list->count);
    for (size_t i = 0; i < needs->list->count; i++) {
        const struct value *place = &needs->list->items[i];

        if (place->kind == VALUE_INT && place->i >= 0 && (uint64_t)place->i < count)
            places[state->need_count++] = (uint32_t)place->i;
    }
    state->needs = places;
}

void report_machine_add_stored(struct arena *arena, const struct lastrun_states *states,
                               struct report_machine *machine)
{
    VEC_EACH (&states->list, stored) {
        struct report_state state = {
            .name = stored->name,
            .level = stored->level,
            .outcome = (enum state_outcome)stored->outcome,
            .duration = stored->duration > 0 ? stored->duration : 0,
            .error = stored->error,
            .reason = stored->reason,
            .again = stored->again,
            .diff = stored->diff,
        };

        report_machine_read_needs(arena, &stored->needs, states->list.n, &state);
        VEC_PUSH_IN(arena, &machine->states, state);
    }
}
