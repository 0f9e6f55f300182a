/*
 * The service "rollouts": rolls out new versions of the daemons.
 *
 * Any master answers a start or an abort. The record of a rollout names its driver; a rollout is
 * taken over by CAS when its driver has released it, has no heartbeat, or has not updated the
 * record for rollout_stale_after, so that one master drives it at a time.
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

/* Minimum interval for checking the records. */
#define SCAN_MIN CLOCK_SECOND
/* A driver stores its record every ROLLOUT_BEAT_NS: two missing ones mean silence. */
#define STALE_MIN      (2 * ROLLOUT_BEAT_NS)
#define STALE_DEFAULT  (60 * CLOCK_SECOND)
#define RESUME_DEFAULT (60 * CLOCK_SECOND)

struct rollout_service {
    struct master *master;
    struct update_board *board;
    struct update_sweep *sweep;
    struct rollout_auto *rollout_auto;
    struct map drives; /* id -> struct rollout_drive */
    struct timer scan;
    struct nats_sub *starts, *aborts;
    bool is_stopping;
};

/* --- driving ---------------------------------------------------------------------------- */

static void on_scan(struct timer *timer);

/* Records are checked in the loop turn after their change. */
static void arm_rollout_scan(struct rollout_service *service)
{
    if (!service->is_stopping)
        timer_set(loop_timers(service->master->loop), &service->scan, clock_now(), on_scan);
}

static void on_drive_ended(void *self, struct rollout_drive *drive)
{
    struct rollout_service *service = self;

    (void)map_remove(&service->drives, str_from(rollout_drive_id(drive)));
    arm_rollout_scan(service);
}

static void drive_rollout(struct rollout_service *service, const char *id, struct str record,
                          uint64_t revision)
{
    struct rollout_drive *drive;

    if (service->is_stopping || map_has(&service->drives, str_from(id)))
        return;
    drive = rollout_drive_new(&(struct rollout_drive_options){ .master = service->master,
                                                               .board = service->board,
                                                               .id = id,
                                                               .ended = on_drive_ended,
                                                               .self = service },
                              record, revision);
    if (!drive)
        return;
    log_info("driving a rollout id=%s", id);
    (void)map_set(&service->drives, str_from(rollout_drive_id(drive)), drive);
}

/* A record being stored with this master as the driver. */
struct claim {
    struct arena arena;
    struct rollout_service *service;
    const char *id;
    struct str bytes;
};

static void on_rollout_claimed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct claim *claim = self;

    if (!error) {
        log_info("rollout taken over id=%s", claim->id);
        drive_rollout(claim->service, claim->id, claim->bytes, revision);
    }
    arena_done(&claim->arena);
    free(claim);
}

static void take_over(struct rollout_service *service, struct update_rollout *record,
                      uint64_t revision)
{
    const struct nats_kv kv = rollout_records(service->master);
    AUTO_BUF struct buf bytes = BUF_INIT(ROLLOUT_RECORD_MAX);
    struct claim *claim = mem_zalloc(sizeof(*claim));
    struct err err;

    record->driver_id = service->master->id;
    claim->service = service;
    claim->id = arena_strdup(&claim->arena, record->id);
    if (record_encode(&bytes, &update_rollout_type, record, &err) == 0) {
        claim->bytes = buf_copy(&bytes, &claim->arena);
        if (nats_kv_update(&kv, claim->id, claim->bytes, revision, on_rollout_claimed, claim,
                           &err) == 0)
            return;
    }
    log_warning("rollout cannot be taken over id=%s error=%s", record->id, err.text);
    arena_done(&claim->arena);
    free(claim);
}

static int64_t get_stale_age(const struct rollout_service *service)
{
    const int64_t wanted = service->master->conf.rollout_stale_after;

    return wanted == 0 ? STALE_DEFAULT : wanted < STALE_MIN ? STALE_MIN : wanted;
}

static bool is_abandoned(const struct rollout_service *service, const struct update_rollout *record,
                         const struct update_entry *entry)
{
    return !record->driver_id[0] || clock_now() - entry->seen > get_stale_age(service) ||
           !roster_master_lives(master_roster(service->master), str_from(record->driver_id));
}

static void look_at_rollout(struct rollout_service *service, const char *id,
                            const struct update_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_rollout record;
    struct err err;

    if (record_decode(&arena, &update_rollout_type, 1, entry->bytes, &record, &err) < 0 ||
        strcmp(record.id, id) != 0 || update_rollout_is_over(record.state) ||
        map_has(&service->drives, str_from(id)))
        return;
    if (strcmp(record.driver_id, service->master->id) == 0)
        drive_rollout(service, id, entry->bytes, entry->revision);
    else if (is_abandoned(service, &record, entry))
        take_over(service, &record, entry->revision);
}

static void on_scan(struct timer *timer)
{
    struct rollout_service *service = container_of(timer, struct rollout_service, scan);
    const int64_t interval = service->master->conf.rollout_resume_interval;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    timer_set(loop_timers(service->master->loop), timer,
              clock_after(clock_now(), interval == 0         ? RESUME_DEFAULT
                                       : interval < SCAN_MIN ? SCAN_MIN
                                                             : interval),
              on_scan);
    if (!update_board_is_seeded(service->board) || !master_roster(service->master) ||
        !roster_is_seeded(master_roster(service->master)))
        return;
    MAP_EACH (update_board_map(service->board, UPDATE_LIST_ROLLOUTS), entry)
        look_at_rollout(service, arena_str(&arena, entry->key).p, entry->value);
}

