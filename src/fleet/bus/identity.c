#include "fleet/bus/identity.h"

#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/jwt.h"
#include "fleet/nats/nkey.h"
#include "core/sys/chance.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define SECRET_MODE 0600
#define PUBLIC_MODE 0644
#define SEED_MAX    ((size_t)4096)

/* In writing order; credentials last, so that their presence implies all others. */
static const struct {
    const char *name;
    mode_t mode;
} files[IDENTITY_NAMES] = {
    [IDENTITY_OPERATOR_SEED] = { "operator.seed", SECRET_MODE },
    [IDENTITY_OPERATOR_JWT] = { "operator.jwt", PUBLIC_MODE },
    [IDENTITY_OPERATOR_SIGNING_SEED] = { "operator-signing.seed", SECRET_MODE },
    [IDENTITY_ACCOUNT_SEED] = { "account.seed", SECRET_MODE },
    [IDENTITY_ACCOUNT_JWT] = { "account.jwt", PUBLIC_MODE },
    [IDENTITY_MASTER_CREDS] = { "master.creds", SECRET_MODE },
    [IDENTITY_ADMIN_CREDS] = { "admin.creds", SECRET_MODE },
    [IDENTITY_SYS_CREDS] = { "sys.creds", SECRET_MODE },
    [IDENTITY_SIGNING_SEED] = { "account-signing.seed", SECRET_MODE },
    [IDENTITY_SIGNING_NEXT] = { "account-signing.next", SECRET_MODE },
};

const char *identity_file_name(enum identity_file file)
{
    return files[file].name;
}

/* --- making ---------------------------------------------------------------------- */

/* The keys of a fleet while it is made. */
struct keys {
    struct nats_nkey operator_key, signing, system;
    struct accounts accounts;
};

static void new_key(enum nats_nkey_kind kind, struct nats_nkey *ret_key)
{
    unsigned char seed[ED25519_SEED_SIZE];

    chance_bytes(seed, sizeof(seed));
    nats_nkey_make(kind, seed, ret_key);
    ed25519_wipe(seed, sizeof(seed));
}

static const char *public_text(struct arena *arena, const struct nats_nkey *key)
{
    char text[NATS_NKEY_TEXT_SIZE];

    nats_nkey_print_public(key, text);
    return arena_strdup(arena, text);
}

static struct str seed_line(struct arena *arena, const struct nats_nkey *key)
{
    char text[NATS_NKEY_TEXT_SIZE];
    const char *line;

    nats_nkey_print_seed(key, text);
    line = arena_printf(arena, "%s\n", text);
    ed25519_wipe(text, sizeof(text));
    return str_from(line);
}

static struct str jwt_line(struct arena *arena, const struct buf *jwt)
{
    return str_from(arena_printf(arena, "%s\n", buf_text(jwt)));
}

static int make_operator(struct arena *arena, int64_t now, const struct keys *keys,
                         struct identity *identity, struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const char *signing = public_text(arena, &keys->signing);
    const struct claims_operator claims = {
        .head = { .iat = now, .sub = public_text(arena, &keys->operator_key), .name = "zester" },
        .system_account = identity->system_account,
        .signing_keys = { 1, &signing },
    };

    if (claims_sign_operator(&claims, &keys->operator_key, &jwt, err) < 0)
        return -1;
    identity->files[IDENTITY_OPERATOR_JWT] = jwt_line(arena, &jwt);
    return 0;
}

static int make_fleet(struct arena *arena, int64_t now, const struct keys *keys,
                      struct identity *identity, struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const struct claims_account claims = {
        .head = { .iat = now, .sub = identity->account, .name = accounts_name(ACCOUNT_FLEET) },
        .has_jetstream = true,
    };

    if (claims_sign_account(&claims, &keys->accounts, &keys->signing, &jwt, err) < 0)
        return -1;
    identity->files[IDENTITY_ACCOUNT_JWT] = jwt_line(arena, &jwt);
    return 0;
}

/* The accounts of peels and operators, by the claims of the fleet's. */
static int derive_accounts(struct arena *arena, const struct accounts *accounts,
                           const struct nats_nkey *signing, struct identity *identity,
                           struct err *err)
{
    for (size_t i = ACCOUNT_FLEET + 1; i < ACCOUNT_ROLES; i++) {
        AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);

        if (claims_derive_account(arena, identity->files[IDENTITY_ACCOUNT_JWT], accounts,
                                  (enum account_role)i, signing, &jwt, err) < 0)
            return -1;
        identity->derived[i].key = arena_strdup(arena, accounts->public_keys[i]);
        identity->derived[i].jwt = buf_copy(&jwt, arena).p;
    }
    return 0;
}

