#include "fleet/master/lease.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* Safety margin to the bucket's own TTL. */
#define MARGIN_NS (2 * CLOCK_SECOND)

/* A call may outlive its lease. */
struct lease_call {
    struct lease *lease; /* NULL: stopped */
    int64_t sent;        /* clock_now */
    void (*fn)(void *self);
    void *self;
};

static struct nats_kv get_lease_bucket(const struct lease *lease)
{
    /* of several masters that find a released lease, one gets it; and renewals need only the
     * comparison, since only creates compete with them */
    return (struct nats_kv){ .js = lease->js,
                             .bucket = store_bucket_name(STORE_LEASES),
                             .settled = lease->revision == 0 };
}

static void on_lease_timer(struct timer *timer);

static void arm_lease(struct lease *lease, int64_t wait)
{
    timer_set(loop_timers(nats_conn_loop(lease->js.conn)), &lease->timer,
              clock_after(clock_now(), wait), on_lease_timer);
}

bool lease_is_held(const struct lease *lease)
{
    return lease->revision && clock_now() < lease->good_until;
}

static void lose_lease(struct lease *lease)
{
    if (!lease->revision)
        return;
    lease->revision = lease->damaged = 0;
    log_warning("lease '%s' lost", lease->key);
    if (lease->lost)
        lease->lost(lease);
}

static void hold_lease(struct lease *lease, uint64_t revision, int64_t sent)
{
    bool is_new = !lease->revision;

    lease->revision = revision;
    lease->good_until = clock_after(sent, LEASE_TTL_NS - MARGIN_NS);
    if (!is_new)
        return;
    lease->since = bus_time();
    log_info("lease '%s' acquired", lease->key);
    if (lease->got)
        lease->got(lease);
}

/* Ends a call; NULL: its lease was stopped meanwhile. */
static struct lease *end_lease_call(struct lease_call *call)
{
    struct lease *lease = call->lease;

    free(call);
    if (lease)
        lease->call = NULL;
    return lease;
}

/* Another attempt, later. */
static void wait_for_next(struct lease *lease)
{
    arm_lease(lease, lease_is_held(lease)
                         ? LEASE_RENEW_NS
                         : LEASE_RENEW_NS / 2 + (int64_t)(chance_number() % LEASE_RENEW_NS));
}

static void leave_to_other(struct lease *lease)
{
    lose_lease(lease);
    if (lease->taken)
        lease->taken(lease);
    wait_for_next(lease);
}

/* Replaces a damaged entry. The holder does so at once; others wait as long as a live holder may
 * need. */
static void replace_damage(struct lease *lease, uint64_t revision)
{
    const int64_t now = clock_now();

    if (!lease->damaged_since)
        lease->damaged_since = now;
    if (!lease_is_held(lease) && now - lease->damaged_since < LEASE_TTL_NS) {
        leave_to_other(lease);
        return;
    }
    log_warning("lease '%s' restored: it was overwritten with a server's answer", lease->key);
    lease->damaged = revision;
    arm_lease(lease, 0);
}

/* The current entry, after an unexpected one. */
static void on_lease_read(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct lease *lease = end_lease_call(self);

    if (!lease)
        return;
    if (!error && entry->is_answer) {
        replace_damage(lease, entry->revision);
        return;
    }
    lease->damaged_since = 0;
    leave_to_other(lease);
}

static void read_lease_entry(struct lease *lease)
{
    const struct nats_kv kv = { .js = lease->js,
                                .bucket = store_bucket_name(STORE_LEASES),
                                .indirect = true };
    struct lease_call *call = mem_zalloc(sizeof(*call));
    struct err err;

    *call = (struct lease_call){ .lease = lease };
    lease->call = call;
    if (nats_kv_get(&kv, lease->key, on_lease_read, call, &err) < 0)
        leave_to_other(end_lease_call(call));
}

static void on_lease_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct lease_call *call = self;
    const int64_t sent = call->sent;
    struct lease *lease = end_lease_call(call);

    if (!lease)
        return;
    lease->damaged = 0;
    if (error && error->fault == NATS_FAULT_CONFLICT) {
        read_lease_entry(lease);
        return;
    }
    if (!error) {
        lease->damaged_since = 0;
        hold_lease(lease, revision, sent);
    } else if (clock_now() >= lease->good_until) {
        lose_lease(lease);
    }
    wait_for_next(lease);
}

static int write_lease_entry(struct lease *lease, struct lease_call *call, struct err *err)
{
    const struct nats_kv kv = get_lease_bucket(lease);
    const struct str value = str_from(lease->holder);
    const uint64_t expected = lease->damaged ? lease->damaged : lease->revision;

    return expected ? nats_kv_update(&kv, lease->key, value, expected, on_lease_written, call, err)
                    : nats_kv_create(&kv, lease->key, value, on_lease_written, call, err);
}

static void on_lease_timer(struct timer *timer)
{
    struct lease *lease = container_of(timer, struct lease, timer);
    struct lease_call *call;
    struct err err;

    if (lease->revision && !lease_is_held(lease))
        lose_lease(lease);
    arm_lease(lease, LEASE_RENEW_NS);
    if (lease->call)
        return;
    call = mem_zalloc(sizeof(*call));
    *call = (struct lease_call){ .lease = lease, .sent = clock_now() };
    if (write_lease_entry(lease, call, &err) == 0)
        lease->call = call;
    else
        free(call);
}

void lease_start(struct lease *lease)
{
    lease->is_started = true;
    arm_lease(lease, 0);
}

static void on_lease_given_up(void *self, const struct nats_error *error, uint64_t revision)
{
    struct lease_call *call = self;

    (void)error; /* then it expires */
    (void)revision;
    if (call->fn)
        call->fn(call->self);
    free(call);
}

bool lease_stop(struct lease *lease, void (*fn)(void *self), void *self)
{
    const struct nats_kv kv = get_lease_bucket(lease);
    struct lease_call *call;
    uint64_t revision = lease->revision;
    struct err err;

    if (!lease->is_started)
        return false;
    timer_clear(loop_timers(nats_conn_loop(lease->js.conn)), &lease->timer);
    if (lease->call)
        lease->call->lease = NULL;
    lease->call = NULL;
    lease->is_started = false;
    lease->revision = lease->damaged = 0;
    lease->damaged_since = 0;
    if (!revision)
        return false;
    call = mem_zalloc(sizeof(*call));
    *call = (struct lease_call){ .fn = fn, .self = self };
    if (nats_kv_delete(&kv, lease->key, revision, on_lease_given_up, call, &err) == 0)
        return true;
    free(call);
    return false;
}
