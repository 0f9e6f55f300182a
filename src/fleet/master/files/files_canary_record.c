/* What a master knows of the canary of the states: its record in the bucket (fleet/wire/canary.h),
 * as it was seen last, and for the holder of the lease as it was read after it got that. */
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/record.h"
#include "fleet/master/master.h"
#include "fleet/master/files/shelf.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* After a record could not be read, or the end of a canary has failed. */
#define RETRY_NS (INT64_C(2) * 1000000000)

struct nats_kv shelf_canary_bucket(const struct shelf *shelf)
{
    return (struct nats_kv){ .js = shelf->master->js,
                             .bucket = store_bucket_name(STORE_STATE_FILES),
                             .history = store_bucket_history(STORE_STATE_FILES),
                             .indirect = true,
                             .settled = true };
}

void shelf_set_canary(struct shelf *shelf, struct str record, uint64_t revision)
{
    struct shelf_canary *canary = &shelf->canary;
    struct err err;

    if (revision < canary->revision)
        return;
    arena_clear(&canary->arena);
    canary->revision = revision;
    canary->is_there = record.p != NULL;
    canary->is_odd =
        record.p && record_decode(&canary->arena, &canary_type, 1,
                                  arena_str(&canary->arena, record), &canary->record, &err) < 0;
    if (!canary->is_there || canary->is_odd)
        canary->record = (struct canary){ .target = "", .operator= "", .ended_by = "" };
    if (canary->is_odd)
        log_error("the states are not published: the record of a canary cannot be read: %s",
                  err.text);
}

/* Which of both sets the folder is published to. */
void shelf_aim_publisher(struct shelf *shelf)
{
    const struct shelf_canary *canary = &shelf->canary;

    publisher_divert(shelf->branches[SHELF_STATES].publisher,
                     canary->is_there && (canary->record.phase == CANARY_RUNNING ||
                                          canary->record.phase == CANARY_ABORTING));
}

void shelf_note_canary(void *self, struct str record, uint64_t revision)
{
    struct shelf_branch *branch = self;
    const bool was_there = branch->shelf->canary.is_there;

    shelf_set_canary(branch->shelf, record, revision);
    if (was_there && !branch->shelf->canary.is_there && lease_is_held(&branch->shelf->lease))
        shelf_advance(branch->shelf); /* which removes what it left behind */
}

static void on_retry(struct timer *timer)
{
    shelf_read_canary(container_of(timer, struct shelf, canary.retry));
}

void shelf_retry_canary(struct shelf *shelf)
{
    timer_set(loop_timers(shelf->master->loop), &shelf->canary.retry,
              clock_after(clock_now(), RETRY_NS), on_retry);
}

static void on_read(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct shelf *shelf = self;
    struct shelf_canary *canary = &shelf->canary;
    const bool is_missing = error && error->fault == NATS_FAULT_NOT_FOUND;

    canary->is_reading = false;
    if (!lease_is_held(&shelf->lease) || !shelf->branches[SHELF_STATES].publisher)
        return;
    if (canary->reading_since != shelf->lease.since) {
        shelf_read_canary(shelf);
        return;
    }
    if (error && !is_missing) {
        log_warning("it is not known whether there is a canary: %s", error->text);
        shelf_retry_canary(shelf);
        return;
    }
    if (is_missing && canary->is_there)
        shelf_set_canary(shelf, (struct str){ NULL, 0 }, canary->revision);
    else if (!is_missing)
        shelf_set_canary(shelf, entry->value, entry->revision);
    canary->is_known = true;
    shelf_aim_publisher(shelf);
    shelf_advance(shelf);
}

/* What the watch has told may be old: this master may have been without a connection. */
void shelf_read_canary(struct shelf *shelf)
{
    const struct nats_kv kv = shelf_canary_bucket(shelf);
    struct shelf_canary *canary = &shelf->canary;
    struct err err;

    if (!lease_is_held(&shelf->lease) || canary->is_reading)
        return;
    canary->reading_since = shelf->lease.since;
    canary->is_reading = nats_kv_get(&kv, CANARY_RECORD, on_read, shelf, &err) == 0;
    if (!canary->is_reading)
        shelf_retry_canary(shelf);
}

void shelf_forget_canary(struct shelf *shelf)
{
    shelf->canary.is_known = false;
}

bool shelf_is_held_by_canary(const struct shelf *shelf)
{
    const struct shelf_canary *canary = &shelf->canary;

    return !canary->is_known || canary->is_odd || canary->act ||
           (canary->is_there && canary->record.phase != CANARY_RUNNING);
}

const char *shelf_canary_manifest(const struct shelf *shelf)
{
    const struct shelf_canary *canary = &shelf->canary;

    return canary->is_there && !canary->is_odd && canary_is_followed(&canary->record)
               ? CANARY_MANIFEST
               : NULL;
}
