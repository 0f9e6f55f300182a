#include "fleet/master/enroll/signing.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/identity.h"
#include "fleet/nats/jwt.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

enum { LEARNED, EFFECTIVE };

static void keep_ring(struct signing *signing, int which, const struct keyring *ring)
{
    struct keyring *kept = which == LEARNED ? &signing->learned : &signing->ring;

    arena_clear(&signing->arenas[which]);
    *kept = keyring_copy(&signing->arenas[which], ring);
}

/* --- files -------------------------------------------------------------------------- */

static int read_signing_file(struct arena *arena, const struct signing *signing,
                             enum identity_file file, struct str *ret, struct err *err)
{
    const char *path = path_join(arena, signing->dir, identity_file_name(file));

    if (fs_read(arena, path, NATS_JWT_MAX, ret, err) < 0)
        return -1;
    return ret->p ? 0 : err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
}

static void check_signing_claims(struct signing *signing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct keyring ring = { 0 };
    struct str jwt;
    struct err err;

    if (read_signing_file(&arena, signing, IDENTITY_ACCOUNT_JWT, &jwt, &err) < 0 ||
        keyring_read_jwt(&arena, jwt, &ring, &err) < 0) {
        log_warning("signing keys of the account cannot be read error=%s", err.text);
        return;
    }
    keep_ring(signing, EFFECTIVE,
              keyring_is_newer(&signing->learned, &ring) ? &signing->learned : &ring);
}

static void take_key(struct signing *signing)
{
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey key;
    struct err err;

    nats_nkey_done(&signing->key);
    signing->has_key = false;
    if (identity_read_key(signing->dir, IDENTITY_SIGNING_SEED, &key, &err) < 0) {
        if (err.code != ERR_NOT_FOUND)
            log_warning("signing key cannot be read error=%s", err.text);
        return;
    }
    nats_nkey_print_public(&key, text);
    if (keyring_has(&signing->ring, text)) {
        signing->key = key;
        signing->has_key = true;
    }
    nats_nkey_done(&key);
}

/* Is there a key that not every server has yet? */
static bool has_next(const struct signing *signing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_info info;
    struct err err;

    return fs_stat(path_join(&arena, signing->dir, identity_file_name(IDENTITY_SIGNING_NEXT)),
                   &info, &err) == 0 &&
           info.kind != FS_NONE;
}

static void judge_key(struct signing *signing)
{
    const char *current = keyring_current(&signing->ring);

    signing->problem[0] = '\0';
    if (!current || signing_is_current(signing))
        return;
    if (has_next(signing))
        (void)snprintf(signing->problem, sizeof(signing->problem),
                       "signing key rotation is incomplete: run 'zester nats-auth rotate' again");
    else
        (void)snprintf(signing->problem, sizeof(signing->problem),
                       "credentials are issued with %s: copy '%s' with the key %.8s... from the "
                       "master where 'zester nats-auth rotate' created it",
                       signing->has_key ? "an older key" : "the account's own key",
                       identity_file_name(IDENTITY_SIGNING_SEED), current);
}

void signing_look(struct signing *signing)
{
    check_signing_claims(signing);
    take_key(signing);
    judge_key(signing);
}

/* --- claims of servers -------------------------------------------------------------- */

bool signing_learn(struct signing *signing, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = arena_str(&arena, jwt);
    struct str operator_jwt;
    struct keyring ring = { 0 };
    struct err err;

    if (read_signing_file(&arena, signing, IDENTITY_OPERATOR_JWT, &operator_jwt, &err) < 0 ||
        claims_verify_account(&arena, operator_jwt, text, signing->account, &err) < 0 ||
        keyring_read_jwt(&arena, text, &ring, &err) < 0) {
        log_warning("ignored untrusted claims pushed to a server error=%s", err.text);
        return false;
    }
    if (!keyring_is_newer(&ring, &signing->ring))
        return false;
    keep_ring(signing, LEARNED, &ring);
    signing_look(signing);
    log_info("account signing keys changed generation=%lld keys=%zu key=%s",
             (long long)ring.generation, ring.keys.n,
             keyring_current(&ring) ? keyring_current(&ring) : "");
    return true;
}

/* --- queries ------------------------------------------------------------------------ */

const struct keyring *signing_ring(const struct signing *signing)
{
    return &signing->ring;
}

const struct nats_nkey *signing_key(const struct signing *signing)
{
    return signing->has_key ? &signing->key : NULL;
}

bool signing_is_current(const struct signing *signing)
{
    const char *current = keyring_current(&signing->ring);
    char text[NATS_NKEY_TEXT_SIZE];

    if (!current || !signing->has_key)
        return false;
    nats_nkey_print_public(&signing->key, text);
    return strcmp(text, current) == 0;
}

void signing_init(struct signing *signing, const char *dir, const struct nats_nkey *account)
{
    *signing = (struct signing){ .dir = dir, .arenas = { ARENA_INIT, ARENA_INIT } };
    nats_nkey_print_public(account, signing->account);
    signing_look(signing);
}

void signing_done(struct signing *signing)
{
    nats_nkey_done(&signing->key);
    for (size_t i = 0; i < ARRAY_LEN(signing->arenas); i++)
        arena_done(&signing->arenas[i]);
}
