/*
 * The service "rollouts": new versions of the daemons go to their nodes.
 *
 * Any master answers a start or an abort. The record of a rollout names its driver; a rollout
 * whose driver has given it up, has no sign of life, or has not touched the record for
 * rollout_stale_after is taken over by CAS, so that one master drives it at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/update/rollout_auto.h"
#include "fleet/master/update/rollout_drive.h"
#include "fleet/master/update/rollout_start.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/update/update_board.h"
#include "fleet/master/update/update_sweep.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/update/rollout.h"
#include "fleet/wire/subject.h"

/* How often the records are looked at while nothing changes. */
#define SCAN_MIN CLOCK_SECOND
/* A driver stores its record every ROLLOUT_BEAT_NS: two of them missing are silence. */
#define STALE_MIN      (2 * ROLLOUT_BEAT_NS)
#define STALE_DEFAULT  (60 * CLOCK_SECOND)
#define RESUME_DEFAULT (60 * CLOCK_SECOND)

struct tower {
    struct master *master;
    struct update_board *board;
    struct update_sweep *sweep;
    struct rollout_auto *keeper;
    struct map drives; /* id -> struct rollout_drive */
    struct timer scan;
    struct nats_sub *starts, *aborts;
    bool is_stopping;
};

/* --- driving ---------------------------------------------------------------------------- */

static void on_scan(struct timer *timer);

/* Records are looked at after the turn that changed them. */
static void scan_soon(struct tower *tower)
{
    if (!tower->is_stopping)
        timer_set(loop_timers(tower->master->loop), &tower->scan, clock_now(), on_scan);
}

static void on_drive_ended(void *self, struct rollout_drive *drive)
{
    struct tower *tower = self;

    (void)map_remove(&tower->drives, str_from(rollout_drive_id(drive)));
    scan_soon(tower);
}

static void drive_rollout(struct tower *tower, const char *id, struct str record, uint64_t revision)
{
    struct rollout_drive *drive;

    if (tower->is_stopping || map_has(&tower->drives, str_from(id)))
        return;
    drive = rollout_drive_new(&(struct rollout_drive_options){ .master = tower->master,
                                                               .board = tower->board,
                                                               .id = id,
                                                               .ended = on_drive_ended,
                                                               .self = tower },
                              record, revision);
    if (!drive)
        return;
    log_info("driving a rollout id=%s", id);
    (void)map_set(&tower->drives, str_from(rollout_drive_id(drive)), drive);
}

/* A record that is about to be stored with this master as the driver. */
struct claim {
    struct arena arena;
    struct tower *tower;
    const char *id;
    struct str bytes;
};

static void on_claimed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct claim *claim = self;

    if (!error) {
        log_info("rollout taken over id=%s", claim->id);
        drive_rollout(claim->tower, claim->id, claim->bytes, revision);
    }
    arena_done(&claim->arena);
    free(claim);
}

static void take_over(struct tower *tower, struct update_rollout *record, uint64_t revision)
{
    const struct nats_kv kv = rollout_records(tower->master);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct claim *claim = mem_zalloc(sizeof(*claim));
    struct err err;

    record->driver_id = tower->master->id;
    claim->tower = tower;
    claim->id = arena_strdup(&claim->arena, record->id);
    if (record_encode(&bytes, &update_rollout_type, record, &err) == 0) {
        claim->bytes = buf_copy(&bytes, &claim->arena);
        if (nats_kv_update(&kv, claim->id, claim->bytes, revision, on_claimed, claim, &err) == 0)
            return;
    }
    log_warning("rollout cannot be taken over id=%s error=%s", record->id, err.text);
    arena_done(&claim->arena);
    free(claim);
}

static int64_t stale_after(const struct tower *tower)
{
    const int64_t wanted = tower->master->conf.rollout_stale_after;

    return wanted == 0 ? STALE_DEFAULT : wanted < STALE_MIN ? STALE_MIN : wanted;
}

