#include "fleet/bus/accounts.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/bus/identity.h"
#include "core/data/value.h"
#include "fleet/nats/jwt.h"
#include "test.h"

#define NOW 1700000000

static void make(struct arena *arena, struct identity *identity, struct accounts *accounts)
{
    struct nats_nkey fleet;
    struct err err;

    CHECK_INT(identity_make(arena, NOW, identity, &err), 0);
    CHECK_INT(nats_nkey_parse_seed(str_trim(identity->files[IDENTITY_ACCOUNT_SEED]), &fleet, &err),
              0);
    accounts_derive(&fleet, accounts);
}

static struct value read_claims(struct arena *arena, const struct identity *identity,
                                enum account_role role)
{
    struct str jwt = role == ACCOUNT_FLEET ? identity->files[IDENTITY_ACCOUNT_JWT]
                                           : str_from(identity->derived[role].jwt);
    struct value claims;
    struct err err;

    CHECK_INT(nats_jwt_decode(arena, str_trim(jwt), &claims, &err), 0);
    return claims;
}

static const struct value_list *find_list(const struct value *claims, const char *key)
{
    const struct value *list = value_get(value_get(claims, "nats"), key);

    CHECK(list && list->kind == VALUE_LIST);
    return list->list;
}

static bool is_exported(const struct value *claims, const struct value *import)
{
    const struct value_list *exports = find_list(claims, "exports");

    for (size_t i = 0; i < exports->count; i++)
        if (strcmp(value_get_text(&exports->items[i], "subject"),
                   value_get_text(import, "subject")) == 0 &&
            strcmp(value_get_text(&exports->items[i], "type"), value_get_text(import, "type")) == 0)
            return true;
    return false;
}

TEST(keys_follow_from_the_seed_of_the_fleet_and_never_change)
{
    const unsigned char seed[ED25519_SEED_SIZE] = { 1, 2, 3 };
    struct accounts accounts;
    struct nats_nkey fleet;

    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, &fleet);
    accounts_derive(&fleet, &accounts);
    CHECK_STR(accounts.public_keys[ACCOUNT_PEELS],
              "AAHGVJ4YY57UF4JCXVVHVO6V6G3PFI7MFWKUXP52X6RYXN4BHVUJSHEL");
    CHECK_STR(accounts.public_keys[ACCOUNT_OPERATORS],
              "ACQRLNA72244DZSYTXURSJI6SLYLFD6ZKSHSCF4FQFDJWR4VEAMWUBJ4");
    accounts_done(&accounts);
}

TEST(whatever_an_account_imports_another_one_exports)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;
    struct accounts accounts;
    size_t count = 0;

    make(&arena, &identity, &accounts);
    for (size_t role = 0; role < ACCOUNT_ROLES; role++) {
        const struct value claims = read_claims(&arena, &identity, (enum account_role)role);
        const struct value_list *imports = find_list(&claims, "imports");

        for (size_t i = 0; i < imports->count; i++, count++) {
            const char *from = value_get_text(&imports->items[i], "account");
            size_t exporter = 0;

            while (exporter < ACCOUNT_ROLES && strcmp(accounts.public_keys[exporter], from) != 0)
                exporter++;
            CHECK(exporter < ACCOUNT_ROLES && exporter != role);
            {
                const struct value other =
                    read_claims(&arena, &identity, (enum account_role)exporter);

                CHECK(is_exported(&other, &imports->items[i]));
            }
        }
    }
    CHECK(count > 30);
}

TEST(only_the_account_of_the_fleet_has_jetstream)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;
    struct accounts accounts;
    struct claims_account claims;
    struct err err;

    make(&arena, &identity, &accounts);
    CHECK_INT(claims_read_account(&arena, identity.files[IDENTITY_ACCOUNT_JWT], &claims, &err), 0);
    CHECK(claims.has_jetstream);
    for (size_t role = ACCOUNT_FLEET + 1; role < ACCOUNT_ROLES; role++) {
        CHECK_INT(claims_read_account(&arena, str_from(identity.derived[role].jwt), &claims, &err),
                  0);
        CHECK(!claims.has_jetstream);
    }
}

