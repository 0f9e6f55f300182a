/* network.get_bufsize - the sizes of the rings of a network interface. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fd.h"

#define ARGS struct get_bufsize_args

struct get_bufsize_args {
    const char *interface;
};

/* clang-format off */
static const struct param get_bufsize_params[] = {
    PARAM("iface", STR, ARGS, interface, "the interface", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static void put_rings(struct state_run *run, const struct ethtool_ringparam *rings,
                      struct value_map *to)
{
    const struct {
        const char *key;
        uint32_t size;
    } all[] = {
        { "rx-max", rings->rx_max_pending },
        { "rx-mini-max", rings->rx_mini_max_pending },
        { "rx-jumbo-max", rings->rx_jumbo_max_pending },
        { "tx-max", rings->tx_max_pending },
        { "rx", rings->rx_pending },
        { "rx-mini", rings->rx_mini_pending },
        { "rx-jumbo", rings->rx_jumbo_pending },
        { "tx", rings->tx_pending },
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        value_map_set(run->arena, to, value_text(all[i].key), value_int(all[i].size));
}

/* The output of ethtool -g, under Salt's names; without rings, `result` is false. */
static int get_bufsize_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const char *name = ((const struct get_bufsize_args *)args)->interface;
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };
    struct ifreq request = { .ifr_data = (void *)&rings };
    bool known;

    if (fd < 0)
        return err_sys(err, errno, "socket");
    if (strlen(name) >= sizeof(request.ifr_name))
        return err_set(err, ERR_INVALID, "'%s' is not the name of an interface", name);
    memcpy(request.ifr_name, name, strlen(name));
    known = ioctl(fd, SIOCETHTOOL, &request) == 0;
    *ret = value_map(value_map_new(run->arena, 10));
    value_map_set(run->arena, ret->map, value_text("result"), value_bool(known));
    if (known)
        put_rings(run, &rings, ret->map);
    else
        value_map_set(run->arena, ret->map, value_text("comment"),
                      value_text(arena_strdup(run->arena, strerrordesc_np(errno))));
    return 0;
}

const struct module module_network_get_bufsize = {
    .name = "network.get_bufsize",
    .summary = "the sizes of the rings of a network interface",
    .params = get_bufsize_params,
    .args_size = sizeof(ARGS),
    .call = get_bufsize_call,
};
