#include "fleet/master/update/rollout_auto.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/audit.h"
#include "fleet/master/master.h"
#include "fleet/master/update/rollout_claim.h"
#include "fleet/master/update/rollout_drive.h"
#include "fleet/master/update/update_board.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/update/auto_rollout.h"
#include "fleet/update/rollout.h"

#define OPERATOR "auto"
#define PAUSE_NS (30 * CLOCK_SECOND)

struct rollout_auto {
    struct master *master;
    const struct update_board *board;
    struct timer timer;
    uint64_t switch_revision; /* of the last seen entry */
};

static bool read_auto_switch(const struct rollout_auto *rollouts, struct arena *arena,
                             struct update_switch *ret)
{
    const struct update_entry *entry =
        update_board_find(rollouts->board, UPDATE_LIST_MANIFESTS, UPDATE_SWITCH_KEY);
    struct err err;

    return entry && record_decode(arena, &update_switch_type, 1, arena_str(arena, entry->bytes),
                                  ret, &err) == 0;
}

static bool is_on(const struct rollout_auto *rollouts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_switch set;

    return read_auto_switch(rollouts, &arena, &set) ? set.enabled
                                                    : rollouts->master->conf.update_auto_rollout;
}

/* --- state of the fleet ----------------------------------------------------------------- */

/* The identity is in the key: a watchdog can write only its own. */
static void read_rollout_node(const struct rollout_auto *rollouts, struct arena *arena,
                              struct str key, struct auto_rollout_world *world)
{
    const size_t dot = str_find(key, STR("."), 0);
    enum update_component component;
    struct update_node node;

    if (dot < key.n &&
        update_component_parse(arena_str(arena, (struct str){ key.p, dot }).p, &component) &&
        update_board_node(rollouts->board, arena, component,
                          arena_str(arena, str_from_offset(key, dot + 1)).p, &node))
        VEC_PUSH_IN(arena, &world->nodes.list, node);
}

static void read_rollout_world(const struct rollout_auto *rollouts, struct arena *arena,
                               struct auto_rollout_world *world)
{
    struct update_manifest manifest;
    struct update_rollout rollout;
    struct err err;

    MAP_EACH (update_board_map(rollouts->board, UPDATE_LIST_MANIFESTS), entry)
        if (record_decode(arena, &update_manifest_type, 1,
                          arena_str(arena, ((struct update_entry *)entry->value)->bytes), &manifest,
                          &err) == 0)
            VEC_PUSH_IN(arena, &world->manifests.list, manifest);
    MAP_EACH (update_board_map(rollouts->board, UPDATE_LIST_ROLLOUTS), entry)
        if (record_decode(arena, &update_rollout_type, 1,
                          arena_str(arena, ((struct update_entry *)entry->value)->bytes), &rollout,
                          &err) == 0)
            VEC_PUSH_IN(arena, &world->rollouts.list, rollout);
    MAP_EACH (update_board_map(rollouts->board, UPDATE_LIST_NODES), entry)
        read_rollout_node(rollouts, arena, entry->key, world);
}

/* --- a start ---------------------------------------------------------------------------- */

struct auto_start {
    const char *id;
    struct nats_kv kv;
    struct str bytes; /* its record */
    struct arena arena;
};

static void on_auto_rollout_created(void *self, const struct nats_error *error, uint64_t revision)
{
    struct auto_start *start = self;
    struct arena arena = start->arena;

    (void)revision; /* the watch brings it */
    if (!error)
        audit_log(&(struct audit){ .action = "update.rollout", .by = OPERATOR, .id = start->id });
    else if (error->fault != NATS_FAULT_CONFLICT && error->fault != NATS_FAULT_CANCELED)
        log_warning("automatic rollout cannot be stored id=%s error=%s", start->id, error->text);
    arena_done(&arena); /* the start is in it */
}

/* A rollout that an operator started meanwhile wins; the next tick handles the rest. */
static void on_auto_rollout_claimed(void *self, const char *error)
{
    struct auto_start *start = self;
    struct arena arena = start->arena;
    struct err err;

    if (error) {
        log_debug("automatic rollout is not started id=%s reason=%s", start->id, error);
        arena_done(&arena);
    } else if (nats_kv_create(&start->kv, start->id, start->bytes, on_auto_rollout_created, start,
                              &err) < 0) {
        log_warning("automatic rollout cannot be stored id=%s error=%s", start->id, err.text);
        arena_done(&arena);
    }
}

