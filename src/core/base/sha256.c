#include "core/base/sha256.h"

#include <sodium.h>

#define STATE(sha) ((crypto_hash_sha256_state *)(void *)(sha)->state)

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct sha256), "the state fits");
_Static_assert(crypto_hash_sha256_BYTES == SHA256_SIZE, "the digest fits");

void sha256_init(struct sha256 *sha)
{
    (void)crypto_hash_sha256_init(STATE(sha));
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    if (n > 0)
        (void)crypto_hash_sha256_update(STATE(sha), bytes, n);
}

void sha256_end(struct sha256 *sha, unsigned char digest[static SHA256_SIZE])
{
    (void)crypto_hash_sha256_final(STATE(sha), digest);
}

void sha256_end_hex(struct sha256 *sha, char text[static SHA256_HEX_SIZE])
{
    unsigned char digest[SHA256_SIZE];

    sha256_end(sha, digest);
    hex_write(digest, sizeof(digest), text);
}

void sha256(const void *bytes, size_t n, unsigned char digest[static SHA256_SIZE])
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, bytes, n);
    sha256_end(&sha, digest);
}

void sha256_hex(const void *bytes, size_t n, char text[static SHA256_HEX_SIZE])
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, bytes, n);
    sha256_end_hex(&sha, text);
}

void sha256_hmac(struct str secret, struct str bytes, unsigned char digest[static SHA256_SIZE])
{
    crypto_auth_hmacsha256_state state;

    (void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret.p, secret.n);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)bytes.p, bytes.n);
    (void)crypto_auth_hmacsha256_final(&state, digest);
}
