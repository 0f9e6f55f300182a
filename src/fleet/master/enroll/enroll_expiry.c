/*
 * The service "enroll-expiry": rejects undecided enrollments after `enroll.pending_expires`. A
 * pending enrollment blocks its name for other keys, so a forgotten or malicious one would block it
 * forever.
 *
 * Every master does this; the record changes by compare-and-swap, so a faster approval wins.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/enroll/registry.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/services.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define TICK_NS CLOCK_SECOND
/* Retry interval for a decision that could not be stored. */
#define RETRY_NS (60 * CLOCK_SECOND)
/* Decisions per tick; the rest follow with the next one. */
#define DECISIONS_MAX 64
#define DECIDED_BY    "expiry"
#define REASON        "not decided in time"

/* A pending enrollment. */
struct candidate {
    int64_t created;    /* seconds since 1970 */
    int64_t not_before; /* clock_now */
    char id[];
};

struct expiry {
    struct master *master;
    struct enrollment_cache_listener listener;
    struct timer timer;
    struct map waiting; /* by id; struct candidate */
};

static void forget_candidate(struct expiry *expiry, const char *id)
{
    free(map_remove(&expiry->waiting, str_from(id)));
}

static void on_expiry_changed(struct enrollment_cache_listener *listener,
                              const struct enrollment *record)
{
    struct expiry *expiry = container_of(listener, struct expiry, listener);
    const size_t size = strlen(record->id) + 1;
    struct candidate *candidate;

    forget_candidate(expiry, record->id);
    if (record->state != ENROLLMENT_PENDING)
        return;
    candidate = mem_zalloc(sizeof(*candidate) + size);
    candidate->created = record->created_at.seconds;
    memcpy(candidate->id, record->id, size);
    (void)map_set(&expiry->waiting, str_from(candidate->id), candidate);
}

static void on_expiry_decided(void *self, const struct registry_verdict *verdict)
{
    (void)self;
    if (verdict->error)
        log_debug("pending enrollment not rejected error=%s",
                  verdict->error); /* decided meanwhile */
    else
        audit_log(&(struct audit){ .action = "enroll.reject",
                                   .by = DECIDED_BY,
                                   .id = verdict->record->id,
                                   .peel = verdict->record->peel_id,
                                   .reason = REASON });
}

/* The candidate is freed when the enrollment cache sees the new record. */
static void reject_candidate(struct expiry *expiry, struct candidate *candidate)
{
    const struct authority *authority = master_find(expiry->master, &authority_service);

    candidate->not_before = clock_after(clock_now(), RETRY_NS);
    registry_decide(&authority->registry, ADMISSION_REJECT,
                    &(struct enrollment_request){
                        .id = candidate->id, .operator_name = DECIDED_BY, .reason = REASON },
                    on_expiry_decided, expiry);
}

/* The candidates of this tick: deciding may change the map. */
static size_t find_expired(const struct expiry *expiry, struct candidate **ret)
{
    const int64_t before =
        (bus_time() - expiry->master->conf.enroll_pending_expires) / CLOCK_SECOND;
    const int64_t now = clock_now();
    size_t count = 0;

    MAP_EACH (&expiry->waiting, entry) {
        struct candidate *candidate = entry->value;

        if (candidate->created < before && candidate->not_before <= now && count < DECISIONS_MAX)
            ret[count++] = candidate;
    }
    return count;
}

static void on_expiry_tick(struct timer *timer)
{
    struct expiry *expiry = container_of(timer, struct expiry, timer);
    const struct enrollment_cache *enrollment_cache =
        master_find(expiry->master, &enrollment_cache_service);
    struct candidate *expired[DECISIONS_MAX];
    size_t count = 0;

    if (expiry->master->conf.enroll_pending_expires > 0 &&
        enrollment_cache_is_complete(enrollment_cache))
        count = find_expired(expiry, expired);
    for (size_t i = 0; i < count; i++)
        reject_candidate(expiry, expired[i]);
    timer_set(loop_timers(expiry->master->loop), timer, clock_after(clock_now(), TICK_NS),
              on_expiry_tick);
}

static void *open_expiry(struct master *master, struct err *err)
{
    struct expiry *expiry = mem_zalloc(sizeof(*expiry));

    (void)err;
    expiry->master = master;
    expiry->listener.changed = on_expiry_changed;
    enrollment_cache_listen(master_find(master, &enrollment_cache_service), &expiry->listener);
    return expiry;
}

static int start_expiry(void *self, struct err *err)
{
    struct expiry *expiry = self;

    (void)err;
    on_expiry_tick(&expiry->timer);
    return 0;
}

static void stop_expiry(void *self)
{
    struct expiry *expiry = self;

    timer_clear(loop_timers(expiry->master->loop), &expiry->timer);
}

static void free_expiry(void *self)
{
    struct expiry *expiry = self;

    MAP_EACH (&expiry->waiting, entry)
        free(entry->value);
    map_done(&expiry->waiting);
    free(expiry);
}

const struct master_service master_enroll_expiry_service = {
    .name = "enroll-expiry",
    .open = open_expiry,
    .start = start_expiry,
    .stop = stop_expiry,
    .free = free_expiry,
};