static int fill_rollout(const struct rollout_auto *rollouts, struct arena *arena,
                        enum update_component component, const struct auto_rollout *next,
                        struct update_rollout *ret, struct err *err)
{
    const struct master_conf *conf = &rollouts->master->conf;
    const int64_t now = bus_time();
    const struct value_time time = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };

    *ret = (struct update_rollout){
        .id = next->id,
        .config = { .version = next->version,
                    .component = component,
                    .target = "*",
                    .batch_size = (int32_t)conf->update_auto_batch_size,
                    .soak_time = conf->update_auto_soak_time,
                    .batch_pause = PAUSE_NS,
                    .max_failed = (int32_t)conf->update_auto_max_failed,
                    .rollout_id = next->id,
                    .promotion = next->promotion },
        .started_at = time,
        .error = "",
        .driver_id = rollouts->master->id,
        .driver_heartbeat = time,
        .operator= OPERATOR,
    };
    return rollout_plan(arena, ret, &next->nodes, time, err);
}

static int store_start(struct rollout_auto *rollouts, enum update_component component,
                       const struct auto_rollout *next, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX / 4 * 3); /* errors add to it */
    struct arena arena = ARENA_INIT;
    struct auto_start *start = ARENA_NEW(&arena, struct auto_start);
    struct update_rollout rollout;

    *start = (struct auto_start){ .id = arena_strdup(&arena, next->id),
                                  .kv = { .js = rollouts->master->js,
                                          .bucket = store_bucket_name(STORE_UPDATE_ROLLOUTS) } };
    start->arena = arena;
    if (fill_rollout(rollouts, &start->arena, component, next, &rollout, err) == 0 &&
        record_encode(&bytes, &update_rollout_type, &rollout, err) == 0) {
        start->bytes = buf_copy(&bytes, &start->arena);
        if (rollout_claim_begin(&start->kv.js, rollouts->board, &rollout, on_auto_rollout_claimed,
                                start, err) == 0)
            return 0;
    }
    arena = start->arena;
    arena_done(&arena);
    return -1;
}

static void start_due(struct rollout_auto *rollouts)
{
    const struct param_strs *components = &rollouts->master->conf.update_auto_components;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct auto_rollout_world world = { 0 };
    enum update_component component;
    struct auto_rollout next;
    struct err err;

    read_rollout_world(rollouts, &arena, &world);
    for (size_t i = 0; i < components->n; i++)
        if (update_component_parse(components->p[i], &component) &&
            auto_rollout_next(&arena, &world, component, &next) &&
            store_start(rollouts, component, &next, &err) < 0)
            log_warning("automatic rollout cannot be started id=%s error=%s", next.id, err.text);
}

static void on_auto_rollout_timer(struct timer *timer)
{
    struct rollout_auto *rollouts = container_of(timer, struct rollout_auto, timer);

    timer_set(loop_timers(rollouts->master->loop), timer,
              clock_after(clock_now(), rollouts->master->conf.update_auto_interval),
              on_auto_rollout_timer);
    if (update_board_is_seeded(rollouts->board) && is_on(rollouts))
        start_due(rollouts);
}

/* --- life ------------------------------------------------------------------------------- */

void rollout_auto_note_switch(struct rollout_auto *rollouts)
{
    const struct update_entry *entry =
        update_board_find(rollouts->board, UPDATE_LIST_MANIFESTS, UPDATE_SWITCH_KEY);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_switch set;

    if (!entry || entry->revision <= rollouts->switch_revision)
        return;
    rollouts->switch_revision = entry->revision;
    if (update_board_is_seeded(rollouts->board) && read_auto_switch(rollouts, &arena, &set))
        audit_log(&(struct audit){
            .action = set.enabled ? "update.auto-on" : "update.auto-off", .by = set.operator});
}

struct rollout_auto *rollout_auto_new(struct master *master, const struct update_board *board)
{
    struct rollout_auto *rollouts = mem_zalloc(sizeof(*rollouts));

    rollouts->master = master;
    rollouts->board = board;
    timer_set(loop_timers(master->loop), &rollouts->timer,
              clock_after(clock_now(), master->conf.update_auto_interval), on_auto_rollout_timer);
    return rollouts;
}

void rollout_auto_stop(struct rollout_auto *rollouts)
{
    if (rollouts)
        timer_clear(loop_timers(rollouts->master->loop), &rollouts->timer);
}

void rollout_auto_free(struct rollout_auto *rollouts)
{
    free(rollouts);
}
