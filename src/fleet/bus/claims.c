#include "fleet/bus/claims.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/keyring.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/nkey.h"

#define REPLY_MAX 1
#define REPLY_TTL INT64_C(60000000000) /* nanoseconds in which the one reply is allowed */

/* --- the layout of NATS ------------------------------------------------------------- */

struct allow {
    struct param_strs allow;
};

struct reply {
    int64_t max, ttl;
};

struct operator_part {
    const char *system_account;
    struct param_strs signing_keys;
    const char *type;
    int64_t version;
};

struct user_limits {
    int64_t subs, data, payload, imports, exports;
    bool wildcards;
    int64_t conn, leaf;
    int64_t mem_storage, disk_storage, streams, consumer;
    bool has_jetstream;
};

struct account_part {
    struct user_limits limits;
    struct value revocations;
    const char *type;
    int64_t version;
};

struct user_part {
    struct allow pub, sub;
    struct reply resp;
    bool has_resp;
    int64_t subs, data, payload;
    struct param_strs connections;
    const char *issuer_account;
    struct param_strs tags;
    const char *type;
    int64_t version;
};

#define JETSTREAM(key, field)                                                                      \
    RECORD(key, INT, struct user_limits, field, RECORD_OMIT,                                       \
           RECORD_GIVEN(struct user_limits, has_jetstream))

/* clang-format off */

static const struct record_field allow_fields[] = {
    RECORD("allow", TEXTS, struct allow, allow, RECORD_OMIT),
    { 0 },
};
static const struct record_type allow_type = RECORD_TYPE("permissions", struct allow, allow_fields, 0);

static const struct record_field reply_fields[] = {
    RECORD("max", INT, struct reply, max, 0),
    RECORD("ttl", INT, struct reply, ttl, 0),
    { 0 },
};
static const struct record_type reply_type = RECORD_TYPE("response permission", struct reply, reply_fields, 0);

static const struct record_field limits_fields[] = {
    RECORD("subs",      INT,  struct user_limits, subs, 0),
    RECORD("data",      INT,  struct user_limits, data, 0),
    RECORD("payload",   INT,  struct user_limits, payload, 0),
    RECORD("imports",   INT,  struct user_limits, imports, 0),
    RECORD("exports",   INT,  struct user_limits, exports, 0),
    RECORD("wildcards", BOOL, struct user_limits, wildcards, 0),
    RECORD("conn",      INT,  struct user_limits, conn, 0),
    RECORD("leaf",      INT,  struct user_limits, leaf, 0),
    JETSTREAM("mem_storage", mem_storage),
    JETSTREAM("disk_storage", disk_storage),
    JETSTREAM("streams", streams),
    JETSTREAM("consumer", consumer),
    { 0 },
};
static const struct record_type limits_type = RECORD_TYPE("limits", struct user_limits, limits_fields, 0);

static const struct record_field operator_part_fields[] = {
    RECORD("system_account", TEXT,  struct operator_part, system_account, RECORD_OMIT, .fallback_text = ""),
    RECORD("signing_keys",   TEXTS, struct operator_part, signing_keys, RECORD_OMIT),
    RECORD("type",           TEXT,  struct operator_part, type, RECORD_REQUIRED),
    RECORD("version",        INT,   struct operator_part, version, 0),
    { 0 },
};
static const struct record_type operator_part_type = RECORD_TYPE("operator", struct operator_part, operator_part_fields, 0);

static const struct record_field account_part_fields[] = {
    RECORD("limits",      STRUCT, struct account_part, limits, 0, .inner = &limits_type),
    RECORD("revocations", MAP,    struct account_part, revocations, RECORD_OMIT),
    RECORD("type",        TEXT,   struct account_part, type, RECORD_REQUIRED),
    RECORD("version",     INT,    struct account_part, version, 0),
    { 0 },
};
static const struct record_type account_part_type = RECORD_TYPE("account", struct account_part, account_part_fields, 0);

