#include "fleet/master/enroll/authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/master/enroll/signing_board.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/cluster_info.h"

#define DOCUMENT_MAX ((size_t)1 << 20)

static int64_t get_authority_time(void)
{
    return clock_wall() / CLOCK_SECOND;
}

static void use_leaf(struct authority *authority, const struct leaf *leaf)
{
    leaf_done(&authority->leaf);
    authority->leaf = *leaf;
    authority->registry.policy.ca_pin = leaf->is_issued ? authority->leaf.pin : NULL;
}

/* --- renewal ------------------------------------------------------------------------ */

static void on_renewal_timer(struct timer *timer);

/* At renewal time, and every hour: the clock may be set, and files may change. */
static void check_later(struct authority *authority)
{
    const struct leaf *leaf = &authority->leaf;
    int64_t due = leaf_renewal(leaf->made, leaf->ends) - get_authority_time(),
            wait = AUTHORITY_CHECK_NS;

    if (leaf->is_issued && due < wait / CLOCK_SECOND)
        wait = due < 1 ? CLOCK_SECOND : due * CLOCK_SECOND;
    timer_set(loop_timers(authority->master->loop), &authority->timer,
              clock_after(clock_now(), wait), on_renewal_timer);
}

/* On failure the old certificate stays. */
static void renew_certificate(struct authority *authority)
{
    struct leaf leaf;
    struct err err;

    if (leaf_load(&authority->master->conf, get_authority_time(), &leaf, &err) < 0) {
        log_warning("certificate cannot be renewed, keeping the old one error=%s", err.text);
        return;
    }
    if (!leaf.is_issued && str_eq(leaf.chain, authority->leaf.chain)) {
        leaf_done(&leaf); /* the same file */
        return;
    }
    use_leaf(authority, &leaf);
    if (authority->renewed)
        authority->renewed(authority->renewed_self);
}

static void on_renewal_timer(struct timer *timer)
{
    struct authority *authority = container_of(timer, struct authority, timer);
    const struct leaf *leaf = &authority->leaf;

    if (!leaf->is_issued || get_authority_time() >= leaf_renewal(leaf->made, leaf->ends))
        renew_certificate(authority);
    authority_look_at_keys(authority);
    check_later(authority);
}

static void reload_authority(void *self)
{
    authority_look_at_keys(self);
    renew_certificate(self);
    check_later(self);
}

/* --- signing keys ------------------------------------------------------------------- */

/* A missing key may arrive soon: a rotation takes a moment. */
static void on_key_time(struct timer *timer)
{
    struct authority *authority = container_of(timer, struct authority, key_timer);

    authority_look_at_keys(authority);
    if (authority->signing.problem[0] && !authority->has_warned)
        log_warning("%s", authority->signing.problem);
    authority->has_warned = authority->signing.problem[0] != '\0';
}

/* Peel credentials are issued by the account in the claims on disk. */
static void check_local_accounts(struct authority *authority)
{
    struct identity_issuer *issuer = &authority->registry.policy.issuer;
    struct accounts accounts;
    bool is_separate;
    struct err err;

    if (identity_read_accounts(authority->auth_dir, &accounts, &is_separate, &err) == 0) {
        authority->is_separate = is_separate;
        accounts_done(&accounts);
    } else {
        log_warning("claims of the account cannot be read error=%s", err.text);
    }
    *issuer = identity_issuer(&authority->accounts, ACCOUNT_PEELS, authority->is_separate);
    issuer->signing = signing_key(&authority->signing);
}

void authority_look_at_keys(struct authority *authority)
{
    struct timers *timers = loop_timers(authority->master->loop);
    const struct signing *signing = &authority->signing;
    const struct keyring *ring = signing_ring(signing);

    signing_look(&authority->signing);
    check_local_accounts(authority);
    if (signing->problem[0])
        timer_set(timers, &authority->key_timer, clock_after(clock_now(), AUTHORITY_KEY_NS),
                  on_key_time);
    else
        timer_clear(timers, &authority->key_timer);
    if (!authority->is_started || !signing_is_current(signing) ||
        authority->published == ring->generation)
        return;
    authority->published = ring->generation;
    log_info("credentials are issued with the account's signing key key=%s", keyring_current(ring));
    signing_board_publish(authority->master);
}

/* --- the document ------------------------------------------------------------------- */

struct value authority_document(const struct authority *authority, struct arena *arena)
{
    static const char *const none[1] = { NULL };
    const struct leaf *leaf = &authority->leaf;
    const struct param_strs *urls = &authority->master->conf.nats_advertise_urls;
    AUTO_BUF struct buf time = BUF_INIT(BUF_NO_LIMIT);
    struct cluster_info info = {
        .v = CLUSTER_INFO_VERSION,
        .ca_bundle_pem = leaf->ca_bundle.p ? leaf->ca_bundle : STR(""),
        .fingerprint = leaf->pin,
        .nats_urls = { urls->n, urls->p ? urls->p : none }, /* an empty list is not null */
    };

    time_print(&time, (struct value_time){ .seconds = leaf->ca_begins });
    info.issued_at = buf_copy(&time, arena).p;
    return record_value(arena, &cluster_info_type, &info);
}

static struct nats_kv get_document_bucket(const struct authority *authority)
{
    return (struct nats_kv){ .js = authority->master->js,
                             .bucket = store_bucket_name(STORE_SECRETS) };
}

static void on_authority_document_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("bootstrap document cannot be published error=%s", error->text);
}

