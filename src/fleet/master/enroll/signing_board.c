#include "fleet/master/enroll/signing_board.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/signing_notice.h"

static struct nats_kv get_signing_key_bucket(const struct master *master)
{
    return (struct nats_kv){ .js = master->js,
                             .bucket = store_bucket_name(STORE_STATE_FILES),
                             .indirect = true };
}

/* Another master may have written it; they agree next time. */
static void on_signing_key_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (!error)
        log_info("signing key is published for peels");
    else if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_CONFLICT)
        log_warning("signing key is not published for peels error=%s", error->text);
}

/* Is the published notice signed, and of this generation or later? */
static bool is_good(const struct authority *authority, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct keyring *ring = signing_ring(&authority->signing);
    struct signing_notice there;
    struct err err;

    if (!entry)
        return false;
    if (signing_notice_read(&arena, authority->account.public_key, arena_str(&arena, entry->value),
                            &there, &err) < 0) {
        log_warning("published signing key is replaced error=%s", err.text);
        return false;
    }
    return there.generation >= ring->generation;
}

static void on_signing_key_published(void *self, const struct nats_error *error,
                                     const struct nats_kv_entry *entry)
{
    struct master *master = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct authority *authority;
    const struct nats_kv kv = get_signing_key_bucket(master);
    struct ed25519_pair signer;
    const struct keyring *ring;
    struct str stored;
    struct err err;
    int result;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        return;
    authority = master_find(master, &authority_service);
    if (!signing_is_current(&authority->signing) || is_good(authority, entry))
        return;
    ring = signing_ring(&authority->signing);
    signer = nats_nkey_pair(&authority->account);
    stored = signing_notice_sign(&arena, &signer,
                                 &(struct signing_notice){ .generation = ring->generation,
                                                           .spread = ring->spread,
                                                           .key = keyring_current(ring) });
    result = entry ? nats_kv_update(&kv, SIGNING_NOTICE_KEY, stored, entry->revision,
                                    on_signing_key_written, master, &err)
                   : nats_kv_create(&kv, SIGNING_NOTICE_KEY, stored, on_signing_key_written, master,
                                    &err);
    if (result < 0)
        log_warning("signing key is not published for peels error=%s", err.text);
}

void signing_board_publish(struct master *master)
{
    const struct authority *authority = master_find(master, &authority_service);
    const struct nats_kv kv = get_signing_key_bucket(master);
    struct err err;

    if (signing_is_current(&authority->signing))
        (void)nats_kv_get(&kv, SIGNING_NOTICE_KEY, on_signing_key_published, master,
                          &err); /* otherwise retried later */
}
