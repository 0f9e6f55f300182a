/*
 * subnet - addresses and ranges of addresses, of both families.
 *
 * "10.0.0.0/8", "fe80::/10", or one address. Bits after the prefix are ignored.
 */
#ifndef LANGUAGE_TARGET_SUBNET_H
#define LANGUAGE_TARGET_SUBNET_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;

#define SUBNET_BYTES 16

struct subnet {
    int family; /* AF_INET or AF_INET6 */
    unsigned bits;
    unsigned char address[SUBNET_BYTES];
};

/* Fails with ERR_INVALID. */
int subnet_parse(struct str text, struct subnet *ret_subnet, struct err *err);

/* Is this address in it? Text after '/' or '%' in `address` is ignored; an invalid address is in no
 * subnet. */
bool subnet_has(const struct subnet *subnet, struct str address);

#endif
