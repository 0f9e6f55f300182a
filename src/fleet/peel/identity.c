#include "fleet/peel/identity.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/facts/facts.h"
#include "fleet/bus/accounts.h"
#include "fleet/bus/claims.h"
#include "fleet/nats/creds.h"
#include "core/sys/chance.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "fleet/wire/peel_id.h"

#define NODE_ID_MAX ((size_t)1024)
#define SEED_MAX    ((size_t)1024)
#define AUTH_MODE   0700
#define SEED_MODE   0600
#define PIN_MODE    0644
#define ACCOUNT_MAX ((size_t)256)
/* Part of their lifetime that is left when credentials are renewed. */
#define RENEW_PART 3

static int write_private(const char *path, struct str text, mode_t mode, struct err *err)
{
    const struct fs_replace_options options = { .attr = { mode, FS_KEEP, FS_KEEP }, .fresh = true };

    return fs_replace(path, text, &options, err);
}

/* The id that was chosen before; NULL: none. */
static int read_pinned_id(struct arena *arena, const char *path, const char **ret_id,
                          struct err *err)
{
    struct str text;

    *ret_id = NULL;
    if (fs_read(arena, path, NODE_ID_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    text = str_trim(text);
    if (!peel_id_is_valid(text))
        return err_set(err, ERR_INVALID,
                       "'%s' does not hold a peel id; remove it to choose one by the host name",
                       path);
    *ret_id = arena_str(arena, text).p;
    return 0;
}

static int derive_id(struct arena *arena, const char *path, const char *host, const char **ret_id,
                     struct err *err)
{
    char *id = arena_alloc(arena, PEEL_ID_SIZE);

    if (!host || !host[0] || peel_id_is_local_name(str_from(host)))
        return err_set(err, ERR_INVALID,
                       "the host name '%s' says nothing about this machine: set 'id'",
                       host ? host : "");
    if (peel_id_encode(str_from(host), id, err) < 0)
        return err_wrap(err, "host name (set 'id' to use another one)");
    if (write_private(path, str_from(arena_printf(arena, "%s\n", id)), PIN_MODE, err) < 0)
        return -1;
    *ret_id = id;
    return 0;
}

/* The configured id, or the pinned one; NULL: neither. */
static int find_chosen_id(struct arena *arena, const char *path, const char *name,
                          const char **ret_id, struct err *err)
{
    char *id;

    if (!name || !name[0])
        return read_pinned_id(arena, path, ret_id, err);
    id = arena_alloc(arena, PEEL_ID_SIZE);
    *ret_id = id;
    return peel_id_encode(str_from(name), id, err);
}

static int choose_peel_id(struct arena *arena, const char *auth_dir, const char *name,
                          const char *host, const char **ret_id, struct err *err)
{
    const char *path = path_join(arena, auth_dir, PEEL_IDENTITY_NODE_ID);

    if (find_chosen_id(arena, path, name, ret_id, err) < 0)
        return -1;
    return *ret_id ? 0 : derive_id(arena, path, host, ret_id, err);
}

int peel_identity_find(struct arena *arena, const char *auth_dir, const char *name,
                       const char **ret_id, struct err *err)
{
    const char *path = path_join(arena, auth_dir, PEEL_IDENTITY_NODE_ID);

    if (find_chosen_id(arena, path, name, ret_id, err) < 0)
        return -1;
    return *ret_id ? 0
                   : err_set(err, ERR_NOT_FOUND,
                             "this machine is not a peel: '%s' does not exist; 'zester-peel join' "
                             "makes it one",
                             path);
}

/* Credentials that were brought here hold the seed, too. */
static int read_creds_key(const char *path, bool *ret_found, struct nats_nkey *ret_key,
                          struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_creds creds = { 0 };
    struct str text;

    *ret_found = false;
    if (fs_read(&arena, path, NATS_CREDS_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    if (nats_creds_parse(text, &creds, err) < 0)
        return err_wrap(err, "credentials file '%s'", path);
    *ret_found = true;
    *ret_key = creds.key;
    nats_creds_done(&creds);
    ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    return 0;
}

static int make_peel_key(const char *path, struct nats_nkey *ret_key, struct err *err)
{
    unsigned char bytes[ED25519_SEED_SIZE];
    char text[NATS_NKEY_TEXT_SIZE + 1];
    AUTO_BUF struct buf line = BUF_INIT(sizeof(text) + 1);
    int result;

    chance_bytes(bytes, sizeof(bytes));
    nats_nkey_make(NATS_NKEY_USER, bytes, ret_key);
    ed25519_wipe(bytes, sizeof(bytes));
    nats_nkey_print_seed(ret_key, text);
    buf_printf(&line, "%s\n", text);
    result = write_private(path, buf_view(&line), SEED_MODE, err);
    ed25519_wipe(text, sizeof(text));
    ed25519_wipe(line.p, line.n);
    return result;
}

static int open_key(struct peel_identity *identity, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text;
    bool found;
    int result;

    if (fs_read(&arena, identity->seed_file, SEED_MAX, &text, err) < 0)
        return -1;
    if (text.p) {
        result = nats_nkey_parse_seed(str_trim(text), &identity->key, err);
        ed25519_wipe((char *)(uintptr_t)text.p, text.n);
        return result < 0 ? err_wrap(err, "seed file '%s'", identity->seed_file) : 0;
    }
    if (read_creds_key(identity->creds_file, &found, &identity->key, err) < 0)
        return -1;
    return found ? 0 : make_peel_key(identity->seed_file, &identity->key, err);
}

int peel_identity_open(struct arena *arena, const char *auth_dir, const char *name,
                       const char *host, struct peel_identity *ret_identity, struct err *err)
{
    struct peel_identity identity = { 0 };

    if (fs_mkdirs(auth_dir, AUTH_MODE, err) < 0 ||
        choose_peel_id(arena, auth_dir, name, host, &identity.id, err) < 0)
        return -1;
    identity.seed_file = arena_printf(arena, "%s/%s.seed", auth_dir, identity.id);
    identity.creds_file = arena_printf(arena, "%s/%s.creds", auth_dir, identity.id);
    identity.account_file = arena_printf(arena, "%s/%s.account", auth_dir, identity.id);
    if (open_key(&identity, err) < 0)
        return -1;
    *ret_identity = identity;
    return 0;
}

const char *peel_identity_host(struct arena *arena)
{
    const struct facts_options how = { .families = FACTS_HOST };
    struct diags diags = DIAGS_INIT(arena);
    const struct value *facts;

    return facts_collect(arena, &how, &facts, &diags) == 0 ? value_get_text(facts, "id") : NULL;
}

/* The JWT of the credentials, in the arena; NULL: there are none. */
static int read_peel_jwt(const struct peel_identity *identity, struct arena *arena,
                         const char **ret_jwt, struct err *err)
{
    struct nats_creds creds = { 0 };
    struct str text;

    *ret_jwt = NULL;
    if (fs_read(arena, identity->creds_file, NATS_CREDS_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    if (nats_creds_parse(text, &creds, err) < 0)
        return err_wrap(err, "credentials file '%s'", identity->creds_file);
    *ret_jwt = arena_strdup(arena, creds.jwt);
    nats_creds_done(&creds);
    ed25519_wipe((char *)(uintptr_t)text.p, text.n);
    return 0;
}

/* --- the account ------------------------------------------------------------------ */

/* The file: the signing key, and on a second line the sealing key, if a master sent it. */
struct pin {
    struct str account, curve;
};

static int read_account(const struct peel_identity *identity, struct arena *arena, struct pin *ret,
                        struct err *err)
{
    struct str text;

    if (fs_read(arena, identity->account_file, ACCOUNT_MAX, &text, err) < 0)
        return -1;
    text = str_trim(text);
    ret->account = str_trim(str_cut(&text, '\n'));
    ret->curve = str_trim(text.p ? text : STR(""));
    return 0;
}

static int write_account(const struct peel_identity *identity, const struct pin *pin,
                         struct err *err)
{
    const struct fs_replace_options options = { .attr = { PIN_MODE, FS_KEEP, FS_KEEP } };
    AUTO_BUF struct buf text = BUF_INIT(ACCOUNT_MAX);

    buf_printf(&text, "%.*s\n", STR_ARG(pin->account));
    if (pin->curve.n > 0)
        buf_printf(&text, "%.*s\n", STR_ARG(pin->curve));
    return fs_keep(identity->account_file, buf_view(&text), &options, err);
}

/* Keeps known keys, adds a new one. */
static int merge_account(const struct peel_identity *identity, struct pin *pin, struct str account,
                         struct str curve, struct err *err)
{
    if (pin->account.n == 0)
        pin->account = account;
    if (pin->curve.n == 0)
        pin->curve = curve;
    if (str_eq(pin->account, account) && (curve.n == 0 || str_eq(pin->curve, curve)))
        return write_account(identity, pin, err);
    return err_set(err, ERR_UNSAFE,
                   "the credentials are of the account '%.*s', this machine belongs to '%.*s'; if "
                   "the fleet has new keys, remove '%s'",
                   STR_ARG(account), STR_ARG(pin->account), identity->account_file);
}

int peel_identity_pin(const struct peel_identity *identity, const char *jwt, const char *curve,
                      struct peel_account *ret_account, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_user claims = { 0 };
    struct pin pin = { 0 };
    const char *account;

    if (claims_read_user(&arena, str_from(jwt), &claims, err) < 0)
        return -1;
    *ret_account = (struct peel_account){ .is_separate = accounts_is_separate(&claims) };
    if (accounts_find_fleet(&arena, &claims, &account, err) < 0 ||
        nats_nkey_parse_public(str_from(account), &ret_account->key, err) < 0 ||
        (curve && nats_xkey_parse(str_from(curve), &ret_account->curve, err) < 0) ||
        read_account(identity, &arena, &pin, err) < 0 ||
        merge_account(identity, &pin, str_from(account), str_from(curve ? curve : ""), err) < 0)
        return -1;
    ret_account->has_curve = pin.curve.n > 0;
    return pin.curve.n > 0 ? nats_xkey_parse(pin.curve, &ret_account->curve, err) : 0;
}

int peel_identity_pin_creds(const struct peel_identity *identity, struct peel_account *ret_account,
                            struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *jwt;

    if (read_peel_jwt(identity, &arena, &jwt, err) < 0)
        return -1;
    if (!jwt)
        return err_set(err, ERR_NOT_FOUND, "credentials file '%s' does not exist",
                       identity->creds_file);
    return peel_identity_pin(identity, jwt, NULL, ret_account, err);
}

/* --- renewal ---------------------------------------------------------------------- */

const char *peel_identity_issuer(const struct peel_identity *identity, struct arena *arena)
{
    struct claims_user claims = { 0 };
    const char *jwt;
    struct err err;

    if (read_peel_jwt(identity, arena, &jwt, &err) < 0 || !jwt ||
        claims_read_user(arena, str_from(jwt), &claims, &err) < 0)
        return NULL;
    return claims.head.iss;
}

bool peel_identity_must_renew(const struct peel_identity *identity, int64_t now)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_user claims = { 0 };
    const char *jwt;
    struct err err;

    return read_peel_jwt(identity, &arena, &jwt, &err) == 0 && jwt &&
           claims_read_user(&arena, str_from(jwt), &claims, &err) == 0 && claims.head.exp > 0 &&
           claims.head.exp - now < (claims.head.exp - claims.head.iat) / RENEW_PART;
}
