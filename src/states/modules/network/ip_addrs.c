/* network.ip_addrs - the IPv4 addresses of the machine. */
#include "core/base/err.h"
#include "states/modules/network/links.h"
#include "states/state/module.h"

#define ARGS struct ip_addrs_args

struct ip_addrs_args {
    const char *interface;
    bool loopback;
};

/* clang-format off */
static const struct param ip_addrs_params[] = {
    PARAM("interface", STR, ARGS, interface, "only those of this interface"),
    PARAM("include_loopback", BOOL, ARGS, loopback, "127.0.0.0/8 too"),
    { 0 },
};
/* clang-format on */

static void add_ip_addresses(struct state_run *run, struct value_list *list,
                             const struct value *interface, bool loopback)
{
    const struct value *addresses = value_get(interface, "inet");

    for (size_t i = 0; addresses && i < addresses->list->count; i++) {
        const struct value *address = value_get(&addresses->list->items[i], "address");

        if (address && (loopback || !str_starts(address->s, STR("127."))))
            value_list_push(run->arena, list, *address);
    }
}

static int ip_addrs_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct ip_addrs_args *want = args;
    struct value_list *list = value_list_new(run->arena, 4);
    struct value all;

    if (links_read(run, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.map->count; i++)
        if (!want->interface || str_is(all.map->pairs[i].key.s, want->interface))
            add_ip_addresses(run, list, &all.map->pairs[i].value, want->loopback);
    *ret = value_list(list);
    return 0;
}

const struct module module_network_ip_addrs = {
    .name = "network.ip_addrs",
    .summary = "the IPv4 addresses of the machine",
    .example = "{}\n",
    .params = ip_addrs_params,
    .args_size = sizeof(struct ip_addrs_args),
    .call = ip_addrs_call,
};
