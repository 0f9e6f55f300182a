/* network.active_tcp - the TCP connections of the machine. */
#include "states/modules/network/sockets.h"
#include "states/state/module.h"

static void put_end(struct state_run *run, struct value_map *map, const char *side,
                    const struct sockets_end *end)
{
    value_map_set(run->arena, map, value_text(arena_printf(run->arena, "%s_addr", side)),
                  value_text(arena_strdup(run->arena, end->address)));
    value_map_set(run->arena, map, value_text(arena_printf(run->arena, "%s_port", side)),
                  value_int(end->port));
}

/* Under numbers from 0, as in Salt. */
static int active_tcp_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    static const char *const protocols[] = { "tcp", "tcp6" };

    (void)args;
    *ret = value_map(value_map_new(run->arena, 16));
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        struct sockets sockets;

        if (sockets_read(run, protocols[i], &sockets, err) < 0)
            return -1;
        VEC_EACH (&sockets.list, row) {
            struct value_map *map = value_map_new(run->arena, 4);

            if (row->state != SOCKETS_ESTABLISHED)
                continue;
            put_end(run, map, "local", &row->local);
            put_end(run, map, "remote", &row->remote);
            value_map_set(run->arena, ret->map, value_int((int64_t)ret->map->count),
                          value_map(map));
        }
    }
    return 0;
}

const struct module module_network_active_tcp = {
    .name = "network.active_tcp",
    .summary = "the TCP connections of the machine",
    .params = params_none,
    .call = active_tcp_call,
};
