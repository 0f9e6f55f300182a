#include "fleet/beacons/level.h"

#include "core/base/arena.h"
#include "core/base/diag.h"

#define WHOLE 100.0

void level_check_margin(double margin, const struct value *given, struct diags *diags)
{
    if (!(margin >= 0 && margin <= WHOLE))
        (void)value_diag(diags, value_point(given, "margin"),
                         "'margin' must be a percentage from 0 to 100");
}

struct beacon_reading level_reading(const char *key, double amount, double over, double margin)
{
    return (struct beacon_reading){ .key = key,
                                    .is_level = true,
                                    .amount = amount,
                                    .over = over,
                                    .clear = over * (WHOLE - margin) / WHOLE };
}

void level_say(struct arena *arena, const struct beacon_change *change, struct value_map *data)
{
    const struct value more = change->reading->data;

    for (size_t i = 0; more.kind == VALUE_MAP && i < more.map->count; i++)
        value_map_set(arena, data, more.map->pairs[i].key, more.map->pairs[i].value);
    value_map_set(arena, data, value_text("limit"), value_double(change->reading->over));
    value_map_set(arena, data, value_text("state"), value_text(change->state));
    value_map_set(arena, data, value_text("previous"), value_text(change->previous));
}
