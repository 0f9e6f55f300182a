#include "core/base/base32.h"

#include "core/base/err.h"
#include "test.h"

static const struct {
    struct str bytes;
    const char *text;
} cases[] = {
    { { "", 0 }, "" },
    { { "f", 1 }, "MY" },
    { { "fo", 2 }, "MZXQ" },
    { { "foo", 3 }, "MZXW6" },
    { { "foob", 4 }, "MZXW6YQ" },
    { { "fooba", 5 }, "MZXW6YTB" },
    { { "foobar", 6 }, "MZXW6YTBOI" },
    { { "\0\0\0\0\0", 5 }, "AAAAAAAA" },
    { { "\xff\xff\xff\xff\xff\xff", 6 }, "7777777774" },
};

TEST(bytes_become_capitals_and_come_back)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf text = BUF_INIT(100), bytes = BUF_INIT(100);
        struct err err;

        base32_encode(cases[i].bytes, &text);
        CHECK_STR(buf_text(&text), cases[i].text);
        CHECK_INT(base32_decode(buf_view(&text), &bytes, &err), 0);
        CHECK(str_eq(buf_view(&bytes), cases[i].bytes));
    }
}

TEST(invalid_base32_leaves_the_buffer_unchanged)
{
    static const char *const bad[] = { "M",        "MZX",       "MZXW6Y", "my", "M1",
                                       "MZ======", "MZXW6YTB ", "MZ",     "MR", "MZXW7" };
    AUTO_BUF struct buf bytes = BUF_INIT(8);
    struct err err;

    buf_add_text(&bytes, "kept");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(base32_decode(str_from(bad[i]), &bytes, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_STR(buf_text(&bytes), "kept");
    }
    CHECK_INT(base32_decode(STR("MZXW6YTB"), &bytes, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}
