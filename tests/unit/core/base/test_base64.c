#include "core/base/base64.h"

#include "core/base/err.h"
#include "test.h"

static const struct {
    struct str bytes;
    const char *standard, *url;
} cases[] = {
    { { "", 0 }, "", "" },
    { { "f", 1 }, "Zg==", "Zg" },
    { { "fo", 2 }, "Zm8=", "Zm8" },
    { { "foo", 3 }, "Zm9v", "Zm9v" },
    { { "foobar", 6 }, "Zm9vYmFy", "Zm9vYmFy" },
    { { "\0\xff\xfe\xfb", 4 }, "AP/++w==", "AP_--w" },
};

TEST(bytes_become_text_and_come_back)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (enum base64_form form = BASE64_STANDARD; form <= BASE64_URL; form++) {
            const char *want = form == BASE64_URL ? cases[i].url : cases[i].standard;
            AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
            AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
            struct err err;

            base64_encode(cases[i].bytes, form, &text);
            CHECK_STR(buf_text(&text), want);
            CHECK_INT(base64_decode(str_from(want), form, &bytes, &err), 0);
            CHECK(str_eq(buf_view(&bytes), cases[i].bytes));
        }
    }
}

TEST(blanks_between_letters_mean_nothing)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    CHECK_INT(base64_decode(STR(" Zm9v\n\tYm Fy\r\n"), BASE64_STANDARD, &bytes, &err), 0);
    CHECK_STR(buf_text(&bytes), "foobar");
}

TEST(texts_that_are_not_base64_are_refused)
{
    static const char *const texts[] = { "Z",     "Zm9vY", "Zh==", "Zm9=", "Zg=",
                                         "Zg===", "Z=g=",  "Zm-v", "=",    "Zm9v=" };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
        struct err err;

        CHECK_INT(base64_decode(str_from(texts[i]), BASE64_STANDARD, &bytes, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
    }
}

TEST(strict_decoding_takes_only_what_is_written)
{
    static const struct {
        enum base64_form form;
        const char *text, *error;
    } bad[] = {
        { BASE64_STANDARD, "Zg", "lacks padding" },
        { BASE64_STANDARD, "Zm8", "lacks padding" },
        { BASE64_STANDARD, "Zm9v\n", "byte 5 is a blank" },
        { BASE64_STANDARD, "Zm 9", "byte 3 is a blank" },
        { BASE64_STANDARD, "====", "is not base64" },
        { BASE64_STANDARD, "Z===", "is not base64" },
        { BASE64_STANDARD, "Zg==Zg==", "is not base64" },
        { BASE64_STANDARD, "Zh==", "stray bits" },
        { BASE64_STANDARD, "-__-", "is not base64" },
        { BASE64_URL, "Zg==", "unexpected padding" },
        { BASE64_URL, "Z", "cut short" },
        { BASE64_URL, "Zh", "stray bits" },
        { BASE64_URL, "+//+", "is not base64" },
        { BASE64_URL, "Zm9v\xc3", "is not base64" },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_BUF struct buf bytes = BUF_INIT(100);
        struct err err = { 0 };

        buf_add_text(&bytes, "kept");
        CHECK_INT(base64_decode_strict(str_from(bad[i].text), bad[i].form, &bytes, &err), -1);
        CHECK_HAS(err.text, bad[i].error);
        CHECK_STR(buf_text(&bytes), "kept");
    }
}

TEST(strict_decoding_reads_back_what_was_encoded)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf bytes = BUF_INIT(100);
        struct err err;

        CHECK_INT(base64_decode_strict(str_from(cases[i].url), BASE64_URL, &bytes, &err), 0);
        CHECK(str_eq(buf_view(&bytes), cases[i].bytes));
        buf_clear(&bytes);
        CHECK_INT(base64_decode_strict(str_from(cases[i].standard), BASE64_STANDARD, &bytes, &err),
                  0);
        CHECK(str_eq(buf_view(&bytes), cases[i].bytes));
    }
}

TEST(more_bytes_than_the_buffer_takes_are_a_limit)
{
    AUTO_BUF struct buf bytes = BUF_INIT(2);
    struct err err;

    CHECK_INT(base64_decode(STR("Zm9v"), BASE64_STANDARD, &bytes, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "base64 text decodes to more than 2 bytes");
    CHECK_INT(bytes.n, 0);
}
