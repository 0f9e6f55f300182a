#include "language/target/subnet.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"

#define BITS_OF_BYTE 8

static bool parse_subnet_address(struct str text, struct subnet *ret)
{
    char copy[INET6_ADDRSTRLEN];

    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    ret->family = memchr(copy, ':', text.n) ? AF_INET6 : AF_INET;
    ret->bits = ret->family == AF_INET6 ? 128 : 32;
    return inet_pton(ret->family, copy, ret->address) == 1;
}

int subnet_parse(struct str text, struct subnet *ret_subnet, struct err *err)
{
    struct subnet subnet = { 0 };
    struct str rest = text, address = str_cut(&rest, '/');
    uint64_t bits;

    if (!parse_subnet_address(address, &subnet))
        return err_set(err, ERR_INVALID, "'%.*s' is not an address", STR_ARG(address));
    if (rest.p) {
        if (number_parse_uint(rest, &bits, err) < 0 || bits > subnet.bits)
            return err_set(err, ERR_INVALID, "'%.*s' is not a prefix length from 0 to %u",
                           STR_ARG(rest), subnet.bits);
        subnet.bits = (unsigned)bits;
    }
    *ret_subnet = subnet;
    return 0;
}

bool subnet_has(const struct subnet *subnet, struct str address)
{
    unsigned whole = subnet->bits / BITS_OF_BYTE, rest = subnet->bits % BITS_OF_BYTE;
    struct subnet other = { 0 };
    struct str bare = address;

    bare = str_cut(&bare, '/');
    bare = str_cut(&bare, '%');
    if (!parse_subnet_address(bare, &other) || other.family != subnet->family)
        return false;
    if (memcmp(subnet->address, other.address, whole) != 0)
        return false;
    return rest == 0 ||
           ((subnet->address[whole] ^ other.address[whole]) >> (BITS_OF_BYTE - rest)) == 0;
}
