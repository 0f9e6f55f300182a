#include "test.h"

#include "core/base/checksum.h"

/* Published values of XXH64. */
static const struct {
    const char *text;
    uint64_t seed, sum;
} cases[] = {
    { "", 0, UINT64_C(0xef46db3751d8e999) },
    { "a", 0, UINT64_C(0xd24ec4f1a98c6e5b) },
    { "abc", 0, UINT64_C(0x44bc2cf5ad770999) },
    { "Nobody inspects the spammish repetition", 0, UINT64_C(0xfbcea83c8a378bf1) },
};

TEST(the_checksum_is_xxh64)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK(checksum(cases[i].text, strlen(cases[i].text), cases[i].seed) == cases[i].sum);
}

TEST(every_bit_and_the_seed_count)
{
    unsigned char bytes[100] = { 0 };
    const uint64_t sum = checksum(bytes, sizeof(bytes), 7);

    for (size_t i = 0; i < sizeof(bytes) * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        CHECK(checksum(bytes, sizeof(bytes), 7) != sum);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    CHECK(checksum(bytes, sizeof(bytes), 8) != sum);
    CHECK(checksum(bytes, sizeof(bytes) - 1, 7) != sum);
}
