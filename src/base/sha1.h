/*
 * sha1 - SHA-1 of bytes, for checksums that others publish. It tells a damaged file
 * from a whole one; against a forger only sha256.h and sha512.h help.
 */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H

#include <stddef.h>

#include "base/hex.h"

#define SHA1_SIZE     20
#define SHA1_HEX_SIZE HEX_SIZE(SHA1_SIZE)

/* The digest as lower-case text. */
void sha1_hex(const void *bytes, size_t n, char text[static SHA1_HEX_SIZE]);

#endif