static void on_authority_document(void *self, const struct nats_error *error,
                                  const struct nats_kv_entry *entry)
{
    struct authority *authority = self;
    const struct nats_kv kv = get_document_bucket(authority);
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        return; /* at the next start, or by another master */
    if (entry && str_eq(entry->value, authority->document))
        return;
    if (entry)
        log_warning("bootstrap document on the bus differs from ours and is replaced; masters "
                    "need the same certificate authority");
    if (nats_kv_put(&kv, CLUSTER_INFO_KEY, authority->document, on_authority_document_put,
                    authority, &err) < 0)
        log_warning("bootstrap document cannot be published error=%s", err.text);
}

static int publish_document(struct authority *authority, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(DOCUMENT_MAX);
    const struct nats_kv kv = get_document_bucket(authority);
    struct value document;

    arena_clear(&authority->document_arena);
    document = authority_document(authority, &authority->document_arena);
    if (msgpack_encode(&bytes, &document, err) < 0)
        return -1;
    authority->document = buf_copy(&bytes, &authority->document_arena);
    return nats_kv_get(&kv, CLUSTER_INFO_KEY, on_authority_document, authority, err);
}

/* --- published trees ---------------------------------------------------------------- */

struct tree_trust authority_trust(struct master *master, const char *reader)
{
    const struct authority *authority = master_find(master, &authority_service);
    struct tree_trust trust = { .mode = master->conf.signed_trees, .has_account = true };
    struct err err;
    const char *room = workroom_open(&master->workroom, master->conf.orchestrate_dir, &err);

    memcpy(trust.account, authority->account.public_key, sizeof(trust.account));
    if (room)
        trust.seen = arena_printf(&master->workroom.arena, "%s/signed/%s", room, reader);
    else
        log_warning("cannot record which trees were signed: %s", err.text);
    return trust;
}

/* --- operator requests -------------------------------------------------------------- */

/* The policy on the bus is not used: a server could restore an older one. */
static bool is_operator_key_revoked(void *self, const char *key, int64_t issued)
{
    const struct revocation *revocation = master_find(self, &revocation_service);

    return revocation && revocation_has(revocation, key, issued);
}

int authority_check_order(struct master *master, const struct nats_msg *msg, struct err *err)
{
    struct authority *authority;
    struct err why;

    if (!master->conf.require_signed_requests)
        return 0;
    authority = master_find(master, &authority_service);
    if (request_signature_check(&authority->warrants,
                                &(struct request_verifier){ .account = &authority->account,
                                                            .is_revoked = is_operator_key_revoked,
                                                            .self = master },
                                msg, &why) == 0)
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "the request is refused (require_signed_requests of master '%s'): %s",
                   master->id, why.text);
}

/* --- the service -------------------------------------------------------------------- */

static void free_authority(void *self)
{
    struct authority *authority = self;

    timer_clear(loop_timers(authority->master->loop), &authority->timer);
    timer_clear(loop_timers(authority->master->loop), &authority->key_timer);
    signing_done(&authority->signing);
    nats_nkey_done(&authority->account);
    accounts_done(&authority->accounts);
    leaf_done(&authority->leaf);
    arena_done(&authority->document_arena);
    free(authority->auth_dir);
    free(authority);
}

static void *open_authority(struct master *master, struct err *err)
{
    struct authority *authority = mem_zalloc(sizeof(*authority));
    struct leaf leaf;

    authority->master = master;
    authority->document_arena = (struct arena)ARENA_INIT;
    authority->leaf.arena = (struct arena)ARENA_INIT;
    if (identity_read_key(master->conf.auth_dir, IDENTITY_ACCOUNT_SEED, &authority->account, err) <
            0 ||
        leaf_load(&master->conf, get_authority_time(), &leaf, err) < 0) {
        free_authority(authority);
        return NULL;
    }
    use_leaf(authority, &leaf);
    accounts_derive(&authority->account, &authority->accounts);
    authority->auth_dir = mem_strdup(master->conf.auth_dir);
    signing_init(&authority->signing, authority->auth_dir, &authority->account);
    authority_look_at_keys(authority);
    check_later(authority);
    return authority;
}

static int start_authority(void *self, struct err *err)
{
    struct authority *authority = self;

    authority->registry.js = authority->master->js;
    authority->is_started = true;
    authority_look_at_keys(authority);
    return publish_document(authority, err);
}

static void stop_authority(void *self)
{
    struct authority *authority = self;

    authority->is_started = false;
}

static enum health_status check_authority(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct authority *authority = self;
    const struct leaf *leaf = &authority->leaf;
    int64_t now = get_authority_time();

    if (now >= leaf->ends) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "the certificate of the HTTPS endpoint expired");
        return HEALTH_DOWN;
    }
    if (now < leaf_renewal(leaf->made, leaf->ends) + AUTHORITY_CHECK_NS / CLOCK_SECOND) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%s", authority->signing.problem);
        return authority->signing.problem[0] ? HEALTH_DEGRADED : HEALTH_OK;
    }
    (void)snprintf(message, HEALTH_TEXT_MAX,
                   "the certificate of the HTTPS endpoint expires in %lld hours",
                   (long long)(leaf->ends - now) / 3600);
    return HEALTH_DEGRADED;
}

const struct master_service authority_service = {
    .name = "ca",
    .open = open_authority,
    .start = start_authority,
    .stop = stop_authority,
    .free = free_authority,
    .reload = reload_authority,
    .check = check_authority,
};