static bool is_abandoned(const struct tower *tower, const struct update_rollout *record,
                         const struct update_entry *entry)
{
    return !record->driver_id[0] || clock_now() - entry->seen > stale_after(tower) ||
           !roster_master_lives(master_roster(tower->master), str_from(record->driver_id));
}

static void look_at(struct tower *tower, const char *id, const struct update_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_rollout record;
    struct err err;

    if (record_decode(&arena, &update_rollout_type, 1, entry->bytes, &record, &err) < 0 ||
        strcmp(record.id, id) != 0 || update_rollout_is_over(record.state) ||
        map_has(&tower->drives, str_from(id)))
        return;
    if (strcmp(record.driver_id, tower->master->id) == 0)
        drive_rollout(tower, id, entry->bytes, entry->revision);
    else if (is_abandoned(tower, &record, entry))
        take_over(tower, &record, entry->revision);
}

static void on_scan(struct timer *timer)
{
    struct tower *tower = container_of(timer, struct tower, scan);
    const int64_t interval = tower->master->conf.rollout_resume_interval;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    timer_set(loop_timers(tower->master->loop), timer,
              clock_after(clock_now(), interval == 0         ? RESUME_DEFAULT
                                       : interval < SCAN_MIN ? SCAN_MIN
                                                             : interval),
              on_scan);
    if (!update_board_is_seeded(tower->board) || !master_roster(tower->master) ||
        !roster_is_seeded(master_roster(tower->master)))
        return;
    MAP_EACH (update_board_map(tower->board, UPDATE_SHELF_ROLLOUTS), entry)
        look_at(tower, arena_str(&arena, entry->key).p, entry->value);
}

static void on_changed(void *self, enum update_shelf shelf, const char *key)
{
    struct tower *tower = self;

    if (shelf == UPDATE_SHELF_ROLLOUTS)
        scan_soon(tower);
    else if (tower->keeper && shelf == UPDATE_SHELF_MANIFESTS &&
             strcmp(key, UPDATE_SWITCH_KEY) == 0)
        rollout_auto_note_switch(tower->keeper);
}

/* --- an abort --------------------------------------------------------------------------- */

struct ending {
    struct arena arena;
    struct tower *tower;
    struct str reply;
    struct update_abort request;
};

static void answer_abort(struct ending *ending, const char *error)
{
    const struct update_aborted reply = { .error = error ? error : "" };
    struct arena arena = ending->arena;

    audit_log(&(struct audit){ .action = "update.abort",
                               .by = ending->request.operator,
                               .id = ending->request.rollout_id,
                               .error = error });
    master_answer(ending->tower->master, ending->reply, &update_aborted_type, &reply);
    arena_done(&arena); /* the ending is in it */
}

static void begin_abort(struct ending *ending);

static void on_aborted(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ending *ending = self;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CONFLICT && !ending->tower->is_stopping)
        begin_abort(ending); /* the driver was faster; the next attempt sees its record */
    else
        answer_abort(ending, error ? error->text : NULL);
}

static int store_abort(struct ending *ending, const struct nats_kv_entry *entry, struct err *err)
{
    const struct nats_kv kv = rollout_records(ending->tower->master);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct update_rollout record;

    if (record_decode(&ending->arena, &update_rollout_type, 1,
                      arena_str(&ending->arena, entry->value), &record, err) < 0)
        return -1;
    if (update_rollout_is_over(record.state))
        return err_set(err, ERR_INVALID, "rollout '%s' is %s already", record.id,
                       update_rollout_state_name(record.state));
    rollout_abort(&ending->arena, &record,
                  arena_printf(&ending->arena, "aborted by %s", ending->request.operator));
    if (record_encode(&bytes, &update_rollout_type, &record, err) < 0)
        return -1;
    return nats_kv_update(&kv, ending->request.rollout_id, buf_view(&bytes), entry->revision,
                          on_aborted, ending, err);
}

