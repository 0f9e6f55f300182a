/* Filters on addresses. */
#include "language/jinja/filters/filter.h"

#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/number.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

struct address {
    int family; /* AF_INET, AF_INET6 */
    unsigned char bytes[16];
    int64_t prefix; /* -1: none given */
};

#define ADDRESS_TEXT_MAX 64
#define MAC_BYTES        6
/* Maximum size of a network whose hosts are listed: 65,536. */
#define HOST_BITS_MAX 16

static bool parse_net_address(struct str text, struct address *ret)
{
    size_t slash = str_find_char(text, '/', 0);
    struct str host = str_slice(text, 0, slash);
    char copy[ADDRESS_TEXT_MAX];
    struct err err;

    *ret = (struct address){ .prefix = -1 };
    if (host.n >= sizeof(copy) || memchr(host.p, '\0', host.n))
        return false;
    memcpy(copy, host.p, host.n);
    copy[host.n] = '\0';
    ret->family = strchr(copy, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(ret->family, copy, ret->bytes) != 1)
        return false;
    if (slash == STR_NONE)
        return true;
    return number_parse_int(str_from_offset(text, slash + 1), &ret->prefix, &err) == 0 &&
           ret->prefix >= 0 && ret->prefix <= (ret->family == AF_INET ? 32 : 128);
}

/* --- kinds of addresses, by prefix ------------------------------------------------------ */

static const struct {
    const char *kind;
    int family;
    unsigned char bytes[16];
    int bits;
} blocks[] = {
    { "private", AF_INET, { 10 }, 8 },           { "private", AF_INET, { 172, 16 }, 12 },
    { "private", AF_INET, { 192, 168 }, 16 },    { "private", AF_INET, { 127 }, 8 },
    { "private", AF_INET, { 169, 254 }, 16 },    { "private", AF_INET6, { 0xfc }, 7 },
    { "private", AF_INET6, { 0xfe, 0x80 }, 10 }, { "private", AF_INET6, { [15] = 1 }, 128 },
    { "loopback", AF_INET, { 127 }, 8 },         { "loopback", AF_INET6, { [15] = 1 }, 128 },
    { "link-local", AF_INET, { 169, 254 }, 16 }, { "link-local", AF_INET6, { 0xfe, 0x80 }, 10 },
    { "multicast", AF_INET, { 224 }, 4 },        { "multicast", AF_INET6, { 0xff }, 8 },
    { "reserved", AF_INET, { 240 }, 4 },         { "unspecified", AF_INET, { 0 }, 32 },
    { "unspecified", AF_INET6, { 0 }, 128 },     { "site-local", AF_INET6, { 0xfe, 0xc0 }, 10 },
};

static bool has_prefix(const unsigned char *bytes, const unsigned char *network, int bits)
{
    const int whole = bits / 8, rest = bits % 8;

    return memcmp(bytes, network, (size_t)whole) == 0 &&
           (rest == 0 || ((bytes[whole] ^ network[whole]) & (0xff00 >> rest & 0xff)) == 0);
}

static bool in_block(const struct address *address, size_t i)
{
    return address->family == blocks[i].family &&
           has_prefix(address->bytes, blocks[i].bytes, blocks[i].bits);
}

static bool is_kind(const struct address *address, struct str kind)
{
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        if (str_is(kind, blocks[i].kind) && in_block(address, i))
            return true;
    return false;
}

static const struct {
    const char *word, *kind;
    bool negate;
} kinds[] = {
    { "private", "private", false },
    { "public", "private", true },
    { "global", "private", true },
    { "loopback", "loopback", false },
    { "lo", "loopback", false },
    { "link-local", "link-local", false },
    { "linklocal", "link-local", false },
    { "ll", "link-local", false },
    { "multicast", "multicast", false },
    { "reserved", "reserved", false },
    { "unspecified", "unspecified", false },
    { "site-local", "site-local", false },
    { "sl", "site-local", false },
};

/* Every word of "private, lo" that is known must fit. */
static int fits_options(struct render *render, const struct address *address,
                        const struct value *options, bool *ret)
{
    struct str rest;

    *ret = true;
    if (argument_is_none(options))
        return 0;
    if (argument_text(render, options, &rest) < 0)
        return -1;
    while (rest.p) {
        struct str word = str_trim(str_cut(&rest, ','));
        size_t i = 0;

        while (i < ARRAY_LEN(kinds) && !str_is(word, kinds[i].word))
            i++;
        if (i == ARRAY_LEN(kinds))
            return render_fail(render, RENDER_TYPE, "unknown kind of address '%.*s'",
                               STR_ARG(word));
        if (is_kind(address, str_from(kinds[i].kind)) == kinds[i].negate)
            *ret = false;
    }
    return 0;
}

static int check_net_address(struct render *render, const struct value *v, int family,
                             const struct value *options, bool *ret)
{
    struct address address;

    *ret = v->kind == VALUE_STR && parse_net_address(v->s, &address) &&
           (family == 0 || family == address.family);
    return *ret ? fits_options(render, &address, options, ret) : 0;
}

