#include "core/base/secret_stream.h"

#include <string.h>

#include "core/base/buf.h"
#include "test.h"

static const unsigned char salt[SECRET_STREAM_SALT_SIZE] = { 7 };
static const struct secret_stream_cost cheap = { 1, (uint64_t)8 << 20 };

TEST(messages_open_in_their_order_only)
{
    const unsigned char key[SECRET_STREAM_KEY_SIZE] = { 1 };
    unsigned char head[SECRET_STREAM_HEAD_SIZE];
    AUTO_BUF struct buf first = BUF_INIT(BUF_NO_LIMIT), second = BUF_INIT(BUF_NO_LIMIT),
                        out = BUF_INIT(BUF_NO_LIMIT);
    struct secret_stream stream;
    bool is_last;

    secret_stream_begin(&stream, key, head);
    CHECK(secret_stream_seal(&stream, STR("one"), false, &first));
    CHECK(secret_stream_seal(&stream, STR("two"), true, &second));
    CHECK(secret_stream_resume(&stream, key, head));
    CHECK(!secret_stream_open(&stream, buf_view(&second), &is_last, &out));
    CHECK(secret_stream_resume(&stream, key, head));
    CHECK(secret_stream_open(&stream, buf_view(&first), &is_last, &out));
    CHECK(!is_last);
    CHECK(secret_stream_open(&stream, buf_view(&second), &is_last, &out));
    CHECK(is_last);
    CHECK_STR(buf_text(&out), "onetwo");
}

TEST(equal_passphrases_with_equal_salts_are_equal_keys)
{
    unsigned char a[SECRET_STREAM_KEY_SIZE], b[SECRET_STREAM_KEY_SIZE], c[SECRET_STREAM_KEY_SIZE];

    CHECK(secret_stream_key_of_passphrase(STR("secret"), salt, &cheap, a));
    CHECK(secret_stream_key_of_passphrase(STR("secret"), salt, &cheap, b));
    CHECK(secret_stream_key_of_passphrase(STR("Secret"), salt, &cheap, c));
    CHECK(memcmp(a, b, sizeof(a)) == 0);
    CHECK(memcmp(a, c, sizeof(a)) != 0);
}

TEST(costs_beyond_the_limits_are_refused)
{
    const struct secret_stream_cost costly = { 1, SECRET_STREAM_MEMORY_MAX + 1 }, slow = { 17, 1 };
    unsigned char key[SECRET_STREAM_KEY_SIZE];

    CHECK(!secret_stream_key_of_passphrase(STR("secret"), salt, &costly, key));
    CHECK(!secret_stream_key_of_passphrase(STR("secret"), salt, &slow, key));
}
