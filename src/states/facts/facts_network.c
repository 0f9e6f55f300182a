/* Interfaces and addresses: network.*, default_ipv4, and Salt's ipv4, ip4_interfaces... */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "states/facts/scan.h"
#include "core/sys/fd.h"

#define ROUTES_MAX    ((size_t)256 << 10)
#define ADDRESSES_MAX 10000
#define MAC_SIZE      6
#define DISCARD_PORT  9
#define FLAG_GATEWAY  2

/* The lists of addresses. */
struct links {
    struct scan *scan;
    struct value_map *network;
    struct value_list *interfaces;
    struct value_list *lists[2];      /* without loopback; 0: IPv4, 1: IPv6 */
    struct value_list *salt_lists[2]; /* with it */
    struct value_map *salt_names[2];  /* interface -> addresses */
    struct value_map *salt_all, *salt_macs;
};

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    { IFF_UP, "up" },
    { IFF_BROADCAST, "broadcast" },
    { IFF_LOOPBACK, "loopback" },
    { IFF_POINTOPOINT, "pointtopoint" },
    { IFF_MULTICAST, "multicast" },
    { IFF_RUNNING, "running" },
};

static struct value_map *find_link_facts(struct links *links, const char *name)
{
    for (size_t i = 0; i < links->interfaces->count; i++) {
        const struct value *item = &links->interfaces->items[i];

        if (str_is(value_get(item, "name")->s, name))
            return item->map;
    }
    return NULL;
}

static struct value_list *list_in(struct links *links, struct value_map *map, const char *key)
{
    struct value name = value_text(key);
    const struct value *found = value_map_find(map, &name);

    return found ? found->list
                 : scan_add_list(links->scan, map, arena_strdup(links->scan->arena, key));
}

static struct value_map *enter_interface(struct links *links, const struct ifaddrs *entry)
{
    struct scan *scan = links->scan;
    struct value_map *interface = find_link_facts(links, entry->ifa_name);
    struct value_list *flags;

    if (interface)
        return interface;
    interface = value_map_new(scan->arena, 4);
    scan_add_text(scan, interface, "name", str_from(entry->ifa_name));
    scan_add_text(scan, interface, "mac", STR(""));
    flags = scan_add_list(scan, interface, "flags");
    for (size_t i = 0; i < ARRAY_LEN(flag_names); i++)
        if (entry->ifa_flags & flag_names[i].flag)
            scan_push_text(scan, flags, str_from(flag_names[i].name));
    (void)scan_add_list(scan, interface, "addrs");
    (void)list_in(links, links->salt_names[0], entry->ifa_name);
    (void)list_in(links, links->salt_names[1], entry->ifa_name);
    (void)list_in(links, links->salt_all, entry->ifa_name);
    value_list_push(scan->arena, links->interfaces, value_map(interface));
    return interface;
}

static unsigned count_prefix_bits(const struct sockaddr *mask, bool v6)
{
    const unsigned char *bytes;
    unsigned bits = 0;

    if (!mask)
        return v6 ? 128 : 32;
    bytes = v6 ? ((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr.s6_addr
               : (const unsigned char *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr;
    for (size_t i = 0; i < (v6 ? 16U : 4U); i++)
        bits += (unsigned)__builtin_popcount(bytes[i]);
    return bits;
}

static void add_link_address(struct links *links, const struct ifaddrs *entry,
                             struct value_map *interface)
{
    bool v6 = entry->ifa_addr->sa_family == AF_INET6;
    const void *bytes =
        v6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)->sin6_addr
           : (const void *)&((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr;
    struct scan *scan = links->scan;
    char text[INET6_ADDRSTRLEN];

    if (!inet_ntop(entry->ifa_addr->sa_family, bytes, text, sizeof(text)))
        return;
    scan_push_text(scan, list_in(links, interface, "addrs"),
                   str_from(arena_printf(scan->arena, "%s/%u", text,
                                         count_prefix_bits(entry->ifa_netmask, v6))));
    if (!(entry->ifa_flags & IFF_LOOPBACK))
        scan_push_text(scan, links->lists[v6], str_from(text));
    scan_push_text(scan, links->salt_lists[v6], str_from(text));
    scan_push_text(scan, list_in(links, links->salt_names[v6], entry->ifa_name), str_from(text));
    scan_push_text(scan, list_in(links, links->salt_all, entry->ifa_name), str_from(text));
}

static void add_link_mac(struct links *links, const struct ifaddrs *entry,
                         struct value_map *interface)
{
    const struct sockaddr_ll *link = (const struct sockaddr_ll *)(const void *)entry->ifa_addr;
    const unsigned char *b = link->sll_addr;
    struct scan *scan = links->scan;
    struct str text;

    if (link->sll_halen != MAC_SIZE)
        return;
    text = str_from(arena_printf(scan->arena, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2],
                                 b[3], b[4], b[5]));
    scan_add_text(scan, interface, "mac", text);
    scan_add_text(scan, links->salt_macs, arena_strdup(scan->arena, entry->ifa_name), text);
}

static void add_interfaces(struct links *links)
{
    struct ifaddrs *all = NULL;
    size_t count = 0;

    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *entry = all; entry && count < ADDRESSES_MAX;
         entry = entry->ifa_next) {
        struct value_map *interface = enter_interface(links, entry);
        int descendants = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;

        count++;
        if (descendants == AF_PACKET)
            add_link_mac(links, entry, interface);
        else if (descendants == AF_INET || descendants == AF_INET6)
            add_link_address(links, entry, interface);
    }
    freeifaddrs(all);
}

/* --- default routes --------------------------------------------------------------------- */

/* The source address of outgoing connections. A connected UDP socket sends nothing; the
 * destination is a documentation address. */
static struct str find_default_address(struct scan *scan)
{
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(DISCARD_PORT) };
    socklen_t size = sizeof(address);
    char text[INET_ADDRSTRLEN];

    (void)inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        !inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)))
        return (struct str){ NULL, 0 };
    return arena_str(scan->arena, str_from(text));
}

