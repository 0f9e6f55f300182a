/* network.get_route - the route to an address. */
#include "core/base/err.h"
#include "states/modules/network/probe.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct get_route_args

struct get_route_args {
    const char *address;
};

/* clang-format off */
static const struct param get_route_params[] = {
    PARAM("ip", STR, ARGS, address, "the address", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

/* The word after `word`: "192.0.2.1 via 10.0.0.1 dev eth0 src 10.0.0.7"; null: none. */
static struct value find_after(struct state_run *run, struct str line, const char *word)
{
    while (line.n > 0) {
        const bool found = str_is(str_cut(&line, ' '), word);

        line = line.n > 0 ? str_trim(line) : line;
        if (found && line.n > 0)
            return value_str(arena_str(run->arena, str_cut(&line, ' ')));
    }
    return value_null();
}

static int get_route_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    static const char *const words[] = { "ip", "route", "get", NULL };
    static const struct {
        const char *key, *word;
    } parts[] = { { "source", "src" }, { "gateway", "via" }, { "interface", "dev" } };
    const char *address = ((const struct get_route_args *)args)->address;
    struct process_result result;
    struct str line;

    if (probe_run(run, words, address, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "ip route get %s: %.*s", address,
                       STR_ARG(str_trim(result.err)));
    line = str_trim(str_cut(&result.out, '\n'));
    *ret = value_map(value_map_new(run->arena, ARRAY_LEN(parts) + 1));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        value_map_set(run->arena, ret->map, value_text(parts[i].key),
                      find_after(run, line, parts[i].word));
    value_map_set(run->arena, ret->map, value_text("destination"), value_text(address));
    return 0;
}

const struct module module_network_get_route = {
    .name = "network.get_route",
    .summary = "the route to an address, through ip",
    .params = get_route_params,
    .args_size = sizeof(struct get_route_args),
    .call = get_route_call,
};
