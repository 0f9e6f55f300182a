#include "base/sha512.h"

#include <sodium.h>

#define STATE(sha) ((crypto_hash_sha512_state *)(void *)(sha)->state)

_Static_assert(sizeof(crypto_hash_sha512_state) <= sizeof(struct sha512), "the state fits");
_Static_assert(crypto_hash_sha512_BYTES == SHA512_SIZE, "the digest fits");

void sha512_init(struct sha512 *sha)
{
    (void)crypto_hash_sha512_init(STATE(sha));
}

void sha512_add(struct sha512 *sha, const void *bytes, size_t n)
{
    if (n > 0)
        (void)crypto_hash_sha512_update(STATE(sha), bytes, n);
}

void sha512_end(struct sha512 *sha, unsigned char digest[static SHA512_SIZE])
{
    (void)crypto_hash_sha512_final(STATE(sha), digest);
}

void sha512_end_hex(struct sha512 *sha, char text[static SHA512_HEX_SIZE])
{
    unsigned char digest[SHA512_SIZE];

    sha512_end(sha, digest);
    hex_write(digest, sizeof(digest), text);
}

void sha512(const void *bytes, size_t n, unsigned char digest[static SHA512_SIZE])
{
    struct sha512 sha;

    sha512_init(&sha);
    sha512_add(&sha, bytes, n);
    sha512_end(&sha, digest);
}

void sha512_hex(const void *bytes, size_t n, char text[static SHA512_HEX_SIZE])
{
    struct sha512 sha;

    sha512_init(&sha);
    sha512_add(&sha, bytes, n);
    sha512_end_hex(&sha, text);
}
