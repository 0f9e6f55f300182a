/* RFC 1321. */
#include "base/md5.h"

#include <stdint.h>

#include "base/blocks.h"

#define ROUNDS 64

/* The sines of 1 to 64, as the RFC says. */
static const uint32_t sines[ROUNDS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const unsigned turns[4][4] = {
    { 7, 12, 17, 22 },
    { 5, 9, 14, 20 },
    { 4, 11, 16, 23 },
    { 6, 10, 15, 21 },
};

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round) {
    case 0: return (b & c) | (~b & d);
    case 1: return (d & b) | (~d & c);
    case 2: return b ^ c ^ d;
    default: return c ^ (b | ~d);
    }
}

static unsigned word_of(unsigned i)
{
    static const unsigned factor[] = { 1, 5, 3, 7 }, first[] = { 0, 1, 5, 0 };

    return (factor[i / 16] * i + first[i / 16]) % 16;
}

static void add_block(uint32_t *h, const unsigned char block[static BLOCKS_SIZE])
{
    uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3];

    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i + 3] << 24 | (uint32_t)block[4 * i + 2] << 16 |
               (uint32_t)block[4 * i + 1] << 8 | block[4 * i];
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint32_t x = a + mix(i / 16, b, c, d) + sines[i] + w[word_of(i)];
        const unsigned n = turns[i / 16][i % 4];

        a = d;
        d = c;
        c = b;
        b += x << n | x >> (32 - n);
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
}

void md5_hex(const void *bytes, size_t n, char text[static MD5_HEX_SIZE])
{
    uint32_t h[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    unsigned char digest[MD5_SIZE];

    blocks_each(bytes, n, false, add_block, h);
    for (unsigned i = 0; i < MD5_SIZE; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (8 * (i % 4)));
    hex_write(digest, sizeof(digest), text);
}
