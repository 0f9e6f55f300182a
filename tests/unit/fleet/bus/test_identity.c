#include "fleet/bus/identity.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/creds.h"
#include "test.h"

#define NOW INT64_C(1800000000)

static void make(struct arena *arena, struct identity *identity)
{
    struct err err;

    CHECK_INT(identity_make(arena, NOW, identity, &err), 0);
}

TEST(claims_of_a_new_fleet_belong_together)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;
    struct claims_operator operator_claims;
    struct claims_account account;
    struct err err;

    make(&arena, &identity);
    CHECK_INT(claims_verify_account(&arena, identity.files[IDENTITY_OPERATOR_JWT],
                                    identity.files[IDENTITY_ACCOUNT_JWT], identity.account, &err),
              0);
    CHECK_INT(claims_verify_account(&arena, identity.files[IDENTITY_OPERATOR_JWT],
                                    str_from(identity.system_jwt), identity.system_account, &err),
              0);
    CHECK_INT(
        claims_read_operator(&arena, identity.files[IDENTITY_OPERATOR_JWT], &operator_claims, &err),
        0);
    CHECK_STR(operator_claims.system_account, identity.system_account);
    CHECK_INT(operator_claims.signing_keys.n, 1);
    CHECK_INT(claims_read_account(&arena, identity.files[IDENTITY_ACCOUNT_JWT], &account, &err), 0);
    CHECK(account.has_jetstream);
    CHECK_INT(claims_read_account(&arena, str_from(identity.system_jwt), &account, &err), 0);
    CHECK(!account.has_jetstream);
}

TEST(account_claims_of_another_operator_or_account_are_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity ours, theirs;
    struct err err;

    make(&arena, &ours);
    make(&arena, &theirs);
    CHECK_INT(claims_verify_account(&arena, ours.files[IDENTITY_OPERATOR_JWT],
                                    theirs.files[IDENTITY_ACCOUNT_JWT], theirs.account, &err),
              -1);
    CHECK_HAS(err.text, "is not a key of operator");
    CHECK_INT(claims_verify_account(&arena, ours.files[IDENTITY_OPERATOR_JWT],
                                    ours.files[IDENTITY_ACCOUNT_JWT], theirs.account, &err),
              -1);
    CHECK_INT(claims_verify_account(&arena, ours.files[IDENTITY_ACCOUNT_JWT],
                                    ours.files[IDENTITY_ACCOUNT_JWT], ours.account, &err),
              -1);
    CHECK_HAS(err.text, "expected the JWT of an operator");
}

TEST(revocations_survive_signing_and_reading)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf jwt = BUF_INIT(1 << 20);
    struct value_map *revoked = value_map_new(&arena, 1);
    struct claims_account claims = { .head = { .iat = NOW, .name = "zester" },
                                     .has_jetstream = true };
    struct identity identity;
    struct nats_nkey key;
    struct err err;

    make(&arena, &identity);
    value_map_set(&arena, revoked, value_text("UABC"), value_int(NOW));
    claims.head.sub = identity.account;
    claims.revocations = value_map(revoked);
    CHECK_INT(
        nats_nkey_parse_seed(str_trim(identity.files[IDENTITY_OPERATOR_SIGNING_SEED]), &key, &err),
        0);
    CHECK_INT(claims_sign_account(&claims, NULL, &key, &jwt, &err), 0);
    CHECK_INT(claims_verify_account(&arena, identity.files[IDENTITY_OPERATOR_JWT], buf_view(&jwt),
                                    identity.account, &err),
              0);
    CHECK_INT(claims_read_account(&arena, buf_view(&jwt), &claims, &err), 0);
    CHECK_INT(value_get(&claims.revocations, "UABC")->i, NOW);
}

TEST(credentials_hold_the_key_that_their_claims_are_about)
{
    static const enum identity_file creds_files[] = { IDENTITY_MASTER_CREDS, IDENTITY_ADMIN_CREDS,
                                                      IDENTITY_SYS_CREDS };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;

    make(&arena, &identity);
    for (size_t i = 0; i < ARRAY_LEN(creds_files); i++) {
        char public_key[NATS_NKEY_TEXT_SIZE];
        struct claims_user claims;
        struct nats_creds creds;
        struct err err;

        CHECK_INT(nats_creds_parse(identity.files[creds_files[i]], &creds, &err), 0);
        CHECK_INT(
            claims_read_user(&arena, str_from(arena_strdup(&arena, creds.jwt)), &claims, &err), 0);
        nats_nkey_print_public(&creds.key, public_key);
        CHECK_STR(claims.head.sub, public_key);
        CHECK_STR(claims.head.iss, creds_files[i] == IDENTITY_SYS_CREDS ? identity.system_account
                                                                        : identity.account);
        nats_creds_done(&creds);
    }
}

TEST(a_peel_gets_claims_for_its_own_user_key_and_for_half_a_year)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char public_key[NATS_NKEY_TEXT_SIZE];
    unsigned char seed[ED25519_SEED_SIZE] = { 1 };
    struct nats_nkey account, user;
    const struct identity_issuer issuer = { .account = &account };
    struct claims_user claims;
    const char *jwt;
    struct err err;

    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, &account);
    nats_nkey_make(NATS_NKEY_USER, seed, &user);
    nats_nkey_print_public(&user, public_key);
    CHECK_INT(identity_issue_peel(&arena, &issuer, "web-01", public_key, NOW, &jwt, &err), 0);
    CHECK_INT(claims_read_user(&arena, str_from(jwt), &claims, &err), 0);
    CHECK_STR(claims.head.name, "web-01");
    CHECK_INT(claims.head.exp, NOW + 180 * INT64_C(86400));
    CHECK(claims.may_reply);
    CHECK_INT(claims.connections.n, 1);
    CHECK_STR(claims.connections.p[0], "STANDARD");
    CHECK_INT(claims.subscriptions, GRANT_SUBSCRIPTIONS);
    CHECK_INT(identity_issue_peel(&arena, &issuer, "_master", public_key, NOW, &jwt, &err), -1);
    nats_nkey_print_public(&account, public_key);
    CHECK_INT(identity_issue_peel(&arena, &issuer, "web-01", public_key, NOW, &jwt, &err), -1);
    CHECK_HAS(err.text, "public key of a user");
}

TEST(a_signing_key_signs_for_the_account_that_the_claims_name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char public_key[NATS_NKEY_TEXT_SIZE], account_text[NATS_NKEY_TEXT_SIZE];
    char signing_text[NATS_NKEY_TEXT_SIZE];
    unsigned char seed[ED25519_SEED_SIZE] = { 1 }, other[ED25519_SEED_SIZE] = { 2 };
    struct nats_nkey account, signing, user;
    const struct identity_issuer issuer = { .account = &account, .signing = &signing };
    struct claims_user claims;
    const char *jwt;
    struct err err;

    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, &account);
    nats_nkey_make(NATS_NKEY_ACCOUNT, other, &signing);
    nats_nkey_make(NATS_NKEY_USER, seed, &user);
    nats_nkey_print_public(&user, public_key);
    nats_nkey_print_public(&account, account_text);
    nats_nkey_print_public(&signing, signing_text);
    CHECK_INT(identity_issue_peel(&arena, &issuer, "web-01", public_key, NOW, &jwt, &err), 0);
    CHECK_INT(claims_read_user(&arena, str_from(jwt), &claims, &err), 0);
    CHECK_STR(claims.head.iss, signing_text);
    CHECK_STR(claims.issuer_account, account_text);
}