static int answer_check(struct render *render, const struct bound_args *bound, int family,
                        struct value *ret)
{
    bool yes;

    if (check_net_address(render, &bound->args[0], family, &bound->args[1], &yes) < 0)
        return -1;
    *ret = value_bool(yes);
    return 0;
}

static int filter_is_ip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return answer_check(render, bound, 0, ret);
}

static int filter_is_ipv4(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return answer_check(render, bound, AF_INET, ret);
}

static int filter_is_ipv6(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return answer_check(render, bound, AF_INET6, ret);
}

/* The value when it is an address, else none; the addresses of a list. */
static int keep_addresses(struct render *render, const struct bound_args *bound, int family,
                          struct value *ret)
{
    const struct value *v = &bound->args[0];
    const struct value_list *list;
    struct value_list *made;
    bool yes;

    if (v->kind != VALUE_LIST) {
        if (check_net_address(render, v, family, &bound->args[1], &yes) < 0)
            return -1;
        *ret = yes ? *v : value_null();
        return 0;
    }
    list = container_list(render, v);
    made = container_new_list(render, 0);
    for (size_t i = 0; i < list->count; i++) {
        if (check_net_address(render, &list->items[i], family, &bound->args[1], &yes) < 0)
            return -1;
        if (yes)
            value_list_push(render->arena, made, list->items[i]);
    }
    *ret = value_list(made);
    return 0;
}

static int filter_ipaddr(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return keep_addresses(render, bound, 0, ret);
}

static int filter_ipv4(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return keep_addresses(render, bound, AF_INET, ret);
}

static int filter_ipv6(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return keep_addresses(render, bound, AF_INET6, ret);
}

/* How many addresses a network has. */
static int filter_network_size(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    struct address address;
    int64_t bits;

    if (bound->args[0].kind != VALUE_STR || !parse_net_address(bound->args[0].s, &address))
        return render_fail(render, RENDER_TYPE,
                           "network_size expects a network such as 10.0.0.0/8");
    bits = address.prefix < 0 ? 0 : (address.family == AF_INET ? 32 : 128) - address.prefix;
    if (bits > 62)
        return render_fail(render, RENDER_TYPE, "integer overflow: the network is too large");
    *ret = value_int(INT64_C(1) << bits);
    return 0;
}

static void add_address_offset(struct address *address, uint64_t number)
{
    for (size_t i = address->family == AF_INET ? 4 : 16; i-- > 0 && number > 0; number >>= 8) {
        number += address->bytes[i];
        address->bytes[i] = (unsigned char)(number & 0xff);
    }
}

static void clear_host(struct address *address, int64_t bits)
{
    for (size_t i = address->family == AF_INET ? 4 : 16; i-- > 0 && bits > 0; bits -= 8)
        address->bytes[i] &= (unsigned char)(bits >= 8 ? 0 : 0xffU << bits);
}

/* All addresses except the first and the last one, which are reserved; a network of one or two has
 * no others. */
static int filter_network_hosts(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct value_list *list = container_new_list(render, 0);
    struct address address;
    int64_t bits;

    if (bound->args[0].kind != VALUE_STR || !parse_net_address(bound->args[0].s, &address))
        return render_fail(render, RENDER_TYPE,
                           "network_hosts expects a network such as 10.0.0.0/24");
    bits = address.prefix < 0 ? 0 : (address.family == AF_INET ? 32 : 128) - address.prefix;
    if (bits > HOST_BITS_MAX)
        return render_fail(render, RENDER_LIMIT, "network_hosts: more than %d addresses",
                           1 << HOST_BITS_MAX);
    clear_host(&address, bits);

    const bool all = bits < 2;
    const uint64_t count = UINT64_C(1) << bits;
    /* IPv6 leaves out only the first one */
    const uint64_t end = all || address.family == AF_INET6 ? count : count - 1;

    if (!all)
        add_address_offset(&address, 1);
    for (uint64_t i = all ? 0 : 1; i < end; i++) {
        char text[INET6_ADDRSTRLEN];

        value_list_push(
            render->arena, list,
            value_text(arena_strdup(render->arena,
                                    inet_ntop(address.family, address.bytes, text, sizeof(text)))));
        add_address_offset(&address, 1);
    }
    *ret = value_list(list);
    return 0;
}

/* The address of an interface, with the length of its network. */
static int filter_ip_host(struct render *render, const struct bound_args *bound, struct value *ret)
{
    char text[INET6_ADDRSTRLEN];
    struct address address;

    *ret = value_null();
    if (bound->args[0].kind != VALUE_STR || !parse_net_address(bound->args[0].s, &address))
        return 0;
    *ret = value_text(arena_printf(render->arena, "%s/%d",
                                   inet_ntop(address.family, address.bytes, text, sizeof(text)),
                                   address.prefix >= 0         ? (int)address.prefix
                                   : address.family == AF_INET ? 32
                                                               : 128));
    return 0;
}

static struct value wrap_address(struct render *render, const struct value *v)
{
    struct address address;

