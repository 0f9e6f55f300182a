#include "fleet/master/update/rollout_claim.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"

struct claim {
    struct nats_kv kv;
    const struct update_board *board;
    struct arena arena;
    const char *key, *id, *component;
    rollout_claim_fn *fn;
    void *self;
};

static void end_claim(struct claim *claim, const char *error)
{
    claim->fn(claim->self, error);
    arena_done(&claim->arena);
    free(claim);
}

static void refuse_claim(struct claim *claim, const char *other)
{
    end_claim(claim, arena_printf(&claim->arena, "rollout '%s' of %s is in progress", other,
                                  claim->component));
}

/* Has this rollout ended, as far as this master knows? */
static bool is_rollout_over(const struct claim *claim, const char *id)
{
    const struct update_entry *entry = update_board_find(claim->board, UPDATE_LIST_ROLLOUTS, id);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_rollout rollout;
    struct err err;

    return entry &&
           record_decode(&arena, &update_rollout_type, 1, entry->bytes, &rollout, &err) == 0 &&
           update_rollout_is_over(rollout.state);
}

static void begin_create(struct claim *claim);

static void on_claim_taken(void *self, const struct nats_error *error, uint64_t revision)
{
    struct claim *claim = self;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CONFLICT)
        begin_create(claim); /* taken by another: read it */
    else
        end_claim(claim, error ? error->text : NULL);
}

static void on_other(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct claim *claim = self;
    const char *other;
    struct err err;

    if (error && error->fault == NATS_FAULT_NOT_FOUND) {
        begin_create(claim); /* it has just expired */
        return;
    }
    if (error) {
        end_claim(claim, error->text);
        return;
    }
    other = arena_strndup(&claim->arena, entry->value.p, entry->value.n);
    if (strcmp(other, claim->id) == 0)
        end_claim(claim, NULL); /* our own again: its record decides */
    else if (!is_rollout_over(claim, other))
        refuse_claim(claim, other);
    else if (nats_kv_update(&claim->kv, claim->key, str_from(claim->id), entry->revision,
                            on_claim_taken, claim, &err) < 0)
        end_claim(claim, err.text);
}

static void on_claim_created(void *self, const struct nats_error *error, uint64_t revision)
{
    struct claim *claim = self;
    struct err err;

    (void)revision;
    if (!error || error->fault != NATS_FAULT_CONFLICT)
        end_claim(claim, error ? error->text : NULL);
    else if (nats_kv_get(&claim->kv, claim->key, on_other, claim, &err) < 0)
        end_claim(claim, err.text);
}

static void begin_create(struct claim *claim)
{
    struct err err;

    if (nats_kv_create(&claim->kv, claim->key, str_from(claim->id), on_claim_created, claim, &err) <
        0)
        end_claim(claim, err.text);
}

int rollout_claim_begin(const struct nats_js *js, const struct update_board *board,
                        const struct update_rollout *rollout, rollout_claim_fn *fn, void *self,
                        struct err *err)
{
    struct claim *claim = mem_zalloc(sizeof(*claim));

    *claim = (struct claim){ .kv = { .js = *js,
                                     .bucket = store_bucket_name(STORE_LEASES),
                                     .indirect = true,
                                     .settled = true },
                             .board = board,
                             .component = update_component_name(rollout->config.component),
                             .fn = fn,
                             .self = self };
    claim->id = arena_strdup(&claim->arena, rollout->id);
    claim->key = arena_printf(&claim->arena, "rollout.%s", claim->component);
    if (nats_kv_create(&claim->kv, claim->key, str_from(claim->id), on_claim_created, claim, err) ==
        0)
        return 0;
    arena_done(&claim->arena);
    free(claim);
    return -1;
}