static void on_found(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct ending *ending = self;
    struct err err;

    if (error)
        answer_abort(ending,
                     error->fault == NATS_FAULT_NOT_FOUND ? "no such rollout" : error->text);
    else if (store_abort(ending, entry, &err) < 0)
        answer_abort(ending, err.text);
}

static void begin_abort(struct ending *ending)
{
    struct nats_kv kv = rollout_records(ending->tower->master);
    struct err err;

    kv.indirect = true; /* what was just written counts */
    if (!nats_kv_is_key(ending->request.rollout_id))
        answer_abort(ending, "no such rollout");
    else if (nats_kv_get(&kv, ending->request.rollout_id, on_found, ending, &err) < 0)
        answer_abort(ending, err.text);
}

static void on_abort(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct ending *ending = ARENA_NEW(&arena, struct ending);
    struct err err;

    *ending = (struct ending){ .arena = arena, .tower = self };
    ending->reply = arena_str(&ending->arena, msg->reply);
    if (record_decode(&ending->arena, &update_abort_type, 1,
                      arena_str(&ending->arena, msg->payload), &ending->request, &err) < 0)
        answer_abort(ending, err.text);
    else
        begin_abort(ending);
}

static void on_start(void *self, const struct nats_msg *msg)
{
    const struct tower *tower = self;

    rollout_start_answer(tower->master, tower->board, msg);
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_tower(struct master *master, struct err *err)
{
    struct tower *tower = mem_zalloc(sizeof(*tower));

    (void)err;
    tower->master = master;
    return tower;
}

static struct nats_sub *subscribe(struct tower *tower, enum subject_kind kind, nats_msg_fn *fn,
                                  struct err *err)
{
    return nats_sub_new(tower->master->js.conn,
                        &(struct nats_sub_options){ .subject = subject_template(kind),
                                                    .queue = subject_queue(kind),
                                                    .message = fn,
                                                    .self = tower },
                        err);
}

static void close_tower(struct tower *tower)
{
    nats_sub_free(tower->starts);
    nats_sub_free(tower->aborts);
    tower->starts = tower->aborts = NULL;
    timer_clear(loop_timers(tower->master->loop), &tower->scan);
    update_sweep_stop(tower->sweep);
    rollout_auto_stop(tower->keeper);
    if (tower->board)
        update_board_stop(tower->board);
}

static int start_tower(void *self, struct err *err)
{
    struct tower *tower = self;

    tower->board = update_board_new(&(struct update_board_options){ .js = tower->master->js,
                                                                    .changed = on_changed,
                                                                    .self = tower },
                                    err);
    if (!tower->board)
        return -1;
    tower->sweep = update_sweep_new(tower->master, tower->board);
    tower->keeper = rollout_auto_new(tower->master, tower->board);
    tower->starts = subscribe(tower, SUBJECT_UPDATE_START, on_start, err);
    tower->aborts = tower->starts ? subscribe(tower, SUBJECT_UPDATE_ABORT, on_abort, err) : NULL;
    if (!tower->aborts) {
        close_tower(tower);
        update_sweep_free(tower->sweep);
        rollout_auto_free(tower->keeper);
        update_board_free(tower->board);
        tower->board = NULL;
        tower->sweep = NULL;
        tower->keeper = NULL;
        return -1;
    }
    timer_set(loop_timers(tower->master->loop), &tower->scan, clock_now(), on_scan);
    return 0;
}

static void stop_tower(void *self)
{
    struct tower *tower = self;

    tower->is_stopping = true;
    close_tower(tower);
    MAP_EACH (&tower->drives, entry)
        rollout_drive_release(entry->value);
}

static void free_tower(void *self)
{
    struct tower *tower = self;

    map_done(&tower->drives);
    update_sweep_free(tower->sweep);
    rollout_auto_free(tower->keeper);
    update_board_free(tower->board);
    free(tower);
}

const struct master_service master_rollout_service = {
    .name = "rollouts",
    .open = open_tower,
    .start = start_tower,
    .stop = stop_tower,
    .free = free_tower,
};
