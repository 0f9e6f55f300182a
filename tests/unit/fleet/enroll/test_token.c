#include "fleet/enroll/token.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

#define PIN  "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ENDS INT64_C(1800000000)

static struct token make(unsigned char first)
{
    unsigned char random[TOKEN_RANDOM_BYTES] = { first, 2, 3 };
    struct token token;
    struct err err;

    random[TOKEN_RANDOM_BYTES - 1] = 9;
    CHECK_INT(token_make(PIN, ENDS, random, &token, &err), 0);
    return token;
}

TEST(a_token_is_text_and_back)
{
    AUTO_BUF struct buf text = BUF_INIT(TOKEN_TEXT_MAX);
    const struct token token = make(1);
    struct token read;
    struct err err;

    token_print(&token, &text);
    CHECK(!text.full);
    CHECK_INT(token_parse(buf_view(&text), &read, &err), 0);
    CHECK_STR(read.pin, PIN);
    CHECK_STR(read.id, "0102030000000000");
    CHECK_INT(read.expires, ENDS);
    CHECK_INT(memcmp(read.secret, token.secret, sizeof(read.secret)), 0);
}

TEST(a_typing_mistake_is_found_anywhere)
{
    AUTO_BUF struct buf text = BUF_INIT(TOKEN_TEXT_MAX);
    const struct token token = make(1);
    struct token read;
    struct err err;

    token_print(&token, &text);
    for (size_t i = 0; i < text.n; i++) {
        char right = text.p[i];

        text.p[i] = right == 'A' ? 'B' : 'A';
        CHECK_INT(token_parse(buf_view(&text), &read, &err), -1);
        text.p[i] = right;
    }
    for (size_t n = 0; n < text.n; n++)
        CHECK_INT(token_parse(str_slice(buf_view(&text), 0, n), &read, &err), -1);
}

TEST(a_token_allows_what_its_record_says_until_it_ends)
{
    const struct token token = make(1), other = make(2);
    char hash[SHA256_HEX_SIZE];
    struct token_record record = {
        .id = token.id, .secret_sha256 = hash, .expires_at = { ENDS, 0 }, .peels = ""
    };
    struct token forged = token;

    token_hash(&token, hash);
    CHECK(token_allows(&record, &token, STR("web-01"), ENDS - 1));
    CHECK(!token_allows(&record, &token, STR("web-01"), ENDS));
    CHECK(!token_allows(&record, &other, STR("web-01"), ENDS - 1));
    forged.secret[0] ^= 1;
    CHECK(!token_allows(&record, &forged, STR("web-01"), ENDS - 1));
    record.peels = "web-*";
    CHECK(token_allows(&record, &token, STR("web-01"), ENDS - 1));
    CHECK(token_allows(&record, &token, STR(""), ENDS - 1));
    CHECK(!token_allows(&record, &token, STR("db-01"), ENDS - 1));
    record.secret_sha256 = "";
    CHECK(!token_allows(&record, &token, STR("web-01"), ENDS - 1));
}

TEST(an_invalid_pin_makes_no_token)
{
    const unsigned char random[TOKEN_RANDOM_BYTES] = { 0 };
    struct token token;
    struct err err;

    CHECK_INT(token_make("sha256:12", ENDS, random, &token, &err), -1);
}
