#include "fleet/beacons/updown.h"

#include <string.h>

#define UP   "true"
#define DOWN "false"

const char *updown_state(bool is_up)
{
    return is_up ? UP : DOWN;
}

static struct value running_of(const char *state)
{
    return state ? value_bool(strcmp(state, UP) == 0) : value_null();
}

void updown_say(struct arena *arena, const char *name, const struct beacon_change *change,
                struct value_map *data)
{
    value_map_set(arena, data, value_text(name), value_text(change->key));
    value_map_set(arena, data, value_text("running"), running_of(change->state));
    value_map_set(arena, data, value_text("previous"), running_of(change->previous));
}
