/*
 * identity - keys and JWTs of an operator, an account and its users, for servers in operator mode.
 *
 *     struct identity identity;
 *     identity_new(&identity);
 *     server = server_new(identity.config);
 *     identity_user(&identity, "u", "\"pub\":{\"allow\":[\"a\"]}", expires, &creds);
 */
#ifndef TESTS_UNIT_FLEET_NATS_IDENTITY_H
#define TESTS_UNIT_FLEET_NATS_IDENTITY_H

#include <stdio.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/jwt.h"
#include "core/sys/chance.h"
#include "test.h"

#define IDENTITY_TEXT_SIZE 8192

struct identity {
    struct nats_nkey owner, account, system;
    char operator_id[NATS_NKEY_TEXT_SIZE], account_id[NATS_NKEY_TEXT_SIZE],
        system_id[NATS_NKEY_TEXT_SIZE];
    long long since; /* issue time of the operator: a server that runs refuses another operator */
    char config[IDENTITY_TEXT_SIZE];
};

static inline void identity_key(enum nats_nkey_kind kind, struct nats_nkey *ret, char *ret_text)
{
    unsigned char seed[ED25519_SEED_SIZE];

    for (size_t i = 0; i < sizeof(seed); i++)
        seed[i] = (unsigned char)chance_number();
    nats_nkey_make(kind, seed, ret);
    nats_nkey_print_public(ret, ret_text);
}

static inline char *identity_sign(const struct nats_nkey *key, const char *json)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct buf out = BUF_INIT(NATS_JWT_MAX);
    struct value claims;
    struct err err;

    CHECK_INT(json_decode(&arena, str_from(json), &claims, &err), 0);
    CHECK_INT(nats_jwt_encode(&arena, &claims, key, &out, &err), 0);
    return buf_take(&out);
}

#define IDENTITY_LIMITS                                                                            \
    "\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,\"wildcards\":true,"     \
    "\"conn\":-1,\"leaf\":-1"

static inline char *identity_account(const struct identity *identity, const char *id,
                                     const char *limits, const char *revocations)
{
    char json[IDENTITY_TEXT_SIZE / 2];

    (void)snprintf(
        json, sizeof(json),
        "{\"iat\":%lld,\"sub\":\"%s\",\"name\":\"a\",\"nats\":{\"limits\":{" IDENTITY_LIMITS
        "%s},\"revocations\":%s,\"type\":\"account\",\"version\":2}}",
        (long long)time(NULL), id, limits, revocations);
    return identity_sign(&identity->owner, json);
}

/* With `revocations` of the account, as JSON. */
static inline void identity_configure(struct identity *identity, const char *revocations)
{
    char json[IDENTITY_TEXT_SIZE / 2];
    AUTO_FREE char *owner = NULL, *account = NULL, *sys = NULL;

    (void)snprintf(
        json, sizeof(json),
        "{\"iat\":%lld,\"sub\":\"%s\",\"name\":\"op\",\"nats\":{\"system_account\":\"%s\","
        "\"type\":\"operator\",\"version\":2}}",
        identity->since, identity->operator_id, identity->system_id);
    owner = identity_sign(&identity->owner, json);
    account = identity_account(identity, identity->account_id,
                               ",\"mem_storage\":67108864,\"disk_storage\":268435456,"
                               "\"streams\":50,\"consumer\":100",
                               revocations);
    sys = identity_account(identity, identity->system_id, "", "{}");
    (void)snprintf(identity->config, sizeof(identity->config),
                   "operator: \"%s\"\nsystem_account: %s\nresolver: MEMORY\n"
                   "resolver_preload: { %s: \"%s\", %s: \"%s\" }\n",
                   owner, identity->system_id, identity->account_id, account, identity->system_id,
                   sys);
}

static inline void identity_new(struct identity *identity)
{
    identity_key(NATS_NKEY_OPERATOR, &identity->owner, identity->operator_id);
    identity_key(NATS_NKEY_ACCOUNT, &identity->account, identity->account_id);
    identity_key(NATS_NKEY_ACCOUNT, &identity->system, identity->system_id);
    identity->since = (long long)time(NULL);
    identity_configure(identity, "{}");
}

/* `rights` is JSON without braces, with a comma at its end, or ""; `expires` in seconds, 0: never.
 */
static inline void identity_user(const struct identity *identity, const char *rights,
                                 long long expires, struct nats_creds *ret,
                                 char id[static NATS_NKEY_TEXT_SIZE])
{
    char json[IDENTITY_TEXT_SIZE / 2], exp[40] = "";

    identity_key(NATS_NKEY_USER, &ret->key, id);
    if (expires)
        (void)snprintf(exp, sizeof(exp), "\"exp\":%lld,", (long long)time(NULL) + expires);
    (void)snprintf(
        json, sizeof(json),
        "{\"iat\":%lld,%s\"sub\":\"%s\",\"name\":\"u\",\"nats\":{%s\"subs\":-1,\"data\":-1,"
        "\"payload\":-1,\"type\":\"user\",\"version\":2}}",
        (long long)time(NULL), exp, id, rights);
    ret->jwt = identity_sign(&identity->account, json);
}

/* For nats_options.creds: `self` is a struct nats_creds, which stays the test's. */
static inline int identity_on_creds(void *self, struct nats_creds *ret, struct err *err)
{
    const struct nats_creds *creds = self;

    (void)err;
    *ret = (struct nats_creds){ .jwt = mem_strdup(creds->jwt), .key = creds->key };
    return 0;
}

#endif
