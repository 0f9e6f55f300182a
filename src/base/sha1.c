/* FIPS 180-4, section 6.1. */
#include "base/sha1.h"

#include <stdint.h>

#include "base/blocks.h"

#define ROUNDS 80

static uint32_t turn(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t mix(unsigned i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + UINT32_C(0x5a827999);
    if (i < 40)
        return (b ^ c ^ d) + UINT32_C(0x6ed9eba1);
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + UINT32_C(0x8f1bbcdc);
    return (b ^ c ^ d) + UINT32_C(0xca62c1d6);
}

static void add_block(uint32_t *h, const unsigned char block[static BLOCKS_SIZE])
{
    uint32_t w[ROUNDS], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < ROUNDS; i++)
        w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint32_t next = turn(a, 5) + mix(i, b, c, d) + e + w[i];

        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1_hex(const void *bytes, size_t n, char text[static SHA1_HEX_SIZE])
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    unsigned char digest[SHA1_SIZE];

    blocks_each(bytes, n, true, add_block, h);
    for (unsigned i = 0; i < SHA1_SIZE; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
    hex_write(digest, sizeof(digest), text);
}
