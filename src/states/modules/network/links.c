#include "states/modules/network/links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/if_packet.h>

#include "core/base/err.h"
#include "core/data/value.h"
#include "states/state/module.h"

#define MAC_BYTES 6

static struct value_map *find_network_link(struct state_run *run, struct value_map *all,
                                           const struct ifaddrs *entry)
{
    const struct value key = value_text(arena_strdup(run->arena, entry->ifa_name));
    const struct value *found = value_map_find(all, &key);
    struct value_map *map;

    if (found)
        return found->map;
    map = value_map_new(run->arena, 4);
    value_map_set(run->arena, map, value_text("up"), value_bool(entry->ifa_flags & IFF_UP));
    value_map_set(run->arena, all, key, value_map(map));
    return map;
}

static void push_value(struct state_run *run, struct value_map *link, const char *descendants,
                       struct value_map *address)
{
    const struct value key = value_text(descendants);
    const struct value *found = value_map_find(link, &key);
    struct value_list *list = found ? found->list : value_list_new(run->arena, 2);

    value_list_push(run->arena, list, value_map(address));
    if (!found)
        value_map_set(run->arena, link, key, value_list(list));
}

static struct value make_attribute_text(struct state_run *run, int descendants, const void *bytes)
{
    char text[INET6_ADDRSTRLEN];

    return value_text(
        arena_strdup(run->arena, inet_ntop(descendants, bytes, text, sizeof(text)) ? text : ""));
}

static void add_ipv4(struct state_run *run, struct value_map *link, const struct ifaddrs *entry)
{
    const struct sockaddr_in *address = (const void *)entry->ifa_addr;
    const struct sockaddr_in *mask = (const void *)entry->ifa_netmask;
    const struct sockaddr_in *all =
        entry->ifa_flags & IFF_BROADCAST ? (const void *)entry->ifa_broadaddr : NULL;
    struct value_map *map = value_map_new(run->arena, 4);

    value_map_set(run->arena, map, value_text("address"),
                  make_attribute_text(run, AF_INET, &address->sin_addr));
    if (mask)
        value_map_set(run->arena, map, value_text("netmask"),
                      make_attribute_text(run, AF_INET, &mask->sin_addr));
    value_map_set(run->arena, map, value_text("broadcast"),
                  all ? make_attribute_text(run, AF_INET, &all->sin_addr) : value_null());
    value_map_set(run->arena, map, value_text("label"),
                  value_text(arena_strdup(run->arena, entry->ifa_name)));
    push_value(run, link, "inet", map);
}

static int count_prefix_bits(const struct sockaddr_in6 *mask)
{
    int n = 0;

    for (size_t i = 0; mask && i < sizeof(mask->sin6_addr); i++)
        n += __builtin_popcount(mask->sin6_addr.s6_addr[i]);
    return n;
}

static void add_ipv6(struct state_run *run, struct value_map *link, const struct ifaddrs *entry)
{
    const struct sockaddr_in6 *address = (const void *)entry->ifa_addr;
    struct value_map *map = value_map_new(run->arena, 2);

    value_map_set(run->arena, map, value_text("address"),
                  make_attribute_text(run, AF_INET6, &address->sin6_addr));
    value_map_set(run->arena, map, value_text("prefixlen"),
                  value_int(count_prefix_bits((const void *)entry->ifa_netmask)));
    push_value(run, link, "inet6", map);
}

static void add_link_mac(struct state_run *run, struct value_map *link, const struct ifaddrs *entry)
{
    const struct sockaddr_ll *hardware = (const void *)entry->ifa_addr;
    const unsigned char *mac = hardware->sll_addr;

    if (hardware->sll_halen == MAC_BYTES)
        value_map_set(run->arena, link, value_text("hwaddr"),
                      value_text(arena_printf(run->arena, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
                                              mac[1], mac[2], mac[3], mac[4], mac[5])));
}

int links_read(struct state_run *run, struct value *ret, struct err *err)
{
    struct value_map *all = value_map_new(run->arena, 4);
    struct ifaddrs *list;

    if (getifaddrs(&list) < 0)
        return err_sys(err, errno, "list the network interfaces");
    for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
        struct value_map *link = find_network_link(run, all, entry);

        if (!entry->ifa_addr)
            continue;
        if (entry->ifa_addr->sa_family == AF_INET)
            add_ipv4(run, link, entry);
        else if (entry->ifa_addr->sa_family == AF_INET6)
            add_ipv6(run, link, entry);
        else if (entry->ifa_addr->sa_family == AF_PACKET)
            add_link_mac(run, link, entry);
    }
    freeifaddrs(list);
    *ret = value_map(all);
    return 0;
}
