#include "fleet/bus/claims.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/nkey.h"
#include "test.h"

/* Claims as another program may have written them. */
#define FOREIGN                                                                                    \
    "{\"iat\":1,\"sub\":\"%s\",\"name\":\"fleet\",\"tags\":[\"x\"],\"nats\":{\"limits\":{"         \
    "\"conn\":7},"                                                                                 \
    "\"signing_keys\":[\"%s\",{\"kind\":\"user_scope\",\"key\":\"K\",\"role\":\"r\"}],"            \
    "\"revocations\":{\"OLD\":1},\"type\":\"account\",\"version\":2}}"

static void make_key(unsigned char fill, enum nats_nkey_kind kind, struct nats_nkey *ret,
                     char text[static NATS_NKEY_TEXT_SIZE])
{
    unsigned char seed[ED25519_SEED_SIZE];

    memset(seed, fill, sizeof(seed));
    nats_nkey_make(kind, seed, ret);
    nats_nkey_print_public(ret, text);
}

static const char *sign_json(struct arena *arena, const char *json, const struct nats_nkey *issuer)
{
    AUTO_BUF struct buf out = BUF_INIT(NATS_JWT_MAX);
    struct value claims;
    struct err err;

    CHECK_INT(json_decode(arena, str_from(json), &claims, &err), 0);
    CHECK_INT(nats_jwt_encode(arena, &claims, issuer, &out, &err), 0);
    return buf_copy(&out, arena).p;
}

TEST(claims_that_are_signed_again_keep_what_is_not_known_here)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(NATS_JWT_MAX), text = BUF_INIT(NATS_JWT_MAX);
    char account[NATS_NKEY_TEXT_SIZE], signer[NATS_NKEY_TEXT_SIZE], issuer[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey account_key, signer_key, issuer_key;
    struct claims_renewal renewal = { .iat = 5 };
    struct value_map *revoked = value_map_new(&arena, 1);
    struct value claims;
    struct err err;
    const char *jwt;

    make_key(1, NATS_NKEY_ACCOUNT, &account_key, account);
    make_key(2, NATS_NKEY_ACCOUNT, &signer_key, signer);
    make_key(3, NATS_NKEY_OPERATOR, &issuer_key, issuer);
    value_map_set(&arena, revoked, value_text("NEW"), value_int(4));
    renewal.revocations = value_map(revoked);
    jwt = sign_json(&arena, arena_printf(&arena, FOREIGN, account, signer), &issuer_key);
    CHECK_INT(claims_renew_account(&arena, str_from(jwt), &renewal, &issuer_key, &out, &err), 0);
    CHECK_INT(nats_jwt_decode(&arena, buf_view(&out), &claims, &err), 0);
    CHECK_INT(json_print(&text, value_get(&claims, "nats"), JSON_STYLE_COMPACT, &err), 0);
    CHECK_STR(
        buf_text(&text),
        arena_printf(&arena,
                     "{\"limits\":{\"conn\":7},\"signing_keys\":[\"%s\",{\"kind\":\"user_scope\","
                     "\"key\":\"K\",\"role\":\"r\"}],\"revocations\":{\"NEW\":4},"
                     "\"type\":\"account\",\"version\":2}",
                     signer));
    CHECK_INT(value_get_int(&claims, "iat", 0), 5);
    CHECK_STR(value_get_text(&claims, "sub"), account);
    CHECK_STR(value_get_text(&claims, "iss"), issuer);
    CHECK(value_get(&claims, "tags"));
}

TEST(claims_of_somebody_else_are_not_signed_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(NATS_JWT_MAX);
    char issuer[NATS_NKEY_TEXT_SIZE];
    const struct claims_renewal renewal = { .iat = 5, .revocations = value_null() };
    struct nats_nkey issuer_key;
    struct err err;
    const char *jwt;

    make_key(3, NATS_NKEY_OPERATOR, &issuer_key, issuer);
    jwt = sign_json(&arena, "{\"iat\":1,\"sub\":\"O\",\"nats\":{\"type\":\"operator\"}}",
                    &issuer_key);
    CHECK_INT(claims_renew_account(&arena, str_from(jwt), &renewal, &issuer_key, &out, &err), -1);
    CHECK_HAS(err.text, "expected the JWT of an account");
}
