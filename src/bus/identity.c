#include "bus/identity.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "bus/claims.h"
#include "bus/grant.h"
#include "nats/creds.h"
#include "nats/jwt.h"
#include "nats/nkey.h"
#include "sys/chance.h"
#include "sys/fs.h"
#include "sys/newfiles.h"
#include "sys/path.h"

#define SECRET_MODE 0600
#define PUBLIC_MODE 0644
#define SEED_MAX    ((size_t)4096)

/* In the order in which they are written; credentials last, since whoever finds them finds the
 * rest. */
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
    struct nats_nkey operator_key, signing, account, system;
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

static int make_account(struct arena *arena, int64_t now, const struct nats_nkey *signing,
                        const char *key, const char *name, bool has_jetstream, struct str *ret,
                        struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX);
    const struct claims_account claims = {
        .head = { .iat = now, .sub = key, .name = name },
        .has_jetstream = has_jetstream,
    };

    if (claims_sign_account(&claims, signing, &jwt, err) < 0)
        return -1;
    *ret = jwt_line(arena, &jwt);
    return 0;
}

static int make_system(struct arena *arena, int64_t now, const struct nats_nkey *signing,
                       struct identity *identity, struct err *err)
{
    struct str jwt;

    if (make_account(arena, now, signing, identity->system_account, "SYS", false, &jwt, err) < 0)
        return -1;
    identity->system_jwt = arena_strndup(arena, jwt.p, jwt.n - 1);
    return 0;
}

/* The JWT of a user with the grants of a role. */
static int sign_user(struct arena *arena, const struct identity_issuer *issuer,
                     enum grant_role role, const struct claims_head *head, struct buf *out,
                     struct err *err)
{
    struct claims_user claims = { .head = *head };
    struct grants grants;

    if (grant_list(arena, role, head->name, &grants, err) < 0)
        return -1;
    claims.publish = grants.allow[GRANT_PUBLISH];
    claims.subscribe = grants.allow[GRANT_SUBSCRIBE];
    claims.may_reply = grants.may_reply;
    claims.issuer_account = public_text(arena, issuer->account);
    return claims_sign_user(&claims, issuer->signing ? issuer->signing : issuer->account, out, err);
}

/* Credentials with a new key, whose public part is `head->sub` from now on. */
static int make_creds(struct arena *arena, const struct nats_nkey *account, enum grant_role role,
                      struct claims_head *head, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf jwt = BUF_INIT(NATS_JWT_MAX), text = BUF_INIT(NATS_CREDS_MAX);
    struct nats_creds creds = { 0 };

    new_key(NATS_NKEY_USER, &creds.key);
    head->sub = public_text(arena, &creds.key);
    if (sign_user(arena, &(struct identity_issuer){ .account = account }, role, head, &jwt, err) <
        0) {
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
    const struct {
        enum identity_file file;
        const struct nats_nkey *account;
        enum grant_role role;
        const char *name;
    } users[] = {
        { IDENTITY_MASTER_CREDS, &keys->account, GRANT_MASTER, "master" },
        { IDENTITY_ADMIN_CREDS, &keys->account, GRANT_ADMIN, "admin" },
        { IDENTITY_SYS_CREDS, &keys->system, GRANT_SYSTEM, "sys" },
    };

    identity->account = public_text(arena, &keys->account);
    identity->system_account = public_text(arena, &keys->system);
    if (make_operator(arena, now, keys, identity, err) < 0 ||
        make_account(arena, now, &keys->signing, identity->account, "zester", true,
                     &identity->files[IDENTITY_ACCOUNT_JWT], err) < 0 ||
        make_system(arena, now, &keys->signing, identity, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct claims_head head = { .iat = now, .name = users[i].name };

        if (make_creds(arena, users[i].account, users[i].role, &head,
                       &identity->files[users[i].file], err) < 0)
            return -1;
    }
    identity->files[IDENTITY_OPERATOR_SEED] = seed_line(arena, &keys->operator_key);
    identity->files[IDENTITY_OPERATOR_SIGNING_SEED] = seed_line(arena, &keys->signing);
    identity->files[IDENTITY_ACCOUNT_SEED] = seed_line(arena, &keys->account);
    return 0;
}

int identity_make(struct arena *arena, int64_t now, struct identity *ret_identity, struct err *err)
{
    struct identity identity = { 0 };
    struct keys keys;
    int result;

    new_key(NATS_NKEY_OPERATOR, &keys.operator_key);
    new_key(NATS_NKEY_OPERATOR, &keys.signing);
    new_key(NATS_NKEY_ACCOUNT, &keys.account);
    new_key(NATS_NKEY_ACCOUNT, &keys.system);
    result = make_all(arena, now, &keys, &identity, err);
    ed25519_wipe(&keys, sizeof(keys));
    if (result == 0)
        *ret_identity = identity;
    else
        identity_wipe(&identity);
    return result;
}

/* What is secret is in memory that nobody else shares: the arena's, written by us. */
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

    /* for whoever reads the other seeds: root may have been asked to make it */
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

static int read_jwt(struct arena *arena, const char *dir, enum identity_file file,
                    struct identity *identity, struct err *err)
{
    const char *path = path_join(arena, dir, files[file].name);

    if (fs_read(arena, path, NATS_JWT_MAX, &identity->files[file], err) < 0)
        return -1;
    if (!identity->files[file].p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    return 0;
}

int identity_read_claims(struct arena *arena, const char *dir, int64_t now,
                         struct identity *ret_identity, struct err *err)
{
    struct identity identity = { 0 };
    struct claims_operator operator_claims;
    struct claims_account account_claims;
    struct nats_nkey signing;
    int result;

    if (read_jwt(arena, dir, IDENTITY_OPERATOR_JWT, &identity, err) < 0 ||
        read_jwt(arena, dir, IDENTITY_ACCOUNT_JWT, &identity, err) < 0 ||
        claims_read_operator(arena, str_trim(identity.files[IDENTITY_OPERATOR_JWT]),
                             &operator_claims, err) < 0 ||
        claims_read_account(arena, str_trim(identity.files[IDENTITY_ACCOUNT_JWT]), &account_claims,
                            err) < 0 ||
        identity_read_key(dir, IDENTITY_OPERATOR_SIGNING_SEED, &signing, err) < 0)
        return -1;
    identity.account = account_claims.head.sub;
    identity.system_account = operator_claims.system_account;
    result = make_system(arena, now, &signing, &identity, err);
    nats_nkey_done(&signing);
    if (result == 0)
        *ret_identity = identity;
    return result;
}

int identity_issue_leaf(struct arena *arena, const struct nats_nkey *account, const char *name,
                        int64_t now, struct str *ret_creds, struct err *err)
{
    struct claims_head head = { .iat = now, .name = name };

    return make_creds(arena, account, GRANT_LEAF, &head, ret_creds, err);
}

int identity_issue_operator(struct arena *arena, const struct nats_nkey *account,
                            const struct identity_operator *who, struct str *ret_creds,
                            const char **ret_key, struct err *err)
{
    struct claims_head head = { .iat = who->now, .exp = who->expires, .name = who->name };

    if (make_creds(arena, account, who->is_deaf ? GRANT_OPERATOR_DEAF : GRANT_OPERATOR, &head,
                   ret_creds, err) < 0)
        return -1;
    *ret_key = head.sub;
    return 0;
}

/* --- peels ----------------------------------------------------------------------- */

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
