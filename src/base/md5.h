/*
 * md5 - MD5 of bytes, for checksums that others publish. It tells a damaged file
 * from a whole one; against a forger only sha256.h and sha512.h help.
 */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <stddef.h>

#include "base/hex.h"

#define MD5_SIZE     16
#define MD5_HEX_SIZE HEX_SIZE(MD5_SIZE)

/* The digest as lower-case text. */
void md5_hex(const void *bytes, size_t n, char text[static MD5_HEX_SIZE]);

#endif
