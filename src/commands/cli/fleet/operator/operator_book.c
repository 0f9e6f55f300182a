#include "commands/cli/fleet/operator/operator_book.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/identity.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define RECORD_MAX ((size_t)1 << 20)
#define CREDS_MODE 0600

/* --- reading ------------------------------------------------------------------------ */

struct listing {
    struct arena *arena;
    struct operator_book *book;
};

static void add_policy(void *self, const struct nats_kv_entry *entry)
{
    struct listing *listing = self;
    struct operator_policy policy;
    struct err err;

    if (record_decode(listing->arena, &operator_policy_type, 1,
                      arena_str(listing->arena, entry->value), &policy, &err) == 0 &&
        str_eq_text(entry->key, policy.name))
        VEC_PUSH_IN(listing->arena, &listing->book->list, policy);
}

static int compare_policies(const void *a, const void *b)
{
    return strcmp(((const struct operator_policy *)a)->name,
                  ((const struct operator_policy *)b)->name);
}

int operator_book_read(struct fleet *fleet, struct operator_book *ret_book, struct err *err)
{
    struct listing listing = { fleet->arena, ret_book };

    *ret_book = (struct operator_book){ 0 };
    fleet_learn_time(fleet); /* for who has expired */
    if (fleet_bucket_each(fleet, STORE_OPERATORS, NULL, add_policy, &listing, err) < 0)
        return -1;
    if (ret_book->list.n > 1)
        qsort(ret_book->list.p, ret_book->list.n, sizeof(ret_book->list.p[0]), compare_policies);
    return 0;
}

int operator_book_find(struct fleet *fleet, const char *name, bool with_removed,
                       struct operator_policy *ret_policy, uint64_t *ret_revision, struct err *err)
{
    struct operator_policy policy;
    struct str bytes;

    if (operator_check_name(name, err) < 0)
        return -1;
    if (fleet_bucket_find(fleet, STORE_OPERATORS, name, &bytes, ret_revision, err) < 0)
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND,
                             "no such operator: '%s'; 'zester operator list' lists them", name)
                   : -1;
    if (record_decode(fleet->arena, &operator_policy_type, 1, bytes, &policy, err) < 0)
        return -1;
    if (policy.removed && !with_removed)
        return err_set(err, ERR_NOT_FOUND,
                       "operator '%s' was removed: 'zester operator add %s' makes a new one", name,
                       name);
    *ret_policy = policy;
    return 0;
}

int operator_book_write(struct fleet *fleet, const struct operator_policy *policy,
                        uint64_t revision, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);

    if (operator_policy_type.check(policy, err) < 0 ||
        record_encode(&bytes, &operator_policy_type, policy, err) < 0)
        return -1;
    return fleet_bucket_replace(fleet, STORE_OPERATORS, policy->name, buf_view(&bytes), revision,
                                err);
}

/* --- credentials -------------------------------------------------------------------- */

static void drop_expired_keys(struct arena *arena, struct operator_policy *policy, int64_t now)
{
    struct operator_keys kept = { .list = VEC_INIT };

    VEC_EACH (&policy->keys.list, key)
        if (key->expires.seconds > now)
            VEC_PUSH_IN(arena, &kept.list, *key);
    policy->keys = kept;
}

static int write_operator_creds(struct arena *arena, const char *file, struct str creds,
                                struct err *err)
{
    const struct newfile made = { path_basename(file).p, creds, CREDS_MODE };
    const char *folder = path_dirname(arena, file);
    struct fs_info info;

    /* Do not create the folder: a missing one is more likely a typing mistake. */
    if (fs_stat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_NOT_FOUND,
                       "folder '%s' for the credentials does not exist: create it, or name another "
                       "file with --out",
                       folder);
    return newfiles_write(folder, &made, 1, "name another one with --out", err);
}

/* Servers end the credentials, and masters revoke what was issued until then. */
static int64_t read_bus_seconds(struct fleet *fleet)
{
    fleet_learn_time(fleet);
    return bus_time_seconds();
}

int operator_book_issue(struct fleet *fleet, const struct operator_issue *issue,
                        struct operator_policy *policy, struct err *err)
{
    const int64_t now = read_bus_seconds(fleet);
    const struct identity_operator who = { .name = policy->name,
                                           .is_deaf = policy->role == OPERATOR_ENROLLER,
                                           .now = now,
                                           .expires = now + issue->life / CLOCK_SECOND };
    struct operator_key key = { .issued = { now, 0 }, .expires = { who.expires, 0 } };
    struct identity_issuer issuer;
    struct accounts accounts;
    struct str creds;
    bool is_separate;
    int result;

    drop_expired_keys(fleet->arena, policy, now);
    if (policy->keys.list.n >= OPERATOR_KEYS_MAX)
        return err_set(err, ERR_LIMIT,
                       "operator '%s' already has %d valid credentials, the limit: wait until one "
                       "expires, or remove and add the operator",
                       policy->name, OPERATOR_KEYS_MAX);
    if (identity_read_accounts(issue->auth_dir, &accounts, &is_separate, err) < 0)
        return err_wrap(err, "credentials must be issued where the keys of the fleet are (--dir)");
    issuer = identity_issuer(&accounts, ACCOUNT_OPERATORS, is_separate);
    result = identity_issue_operator(fleet->arena, &issuer, &who, &creds, &key.public_key, err);
    accounts_done(&accounts);
    if (result < 0)
        return -1;
    result = write_operator_creds(fleet->arena, issue->file, creds, err);
    ed25519_wipe((char *)(uintptr_t)creds.p, creds.n);
    if (result == 0)
        VEC_PUSH_IN(fleet->arena, &policy->keys.list, key);
    return result;
}

void operator_book_withdraw(struct fleet *fleet, const struct operator_issue *issue)
{
    const struct newfile made = { .name = path_basename(issue->file).p };

    newfiles_remove(path_dirname(fleet->arena, issue->file), &made, 1);
}

/* --- how they are --------------------------------------------------------------------- */

const char *operator_book_state(const struct operator_policy *policy, int64_t now)
{
    if (policy->removed)
        return "removed";
    return operator_has_key(policy, now) ? "active" : "expired";
}

struct value_time operator_book_end(const struct operator_policy *policy)
{
    struct value_time end = { 0 };

    VEC_EACH (&policy->keys.list, key)
        if (key->revoked.seconds == 0 && key->expires.seconds > end.seconds)
            end = key->expires;
    return end;
}
