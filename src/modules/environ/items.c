/* environ.items - zester's own environment. */
#include <string.h>
#include <unistd.h>

#include "state/module.h"

static int items_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 32);

    (void)args;
    (void)err;
    for (char **entry = environ; *entry; entry++) {
        struct str rest = arena_str(run->arena, str_from(*entry));
        const struct str name = str_cut(&rest, '=');

        value_map_set(run->arena, map, value_str(arena_str(run->arena, name)),
                      value_str(rest.p ? rest : STR("")));
    }
    *ret = value_map(map);
    return 0;
}

const struct module module_environ_items = {
    .name = "environ.items",
    .summary = "zester's own environment",
    .params = params_none,
    .call = items_call,
};