static int make_system(struct arena *arena, int64_t now, const struct nats_nkey *signing,
                       struct identity *identity, struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const struct claims_account claims = {
        .head = { .iat = now, .sub = identity->system_account, .name = "SYS" },
    };

    if (claims_sign_account(&claims, NULL, signing, &jwt, err) < 0)
        return -1;
    identity->system_jwt = buf_copy(&jwt, arena).p;
    return 0;
}

/* The JWT of a user with the grants of a role. */
static int sign_user(struct arena *arena, const struct identity_issuer *issuer,
                     enum grant_role role, const struct claims_head *head, struct buf *out,
                     struct err *err)
{
    struct claims_user claims = { .head = *head };
    const char *account = public_text(arena, issuer->account), *voucher;
    struct grants grants;

    if (grant_list(arena, role, head->name, &grants, err) < 0)
        return -1;
    claims.publish = grants.allow[GRANT_PUBLISH];
    claims.subscribe = grants.allow[GRANT_SUBSCRIBE];
    claims.may_reply = grants.may_reply;
    claims.connections = grants.connections;
    claims.subscriptions = grants.subscriptions;
    claims.issuer_account = account;
    if (issuer->fleet) {
        voucher = accounts_vouch(arena, issuer->fleet, account);
        claims.tags = (struct param_strs){ 1, &voucher };
    }
    return claims_sign_user(&claims, issuer->signing ? issuer->signing : issuer->account, out, err);
}

/* Credentials with a new key; sets `head->sub` to its public part. */
static int make_creds(struct arena *arena, const struct identity_issuer *issuer,
                      enum grant_role role, struct claims_head *head, struct str *ret,
                      struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX), text = BUF_INIT(NATS_CREDS_MAX);
    struct nats_creds creds = { 0 };

    new_key(NATS_NKEY_USER, &creds.key);
    head->sub = public_text(arena, &creds.key);
    if (sign_user(arena, issuer, role, head, &jwt, err) < 0) {
        nats_creds_done(&creds);
        return -1;
    }
    creds.jwt = buf_take(&jwt);
    nats_creds_print(&creds, &text);
    *ret = buf_copy(&text, arena);
    ed25519_wipe(text.p, text.n);
    nats_creds_done(&creds);
    return 0;
}

static int make_all(struct arena *arena, int64_t now, const struct keys *keys,
                    struct identity *identity, struct err *err)
{
    const struct nats_nkey *fleet = &keys->accounts.keys[ACCOUNT_FLEET];
    const struct {
        enum identity_file file;
        const struct nats_nkey *account;
        enum grant_role role;
        const char *name;
    } users[] = {
        { IDENTITY_MASTER_CREDS, fleet, GRANT_MASTER, "master" },
        { IDENTITY_ADMIN_CREDS, fleet, GRANT_ADMIN, "admin" },
        { IDENTITY_SYS_CREDS, &keys->system, GRANT_SYSTEM, "sys" },
    };

    identity->account = public_text(arena, fleet);
    identity->system_account = public_text(arena, &keys->system);
    if (make_operator(arena, now, keys, identity, err) < 0 ||
        make_fleet(arena, now, keys, identity, err) < 0 ||
        derive_accounts(arena, &keys->accounts, &keys->signing, identity, err) < 0 ||
        make_system(arena, now, &keys->signing, identity, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct claims_head head = { .iat = now, .name = users[i].name };
        const struct identity_issuer issuer = { .account = users[i].account };

        if (make_creds(arena, &issuer, users[i].role, &head, &identity->files[users[i].file], err) <
            0)
            return -1;
    }
    identity->files[IDENTITY_OPERATOR_SEED] = seed_line(arena, &keys->operator_key);
    identity->files[IDENTITY_OPERATOR_SIGNING_SEED] = seed_line(arena, &keys->signing);
    identity->files[IDENTITY_ACCOUNT_SEED] = seed_line(arena, fleet);
    return 0;
}

int identity_make(struct arena *arena, int64_t now, struct identity *ret_identity, struct err *err)
{
    struct identity identity = { 0 };
    struct nats_nkey fleet;
    struct keys keys;
    int result;

    new_key(NATS_NKEY_OPERATOR, &keys.operator_key);
    new_key(NATS_NKEY_OPERATOR, &keys.signing);
    new_key(NATS_NKEY_ACCOUNT, &fleet);
    new_key(NATS_NKEY_ACCOUNT, &keys.system);
    accounts_derive(&fleet, &keys.accounts);
    nats_nkey_done(&fleet);
    result = make_all(arena, now, &keys, &identity, err);
    ed25519_wipe(&keys, sizeof(keys));
    if (result == 0)
        *ret_identity = identity;
    else
        identity_wipe(&identity);
    return result;
}

/* Secrets are in the arena's memory, not shared. */
void identity_wipe(struct identity *identity)
{
    for (size_t i = 0; i < IDENTITY_FILES; i++)
        if (identity->files[i].p && files[i].mode == SECRET_MODE)
            ed25519_wipe((char *)(uintptr_t)identity->files[i].p, identity->files[i].n);
}

/* --- files ----------------------------------------------------------------------- */

void identity_list(const struct identity *identity, struct newfile ret_files[static IDENTITY_FILES])
{
    for (size_t i = 0; i < IDENTITY_FILES; i++)
        ret_files[i] = (struct newfile){ files[i].name, identity->files[i], files[i].mode };
}

int identity_read_key(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                      struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, dir, files[file].name);
    struct str text;
    int result;

