#include "fleet/master/enroll/revoked_board.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "core/data/value.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/revoked.h"

/* A list being published. */
struct posting {
    struct arena arena; /* it is in it */
    struct master *master;
    struct value keys;
};

static void end_posting(struct posting *posting)
{
    struct arena arena = posting->arena;

    arena_done(&arena);
}

static struct nats_kv get_revoked_list_bucket(const struct posting *posting)
{
    return (struct nats_kv){ .js = posting->master->js,
                             .bucket = store_bucket_name(STORE_STATE_FILES),
                             .indirect = true };
}

/* Another master may have written it; they agree next time. */
static void on_revoked_list_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct posting *posting = self;

    (void)revision;
    if (!error)
        log_info("revoked keys are published for peels keys=%zu", posting->keys.map->count);
    else if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_CONFLICT)
        log_warning("revoked keys are not published for peels error=%s", error->text);
    end_posting(posting);
}

/* Merges unexpired keys; the second list adds those missing in the first. */
static struct value merge_keys(struct arena *arena, const struct value *ours,
                               const struct value *published)
{
    const struct value *lists[] = { ours, published };
    const int64_t now = bus_time_seconds();
    struct value_map *map = value_map_new(arena, 0);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t j = 0; lists[i]->kind == VALUE_MAP && j < lists[i]->map->count; j++) {
            const struct value_pair *pair = &lists[i]->map->pairs[j];

            if (pair->value.kind != VALUE_INT || pair->value.i + REVOCATION_SLACK_SECONDS <= now ||
                value_map_find(map, &pair->key))
                continue;
            if (map->count == REVOKED_KEYS_MAX) {
                log_warning("revoked keys are not all published for peels limit=%d",
                            REVOKED_KEYS_MAX);
                return value_map(map);
            }
            value_map_set(arena, map, pair->key, pair->value);
        }
    return value_map(map);
}

static bool is_same_revoked_list(const struct value *a, const struct value *b)
{
    if (a->map->count != b->map->count)
        return false;
    for (size_t i = 0; i < a->map->count; i++)
        if (!value_map_find(b->map, &a->map->pairs[i].key))
            return false;
    return true;
}

static void on_revoked_list_published(void *self, const struct nats_error *error,
                                      const struct nats_kv_entry *entry)
{
    struct posting *posting = self;
    const struct authority *authority = master_find(posting->master, &authority_service);
    const struct ed25519_pair signer = nats_nkey_pair(&authority->account);
    const struct nats_kv kv = get_revoked_list_bucket(posting);
    struct revoked_notice list = { .keys = value_map(value_map_new(&posting->arena, 0)) };
    struct str stored;
    struct err err;
    int result;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_posting(posting);
        return;
    }
    if (entry && revoked_read(&posting->arena, authority->account.public_key,
                              arena_str(&posting->arena, entry->value), &list, &err) < 0)
        log_warning("published list of revoked keys is replaced error=%s", err.text);
    posting->keys = merge_keys(&posting->arena, &posting->keys, &list.keys);
    if (is_same_revoked_list(&posting->keys, &list.keys)) {
        end_posting(posting);
        return;
    }
    list.keys = posting->keys;
    list.time = bus_time() > list.time ? bus_time() : list.time + 1;
    stored = revoked_sign(&posting->arena, &signer, &list);
    result = entry
                 ? nats_kv_update(&kv, REVOKED_KEY, stored, entry->revision,
                                  on_revoked_list_written, posting, &err)
                 : nats_kv_create(&kv, REVOKED_KEY, stored, on_revoked_list_written, posting, &err);
    if (result < 0) {
        log_warning("revoked keys are not published for peels error=%s", err.text);
        end_posting(posting);
    }
}

void revoked_board_publish(struct master *master, const struct value *keys)
{
    struct arena arena = ARENA_INIT;
    struct posting *posting = ARENA_NEW(&arena, struct posting);
    struct nats_kv kv;
    struct err err;

    *posting = (struct posting){ .master = master, .keys = value_copy(&arena, keys) };
    posting->arena = arena;
    kv = get_revoked_list_bucket(posting);
    if (nats_kv_get(&kv, REVOKED_KEY, on_revoked_list_published, posting, &err) < 0)
        end_posting(posting); /* retried with the next push */
}
