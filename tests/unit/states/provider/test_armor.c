#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/package/armor.h"

#define HEAD "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
#define TAIL "-----END PGP PUBLIC KEY BLOCK-----\n"

TEST(armor_is_decoded_without_headers_and_checksum)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err = { .text = "" };
    struct str bytes;

    CHECK_INT(
        armor_decode(&arena,
                     STR("a note\n" HEAD "Comment: none\r\n\r\naGVs\r\nbG8=\r\n=abcd\r\n" TAIL HEAD
                         "\nIQ==\n" TAIL),
                     &bytes, &err),
        0);
    CHECK(str_is(bytes, "hello!"));
}

TEST(an_armored_key_is_detected_by_its_first_line)
{
    CHECK(armor_is(STR("\n" HEAD)) && !armor_is(STR("\x99\x01")) && !armor_is(STR("")));
}

TEST(an_invalid_key_is_refused_with_a_reason)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;
    struct str bytes;

    CHECK_INT(armor_decode(&arena, STR(HEAD "\naGVs\n"), &bytes, &err), -1);
    CHECK_STR(err.text, "a key has no line '-----END PGP ...'");
    CHECK_INT(armor_decode(&arena, STR(HEAD "\na!\n" TAIL), &bytes, &err), -1);
    CHECK(str_starts(str_from(err.text), STR("an armored key: ")));
}
