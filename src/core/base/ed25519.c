#include "core/base/ed25519.h"

#include <sodium.h>
#include <string.h>

_Static_assert(crypto_sign_SEEDBYTES == ED25519_SEED_SIZE, "the seed fits");
_Static_assert(crypto_sign_PUBLICKEYBYTES == ED25519_PUBLIC_SIZE, "the public key fits");
_Static_assert(crypto_sign_SECRETKEYBYTES == ED25519_SEED_SIZE + ED25519_PUBLIC_SIZE,
               "the secret key is the seed and the public key");
_Static_assert(crypto_sign_BYTES == ED25519_SIGNATURE_SIZE, "the signature fits");

void ed25519_public(const unsigned char seed[static ED25519_SEED_SIZE],
                    unsigned char public_key[static ED25519_PUBLIC_SIZE])
{
    unsigned char secret[crypto_sign_SECRETKEYBYTES];

    (void)crypto_sign_seed_keypair(public_key, secret, seed);
    sodium_memzero(secret, sizeof(secret));
}

void ed25519_sign(const unsigned char seed[static ED25519_SEED_SIZE], struct str text,
                  unsigned char signature[static ED25519_SIGNATURE_SIZE])
{
    unsigned char public_key[ED25519_PUBLIC_SIZE];

    ed25519_public(seed, public_key);
    ed25519_sign_pair(&(struct ed25519_pair){ seed, public_key }, text, signature);
}

/* libsodium's secret key is the seed and the public key. */
void ed25519_sign_pair(const struct ed25519_pair *pair, struct str text,
                       unsigned char signature[static ED25519_SIGNATURE_SIZE])
{
    unsigned char secret[crypto_sign_SECRETKEYBYTES];

    memcpy(secret, pair->seed, ED25519_SEED_SIZE);
    memcpy(secret + ED25519_SEED_SIZE, pair->public_key, ED25519_PUBLIC_SIZE);
    (void)crypto_sign_detached(signature, NULL, (const unsigned char *)text.p, text.n, secret);
    sodium_memzero(secret, sizeof(secret));
}

bool ed25519_verify(const unsigned char public_key[static ED25519_PUBLIC_SIZE], struct str text,
                    const unsigned char signature[static ED25519_SIGNATURE_SIZE])
{
    return crypto_sign_verify_detached(signature, (const unsigned char *)text.p, text.n,
                                       public_key) == 0;
}

void ed25519_wipe(void *bytes, size_t n)
{
    sodium_memzero(bytes, n);
}
