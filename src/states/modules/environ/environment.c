#include "states/modules/environ/environment.h"

#include <unistd.h>

#include "core/base/arena.h"

struct value environment_list(struct arena *arena)
{
    struct value_map *map = value_map_new(arena, 32);

    for (char **entry = environ; *entry; entry++) {
        struct str rest = arena_str(arena, str_from(*entry));
        const struct str name = str_cut(&rest, '=');

        value_map_set(arena, map, value_str(arena_str(arena, name)),
                      value_str(rest.p ? rest : STR("")));
    }
    return value_map(map);
}
