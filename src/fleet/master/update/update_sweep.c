#include "fleet/master/update/update_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/lease.h"
#include "fleet/master/master.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/update/auto_rollout.h"

struct update_sweep {
    struct master *master;
    const struct update_board *board;
    struct lease lease;
    struct timer timer;
    struct arena arena; /* of the current sweep */
    struct {
        VEC(const char *) list;
    } orphans;
    bool is_stopped;
};

static void on_update_sweep_timer(struct timer *timer);

static void on_update_object_removed(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("expired version could not be removed error=%s", error->text);
}

static void on_object_removed(void *self, const struct nats_error *error,
                              const struct nats_object_info *info)
{
    (void)info;
    on_update_object_removed(self, error, 0);
}

static bool is_rolled_out(const struct update_sweep *sweep, struct arena *arena,
                          const struct update_manifest *manifest)
{
    MAP_EACH (update_board_map(sweep->board, UPDATE_LIST_ROLLOUTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_rollout rollout;
        struct err err;

        if (record_decode(arena, &update_rollout_type, 1, stored->bytes, &rollout, &err) == 0 &&
            !update_rollout_is_over(rollout.state) &&
            rollout.config.component == manifest->component &&
            strcmp(rollout.config.version, manifest->version) == 0)
            return true;
    }
    return false;
}

static bool has_update_expired(const struct update_sweep *sweep, struct arena *arena,
                               const struct update_entry *entry)
{
    struct update_manifest manifest;
    struct err err;
    int64_t end;

    if (record_decode(arena, &update_manifest_type, 1, entry->bytes, &manifest, &err) < 0)
        return false;
    end = update_manifest_end(&manifest);
    return end != UPDATE_EXPIRES_NEVER && end < bus_time_seconds() &&
           !is_rolled_out(sweep, arena, &manifest);
}

/* By CAS: a version promoted meanwhile stays. A later sweep removes its binary. */
static void remove_expired(struct update_sweep *sweep)
{
    const struct nats_kv kv = { .js = sweep->master->js,
                                .bucket = store_bucket_name(STORE_UPDATE_MANIFESTS) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    MAP_EACH (update_board_map(sweep->board, UPDATE_LIST_MANIFESTS), entry) {
        const struct update_entry *stored = entry->value;
        const char *key = arena_str(&arena, entry->key).p;

        if (!has_update_expired(sweep, &arena, stored))
            continue;
        log_info("removing an expired version key=%s", key);
        if (nats_kv_delete(&kv, key, stored->revision, on_update_object_removed, sweep, &err) < 0)
            log_warning("expired version could not be removed error=%s", err.text);
    }
}

/* Its counts and nodes are needed while masters may roll out the version again. */
static bool is_automatic(const struct update_sweep *sweep, struct arena *arena,
                         const struct update_rollout *rollout)
{
    if (!str_starts(str_from(rollout->id), STR(AUTO_ROLLOUT_PREFIX)))
        return false;
    MAP_EACH (update_board_map(sweep->board, UPDATE_LIST_MANIFESTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_manifest manifest;
        struct err err;

        if (record_decode(arena, &update_manifest_type, 1, stored->bytes, &manifest, &err) == 0 &&
            manifest.promoted && manifest.component == rollout->config.component &&
            strcmp(manifest.version, rollout->config.version) == 0)
            return true;
    }
    return false;
}

static void remove_old_rollouts(struct update_sweep *sweep)
{
    const struct nats_kv kv = { .js = sweep->master->js,
                                .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS) };
    const int64_t oldest = (bus_time() - UPDATE_SWEEP_ROLLOUTS) / CLOCK_SECOND;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    MAP_EACH (update_board_map(sweep->board, UPDATE_LIST_ROLLOUTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_rollout rollout;
        struct err err;

        if (record_decode(&arena, &update_rollout_type, 1, stored->bytes, &rollout, &err) == 0 &&
            update_rollout_is_over(rollout.state) && rollout.finished_at.seconds < oldest &&
            !is_automatic(sweep, &arena, &rollout) &&
            nats_kv_purge(&kv, arena_str(&arena, entry->key).p, stored->revision,
                          on_update_object_removed, sweep, &err) < 0)
            log_warning("old rollout could not be removed error=%s", err.text);
    }
}

static bool is_object_named(const struct update_sweep *sweep, const char *object)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    MAP_EACH (update_board_map(sweep->board, UPDATE_LIST_MANIFESTS), entry) {
        const struct update_entry *stored = entry->value;
        struct update_manifest manifest;
        struct err err;

        if (str_is(entry->key, UPDATE_SWITCH_KEY))
            continue;
        if (record_decode(&arena, &update_manifest_type, 1, stored->bytes, &manifest, &err) < 0 ||
            strcmp(manifest.object_key, object) == 0)
            return true; /* an unreadable one may name any binary */
    }
    return false;
}

static void remove_orphans(struct update_sweep *sweep)
{
    const struct nats_objects objects = { .js = sweep->master->js, .bucket = STORE_BINARIES };
    struct err err;

    VEC_EACH (&sweep->orphans.list, name) {
        log_info("removing an unreferenced binary object=%s", *name);
        if (nats_object_delete(&objects, *name, on_object_removed, sweep, &err) < 0)
            log_warning("binary could not be removed error=%s", err.text);
    }
}

static void on_update_object(void *self, const struct nats_error *error,
                             const struct nats_object_info *info)
{
    struct update_sweep *sweep = self;

    if (info && !info->deleted && bus_time() - info->time > UPDATE_SWEEP_GRACE &&
        !is_object_named(sweep, info->name))
        VEC_PUSH_IN(&sweep->arena, &sweep->orphans.list, arena_strdup(&sweep->arena, info->name));
    if (info)
        return;
    if (!error && !sweep->is_stopped && lease_is_held(&sweep->lease))
        remove_orphans(sweep);
}

static void on_update_sweep_timer(struct timer *timer)
{
    struct update_sweep *sweep = container_of(timer, struct update_sweep, timer);
    const struct nats_objects objects = { .js = sweep->master->js, .bucket = STORE_BINARIES };
    const bool is_early = !update_board_is_seeded(sweep->board);
    struct err err;

    timer_set(loop_timers(sweep->master->loop), timer,
              clock_after(clock_now(), is_early ? CLOCK_SECOND : UPDATE_SWEEP_NS),
              on_update_sweep_timer);
    if (is_early || !lease_is_held(&sweep->lease))
        return;
    remove_expired(sweep);
    remove_old_rollouts(sweep);
    arena_done(&sweep->arena);
    sweep->arena = (struct arena)ARENA_INIT;
    sweep->orphans.list.p = NULL;
    sweep->orphans.list.n = sweep->orphans.list.cap = 0;
    if (nats_object_list(&objects, on_update_object, sweep, &err) < 0)
        log_warning("binaries cannot be listed error=%s", err.text);
}

static void on_sweep_lease_got(struct lease *lease)
{
    struct update_sweep *sweep = container_of(lease, struct update_sweep, lease);

    timer_set(loop_timers(sweep->master->loop), &sweep->timer, clock_now(), on_update_sweep_timer);
}

struct update_sweep *update_sweep_new(struct master *master, const struct update_board *board)
{
    struct update_sweep *sweep = mem_zalloc(sizeof(*sweep));

    sweep->master = master;
    sweep->board = board;
    sweep->lease = (struct lease){
        .js = master->js, .key = UPDATE_SWEEP_LEASE, .holder = master->id, .got = on_sweep_lease_got
    };
    lease_start(&sweep->lease);
    return sweep;
}

void update_sweep_stop(struct update_sweep *sweep)
{
    if (!sweep || sweep->is_stopped)
        return;
    sweep->is_stopped = true;
    timer_clear(loop_timers(sweep->master->loop), &sweep->timer);
    (void)lease_stop(&sweep->lease, NULL, NULL);
}

void update_sweep_free(struct update_sweep *sweep)
{
    if (!sweep)
        return;
    arena_done(&sweep->arena);
    free(sweep);
}
