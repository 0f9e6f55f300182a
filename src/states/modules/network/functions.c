/* Questions about addresses and networks, under their Salt names. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/network/links.h"
#include "states/modules/network/neighbours.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"

#define ARGS     struct network_args
#define ROUTES   "/proc/net/route"
#define ROUTES6  "/proc/net/ipv6_route"
#define FILE_MAX ((size_t)4 << 20)

enum { FAMILY_BOTH, FAMILY_INET, FAMILY_INET6 };

struct network_args {
    const char *text, *cidr;
    bool loopback;
    int descendants;
};

/* clang-format off */
static const struct param text_params[] = {
    PARAM("ip_addr", STR, ARGS, text, "the address, network, interface or host", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "iface,ip,cidr,host,addr"),
    { 0 },
};
static const struct param net_params[] = {
    PARAM("ip_addr", STR, ARGS, text, "the address, or a network", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "cidr"),
    PARAM("netmask", STR, ARGS, cidr, "the mask, when the address has no prefix"),
    { 0 },
};
static const struct param inside_params[] = {
    PARAM("cidr", STR, ARGS, cidr, "the network", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("addr", STR, ARGS, text, "an address (default: those of the machine)", .aliases = "ip_addr"),
    { 0 },
};
static const struct param addrs_params[] = {
    PARAM("interface", STR, ARGS, text, "only those of this interface", .flags = PARAM_PRIMARY),
    PARAM("include_loopback", BOOL, ARGS, loopback, "those of the loopback interface too"),
    PARAM("cidr", STR, ARGS, cidr, "only those in this network"),
    { 0 },
};
static const struct param start_params[] = {
    PARAM("cidr", STR, ARGS, cidr, "the network", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
static const struct param route_params[] = {
    PARAM("family", CHOICE, ARGS, descendants, "only those of this family", .choices = "both|inet|inet6", .default_text = "both", .flags = PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

/* --- addresses ------------------------------------------------------------------------------- */

/* An address, or a network with its prefix; both families as bytes. */
struct net {
    int descendants;
    unsigned char bytes[sizeof(struct in6_addr)];
    size_t size;
    unsigned prefix;
};

static bool parse_network_address(struct str text, struct net *ret)
{
    char copy[INET6_ADDRSTRLEN];

    if (text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    *ret = (struct net){ .descendants = strchr(copy, ':') ? AF_INET6 : AF_INET };
    ret->size = ret->descendants == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    ret->prefix = (unsigned)ret->size * 8;
    return inet_pton(ret->descendants, copy, ret->bytes) == 1;
}

static unsigned count_bits(const struct net *mask)
{
    unsigned n = 0;

    for (size_t i = 0; i < mask->size; i++)
        n += (unsigned)__builtin_popcount(mask->bytes[i]);
    return n;
}

/* "10.0.0.0/8", "10.0.0.0/255.0.0.0", "10.1.2.3". */
static int parse_net(const char *text, struct net *ret, struct err *err)
{
    struct str rest = str_from(text);
    const struct str address = str_cut(&rest, '/');
    struct net mask;
    int64_t prefix;
    struct err ignored;

    if (!parse_network_address(address, ret))
        return err_set(err, ERR_INVALID, "'%s' is not an address or a network", text);
    if (!rest.p)
        return 0;
    if (number_parse_int(rest, &prefix, &ignored) == 0 && prefix >= 0 &&
        prefix <= (int64_t)ret->size * 8)
        ret->prefix = (unsigned)prefix;
    else if (parse_network_address(rest, &mask) && mask.descendants == ret->descendants)
        ret->prefix = count_bits(&mask);
    else
        return err_set(err, ERR_INVALID, "'%s' has no valid prefix", text);
    return 0;
}

static bool is_inside_network(const struct net *net, const struct net *address)
{
    if (net->descendants != address->descendants)
        return false;
    for (unsigned i = 0; i < net->prefix; i++)
        if ((net->bytes[i / 8] ^ address->bytes[i / 8]) & (0x80U >> i % 8))
            return false;
    return true;
}

/* The network address (host bits clear) or the broadcast address (host bits set). */
static struct net fill_host(const struct net *net, bool ones)
{
    struct net filled = *net;

    for (unsigned i = net->prefix; i < net->size * 8; i++) {
        const unsigned char bit = (unsigned char)(0x80U >> i % 8);

        filled.bytes[i / 8] =
            (unsigned char)(ones ? filled.bytes[i / 8] | bit : filled.bytes[i / 8] & ~bit);
    }
    return filled;
}

static struct value print_address(struct state_run *run, const struct net *net)
{
    char text[INET6_ADDRSTRLEN];

    return value_text(arena_strdup(
        run->arena, inet_ntop(net->descendants, net->bytes, text, sizeof(text)) ? text : ""));
}

static struct value print_net(struct state_run *run, const struct net *net)
{
    const struct net base = fill_host(net, false);

    return value_text(
        arena_printf(run->arena, "%s/%u", print_address(run, &base).s.p, net->prefix));
}

static int is_in_one(const char *text, const char *const *nets, struct value *ret, struct err *err)
{
    struct net address, net;
    bool found = false;

    if (parse_net(text, &address, err) < 0)
        return -1;
    for (; *nets; nets++)
        found |= parse_net(*nets, &net, err) == 0 && is_inside_network(&net, &address);
    *ret = value_bool(found);
    return 0;
}

static int call_is_loopback(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    static const char *const nets[] = { "127.0.0.0/8", "::1", NULL };

    (void)run;
    return is_in_one(((const struct network_args *)args)->text, nets, ret, err);
}

static int call_is_private(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    static const char *const nets[] = { "10.0.0.0/8",
                                        "172.16.0.0/12",
                                        "192.168.0.0/16",
                                        "127.0.0.0/8",
                                        "169.254.0.0/16",
                                        "fc00::/7",
                                        "fe80::/10",
                                        "::1",
                                        NULL };

    (void)run;
    return is_in_one(((const struct network_args *)args)->text, nets, ret, err);
}

static int call_calc_net(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct network_args *want = args;
    const char *text =
        want->cidr ? arena_printf(run->arena, "%s/%s", want->text, want->cidr) : want->text;
    struct net net;

    if (parse_net(text, &net, err) < 0)
        return -1;
    *ret = print_net(run, &net);
    return 0;
}

static int call_convert_cidr(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 3);
    struct net net, base, mask, last;

    if (parse_net(((const struct network_args *)args)->text, &net, err) < 0)
        return -1;
    base = fill_host(&net, false);
    last = fill_host(&net, true);
    mask = net;
    memset(mask.bytes, 0xff, sizeof(mask.bytes));
    mask = fill_host(&mask, false);
    value_map_set(run->arena, map, value_text("network"), print_address(run, &base));
    value_map_set(run->arena, map, value_text("netmask"), print_address(run, &mask));
    value_map_set(run->arena, map, value_text("broadcast"), print_address(run, &last));
    *ret = value_map(map);
    return 0;
}

/* The name of the address in the domain of addresses, for reverse lookups. */
static int call_reverse_ip(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(256);
    struct net net;

    if (parse_net(((const struct network_args *)args)->text, &net, err) < 0)
        return -1;
    for (size_t i = net.size; i-- > 0;)
        if (net.descendants == AF_INET)
            buf_printf(&out, "%u.", net.bytes[i]);
        else
            buf_printf(&out, "%x.%x.", net.bytes[i] & 0xfU, net.bytes[i] >> 4);
    buf_add_text(&out, net.descendants == AF_INET ? "in-addr.arpa" : "ip6.arpa");
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

static int call_iphexval(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(64);
    struct net net;

    if (parse_net(((const struct network_args *)args)->text, &net, err) < 0)
        return -1;
    for (size_t i = 0; i < net.size; i++)
        buf_printf(&out, "%02X", net.bytes[i]);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

/* --- of the machine ---------------------------------------------------------------------- */

/* Converts an interface address; false: leave it out. */
typedef bool pick_fn(struct state_run *run, const struct net *net, struct value *ret);

static bool pick_address(struct state_run *run, const struct net *net, struct value *ret)
{
    *ret = print_address(run, net);
    return true;
}

static bool pick_net(struct state_run *run, const struct net *net, struct value *ret)
{
    *ret = print_net(run, net);
    return true;
}

static bool read_dns_entry(const struct value *entry, struct net *ret)
{
    const char *address = value_get_text(entry, "address"),
               *mask = value_get_text(entry, "netmask");
    const struct value *prefix = value_get(entry, "prefixlen");
    struct net bits;

    if (!address || !parse_network_address(str_from(address), ret))
        return false;
    if (value_is(prefix, VALUE_INT))
        ret->prefix = (unsigned)prefix->i;
    else if (mask && parse_network_address(str_from(mask), &bits))
        ret->prefix = count_bits(&bits);
    return true;
}

static bool has_value(const struct value_list *list, const struct value *v)
{
    for (size_t i = 0; i < list->count; i++)
        if (value_equal(&list->items[i], v))
            return true;
    return false;
}

static void pick_link(struct state_run *run, const struct value *entries, const struct net *only,
                      bool loopback, pick_fn *pick, struct value_list *list)
{
    const char *const loops[] = { "127.0.0.0/8", "::1", NULL };

    for (size_t i = 0; value_is(entries, VALUE_LIST) && i < entries->list->count; i++) {
        const char *address = value_get_text(&entries->list->items[i], "address");
        struct value shown, is_loop;
        struct err ignored;
        struct net net;

        if (!read_dns_entry(&entries->list->items[i], &net) ||
            (only && !is_inside_network(only, &net)) ||
            is_in_one(address, loops, &is_loop, &ignored) < 0 || (is_loop.b && !loopback))
            continue;
        if (pick(run, &net, &shown) && !has_value(list, &shown))
            value_list_push(run->arena, list, shown);
    }
}

static int pick_all(struct state_run *run, const struct network_args *want, const char *descendants,
                    pick_fn *pick, struct value *ret, struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 4);
    struct value all;
    struct net only;

    if ((want->cidr && parse_net(want->cidr, &only, err) < 0) || links_read(run, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.map->count; i++)
        if (!want->text || str_is(all.map->pairs[i].key.s, want->text))
            pick_link(run, value_get(&all.map->pairs[i].value, descendants),
                      want->cidr ? &only : NULL, want->loopback, pick, list);
    *ret = value_list(list);
    return 0;
}

#define PICKER(function, descendants, pick)                                                        \
    static int function(struct state_run *run, const void *args, struct value *ret,                \
                        struct err *err)                                                           \
    {                                                                                              \
        return pick_all(run, args, descendants, pick, ret, err);                                   \
    }

PICKER(call_ipaddrs, "inet", pick_address)
PICKER(call_ipaddrs6, "inet6", pick_address)
PICKER(call_subnets, "inet", pick_net)
PICKER(call_subnets6, "inet6", pick_net)

/* One address, or any of the machine: is it in the network? */
static int call_in_subnet(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct network_args *want = args;
    const struct network_args every = { .cidr = want->cidr, .loopback = true };
    const char *const nets[] = { want->cidr, NULL };
    struct value found, found6;
    struct net net;

    if (parse_net(want->cidr, &net, err) < 0)
        return -1;
    if (want->text)
        return is_in_one(want->text, nets, ret, err);
    if (pick_all(run, &every, "inet", pick_address, &found, err) < 0 ||
        pick_all(run, &every, "inet6", pick_address, &found6, err) < 0)
        return -1;
    *ret = value_bool(found.list->count + found6.list->count > 0);
    return 0;
}

static int find_network_interface(struct state_run *run, const char *name, struct value *ret,
                                  struct err *err)
{
    struct value all;
    const struct value *found;

    if (links_read(run, &all, err) < 0)
        return -1;
    found = value_get(&all, name);
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "interface '%s' does not exist", name);
    *ret = *found;
    return 0;
}

static int call_hw_addr(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value link;
    const struct value *address;

    if (find_network_interface(run, ((const struct network_args *)args)->text, &link, err) < 0)
        return -1;
    address = value_get(&link, "hwaddr");
    *ret = address ? *address : value_text("");
    return 0;
}

static int call_interface(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct value link;
    const struct value *entries;

    if (find_network_interface(run, ((const struct network_args *)args)->text, &link, err) < 0)
        return -1;
    entries = value_get(&link, "inet");
    *ret = entries ? *entries : value_list(value_list_new(run->arena, 0));
    return 0;
}

static int call_interface_ip(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    const char *address;

    if (call_interface(run, args, ret, err) < 0)
        return -1;
    address = ret->list->count > 0 ? value_get_text(&ret->list->items[0], "address") : NULL;
    *ret = value_text(address ? address : "");
    return 0;
}

static int call_startswith(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    struct value_list *list = value_list_new(run->arena, 4);
    struct value all;

    if (links_read(run, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.map->count; i++)
        if (str_starts(all.map->pairs[i].key.s,
                       str_from(((const struct network_args *)args)->cidr)))
            value_list_push(run->arena, list, all.map->pairs[i].key);
    *ret = value_list(list);
    return 0;
}

/* --- routes and names -------------------------------------------------------------------- */

/* The kernel prints addresses as hexadecimal numbers in the order of the machine. */
static struct value read_network_hex(struct state_run *run, struct str text)
{
    struct net net = { .descendants = AF_INET, .size = sizeof(struct in_addr), .prefix = 32 };
    const uint32_t number = (uint32_t)strtoul(arena_str(run->arena, text).p, NULL, 16);

    memcpy(net.bytes, &number, sizeof(number));
    return print_address(run, &net);
}

/* Iface Destination Gateway Flags RefCnt Use Metric Mask ... */
static struct value read_route(struct state_run *run, struct str line)
{
    static const char *const keys[] = { "interface", "destination", "gateway", "flags",
                                        NULL,        NULL,          NULL,      "netmask" };
    struct value_map *map = value_map_new(run->arena, ARRAY_LEN(keys));

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct str word = str_trim(str_cut(&line, '\t'));
        const bool is_text = i == 0 || i == 3;

        if (keys[i])
            value_map_set(run->arena, map, value_text(keys[i]),
                          is_text ? value_str(arena_str(run->arena, word))
                                  : read_network_hex(run, word));
    }
    value_map_set(run->arena, map, value_text("addr_family"), value_text("inet"));
    return value_map(map);
}

static int read_routes(struct state_run *run, bool default_only, struct value_list *list,
                       struct err *err)
{
    struct str text;

    if (fs_read(run->arena, ROUTES, FILE_MAX, &text, err) < 0)
        return -1;
    (void)str_cut(&text, '\n'); /* the head */
    while (text.n > 0) {
        const struct str line = str_trim(str_cut(&text, '\n'));
        struct value route;

        if (line.n == 0)
            continue;
        route = read_route(run, line);
        if (!default_only || strcmp(value_get_text(&route, "netmask"), "0.0.0.0") == 0)
            value_list_push(run->arena, list, route);
    }
    return 0;
}

/* 32 digits, in the order of the network. */
static struct value read_hex6(struct state_run *run, struct str text)
{
    struct net net = { .descendants = AF_INET6, .size = sizeof(struct in6_addr), .prefix = 128 };

    for (size_t i = 0; i < net.size; i++)
        net.bytes[i] =
            (unsigned char)strtoul(arena_str(run->arena, str_slice(text, 2 * i, 2)).p, NULL, 16);
    return print_address(run, &net);
}

/* destination length source length gateway metric references uses flags interface; IPv6 has no
 * netmask: the destination has its length. */
static bool read_route6(struct state_run *run, struct str line, struct value *ret)
{
    enum { TO, LENGTH, FROM, FROM_LENGTH, VIA, METRIC, REFS, USES, FLAGS, INTERFACE, WORDS };
    struct str words[WORDS];
    struct value_map *map = value_map_new(run->arena, 6);

    for (size_t i = 0; i < WORDS; i++) {
        line = line.n > 0 ? str_trim(line) : STR("");
        words[i] = str_cut(&line, ' ');
        if (words[i].n == 0)
            return false;
    }
    value_map_set(run->arena, map, value_text("addr_family"), value_text("inet6"));
    value_map_set(
        run->arena, map, value_text("destination"),
        value_text(arena_printf(run->arena, "%s/%lu", read_hex6(run, words[TO]).s.p,
                                strtoul(arena_str(run->arena, words[LENGTH]).p, NULL, 16))));
    value_map_set(run->arena, map, value_text("gateway"), read_hex6(run, words[VIA]));
    value_map_set(run->arena, map, value_text("netmask"), value_text(""));
    value_map_set(run->arena, map, value_text("flags"),
                  value_str(arena_str(run->arena, words[FLAGS])));
    value_map_set(run->arena, map, value_text("interface"),
                  value_str(arena_str(run->arena, words[INTERFACE])));
    *ret = value_map(map);
    return true;
}

/* A kernel without IPv6 has no such file. */
static int read_routes6(struct state_run *run, bool default_only, struct value_list *list,
                        struct err *err)
{
    struct str text;

    if (fs_read(run->arena, ROUTES6, FILE_MAX, &text, err) < 0)
        return -1;
    while (text.n > 0) {
        struct value route;

        if (read_route6(run, str_cut(&text, '\n'), &route) &&
            (!default_only || strcmp(value_get_text(&route, "destination"), "::/0") == 0))
            value_list_push(run->arena, list, route);
    }
    return 0;
}

static int list_routes(struct state_run *run, const void *args, bool default_only,
                       struct value *ret, struct err *err)
{
    const int descendants = ((const struct network_args *)args)->descendants;

    *ret = value_list(value_list_new(run->arena, 8));
    if (descendants != FAMILY_INET6 && read_routes(run, default_only, ret->list, err) < 0)
        return -1;
    return descendants != FAMILY_INET ? read_routes6(run, default_only, ret->list, err) : 0;
}

static int call_routes(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return list_routes(run, args, false, ret, err);
}

static int call_default_route(struct state_run *run, const void *args, struct value *ret,
                              struct err *err)
{
    return list_routes(run, args, true, ret, err);
}

static int call_get_fqdn(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct value *fqdn = value_get(state_grains(run), "fqdn");

    (void)args;
    (void)err;
    *ret = fqdn ? *fqdn : value_text(hostnames_own(run->arena));
    return 0;
}

static int call_fqdns(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct value *names = value_get(state_grains(run), "fqdns");

    (void)args;
    (void)err;
    *ret = value_map(value_map_new(run->arena, 1));
    value_map_set(run->arena, ret->map, value_text("fqdns"),
                  names ? *names : value_list(value_list_new(run->arena, 0)));
    return 0;
}

static int call_host_to_ips(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct network_args *want = args;
    struct value_list *list = value_list_new(run->arena, 4);
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
    char text[NI_MAXHOST];

    (void)err;
    *ret = value_null(); /* as in Salt, when the name is not known */
    if (getaddrinfo(want->text, NULL, &hints, &all) != 0)
        return 0;
    for (const struct addrinfo *one = all; one; one = one->ai_next)
        if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), NULL, 0,
                        NI_NUMERICHOST) == 0)
            value_list_push(run->arena, list, value_text(arena_strdup(run->arena, text)));
    freeaddrinfo(all);
    *ret = value_list(list);
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_network[] = {
    { .name = "network.calc_net", .summary = "the network of an address", ROW(net_params, call_calc_net) },
    { .name = "network.convert_cidr", .summary = "network, netmask and broadcast address of a network", ROW(text_params, call_convert_cidr) },
    { .name = "network.default_route", .summary = "the default routes", ROW(route_params, call_default_route) },
    { .name = "network.fqdns", .summary = "the full names of the addresses of the machine", ROW(params_none, call_fqdns) },
    { .name = "network.get_fqdn", .summary = "the full host name", ROW(params_none, call_get_fqdn) },
    { .name = "network.host_to_ips", .summary = "the addresses of a host", ROW(text_params, call_host_to_ips) },
    { .name = "network.hw_addr", .summary = "the hardware address of an interface", ROW(text_params, call_hw_addr) },
    { .name = "network.hwaddr", .summary = "the hardware address of an interface", ROW(text_params, call_hw_addr) },
    { .name = "network.ifacestartswith", .summary = "interfaces whose names begin with a text", ROW(start_params, call_startswith) },
    { .name = "network.in_subnet", .summary = "whether an address, or one of the machine, is in a network", ROW(inside_params, call_in_subnet) },
    { .name = "network.interface", .summary = "the IPv4 addresses of an interface", ROW(text_params, call_interface) },
    { .name = "network.interface_ip", .summary = "the first IPv4 address of an interface", ROW(text_params, call_interface_ip) },
    { .name = "network.ip_addrs6", .summary = "the IPv6 addresses of the machine", ROW(addrs_params, call_ipaddrs6) },
    { .name = "network.ip_in_subnet", .summary = "whether an address is in a network", ROW(inside_params, call_in_subnet) },
    { .name = "network.ip_neighs", .summary = "the hardware addresses of IPv4 neighbours", ROW(params_none, neighbours_call) },
    { .name = "network.ip_neighs6", .summary = "the hardware addresses of IPv6 neighbours", ROW(params_none, neighbours_call6) },
    { .name = "network.ip_networks", .summary = "the IPv4 networks of the machine", ROW(addrs_params, call_subnets) },
    { .name = "network.ip_networks6", .summary = "the IPv6 networks of the machine", ROW(addrs_params, call_subnets6) },
    { .name = "network.ipaddrs", .summary = "the IPv4 addresses of the machine", ROW(addrs_params, call_ipaddrs) },
    { .name = "network.ipaddrs6", .summary = "the IPv6 addresses of the machine", ROW(addrs_params, call_ipaddrs6) },
    { .name = "network.ipneighs", .summary = "the hardware addresses of IPv4 neighbours", ROW(params_none, neighbours_call) },
    { .name = "network.ipneighs6", .summary = "the hardware addresses of IPv6 neighbours", ROW(params_none, neighbours_call6) },
    { .name = "network.iphexval", .summary = "an address as hexadecimal digits", ROW(text_params, call_iphexval) },
    { .name = "network.is_loopback", .summary = "whether an address is a loopback address", ROW(text_params, call_is_loopback) },
    { .name = "network.is_private", .summary = "whether an address is private", ROW(text_params, call_is_private) },
    { .name = "network.reverse_ip", .summary = "the name of an address for reverse lookups", ROW(text_params, call_reverse_ip) },
    { .name = "network.routes", .summary = "the routes", ROW(route_params, call_routes) },
    { .name = "network.subnets", .summary = "the IPv4 networks of the machine", ROW(addrs_params, call_subnets) },
    { .name = "network.subnets6", .summary = "the IPv6 networks of the machine", ROW(addrs_params, call_subnets6) },
    { 0 },
};
/* clang-format on */
