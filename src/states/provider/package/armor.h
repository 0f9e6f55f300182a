/*
 * armor - decodes ASCII-armored OpenPGP keys.
 *
 *     -----BEGIN PGP PUBLIC KEY BLOCK-----
 *     Comment: headers end with an empty line
 *
 *     mDMEZ...
 *     =njUN
 *     -----END PGP PUBLIC KEY BLOCK-----
 *
 * apt tells the two forms apart by file name: '.asc' is armored, '.gpg' is binary.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_ARMOR_H
#define STATES_PROVIDER_PACKAGE_ARMOR_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;

bool armor_is(struct str text);
/* The bytes of all blocks of the text, concatenated. Fails with ERR_INVALID when a block has no
 * end or is not base64. */
int armor_decode(struct arena *arena, struct str text, struct str *ret_bytes, struct err *err);

#endif
