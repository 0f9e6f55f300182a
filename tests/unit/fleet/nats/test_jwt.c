#include "fleet/nats/jwt.h"

#include "core/base/base64.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "fleet/nats/nkey.h"
#include "test.h"

static struct nats_nkey make_key(enum nats_nkey_kind kind, char fill)
{
    unsigned char seed[ED25519_SEED_SIZE];
    struct nats_nkey key;

    memset(seed, fill, sizeof(seed));
    nats_nkey_make(kind, seed, &key);
    return key;
}

static struct str encode(struct arena *arena, const char *json, const struct nats_nkey *key)
{
    AUTO_BUF struct buf out = BUF_INIT(NATS_JWT_MAX);
    struct value claims;
    struct err err;

    CHECK_INT(json_decode(arena, str_from(json), &claims, &err), 0);
    CHECK_INT(nats_jwt_encode(arena, &claims, key, &out, &err), 0);
    return buf_copy(&out, arena);
}

TEST(what_is_signed_is_read_back_with_its_issuer)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_nkey key = make_key(NATS_NKEY_ACCOUNT, 'a');
    struct str text =
        encode(&arena, "{\"sub\":\"U\",\"iss\":\"liar\",\"nats\":{\"type\":\"user\"}}", &key);
    char issuer[NATS_NKEY_TEXT_SIZE];
    struct value claims;
    struct err err;

    CHECK_INT(nats_jwt_decode(&arena, text, &claims, &err), 0);
    nats_nkey_print_public(&key, issuer);
    CHECK_STR(value_get(&claims, "iss")->s.p, issuer);
    CHECK_STR(value_get(&claims, "sub")->s.p, "U");
    CHECK_INT(value_get(&claims, "jti")->s.n, 52);
    CHECK(str_eq(encode(&arena, "{\"sub\":\"U\",\"iss\":\"x\",\"nats\":{\"type\":\"user\"}}", &key),
                 text));
}

TEST(a_changed_letter_is_found)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_nkey key = make_key(NATS_NKEY_OPERATOR, 'o');
    struct str text = encode(&arena, "{\"sub\":\"A\"}", &key);
    struct value claims;
    struct err err;

    for (size_t i = 0; i < text.n; i++) {
        char *copy = arena_strndup(&arena, text.p, text.n);

        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        CHECK_INT(nats_jwt_decode(&arena, str_from(copy), &claims, &err), -1);
    }
}

TEST(a_jwt_of_another_algorithm_or_form_is_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "not a JWT: expected three parts with dots between" },
        { "a.b", "not a JWT: expected three parts with dots between" },
        { "a.b.c.d", "not a JWT: expected three parts with dots between" },
        { "eyJhbGciOiJub25lIn0.e30.", "JWT with an algorithm other than 'ed25519-nkey'" },
        { "eyJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.", "JWT without an issuer" },
        { "eyJhbGciOiJlZDI1NTE5LW5rZXkifQ.W10.", "claims of a JWT: expected an object" },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct value claims;
        struct err err;

        CHECK_INT(nats_jwt_decode(&arena, str_from(cases[i].text), &claims, &err), -1);
        CHECK_STR(err.text, cases[i].error);
    }
}
