#include "commands/cli/fleet/keys/signing_keys.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/claims_push.h"
#include "fleet/bus/identity.h"
#include "commands/cli/fleet/link.h"
#include "fleet/nats/jwt.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* More than counting, looking and confirming take together. */
#define PUSH_NS (INT64_C(15) * 1000000000)

/* Masters whose clocks are ahead have issued credentials that are later than now. */
#define SKEW_SECONDS 300

#define MEANWHILE                                                                                  \
    "the signing keys were changed meanwhile: check with 'zester nats-auth rotate --status'"

static int64_t read_key_clock(void)
{
    return clock_wall() / CLOCK_SECOND;
}

static const char *find_fleet_file(const struct signing_keys *keys, enum identity_file file)
{
    return path_join(keys->arena, keys->dir, identity_file_name(file));
}

static const char *fleet_key(const struct signing_keys *keys)
{
    return keys->accounts.public_keys[ACCOUNT_FLEET];
}

/* --- files -------------------------------------------------------------------------- */

static int read_key_text(const struct signing_keys *keys, enum identity_file file, struct str *ret,
                         struct err *err)
{
    const char *path = find_fleet_file(keys, file);

    if (fs_read(keys->arena, path, NATS_JWT_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' does not exist: run this where the keys of the fleet are (--dir)",
                       path);
    *ret = str_trim(*ret);
    return 0;
}

static int find_next_key(struct signing_keys *keys, struct err *err)
{
    struct fs_info info;

    if (fs_stat(find_fleet_file(keys, IDENTITY_SIGNING_NEXT), &info, err) < 0)
        return -1;
    keys->has_next = info.kind != FS_NONE;
    return 0;
}

static int read_key_files(struct signing_keys *keys, struct err *err)
{
    struct claims_account claims;
    bool is_separate;

    if (identity_read_accounts(keys->dir, &keys->accounts, &is_separate, err) < 0)
        return err_wrap(err, "keys must be rotated where the keys of the fleet are (--dir)");
    if (identity_read_key(keys->dir, IDENTITY_OPERATOR_SIGNING_SEED, &keys->signer, err) < 0 ||
        read_key_text(keys, IDENTITY_OPERATOR_JWT, &keys->operator_jwt, err) < 0 ||
        read_key_text(keys, IDENTITY_ACCOUNT_JWT, &keys->account_jwt, err) < 0 ||
        claims_verify_account(keys->arena, keys->operator_jwt, keys->account_jwt, fleet_key(keys),
                              err) < 0 ||
        claims_read_account(keys->arena, keys->account_jwt, &claims, err) < 0 ||
        keyring_read_jwt(keys->arena, keys->account_jwt, &keys->ring, err) < 0 ||
        accounts_read_jwt(keys->account_jwt, &keys->border, err) < 0)
        return -1;
    keys->revocations = value_map(value_map_new(keys->arena, 0));
    if (claims.revocations.kind == VALUE_MAP)
        keys->revocations = value_copy(keys->arena, &claims.revocations);
    return find_next_key(keys, err);
}

/* --- what servers have -------------------------------------------------------------- */

/* Keep revocations: of each key, the later of both. */
static void add_revocations(struct signing_keys *keys, const struct value *more)
{
    struct value_map *map = keys->revocations.map;

    for (size_t i = 0; more->kind == VALUE_MAP && i < more->map->count; i++) {
        const struct value_pair *pair = &more->map->pairs[i];
        const struct value *there = value_map_find(map, &pair->key);

        if (!there || (value_is(there, VALUE_INT) && value_is(&pair->value, VALUE_INT) &&
                       there->i < pair->value.i))
            value_map_set(keys->arena, map, pair->key, pair->value);
    }
}

static bool is_same_keyring(const struct keyring *a, const struct keyring *b)
{
    return !keyring_is_newer(a, b) && !keyring_is_newer(b, a);
}

/* Refuses claims that the operator did not sign. */
static void on_claims_found(void *self, struct str jwt)
{
    struct signing_keys *keys = self;
    const struct str text = arena_str(keys->arena, jwt);
    struct accounts_border border;
    struct claims_account claims;
    struct keyring ring;
    struct err err;

    if (claims_verify_account(keys->arena, keys->operator_jwt, text, fleet_key(keys), &err) < 0 ||
        claims_read_account(keys->arena, text, &claims, &err) < 0 ||
        keyring_read_jwt(keys->arena, text, &ring, &err) < 0 ||
        accounts_read_jwt(text, &border, &err) < 0)
        return;
    if (border.version > keys->border.version)
        keys->border = border;
    add_revocations(keys, &claims.revocations);
    if (keyring_is_newer(&ring, &keys->ring)) {
        keys->ring = ring;
        keys->current = 0;
    }
    if (is_same_keyring(&ring, &keys->ring))
        keys->current++;
}

static void on_claims_answer(void *self, const struct claims_push_result *result)
{
    struct signing_keys *keys = self;

    keys->is_done = true;
    keys->servers = result->servers;
    keys->confirmed = result->confirmed;
    keys->problem = result->problem ? arena_strdup(keys->arena, result->problem) : NULL;
}

/* Claims with the keys that are wanted, as a server ought to check them. */
static int make_account_claims(void *self, struct buf *out, struct err *err)
{
    struct signing_keys *keys = self;
    const struct claims_renewal renewal = { .iat = read_key_clock(),
                                            .revocations = keys->revocations,
                                            .keys = keys->wanted,
                                            .accounts = &keys->accounts,
                                            .since = keys->border.since,
                                            .all_before = keys->all_before };

    if (keyring_is_newer(&keys->ring, keys->wanted))
        return err_set(err, ERR_BUSY, MEANWHILE);
    if (claims_renew_account(keys->arena, keys->account_jwt, &renewal, &keys->signer, out, err) <
            0 ||
        claims_verify_account(keys->arena, keys->operator_jwt, buf_view(out), fleet_key(keys),
                              err) < 0)
        return -1;
    keys->made = buf_copy(out, keys->arena).p;
    return 0;
}

/* Ask the servers, and give them `wanted` unless that is NULL. */
static int talk_to_servers(struct signing_keys *keys, const struct keyring *wanted, struct err *err)
{
    struct claims_push *push;

    keys->is_done = false;
    keys->current = 0;
    keys->wanted = wanted;
    push =
        claims_push_new(&(struct claims_push_options){ .conn = keys->fleet->js.conn,
                                                       .accounts = &keys->accounts,
                                                       .signer = &keys->signer,
                                                       .found = on_claims_found,
                                                       .make = wanted ? make_account_claims : NULL,
                                                       .done = on_claims_answer,
                                                       .self = keys },
                        err);
    if (!push)
        return -1;
    if (fleet_wait(keys->fleet, &keys->is_done, PUSH_NS, err) < 0) {
        claims_push_free(push);
        return err_wrap(err, "servers do not answer the system account");
    }
    return keys->problem ? err_set(err, ERR_INVALID, "%s", keys->problem) : 0;
}

int signing_keys_open(struct arena *arena, const char *dir, const struct fleet_target *target,
                      struct signing_keys *ret_keys, struct err *err)
{
    struct fleet_target system = *target;

