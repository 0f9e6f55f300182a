#include "core/base/sha256.h"

#include "test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

TEST(known_fingerprints_of_32_bytes)
{
    char text[SHA256_HEX_SIZE];

    sha256_hex(NULL, 0, text);
    CHECK_STR(text, EMPTY);
    sha256_hex("abc", 3, text);
    CHECK_STR(text, ABC);
}

TEST(pieces_give_the_fingerprint_of_the_whole)
{
    unsigned char at_once[SHA256_SIZE], in_pieces[SHA256_SIZE];
    struct sha256 sha;
    char text[SHA256_HEX_SIZE];

    sha256_init(&sha);
    sha256_add(&sha, "a", 1);
    sha256_add(&sha, NULL, 0);
    sha256_add(&sha, "bc", 2);
    sha256_end(&sha, in_pieces);
    sha256("abc", 3, at_once);
    CHECK(memcmp(at_once, in_pieces, SHA256_SIZE) == 0);

    sha256_init(&sha);
    for (int i = 0; i < 1000; i++)
        sha256_add(&sha, "aaaaaaaaaa", 10);
    sha256_end_hex(&sha, text);
    CHECK_STR(text, "27dd1f61b867b6a0f6e9d8a41c43231de52107e53ae424de8f847b821db4b711");
}
