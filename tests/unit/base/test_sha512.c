#include "base/sha512.h"

#include "test.h"

TEST(known_fingerprints_of_64_bytes)
{
    char text[SHA512_HEX_SIZE];
    struct sha512 sha;

    sha512_hex("abc", 3, text);
    CHECK_STR(text, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    sha512_init(&sha);
    sha512_end_hex(&sha, text);
    CHECK_STR(text, "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                    "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
}

TEST(pieces_give_the_same_64_bytes)
{
    unsigned char at_once[SHA512_SIZE], in_pieces[SHA512_SIZE];
    struct sha512 sha;

    sha512_init(&sha);
    sha512_add(&sha, "ab", 2);
    sha512_add(&sha, "c", 1);
    sha512_end(&sha, in_pieces);
    sha512("abc", 3, at_once);
    CHECK(memcmp(at_once, in_pieces, SHA512_SIZE) == 0);
}