    *ret_keys = (struct signing_keys){ .arena = arena, .dir = dir };
    if (read_key_files(ret_keys, err) < 0)
        return -1;
    system.auth_dir = dir;
    system.creds = find_fleet_file(ret_keys, IDENTITY_SYS_CREDS);
    if (fleet_connect(arena, &system, &ret_keys->fleet, err) < 0)
        return -1;
    return talk_to_servers(ret_keys, NULL, err);
}

void signing_keys_close(struct signing_keys *keys)
{
    nats_nkey_done(&keys->signer);
    accounts_done(&keys->accounts);
    fleet_close(keys->fleet);
    keys->fleet = NULL;
}

/* --- changing ----------------------------------------------------------------------- */

static int store_claims_token(struct signing_keys *keys, struct err *err)
{
    const struct fs_replace_options options = { .attr = FS_ATTR_KEEP };

    return fs_replace(find_fleet_file(keys, IDENTITY_ACCOUNT_JWT),
                      str_from(arena_printf(keys->arena, "%s\n", keys->made)), &options, err);
}

/* Continue with the pending key, or make one: its seed is on disk before servers learn of it. */
static int prepare_key(struct signing_keys *keys, const char **ret_key, struct err *err)
{
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey key;
    int result = keys->has_next
                     ? identity_read_key(keys->dir, IDENTITY_SIGNING_NEXT, &key, err)
                     : identity_make_signing(keys->dir, IDENTITY_SIGNING_NEXT, &key, err);

    if (result < 0)
        return -1;
    keys->has_next = true;
    nats_nkey_print_public(&key, text);
    nats_nkey_done(&key);
    *ret_key = arena_strdup(keys->arena, text);
    return 0;
}

static int use_seed(struct signing_keys *keys, struct err *err)
{
    if (fs_rename(find_fleet_file(keys, IDENTITY_SIGNING_NEXT),
                  find_fleet_file(keys, IDENTITY_SIGNING_SEED), err) < 0 ||
        fs_sync_folder(keys->dir, err) < 0)
        return -1;
    keys->has_next = false;
    return 0;
}

/* Masters and admins need credentials that are newer than those that will be refused. */
static int renew_creds(const struct signing_keys *keys, struct err *err)
{
    static const enum identity_file creds[] = { IDENTITY_MASTER_CREDS, IDENTITY_ADMIN_CREDS };

    for (size_t i = 0; keys->border.since > 0 && i < ARRAY_LEN(creds); i++)
        if (identity_renew_creds(keys->dir, creds[i], &keys->accounts.keys[ACCOUNT_FLEET],
                                 keys->border.since, err) < 0)
            return -1;
    return 0;
}

int signing_keys_rotate(struct signing_keys *keys, int64_t spread, struct err *err)
{
    struct keyring wanted = keys->ring;
    const char *current = keyring_current(&keys->ring), *key;

    if (keys->border.version == 0)
        keys->border.since = read_key_clock() + SKEW_SECONDS;
    if (renew_creds(keys, err) < 0 || prepare_key(keys, &key, err) < 0)
        return -1;
    crash_point("signing-key-made");
    if ((!current || strcmp(current, key) != 0) &&
        keyring_add(keys->arena, &keys->ring, key, read_key_clock(), spread, &wanted, err) < 0)
        return -1;
    if (talk_to_servers(keys, &wanted, err) < 0)
        return -1;
    if (keys->confirmed < keys->servers)
        return err_set(err, ERR_BUSY,
                       "%zu of %zu servers confirmed the new key, which is not used before all "
                       "have: start the others, and run this again",
                       keys->confirmed, keys->servers);
    crash_point("signing-key-confirmed");
    if (store_claims_token(keys, err) < 0)
        return -1;
    crash_point("signing-claims-kept");
    if (use_seed(keys, err) < 0)
        return -1;
    keys->ring = wanted;
    if (talk_to_servers(keys, NULL, err) < 0)
        return -1;
    return is_same_keyring(&keys->ring, &wanted) ? 0 : err_set(err, ERR_BUSY, MEANWHILE);
}

int signing_keys_push(struct signing_keys *keys, struct err *err)
{
    const struct keyring wanted = keys->ring;

    if (talk_to_servers(keys, &wanted, err) < 0)
        return -1;
    if (keys->confirmed == 0)
        return err_set(err, ERR_TIMEOUT, "no server has confirmed the claims of the account");
    return 0;
}

int signing_keys_finish(struct signing_keys *keys, struct err *err)
{
    const struct keyring wanted = keyring_drop_older(&keys->ring);

    keys->all_before = keys->border.since > 0 ? keys->border.since - 1 : 0;
    if (talk_to_servers(keys, &wanted, err) < 0)
        return -1;
    if (keys->confirmed == 0)
        return err_set(err, ERR_TIMEOUT, "no server has confirmed it: run this again");
    crash_point("signing-keys-dropped");
    if (store_claims_token(keys, err) < 0)
        return -1;
    keys->ring = wanted;
    keys->current = keys->confirmed;
    return 0;
}

const char *signing_keys_peel_account(const struct signing_keys *keys)
{
    return keys->border.version > 0 ? keys->accounts.public_keys[ACCOUNT_PEELS] : NULL;
}

bool signing_keys_has_unmoved(const struct signing_keys *keys)
{
    const struct value *all = value_get(&keys->revocations, CLAIMS_ALL);

    return keys->border.since > 0 && (!value_is(all, VALUE_INT) || all->i < keys->border.since - 1);
}

bool signing_keys_has_seed(const struct signing_keys *keys)
{
    const char *current = keyring_current(&keys->ring);
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey key;
    struct err err;

    if (!current || identity_read_key(keys->dir, IDENTITY_SIGNING_SEED, &key, &err) < 0)
        return false;
    nats_nkey_print_public(&key, text);
    nats_nkey_done(&key);
    return strcmp(text, current) == 0;
}
