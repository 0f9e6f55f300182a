#include "base/sha1.h"

#include "test.h"

TEST(known_digests_of_messages_around_the_size_of_a_block)
{
    static const struct {
        size_t n;
        const char *digest;
    } cases[] = {
        { 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
        { 3, "7e240de74fb1ed08fa08d38063f6a6a91462a815" },
        { 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a" },
        { 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699" },
        { 63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5" },
        { 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d" },
        { 65, "11655326c708d70319be2610e8a57d9a5b959d3b" },
        { 119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56" },
        { 120, "f34c1488385346a55709ba056ddd08280dd4c6d6" },
        { 1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba" },
    };
    char message[1000], text[SHA1_HEX_SIZE];

    memset(message, 'a', sizeof(message));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sha1_hex(message, cases[i].n, text);
        CHECK_STR(text, cases[i].digest);
    }
}
