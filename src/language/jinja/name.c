#include "language/jinja/name.h"

#include "core/base/arena.h"
#include "language/jinja/builtins.h"

void names_init(struct name_table *names, struct arena *arena, const struct builtins *builtins)
{
    static const char *const special[] = { "loop", "self", "super", "caller", "kwargs", "varargs" };

    *names = (struct name_table){ .arena = arena, .builtins = builtins, .map = MAP_INIT_IN(arena) };
    for (size_t i = 0; i < ARRAY_LEN(special); i++)
        names_get(names, str_from(special[i]))->special = (uint8_t)(1U << i);
}

struct name *names_get(struct name_table *names, struct str text)
{
    struct name *name = map_find(&names->map, text);

    if (name)
        return name;
    name = ARENA_NEW(names->arena, struct name);
    name->text = arena_str(names->arena, text);
    name->builtins = names->builtins;
    for (int kind = 0; kind < VALUE_OBJECT; kind++)
        name->methods[kind] =
            builtins_method(names->builtins, &(struct value){ .kind = (uint8_t)kind }, text);
    map_set(&names->map, name->text, name);
    return name;
}

const struct function *name_method(const struct name *name, const struct value *v)
{
    if (v->flags & VALUE_TUPLE) /* has fewer than a list */
        return builtins_method(name->builtins, v, name->text);
    return name->methods[v->kind];
}