TEST(only_peels_may_be_behind_leaf_nodes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;
    struct accounts accounts;
    struct claims_account claims;
    struct err err;

    make(&arena, &identity, &accounts);
    CHECK_INT(claims_read_account(&arena, str_from(identity.derived[ACCOUNT_OPERATORS].jwt),
                                  &claims, &err),
              0);
    CHECK(claims.refuses_leaf_nodes);
    CHECK_INT(
        claims_read_account(&arena, str_from(identity.derived[ACCOUNT_PEELS].jwt), &claims, &err),
        0);
    CHECK(!claims.refuses_leaf_nodes);
}

/* nats-server refuses such claims whole. */
TEST(services_that_are_imported_do_not_overlap)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct identity identity;
    struct accounts accounts;

    make(&arena, &identity, &accounts);
    for (size_t role = 0; role < ACCOUNT_ROLES; role++) {
        const struct value claims = read_claims(&arena, &identity, (enum account_role)role);
        const struct value_list *imports = find_list(&claims, "imports");

        for (size_t i = 0; i < imports->count; i++)
            for (size_t j = 0; j < imports->count; j++)
                if (i != j && strcmp(value_get_text(&imports->items[i], "type"), "service") == 0 &&
                    strcmp(value_get_text(&imports->items[j], "type"), "service") == 0)
                    CHECK(!grant_covers(value_get_text(&imports->items[i], "subject"),
                                        value_get_text(&imports->items[j], "subject")));
    }
}

TEST(a_voucher_confirms_one_account_and_no_other)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const unsigned char other_seed[ED25519_SEED_SIZE] = { 9 };
    struct claims_user claims = { .head = { .iss = "" } };
    struct identity identity;
    struct accounts accounts;
    struct nats_nkey other;
    const char *voucher, *fleet;
    struct err err;

    make(&arena, &identity, &accounts);
    nats_nkey_make(NATS_NKEY_ACCOUNT, other_seed, &other);
    voucher =
        accounts_vouch(&arena, &accounts.keys[ACCOUNT_FLEET], accounts.public_keys[ACCOUNT_PEELS]);
    claims.issuer_account = accounts.public_keys[ACCOUNT_PEELS];
    claims.tags = (struct param_strs){ 1, &voucher };
    CHECK_INT(accounts_find_fleet(&arena, &claims, &fleet, &err), 0);
    CHECK_STR(fleet, identity.account);
    CHECK(accounts_is_separate(&claims));

    claims.issuer_account = accounts.public_keys[ACCOUNT_OPERATORS];
    CHECK_INT(accounts_find_fleet(&arena, &claims, &fleet, &err), -1);
    CHECK_HAS(err.text, "is not confirmed by the fleet");
    claims.issuer_account = accounts.public_keys[ACCOUNT_PEELS];
    voucher = arena_printf(&arena, "zester-account:%s:%s", identity.account, "AAAA");
    CHECK_INT(accounts_find_fleet(&arena, &claims, &fleet, &err), -1);
    voucher = "zester-account:nonsense";
    CHECK_INT(accounts_find_fleet(&arena, &claims, &fleet, &err), -1);

    claims.tags.n = 0;
    CHECK_INT(accounts_find_fleet(&arena, &claims, &fleet, &err), 0);
    CHECK_STR(fleet, accounts.public_keys[ACCOUNT_PEELS]);
    CHECK(!accounts_is_separate(&claims));
}

TEST(the_header_of_the_server_names_the_account_that_a_request_comes_from)
{
    const struct str good =
        STR("NATS/1.0\r\nNats-Request-Info: {\"acc\":\"AFLEET\",\"rtt\":1}\r\n\r\n");

    CHECK(accounts_is_from(good, "AFLEET"));
    CHECK(!accounts_is_from(good, "AOTHER"));
    CHECK(!accounts_is_from(STR(""), "AFLEET"));
    CHECK(!accounts_is_from(STR("NATS/1.0\r\nNats-Request-Info: nonsense\r\n\r\n"), "AFLEET"));
    CHECK(!accounts_is_from(STR("NATS/1.0\r\nNats-Stream: KV_x\r\n\r\n"), "AFLEET"));
}