    if (v->kind != VALUE_STR || !parse_net_address(v->s, &address) || address.family != AF_INET6 ||
        address.prefix >= 0)
        return *v;
    return value_text(arena_printf(render->arena, "[%.*s]", STR_ARG(v->s)));
}

/* IPv6 in brackets, as in a URL, of a list each; anything else as it is. */
static int filter_ipwrap(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;
    struct value_list *made;

    if (bound->args[0].kind != VALUE_LIST) {
        *ret = wrap_address(render, &bound->args[0]);
        return 0;
    }
    list = container_list(render, &bound->args[0]);
    made = container_new_list(render, list->count);
    for (size_t i = 0; i < list->count; i++)
        value_list_push(render->arena, made, wrap_address(render, &list->items[i]));
    *ret = value_list(made);
    return 0;
}

/* --- addresses of networks ----------------------------------------------------------------- */

static bool is_in_network(const struct address *address, struct str network)
{
    struct address net;

    if (!parse_net_address(network, &net) || net.family != address->family)
        return false;
    return has_prefix(address->bytes, net.bytes,
                      net.prefix >= 0 ? (int)net.prefix : (net.family == AF_INET ? 32 : 128));
}

/* The addresses that are in one of the networks. */
static int pick_addresses(struct render *render, const struct value *from,
                          const struct value_list *networks, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);
    const struct value_list *list;

    if (op_list(render, from, &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        struct address address;
        bool found = false;

        if (list->items[i].kind != VALUE_STR || !parse_net_address(list->items[i].s, &address))
            return render_fail(render, RENDER_TYPE, "filter_by_networks: not an address: %s",
                               value_describe(&list->items[i]));
        for (size_t k = 0; k < networks->count && !found; k++)
            found = networks->items[k].kind == VALUE_STR &&
                    is_in_network(&address, networks->items[k].s);
        if (found)
            value_list_push(render->arena, made, list->items[i]);
    }
    *ret = value_list(made);
    return 0;
}

/* Filters a list, or each list in a map, such as the addresses of interfaces. */
static int filter_by_networks(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    const struct value_list *networks;
    const struct value_map *map;
    struct value_map *made;

    *ret = bound->args[0];
    if (argument_is_none(&bound->args[1]))
        return 0;
    if (op_list(render, &bound->args[1], &networks) < 0)
        return -1;
    if (bound->args[0].kind != VALUE_MAP)
        return pick_addresses(render, &bound->args[0], networks, ret);
    map = container_map(render, &bound->args[0]);
    made = container_new_map(render, map->count);
    for (size_t i = 0; i < map->count; i++) {
        struct value picked;

        if (pick_addresses(render, &map->pairs[i].value, networks, &picked) < 0)
            return -1;
        value_map_set(render->arena, made, map->pairs[i].key, picked);
    }
    *ret = value_map(made);
    return 0;
}

static int filter_mac_str_to_bytes(struct render *render, const struct bound_args *bound,
                                   struct value *ret)
{
    AUTO_BUF struct buf bytes = BUF_INIT(MAC_BYTES);
    struct str rest;
    struct err err;
    bool wrong = false;

    if (argument_text(render, &bound->args[0], &rest) < 0)
        return -1;
    while (rest.p && !wrong) {
        const struct str part = str_cut(&rest, ':');

        wrong = part.n != 2 || hex_decode(part, &bytes, &err) < 0;
    }
    if (wrong || bytes.full || bytes.n != MAC_BYTES)
        return render_fail(render, RENDER_TYPE,
                           "mac_str_to_bytes expects an address such as 52:54:00:12:34:56");
    *ret = value_bytes(buf_copy(&bytes, render->arena));
    return 0;
}

/* clang-format off */
const struct function filter_net_functions[] = {
    { "filter_by_networks", "value, networks", filter_by_networks, "the addresses that are in one of the networks" },
    { "ipaddr",       "value, options=none", filter_ipaddr, "the address, or of a list the addresses; else none" },
    { "ipv4",         "value, options=none", filter_ipv4, "as ipaddr, IPv4 only" },
    { "ipv6",         "value, options=none", filter_ipv6, "as ipaddr, IPv6 only" },
    { "is_ip",        "value, options=none", filter_is_ip, "is it an address?" },
    { "is_ipv4",      "value, options=none", filter_is_ipv4, "is it an IPv4 address?" },
    { "is_ipv6",      "value, options=none", filter_is_ipv6, "is it an IPv6 address?" },
    { "ip_host",      "value, options=none", filter_ip_host, "the address of an interface, with the length of its network" },
    { "ipwrap",       "value", filter_ipwrap, "an IPv6 address in brackets, of a list each; anything else as it is" },
    { "mac_str_to_bytes", "value", filter_mac_str_to_bytes, "the bytes of a hardware address" },
    { "network_hosts", "value, options=none", filter_network_hosts, "the addresses of the hosts in a network" },
    { "network_size", "value", filter_network_size, "how many addresses a network has" },
    { 0 },
};
/* clang-format on */
