#include "core/base/ed25519.h"

#include "core/base/err.h"
#include "core/base/hex.h"
#include "test.h"

/* RFC 8032, section 7.1. */
static const struct {
    const char *seed, *public_key, *text, *signature;
} cases[] = {
    { "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
      "b"
      "46bd25bf5f0595bbe24655141438e7a100b" },
    { "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
      "1"
      "d8c387b2eaeb4302aeeb00d291612bb0c00" },
};

static struct str unhex(const char *text, struct buf *out)
{
    struct err err;

    CHECK_INT(hex_decode(str_from(text), out, &err), 0);
    return buf_view(out);
}

TEST(signatures_are_those_of_the_rfc)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf seed = BUF_INIT(64), text = BUF_INIT(64);
        unsigned char public_key[ED25519_PUBLIC_SIZE], signature[ED25519_SIGNATURE_SIZE];
        char hex[HEX_SIZE(ED25519_SIGNATURE_SIZE)];
        const unsigned char *key = (const unsigned char *)unhex(cases[i].seed, &seed).p;
        struct str message = unhex(cases[i].text, &text);

        ed25519_public(key, public_key);
        hex_write(public_key, sizeof(public_key), hex);
        CHECK_STR(hex, cases[i].public_key);
        ed25519_sign(key, message, signature);
        hex_write(signature, sizeof(signature), hex);
        CHECK_STR(hex, cases[i].signature);
        CHECK(ed25519_verify(public_key, message, signature));
        signature[0] ^= 1;
        CHECK(!ed25519_verify(public_key, message, signature));
    }
}
