#include "fleet/peel/revocations.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "fleet/wire/revoked.h"

#define FILE_MODE 0644

struct revocations {
    struct revocations_options options;
    struct arena arena;         /* of the list */
    struct revoked_notice list; /* time 0: none is known */
    bool is_loaded;
    struct nats_js js; /* conn NULL: none */
    struct timer timer;
    uint64_t generation; /* of the connection */
};

/* --- the list ----------------------------------------------------------------------- */

static const struct nats_nkey *find_list_signer(const struct revocations *revocations)
{
    return revocations->options.account(revocations->options.self);
}

/* False: it is not a list, or not a newer one. */
static bool take_revocations(struct revocations *revocations, struct str stored)
{
    const struct nats_nkey *account = find_list_signer(revocations);
    struct arena arena = ARENA_INIT;
    struct revoked_notice list;
    struct err err;

    if (!account ||
        revoked_read(&arena, account->public_key, arena_str(&arena, stored), &list, &err) < 0) {
        if (account)
            log_warning("revoked keys are not used error=%s", err.text);
    } else if (list.time > revocations->list.time) {
        arena_done(&revocations->arena);
        revocations->arena = arena;
        revocations->list = list;
        return true;
    } else if (list.time < revocations->list.time) {
        log_warning("revoked keys are not used error=the list is older than the one that is here");
    }
    arena_done(&arena);
    return false;
}

static const char *find_revocations_file(const struct revocations *revocations, struct arena *arena)
{
    return path_join(arena, revocations->options.data_dir, REVOCATIONS_FILE);
}

static void load_revocations(struct revocations *revocations)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *file = find_revocations_file(revocations, &arena);
    struct str stored;
    struct err err;

    if (revocations->is_loaded || !find_list_signer(revocations))
        return;
    revocations->is_loaded = true;
    if (fs_read(&arena, file, REVOKED_MAX, &stored, &err) < 0)
        log_warning("revoked keys that were kept cannot be read error=%s", err.text);
    else if (stored.p && !take_revocations(revocations, stored))
        log_warning("revoked keys that were kept are not used file=%s", file);
}

static void keep_list(const struct revocations *revocations, struct str stored)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .record = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    if (fs_replace(find_revocations_file(revocations, &arena), stored, &options, &err) < 0)
        log_warning("revoked keys are not kept for the next start error=%s", err.text);
}

bool revocations_has(const struct revocations *revocations, const char *key)
{
    return revocations->list.time > 0 && revoked_has(&revocations->list, key);
}

/* --- fetching ----------------------------------------------------------------------- */

/* One question; it outlives its connection by its last callback. */
struct list_request {
    struct revocations *revocations;
    uint64_t generation;
};

static void on_list(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    const struct list_request list_request = *(struct list_request *)self;
    struct revocations *revocations = list_request.revocations;

    free(self);
    if (error && error->fault == NATS_FAULT_CANCELED)
        return; /* `revocations` may be gone */
    if (list_request.generation != revocations->generation)
        return;
    if (!error && take_revocations(revocations, entry->value)) {
        log_info("revoked keys are known keys=%zu", revocations->list.keys.map->count);
        keep_list(revocations, entry->value);
    } else if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        log_debug("revoked keys cannot be fetched error=%s", error->text);
    }
}

static void fetch_list(struct revocations *revocations)
{
    const struct nats_kv kv = { .js = revocations->js,
                                .bucket = store_bucket_name(STORE_STATE_FILES) };
    struct list_request *list_request;
    struct err err;

    load_revocations(revocations);
    if (!find_list_signer(revocations))
        return;
    list_request = mem_alloc(sizeof(*list_request));
    *list_request = (struct list_request){ revocations, revocations->generation };
    if (nats_kv_get(&kv, REVOKED_KEY, on_list, list_request, &err) == 0)
        return;
    log_debug("revoked keys cannot be fetched error=%s", err.text);
    free(list_request);
}

static void on_revocations_timer(struct timer *timer);

/* Not all machines at once. */
static void fetch_revocations_later(struct revocations *revocations)
{
    const int64_t wait =
        REVOCATIONS_AGAIN / 2 + (int64_t)(chance_number() % (REVOCATIONS_AGAIN / 2));

    timer_set(loop_timers(revocations->options.loop), &revocations->timer,
              clock_after(clock_now(), wait), on_revocations_timer);
}

static void on_revocations_timer(struct timer *timer)
{
    struct revocations *revocations = container_of(timer, struct revocations, timer);

    fetch_list(revocations);
    fetch_revocations_later(revocations);
}

void revocations_connect(struct revocations *revocations, const struct nats_js *js)
{
    revocations->generation++;
    revocations->js = js ? *js : (struct nats_js){ 0 };
    timer_clear(loop_timers(revocations->options.loop), &revocations->timer);
    if (!js)
        return;
    fetch_list(revocations);
    fetch_revocations_later(revocations);
}

/* --- life --------------------------------------------------------------------------- */

struct revocations *revocations_new(const struct revocations_options *options)
{
    struct revocations *revocations = mem_zalloc(sizeof(*revocations));

    revocations->options = *options;
    revocations->arena = (struct arena)ARENA_INIT;
    return revocations;
}

void revocations_free(struct revocations *revocations)
{
    if (!revocations)
        return;
    timer_clear(loop_timers(revocations->options.loop), &revocations->timer);
    arena_done(&revocations->arena);
    free(revocations);
}
