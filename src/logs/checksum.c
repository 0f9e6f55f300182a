#include "logs/checksum.h"

#include <endian.h>
#include <string.h>

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

enum {
    LANES = 4,
    STRIPE = LANES * 8, /* bytes that all lanes take at once */
};

static uint64_t turn(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t read_64(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return le64toh(x);
}

static uint32_t read_32(const unsigned char *p)
{
    uint32_t x;

    memcpy(&x, p, sizeof(x));
    return le32toh(x);
}

static uint64_t round_of(uint64_t lane, uint64_t word)
{
    return turn(lane + word * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge(uint64_t sum, uint64_t lane)
{
    return (sum ^ round_of(0, lane)) * PRIME_1 + PRIME_4;
}

/* All whole stripes; moves `p` behind them. */
static uint64_t stripes(const unsigned char **p, const unsigned char *end, uint64_t seed)
{
    uint64_t a = seed + PRIME_1 + PRIME_2, b = seed + PRIME_2, c = seed, d = seed - PRIME_1;
    uint64_t sum;

    for (; end - *p >= STRIPE; *p += STRIPE) {
        a = round_of(a, read_64(*p));
        b = round_of(b, read_64(*p + 8));
        c = round_of(c, read_64(*p + 16));
        d = round_of(d, read_64(*p + 24));
    }
    sum = turn(a, 1) + turn(b, 7) + turn(c, 12) + turn(d, 18);
    return merge(merge(merge(merge(sum, a), b), c), d);
}

/* What is left behind the stripes, in words, half words and bytes. */
static uint64_t rest(const unsigned char *p, const unsigned char *end, uint64_t sum)
{
    for (; end - p >= 8; p += 8)
        sum = turn(sum ^ round_of(0, read_64(p)), 27) * PRIME_1 + PRIME_4;
    if (end - p >= 4) {
        sum = turn(sum ^ read_32(p) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        p += 4;
    }
    for (; p < end; p++)
        sum = turn(sum ^ *p * PRIME_5, 11) * PRIME_1;
    return sum;
}

uint64_t checksum(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes, *end = p + n;
    uint64_t sum = n >= STRIPE ? stripes(&p, end, seed) : seed + PRIME_5;

    sum = rest(p, end, sum + n);
    sum = (sum ^ (sum >> 33)) * PRIME_2;
    sum = (sum ^ (sum >> 29)) * PRIME_3;
    return sum ^ (sum >> 32);
}
