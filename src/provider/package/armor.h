/*
 * armor - keys of OpenPGP in letters, and the bytes that they stand for.
 *
 *     -----BEGIN PGP PUBLIC KEY BLOCK-----
 *     Comment: headers end with an empty line
 *
 *     mDMEZ...
 *     =njUN
 *     -----END PGP PUBLIC KEY BLOCK-----
 *
 * apt tells the two by the name of the file: letters are in '.asc', bytes in '.gpg'.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef PROVIDER_PACKAGE_ARMOR_H
#define PROVIDER_PACKAGE_ARMOR_H

#include <stdbool.h>

#include "base/str.h"

struct arena;
struct err;

bool armor_is(struct str text);
/* The bytes of all blocks of the text, one behind the other. Fails with ERR_INVALID when a block
 * has no end or is no base64. */
int armor_decode(struct arena *arena, struct str text, struct str *ret_bytes, struct err *err);

#endif