    if (fs_read(&arena, path, SEED_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    result = nats_nkey_parse_seed(str_trim(text), ret_key, err);
    ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    return result < 0 ? err_wrap(err, "'%s'", path) : 0;
}

int identity_read_accounts(const char *dir, struct accounts *ret_accounts, bool *ret_is_separate,
                           struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, dir, files[IDENTITY_ACCOUNT_JWT].name);
    struct nats_nkey fleet;
    struct accounts_border border;
    struct str jwt;

    if (fs_read(&arena, path, NATS_JWT_MAX, &jwt, err) < 0)
        return -1;
    if (!jwt.p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (accounts_read_jwt(jwt, &border, err) < 0)
        return err_wrap(err, "'%s'", path);
    if (identity_read_key(dir, IDENTITY_ACCOUNT_SEED, &fleet, err) < 0)
        return -1;
    accounts_derive(&fleet, ret_accounts);
    nats_nkey_done(&fleet);
    *ret_is_separate = border.version > 0;
    return 0;
}

int identity_make_signing(const char *dir, enum identity_file file, struct nats_nkey *ret_key,
                          struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_replace_options options = { .attr = { SECRET_MODE, FS_KEEP, FS_KEEP },
                                          .fresh = true };
    struct nats_nkey key;
    struct fs_info info;
    struct str line;
    int result;

    /* for the owner of the other seeds: root may have created it */
    if (fs_stat(path_join(&arena, dir, files[IDENTITY_ACCOUNT_SEED].name), &info, err) < 0)
        return -1;
    if (geteuid() == 0 && info.kind == FS_FILE)
        options.attr = (struct fs_attr){ SECRET_MODE, info.uid, info.gid };
    new_key(NATS_NKEY_ACCOUNT, &key);
    line = seed_line(&arena, &key);
    result = fs_replace(path_join(&arena, dir, files[file].name), line, &options, err);
    ed25519_wipe((char *)(uintptr_t)line.p, line.n);
    if (result == 0)
        *ret_key = key;
    nats_nkey_done(&key);
    return result;
}

/* --- further servers --------------------------------------------------------------- */

static int read_identity_jwt(struct arena *arena, const char *dir, enum identity_file file,
                             struct identity *identity, struct err *err)
{
    const char *path = path_join(arena, dir, files[file].name);

    if (fs_read(arena, path, NATS_JWT_MAX, &identity->files[file], err) < 0)
        return -1;
    if (!identity->files[file].p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    return 0;
}

/* Claims that are not kept in files are signed anew. */
static int sign_other_claims(struct arena *arena, const char *dir, int64_t now,
                             struct identity *identity, struct err *err)
{
    struct nats_nkey signing;
    struct accounts accounts;
    bool is_separate;
    int result;

    if (identity_read_accounts(dir, &accounts, &is_separate, err) < 0)
        return -1;
    result = identity_read_key(dir, IDENTITY_OPERATOR_SIGNING_SEED, &signing, err);
    if (result == 0)
        result = make_system(arena, now, &signing, identity, err);
    if (result == 0 && is_separate)
        result = derive_accounts(arena, &accounts, &signing, identity, err);
    nats_nkey_done(&signing);
    accounts_done(&accounts);
    return result;
}

int identity_read_claims(struct arena *arena, const char *dir, int64_t now,
                         struct identity *ret_identity, struct err *err)
{
    struct identity identity = { 0 };
    struct claims_operator operator_claims;
    struct claims_account account_claims;

    if (read_identity_jwt(arena, dir, IDENTITY_OPERATOR_JWT, &identity, err) < 0 ||
        read_identity_jwt(arena, dir, IDENTITY_ACCOUNT_JWT, &identity, err) < 0 ||
        claims_read_operator(arena, str_trim(identity.files[IDENTITY_OPERATOR_JWT]),
                             &operator_claims, err) < 0 ||
        claims_read_account(arena, str_trim(identity.files[IDENTITY_ACCOUNT_JWT]), &account_claims,
                            err) < 0)
        return -1;
    identity.account = account_claims.head.sub;
    identity.system_account = operator_claims.system_account;
    if (sign_other_claims(arena, dir, now, &identity, err) < 0)
        return -1;
    *ret_identity = identity;
    return 0;
}

/* --- users ------------------------------------------------------------------------ */

/* NULL text: the file does not exist. */
static int read_identity_creds(struct arena *arena, const char *path, struct nats_creds *ret_creds,
                               struct claims_user *ret_claims, struct str *ret_text,
                               struct err *err)
{
    if (fs_read(arena, path, NATS_CREDS_MAX, ret_text, err) < 0)
        return -1;
    if (!ret_text->p)
        return 0;
    if (nats_creds_parse(*ret_text, ret_creds, err) < 0)
        return err_wrap(err, "'%s'", path);
    if (claims_read_user(arena, str_from(arena_strdup(arena, ret_creds->jwt)), ret_claims, err) ==
        0)
        return 0;
    nats_creds_done(ret_creds);
    return err_wrap(err, "'%s'", path);
}

static int replace_creds(struct arena *arena, const char *path, const struct nats_nkey *key,
                         struct str jwt, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FS_KEEP, FS_KEEP, FS_KEEP } };
    AUTO_BUF struct buf text = BUF_INIT(NATS_CREDS_MAX);
    struct nats_creds creds = { .key = *key, .jwt = (char *)(uintptr_t)arena_str(arena, jwt).p };
    int result;

    nats_creds_print(&creds, &text);
    result = fs_replace(path, buf_view(&text), &options, err);
    ed25519_wipe(text.p, text.n);
    nats_nkey_done(&creds.key);
    return result;
}

int identity_renew_creds(const char *dir, enum identity_file file, const struct nats_nkey *fleet,
                         int64_t since, struct err *err)
{
    const enum grant_role role = file == IDENTITY_MASTER_CREDS ? GRANT_MASTER : GRANT_ADMIN;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const char *path = path_join(&arena, dir, files[file].name);
    struct nats_creds creds = { 0 };
    struct claims_user claims = { 0 };
    struct str text;
    int result = 0;

    if (read_identity_creds(&arena, path, &creds, &claims, &text, err) < 0)
        return -1;
    if (text.p && claims.head.iat < since) {
        const struct claims_head head = {
            .iat = since, .exp = claims.head.exp, .sub = claims.head.sub, .name = claims.head.name
        };

        result = sign_user(&arena, &(struct identity_issuer){ .account = fleet }, role, &head, &jwt,
                           err);
        if (result == 0)
            result = replace_creds(&arena, path, &creds.key, buf_view(&jwt), err);
    }
    if (text.p)
        ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    nats_creds_done(&creds);
    return result;
}

struct identity_issuer identity_issuer(const struct accounts *accounts, enum account_role role,
                                       bool is_separate)
{
    const struct nats_nkey *fleet = &accounts->keys[ACCOUNT_FLEET];

    if (!is_separate || role == ACCOUNT_FLEET)
        return (struct identity_issuer){ .account = fleet };
    return (struct identity_issuer){ .account = &accounts->keys[role], .fleet = fleet };
}

int identity_issue_leaf(struct arena *arena, const struct identity_issuer *issuer, const char *name,
                        int64_t now, struct str *ret_creds, struct err *err)
{
    struct claims_head head = { .iat = now, .name = name };

    return make_creds(arena, issuer, GRANT_LEAF, &head, ret_creds, err);
}

int identity_issue_operator(struct arena *arena, const struct identity_issuer *issuer,
                            const struct identity_operator *who, struct str *ret_creds,
                            const char **ret_key, struct err *err)
{
    struct claims_head head = { .iat = who->now, .exp = who->expires, .name = who->name };

    if (make_creds(arena, issuer, who->is_deaf ? GRANT_OPERATOR_DEAF : GRANT_OPERATOR, &head,
                   ret_creds, err) < 0)
        return -1;
    *ret_key = head.sub;
    return 0;
}

int identity_issue_peel(struct arena *arena, const struct identity_issuer *issuer, const char *peel,
                        const char *public_key, int64_t now, const char **ret_jwt, struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const struct claims_head head = {
        .iat = now,
        .exp = now + IDENTITY_PEEL_SECONDS,
        .sub = public_key,
        .name = peel,
    };
    struct nats_nkey user;

    if (nats_nkey_parse_public(str_from(public_key), &user, err) < 0)
        return -1;
    if (user.kind != NATS_NKEY_USER)
        return err_set(err, ERR_INVALID, "expected the public key of a user, got that of an %s",
                       nats_nkey_kind_name(user.kind));
    if (sign_user(arena, issuer, GRANT_PEEL, &head, &jwt, err) < 0)
        return -1;
    *ret_jwt = buf_copy(&jwt, arena).p;
    return 0;
}