static void on_rollout_changed(void *self, enum update_list list, const char *key)
{
    struct rollout_service *service = self;

    if (list == UPDATE_LIST_ROLLOUTS)
        arm_rollout_scan(service);
    else if (service->rollout_auto && list == UPDATE_LIST_MANIFESTS &&
             strcmp(key, UPDATE_SWITCH_KEY) == 0)
        rollout_auto_note_switch(service->rollout_auto);
}

/* --- an abort --------------------------------------------------------------------------- */

struct ending {
    struct arena arena;
    struct rollout_service *service;
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
    master_answer(ending->service->master, ending->reply, &update_aborted_type, &reply);
    arena_done(&arena); /* the ending is in it */
}

static void begin_abort(struct ending *ending);

static void on_aborted(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ending *ending = self;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CONFLICT && !ending->service->is_stopping)
        begin_abort(ending); /* the driver was faster; the next attempt sees its record */
    else
        answer_abort(ending, error ? error->text : NULL);
}

static int store_abort(struct ending *ending, const struct nats_kv_entry *entry, struct err *err)
{
    const struct nats_kv kv = rollout_records(ending->service->master);
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

static void on_rollout_found(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
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
    struct nats_kv kv = rollout_records(ending->service->master);
    struct err err;

    kv.indirect = true; /* sees the latest write */
    if (!nats_kv_is_key(ending->request.rollout_id))
        answer_abort(ending, "no such rollout");
    else if (nats_kv_get(&kv, ending->request.rollout_id, on_rollout_found, ending, &err) < 0)
        answer_abort(ending, err.text);
}

static void on_abort(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct ending *ending = ARENA_NEW(&arena, struct ending);
    struct err err;

    *ending = (struct ending){ .arena = arena, .service = self };
    ending->reply = arena_str(&ending->arena, msg->reply);
    if (record_decode(&ending->arena, &update_abort_type, 1,
                      arena_str(&ending->arena, msg->payload), &ending->request, &err) < 0)
        answer_abort(ending, err.text);
    else
        begin_abort(ending);
}

static void on_start(void *self, const struct nats_msg *msg)
{
    const struct rollout_service *service = self;

    rollout_start_answer(service->master, service->board, msg);
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_rollout_service(struct master *master, struct err *err)
{
    struct rollout_service *service = mem_zalloc(sizeof(*service));

    (void)err;
    service->master = master;
    return service;
}

static struct nats_sub *subscribe_rollout(struct rollout_service *service, enum subject_kind kind,
                                          nats_msg_fn *fn, struct err *err)
{
    return nats_sub_new(service->master->js.conn,
                        &(struct nats_sub_options){ .subject = subject_template(kind),
                                                    .queue = subject_queue(kind),
                                                    .message = fn,
                                                    .self = service },
                        err);
}

static void close_rollout_service(struct rollout_service *service)
{
    nats_sub_free(service->starts);
    nats_sub_free(service->aborts);
    service->starts = service->aborts = NULL;
    timer_clear(loop_timers(service->master->loop), &service->scan);
    update_sweep_stop(service->sweep);
    rollout_auto_stop(service->rollout_auto);
    if (service->board)
        update_board_stop(service->board);
}

static int start_rollout_service(void *self, struct err *err)
{
    struct rollout_service *service = self;

    service->board = update_board_new(&(struct update_board_options){ .js = service->master->js,
                                                                      .changed = on_rollout_changed,
                                                                      .self = service },
                                      err);
    if (!service->board)
        return -1;
    service->sweep = update_sweep_new(service->master, service->board);
    service->rollout_auto = rollout_auto_new(service->master, service->board);
    service->starts = subscribe_rollout(service, SUBJECT_UPDATE_START, on_start, err);
    service->aborts =
        service->starts ? subscribe_rollout(service, SUBJECT_UPDATE_ABORT, on_abort, err) : NULL;
    if (!service->aborts) {
        close_rollout_service(service);
        update_sweep_free(service->sweep);
        rollout_auto_free(service->rollout_auto);
        update_board_free(service->board);
        service->board = NULL;
        service->sweep = NULL;
        service->rollout_auto = NULL;
        return -1;
    }
    timer_set(loop_timers(service->master->loop), &service->scan, clock_now(), on_scan);
    return 0;
}

static void stop_rollout_service(void *self)
{
    struct rollout_service *service = self;

    service->is_stopping = true;
    close_rollout_service(service);
    MAP_EACH (&service->drives, entry)
        rollout_drive_release(entry->value);
}

static void free_rollout_service(void *self)
{
    struct rollout_service *service = self;

    map_done(&service->drives);
    update_sweep_free(service->sweep);
    rollout_auto_free(service->rollout_auto);
    update_board_free(service->board);
    free(service);
}

const struct master_service master_rollout_service = {
    .name = "rollouts",
    .open = open_rollout_service,
    .start = start_rollout_service,
    .stop = stop_rollout_service,
    .free = free_rollout_service,
};
