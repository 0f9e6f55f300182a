#include "jinja/name.h"

#include "base/arena.h"

void names_init(struct names *names, struct arena *arena)
{
    *names = (struct names){ .arena = arena, .map = MAP_INIT_IN(arena) };
}

struct name *names_get(struct names *names, struct str text)
{
    struct name *name = map_find(&names->map, text);

    if (name)
        return name;
    name = ARENA_NEW(names->arena, struct name);
    name->text = arena_str(names->arena, text);
    map_set(&names->map, name->text, name);
    return name;
}