/* The gateway of a line of /proc/net/route, whose numbers are hexadecimal in the order of this
 * machine; a NULL view when it is not a default route. */
static struct str parse_gateway(struct scan *scan, struct str line)
{
    struct str name = scan_word(&line), target = scan_word(&line), gateway = scan_word(&line);
    struct str flags = scan_word(&line);
    struct in_addr address;
    char text[INET_ADDRSTRLEN];

    (void)name;
    if (!flags.p || !str_is(target, "00000000"))
        return (struct str){ NULL, 0 };
    if (!(strtoul(arena_strndup(scan->arena, flags.p, flags.n), NULL, 16) & FLAG_GATEWAY))
        return (struct str){ NULL, 0 };
    address.s_addr = (in_addr_t)strtoul(arena_strndup(scan->arena, gateway.p, gateway.n), NULL, 16);
    if (!inet_ntop(AF_INET, &address, text, sizeof(text)))
        return (struct str){ NULL, 0 };
    return arena_str(scan->arena, str_from(text));
}

static void add_gateway(struct scan *scan, struct value_map *network)
{
    struct str rest = scan_read(scan, "proc/net/route", ROUTES_MAX);
    struct str gateway = { NULL, 0 };

    while (rest.p && !gateway.p)
        gateway = parse_gateway(scan, str_cut(&rest, '\n'));
    scan_add_text(scan, network, "gateway", gateway);
    scan_add(scan, scan->facts, "ip4_gw", gateway.p ? value_str(gateway) : value_bool(false));
    scan_add(scan, scan->facts, "ip_gw", value_bool(gateway.p != NULL));
}

/* --- the family -------------------------------------------------------------------------- */

static int compare_address_texts(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    return str_compare(x->s, y->s);
}

static void sort_texts(struct value_list *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_address_texts);
}

static void add_interface_names(struct scan *scan, struct value_map *network)
{
    static const struct {
        const char *from, *to;
    } names[] = { { "host", "hostname" }, { "fqdn", "fqdn" } };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct value key = value_text(names[i].from);
        const struct value *known = value_map_find(scan->facts, &key);

        if (known)
            scan_add(scan, network, names[i].to, *known);
    }
}

void facts_network(struct scan *scan)
{
    struct links links = { .scan = scan };

    links.network = scan_add_map(scan, scan->facts, "network");
    add_interface_names(scan, links.network);
    links.lists[0] = scan_add_list(scan, links.network, "ipv4");
    links.lists[1] = scan_add_list(scan, links.network, "ipv6");
    links.interfaces = scan_add_list(scan, links.network, "interfaces");
    links.salt_lists[0] = scan_add_list(scan, scan->facts, "ipv4");
    links.salt_lists[1] = scan_add_list(scan, scan->facts, "ipv6");
    links.salt_names[0] = scan_add_map(scan, scan->facts, "ip4_interfaces");
    links.salt_names[1] = scan_add_map(scan, scan->facts, "ip6_interfaces");
    links.salt_all = scan_add_map(scan, scan->facts, "ip_interfaces");
    links.salt_macs = scan_add_map(scan, scan->facts, "hwaddr_interfaces");
    add_interfaces(&links);
    sort_texts(links.salt_lists[0]);
    sort_texts(links.salt_lists[1]);
    add_gateway(scan, links.network);
    scan_add_text(scan, scan->facts, "default_ipv4", find_default_address(scan));
}
