#include "fleet/nats/xkey.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "test.h"

static struct nats_nkey key_of(unsigned char byte)
{
    unsigned char seed[ED25519_SEED_SIZE];
    struct nats_nkey key;

    memset(seed, byte, sizeof(seed));
    nats_nkey_make(NATS_NKEY_USER, seed, &key);
    return key;
}

/* RFC 7748, 5.2: the first iteration. */
TEST(the_public_key_is_that_of_x25519)
{
    static const unsigned char nine[BOX_KEY_SIZE] = { 9 };
    unsigned char public_key[BOX_KEY_SIZE];
    char text[HEX_SIZE(BOX_KEY_SIZE)];

    box_public(nine, public_key);
    hex_write(public_key, sizeof(public_key), text);
    CHECK_STR(text, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
}

TEST(curve_keys_are_texts_that_begin_with_x)
{
    const struct nats_nkey key = key_of(7);
    char text[NATS_NKEY_TEXT_SIZE], again[NATS_NKEY_TEXT_SIZE];
    struct nats_xkey curve, parsed;
    struct err err;

    nats_xkey_of(&key, &curve);
    nats_xkey_print(&curve, text);
    CHECK(text[0] == 'X');
    CHECK_INT(strlen(text), 56);
    CHECK_INT(nats_xkey_parse(str_from(text), &parsed, &err), 0);
    nats_xkey_print(&parsed, again);
    CHECK_STR(again, text);
    nats_nkey_print_public(&key, text);
    CHECK_INT(nats_xkey_parse(str_from(text), &parsed, &err), -1);
}

TEST(only_the_receiver_opens_what_was_sealed_and_only_from_that_sender)
{
    const struct nats_nkey sender = key_of(1), receiver = key_of(2), other = key_of(3);
    static const unsigned char nonce[BOX_NONCE_SIZE] = { 9 };
    AUTO_BUF struct buf sealed = BUF_INIT(1024), opened = BUF_INIT(1024);
    struct nats_xkey from, to;
    struct err err;

    nats_xkey_of(&sender, &from);
    nats_xkey_of(&receiver, &to);
    CHECK_INT(nats_xkey_seal(&sender, &to, nonce, STR("secret"), &sealed, &err), 0);
    CHECK(str_starts(buf_view(&sealed), STR("xkv1")));
    CHECK_INT(nats_xkey_open(&receiver, &from, buf_view(&sealed), &opened, &err), 0);
    CHECK_STR(buf_text(&opened), "secret");
    CHECK_INT(nats_xkey_open(&other, &from, buf_view(&sealed), &opened, &err), -1);
    CHECK_INT(nats_xkey_open(&receiver, &to, buf_view(&sealed), &opened, &err), -1);
    sealed.p[sealed.n - 1] ^= 1;
    CHECK_INT(nats_xkey_open(&receiver, &from, buf_view(&sealed), &opened, &err), -1);
    CHECK_INT(nats_xkey_open(&receiver, &from, STR("xkv1"), &opened, &err), -1);
    CHECK_STR(buf_text(&opened), "secret");
}
