#include "core/base/hex.h"

#include "core/base/err.h"
#include "test.h"

TEST(bytes_become_pairs_of_digits_and_come_back)
{
    AUTO_BUF struct buf text = BUF_INIT(100), bytes = BUF_INIT(100);
    char fixed[HEX_SIZE(3)];
    struct err err;

    hex_encode(str_bytes("\x00\x7f\xff", 3), &text);
    CHECK_STR(buf_text(&text), "007fff");
    hex_write("\xab\xcd\xef", 3, fixed);
    CHECK_STR(fixed, "abcdef");
    CHECK_INT(hex_decode(STR("007FfF"), &bytes, &err), 0);
    CHECK(str_eq(buf_view(&bytes), STR("\x00\x7f\xff")));
    CHECK_INT(hex_decode(STR(""), &bytes, &err), 0);
    CHECK_INT(bytes.n, 3);
}

TEST(invalid_hexadecimal_text_leaves_the_buffer_unchanged)
{
    AUTO_BUF struct buf bytes = BUF_INIT(5);
    struct err err;

    buf_add_text(&bytes, "kept");
    CHECK_INT(hex_decode(STR("abc"), &bytes, &err), -1);
    CHECK_STR(err.text, "hexadecimal text with half a byte at its end");
    CHECK_INT(hex_decode(STR("0g"), &bytes, &err), -1);
    CHECK_STR(err.text, "byte 2 is not a hexadecimal digit");
    CHECK_INT(hex_decode(STR("0011"), &bytes, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "hexadecimal text decodes to more than 5 bytes");
    CHECK_STR(buf_text(&bytes), "kept");
}
