/* The canary record of the states (fleet/wire/canary.h), as last seen; for the holder of the lease,
 * as read after it got the lease. */
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/record.h"
#include "fleet/master/master.h"
#include "fleet/master/files/files_service.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* Retry interval after a failed read, or a failed end of a canary. */
#define RETRY_NS (INT64_C(2) * 1000000000)

struct nats_kv files_service_canary_bucket(const struct files_service *service)
{
    return (struct nats_kv){ .js = service->master->js,
                             .bucket = store_bucket_name(STORE_STATE_FILES),
                             .history = store_bucket_history(STORE_STATE_FILES),
                             .indirect = true,
                             .settled = true };
}

void files_service_set_canary(struct files_service *service, struct str record, uint64_t revision)
{
    struct files_service_canary *canary = &service->canary;
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

/* Selects the set that the folder is published to. */
void files_service_aim_publisher(struct files_service *service)
{
    const struct files_service_canary *canary = &service->canary;

    publisher_divert(service->branches[FILES_SERVICE_STATES].publisher,
                     canary->is_there && (canary->record.phase == CANARY_RUNNING ||
                                          canary->record.phase == CANARY_ABORTING));
}

void files_service_note_canary(void *self, struct str record, uint64_t revision)
{
    struct files_service_branch *branch = self;
    const bool was_there = branch->files_service->canary.is_there;

    files_service_set_canary(branch->files_service, record, revision);
    if (was_there && !branch->files_service->canary.is_there &&
        lease_is_held(&branch->files_service->lease))
        files_service_advance(branch->files_service); /* removes leftovers of the canary */
}

static void on_canary_retry(struct timer *timer)
{
    files_service_read_canary(container_of(timer, struct files_service, canary.retry));
}

void files_service_retry_canary(struct files_service *service)
{
    timer_set(loop_timers(service->master->loop), &service->canary.retry,
              clock_after(clock_now(), RETRY_NS), on_canary_retry);
}

static void on_canary_record_read(void *self, const struct nats_error *error,
                                  const struct nats_kv_entry *entry)
{
    struct files_service *service = self;
    struct files_service_canary *canary = &service->canary;
    const bool is_missing = error && error->fault == NATS_FAULT_NOT_FOUND;

    canary->is_reading = false;
    if (!lease_is_held(&service->lease) || !service->branches[FILES_SERVICE_STATES].publisher)
        return;
    if (canary->reading_since != service->lease.since) {
        files_service_read_canary(service);
        return;
    }
    if (error && !is_missing) {
        log_warning("cannot read the canary record: %s", error->text);
        files_service_retry_canary(service);
        return;
    }
    if (is_missing && canary->is_there)
        files_service_set_canary(service, (struct str){ NULL, 0 }, canary->revision);
    else if (!is_missing)
        files_service_set_canary(service, entry->value, entry->revision);
    canary->is_known = true;
    files_service_aim_publisher(service);
    files_service_advance(service);
}

/* The watch may be outdated: this master may have been disconnected. */
void files_service_read_canary(struct files_service *service)
{
    const struct nats_kv kv = files_service_canary_bucket(service);
    struct files_service_canary *canary = &service->canary;
    struct err err;

    if (!lease_is_held(&service->lease) || canary->is_reading)
        return;
    canary->reading_since = service->lease.since;
    canary->is_reading = nats_kv_get(&kv, CANARY_RECORD, on_canary_record_read, service, &err) == 0;
    if (!canary->is_reading)
        files_service_retry_canary(service);
}

void files_service_forget_canary(struct files_service *service)
{
    service->canary.is_known = false;
}

bool files_service_is_held_by_canary(const struct files_service *service)
{
    const struct files_service_canary *canary = &service->canary;

    return !canary->is_known || canary->is_odd || canary->act ||
           (canary->is_there && canary->record.phase != CANARY_RUNNING);
}

const char *files_service_canary_manifest(const struct files_service *service)
{
    const struct files_service_canary *canary = &service->canary;

    return canary->is_there && !canary->is_odd && canary_is_followed(&canary->record)
               ? CANARY_MANIFEST
               : NULL;
}