static const struct record_field user_part_fields[] = {
    RECORD("pub",     STRUCT, struct user_part, pub, 0, .inner = &allow_type),
    RECORD("sub",     STRUCT, struct user_part, sub, 0, .inner = &allow_type),
    RECORD("resp",    STRUCT, struct user_part, resp, RECORD_OMIT, .inner = &reply_type, RECORD_GIVEN(struct user_part, has_resp)),
    RECORD("subs",    INT,    struct user_part, subs, 0),
    RECORD("data",    INT,    struct user_part, data, 0),
    RECORD("payload", INT,    struct user_part, payload, 0),
    RECORD("allowed_connection_types", TEXTS, struct user_part, connections, RECORD_OMIT),
    RECORD("issuer_account", TEXT, struct user_part, issuer_account, RECORD_OMIT, .fallback_text = ""),
    RECORD("tags",    TEXTS,  struct user_part, tags, RECORD_OMIT),
    RECORD("type",    TEXT,   struct user_part, type, RECORD_REQUIRED),
    RECORD("version", INT,    struct user_part, version, 0),
    { 0 },
};
static const struct record_type user_part_type = RECORD_TYPE("user", struct user_part, user_part_fields, 0);

/* clang-format on */

/* The parts side by side: a JWT has one of them, under the key "nats". */
struct whole {
    struct claims_head head;
    union {
        struct operator_part operator_part;
        struct account_part account_part;
        struct user_part user_part;
    } nats;
};

#define HEAD_FIELDS                                                                                \
    RECORD("iat", INT, struct whole, head.iat, 0),                                                 \
        RECORD("exp", INT, struct whole, head.exp, RECORD_OMIT),                                   \
        RECORD("iss", TEXT, struct whole, head.iss, RECORD_OMIT, .fallback_text = ""),             \
        RECORD("sub", TEXT, struct whole, head.sub, RECORD_REQUIRED),                              \
        RECORD("name", TEXT, struct whole, head.name, RECORD_OMIT, .fallback_text = "")
