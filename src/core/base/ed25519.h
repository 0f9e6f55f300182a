/*
 * ed25519 - signatures: a seed of 32 bytes is the private key, 32 bytes the public one.
 *
 * Signing is deterministic. The owner of a seed wipes it: ed25519_wipe is not optimised away.
 * Threads: any.
 */
#ifndef CORE_BASE_ED25519_H
#define CORE_BASE_ED25519_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

#define ED25519_SEED_SIZE      32
#define ED25519_PUBLIC_SIZE    32
#define ED25519_SIGNATURE_SIZE 64

/* The public key of a seed. */
void ed25519_public(const unsigned char seed[static ED25519_SEED_SIZE],
                    unsigned char public_key[static ED25519_PUBLIC_SIZE]);
void ed25519_sign(const unsigned char seed[static ED25519_SEED_SIZE], struct str text,
                  unsigned char signature[static ED25519_SIGNATURE_SIZE]);
/* The same in half the time for a caller that has the public key at hand. It must match the seed:
 * signing with any other gives the seed away. */
struct ed25519_pair {
    const unsigned char *seed, *public_key;
};
void ed25519_sign_pair(const struct ed25519_pair *pair, struct str text,
                       unsigned char signature[static ED25519_SIGNATURE_SIZE]);
bool ed25519_verify(const unsigned char public_key[static ED25519_PUBLIC_SIZE], struct str text,
                    const unsigned char signature[static ED25519_SIGNATURE_SIZE]);

/* Zero the bytes, for good. */
void ed25519_wipe(void *bytes, size_t n);

#endif
