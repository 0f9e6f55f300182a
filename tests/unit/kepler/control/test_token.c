#include "kepler/control/token.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "test.h"

TEST(a_token_is_exactly_64_digits)
{
    static const char good[] = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
    static const char *const bad[] = {
        "",
        "0011",
        "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEF",
        "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF0",
        "g0112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF",
        " 0112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF",
    };
    uint8_t bytes[TOKEN_BYTES] = { 0 }, same[TOKEN_BYTES];
    char text[TOKEN_TEXT_SIZE];

    CHECK(token_read(good, bytes));
    CHECK_INT(bytes[1], 0x11);
    CHECK_INT(bytes[31], 0xff);
    token_write(bytes, text);
    CHECK_STR(text, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!token_read(bad[i], bytes));
    memcpy(same, bytes, sizeof(same));
    CHECK(token_equal(bytes, same));
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        same[i] ^= 1;
        CHECK(!token_equal(bytes, same));
        same[i] ^= 1;
    }
}

TEST(the_token_is_taken_from_the_environment_unless_empty)
{
    (void)unsetenv(TOKEN_VARIABLE);
    CHECK(!token_given());
    (void)setenv(TOKEN_VARIABLE, "", 1);
    CHECK(!token_given());
    (void)setenv(TOKEN_VARIABLE, "abc", 1);
    CHECK_STR(token_given(), "abc");
}