#define PART(type_name)                                                                            \
    RECORD("nats", STRUCT, struct whole, nats.type_name, RECORD_REQUIRED,                          \
           .inner = &type_name##_type)

static const struct record_field operator_fields[] = { HEAD_FIELDS, PART(operator_part), { 0 } };
static const struct record_field account_fields[] = { HEAD_FIELDS, PART(account_part), { 0 } };
static const struct record_field user_fields[] = { HEAD_FIELDS, PART(user_part), { 0 } };

static const struct record_type operator_type =
    RECORD_TYPE("operator JWT", struct whole, operator_fields, 0);
static const struct record_type account_type =
    RECORD_TYPE("account JWT", struct whole, account_fields, 0);
static const struct record_type user_type = RECORD_TYPE("user JWT", struct whole, user_fields, 0);

/* --- writing ------------------------------------------------------------------------ */

static int sign_claims_record(const struct record_type *type, const struct whole *whole,
                              const struct nats_nkey *issuer, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value claims = record_value(&arena, type, whole);

    return nats_jwt_encode(&arena, &claims, issuer, out, err);
}

int claims_sign_operator(const struct claims_operator *claims, const struct nats_nkey *issuer,
                         struct buf *out, struct err *err)
{
    const struct whole whole = {
        .head = claims->head,
        .nats.operator_part = { .system_account = claims->system_account,
                                .signing_keys = claims->signing_keys,
                                .type = "operator",
                                .version = CLAIMS_VERSION },
    };

    return sign_claims_record(&operator_type, &whole, issuer, out, err);
}

static struct value account_value(struct arena *arena, const struct claims_account *claims)
{
    const int64_t all = CLAIMS_UNLIMITED;
    const struct whole whole = {
        .head = claims->head,
        .nats.account_part = { .limits = { .subs = all,
                                           .data = all,
                                           .payload = all,
                                           .imports = all,
                                           .exports = all,
                                           .wildcards = true,
                                           .conn = all,
                                           .leaf = claims->refuses_leaf_nodes ? 0 : all,
                                           .mem_storage = all,
                                           .disk_storage = all,
                                           .streams = all,
                                           .consumer = all,
                                           .has_jetstream = claims->has_jetstream },
                               .revocations = claims->revocations,
                               .type = "account",
                               .version = CLAIMS_VERSION },
    };

    return record_value(arena, &account_type, &whole);
}

int claims_sign_account(const struct claims_account *claims, const struct accounts *accounts,
                        const struct nats_nkey *issuer, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value value = account_value(&arena, claims);

    if (accounts && accounts_write(&arena, accounts, ACCOUNT_FLEET, 0, &value, err) < 0)
        return -1;
    return nats_jwt_encode(&arena, &value, issuer, out, err);
}

int claims_sign_user(const struct claims_user *claims, const struct nats_nkey *issuer,
                     struct buf *out, struct err *err)
{
    const struct whole whole = {
        .head = claims->head,
        .nats.user_part = { .pub = { claims->publish },
                            .sub = { claims->subscribe },
                            .resp = { REPLY_MAX, REPLY_TTL },
                            .has_resp = claims->may_reply,
                            .subs = claims->subscriptions > 0 ? claims->subscriptions
                                                              : CLAIMS_UNLIMITED,
                            .data = CLAIMS_UNLIMITED,
                            .payload = CLAIMS_UNLIMITED,
                            .connections = claims->connections,
                            .issuer_account = claims->issuer_account,
                            .tags = claims->tags,
                            .type = "user",
                            .version = CLAIMS_VERSION },
    };

    return sign_claims_record(&user_type, &whole, issuer, out, err);
}

/* --- reading ------------------------------------------------------------------------ */

static int read_whole(struct arena *arena, struct str jwt, const struct record_type *type,
                      struct whole *ret, struct err *err)
{
    struct value claims;

    if (nats_jwt_decode(arena, str_trim(jwt), &claims, err) < 0)
        return -1;
    return record_read(arena, type, 1, &claims, ret, err);
}

static int check_type(const char *found, const char *wanted, struct err *err)
{
    if (strcmp(found, wanted) != 0)
        return err_set(err, ERR_INVALID, "expected the JWT of an %s, got that of an %s", wanted,
                       found);
    return 0;
}

int claims_read_operator(struct arena *arena, struct str jwt, struct claims_operator *ret,
                         struct err *err)
{
    const struct operator_part *part;
    struct whole whole = { 0 };

    if (read_whole(arena, jwt, &operator_type, &whole, err) < 0)
        return -1;
    part = &whole.nats.operator_part;
    if (check_type(part->type, "operator", err) < 0)
        return -1;
    *ret = (struct claims_operator){ .head = whole.head,
                                     .system_account = part->system_account,
                                     .signing_keys = part->signing_keys };
    return 0;
}

int claims_read_account(struct arena *arena, struct str jwt, struct claims_account *ret,
                        struct err *err)
{
    const struct account_part *part;
    struct whole whole = { 0 };

    if (read_whole(arena, jwt, &account_type, &whole, err) < 0)
        return -1;
    part = &whole.nats.account_part;
    if (check_type(part->type, "account", err) < 0)
        return -1;
    *ret = (struct claims_account){ .head = whole.head,
                                    .has_jetstream = part->limits.has_jetstream,
                                    .refuses_leaf_nodes = part->limits.leaf == 0,
                                    .revocations = part->revocations };
    return 0;
}

int claims_read_user(struct arena *arena, struct str jwt, struct claims_user *ret, struct err *err)
{
    const struct user_part *part;
    struct whole whole = { 0 };

    if (read_whole(arena, jwt, &user_type, &whole, err) < 0)
        return -1;
    part = &whole.nats.user_part;
    if (check_type(part->type, "user", err) < 0)
        return -1;
    *ret = (struct claims_user){ .head = whole.head,
                                 .publish = part->pub.allow,
                                 .subscribe = part->sub.allow,
                                 .may_reply = part->has_resp,
                                 .connections = part->connections,
                                 .subscriptions = part->subs > 0 ? part->subs : 0,
                                 .issuer_account = part->issuer_account,
                                 .tags = part->tags };
    return 0;
}

/* --- writing again ------------------------------------------------------------------ */

/* A new list, with the previous entry for all users. */
static struct value list_revocations(struct arena *arena, const struct claims_renewal *renewal,
                                     const struct claims_account *before)
{
    int64_t until = claims_all_before(before);
    struct value list = value_map(value_map_new(arena, 0));

    if (renewal->revocations.kind == VALUE_MAP)
        list = value_copy(arena, &renewal->revocations);
    if (renewal->all_before > until)
        until = renewal->all_before;
    if (until > 0)
        value_map_set(arena, list.map, value_text(CLAIMS_ALL), value_int(until));
    return list;
}

static int renew_value(struct arena *arena, const struct claims_renewal *renewal,
                       const struct claims_account *before, struct value *claims, struct err *err)
{
    const struct value key = value_text("revocations");
    const struct value list = list_revocations(arena, renewal, before);
    struct value part = *value_get(claims, "nats");

    if (value_is_true(&list))
        value_map_set(arena, part.map, key, list);
    else
        (void)value_map_remove(part.map, &key);
    if (renewal->keys)
        keyring_write(arena, renewal->keys, claims);
    value_map_set(arena, claims->map, value_text("iat"), value_int(renewal->iat));
    if (renewal->accounts && accounts_read_border(claims).version <= ACCOUNTS_VERSION)
        return accounts_write(arena, renewal->accounts, ACCOUNT_FLEET, renewal->since, claims, err);
    return 0;
}

int claims_renew_account(struct arena *arena, struct str jwt, const struct claims_renewal *renewal,
                         const struct nats_nkey *issuer, struct buf *out, struct err *err)
{
    struct claims_account known;
    struct value claims;

    if (claims_read_account(arena, jwt, &known, err) < 0 ||
        nats_jwt_decode(arena, str_trim(jwt), &claims, err) < 0)
        return -1;
    claims = value_copy(arena, &claims);
    if (renew_value(arena, renewal, &known, &claims, err) < 0)
        return -1;
    return nats_jwt_encode(arena, &claims, issuer, out, err);
}

int claims_derive_account(struct arena *arena, struct str fleet_jwt,
                          const struct accounts *accounts, enum account_role role,
                          const struct nats_nkey *issuer, struct buf *out, struct err *err)
{
    struct claims_account fleet, claims;
    struct keyring keys;
    struct value value;

    if (claims_read_account(arena, fleet_jwt, &fleet, err) < 0 ||
        keyring_read_jwt(arena, fleet_jwt, &keys, err) < 0)
        return -1;
    if (fleet.revocations.kind == VALUE_MAP) {
        const struct value all = value_text(CLAIMS_ALL);

        fleet.revocations = value_copy(arena, &fleet.revocations);
        (void)value_map_remove(fleet.revocations.map, &all);
    }
    claims = (struct claims_account){ .head = { .iat = fleet.head.iat,
                                                .sub = accounts->public_keys[role],
                                                .name = accounts_name(role) },
                                      .revocations = fleet.revocations,
                                      .refuses_leaf_nodes = role == ACCOUNT_OPERATORS };
    value = account_value(arena, &claims);
    if (role == ACCOUNT_PEELS && keys.generation > 0)
        keyring_write(arena, &keys, &value);
    if (accounts_write(arena, accounts, role, 0, &value, err) < 0)
        return -1;
    return nats_jwt_encode(arena, &value, issuer, out, err);
}

int64_t claims_all_before(const struct claims_account *claims)
{
    const struct value *all = value_get(&claims->revocations, CLAIMS_ALL);

    return value_is(all, VALUE_INT) ? all->i : 0;
}

/* --- checking ----------------------------------------------------------------------- */

static bool is_operator_key(const struct claims_operator *claims, const char *key)
{
    if (strcmp(claims->head.sub, key) == 0)
        return true;
    for (size_t i = 0; i < claims->signing_keys.n; i++)
        if (strcmp(claims->signing_keys.p[i], key) == 0)
            return true;
    return false;
}

int claims_verify_account(struct arena *arena, struct str operator_jwt, struct str account_jwt,
                          const char *account, struct err *err)
{
    struct claims_operator operator_claims;
    struct claims_account claims;

    if (claims_read_operator(arena, operator_jwt, &operator_claims, err) < 0)
        return err_wrap(err, "operator JWT");
    if (claims_read_account(arena, account_jwt, &claims, err) < 0)
        return err_wrap(err, "account JWT");
    if (strcmp(operator_claims.head.iss, operator_claims.head.sub) != 0)
        return err_set(err, ERR_INVALID, "operator JWT is not signed by the operator itself");
    if (!is_operator_key(&operator_claims, claims.head.iss))
        return err_set(err, ERR_INVALID,
                       "account JWT is signed by %s, which is not a key of operator %s",
                       claims.head.iss, operator_claims.head.sub);
    if (strcmp(claims.head.sub, account) != 0)
        return err_set(err, ERR_INVALID, "account JWT is for %s, expected %s", claims.head.sub,
                       account);
    return 0;
}
