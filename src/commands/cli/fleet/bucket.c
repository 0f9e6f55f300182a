#include "commands/cli/fleet/bucket.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/nats/error.h"
#include "core/sys/clock.h"

struct bucket_read {
    struct arena *arena;
    fleet_bucket_fn *fn;
    void *self;
    struct str value;
    uint64_t revision;
    bool is_done, has_failed;
    struct nats_error error;
};

static void on_bucket_entry(void *self, const struct nats_kv_entry *entry)
{
    struct bucket_read *reading = self;

    reading->fn(reading->self, entry);
}

static void on_bucket_end(void *self)
{
    ((struct bucket_read *)self)->is_done = true;
}

static void on_bucket_failed(void *self, const struct nats_error *error)
{
    struct bucket_read *reading = self;

    reading->is_done = reading->has_failed = true;
    reading->error = *error;
}

/* By a master, which names the stream and the reason. */
static bool is_refusal(const struct bucket_read *reading)
{
    return reading->has_failed && reading->error.fault == NATS_FAULT_REFUSED &&
           reading->error.code == 0;
}

int fleet_bucket_each(struct fleet *fleet, enum store_bucket bucket, const char *pattern,
                      fleet_bucket_fn *fn, void *self, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(bucket) };
    struct bucket_read reading = { .fn = fn, .self = self };
    struct nats_kv_watch *watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .pattern = pattern,
                                                           .without_deletes = true,
                                                           .once = true,
                                                           .entry = on_bucket_entry,
                                                           .caught_up = on_bucket_end,
                                                           .failed = on_bucket_failed,
                                                           .self = &reading },
                          err);
    int result;

    if (!watch)
        return -1;
    result = fleet_wait(fleet, &reading.is_done, FLEET_BUCKET_NS, err);
    nats_kv_watch_free(watch);
    if (result == 0 && reading.has_failed)
        result = nats_error_to_err(&reading.error, err);
    if (result < 0 && fleet->operator_name && err->code == ERR_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, FLEET_SILENT);
    if (result < 0 && !is_refusal(&reading))
        (void)err_wrap(err, "%s", kv.bucket);
    return result;
}

static void on_get(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct bucket_read *reading = self;

    if (error)
        on_bucket_failed(self, error);
    else
        *reading = (struct bucket_read){ .value = arena_str(reading->arena, entry->value),
                                         .revision = entry->revision };
    reading->is_done = true;
}

int fleet_bucket_find(struct fleet *fleet, enum store_bucket bucket, const char *key,
                      struct str *ret_value, uint64_t *ret_revision, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js,
                                .bucket = store_bucket_name(bucket),
                                .indirect = true };
    struct bucket_read reading = { .arena = fleet->arena };

    if (nats_kv_get(&kv, key, on_get, &reading, err) < 0)
        return -1;
    while (!reading.is_done) /* it has its own timeout */
        (void)fleet_wait(fleet, &reading.is_done, FLEET_BUCKET_NS, err);
    if (fleet->operator_name && reading.has_failed &&
        reading.error.fault == NATS_FAULT_NO_RESPONDERS)
        return err_set(err, ERR_BUSY, FLEET_NO_MASTER); /* not that there is no such key */
    if (fleet->operator_name && reading.has_failed && reading.error.fault == NATS_FAULT_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, FLEET_SILENT);
    if (reading.has_failed)
        return nats_error_to_err(&reading.error, err);
    *ret_value = reading.value;
    *ret_revision = reading.revision;
    return 0;
}

int fleet_bucket_get(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str *ret_value, struct err *err)
{
    uint64_t revision;

    return fleet_bucket_find(fleet, bucket, key, ret_value, &revision, err);
}

/* --- writing ------------------------------------------------------------------------ */

/* In the arena of the fleet: one that was given up may call back when the fleet is closed. */
static void on_bucket_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct bucket_read *reading = self;

    (void)revision;
    if (error)
        on_bucket_failed(self, error);
    reading->is_done = true;
}

/* Each write has its own timeout. */
static int wait_written(struct fleet *fleet, const struct bucket_read *reading, struct err *err)
{
    while (!reading->is_done)
        (void)fleet_wait(fleet, &reading->is_done, FLEET_BUCKET_NS, err);
    return reading->has_failed ? nats_error_to_err(&reading->error, err) : 0;
}

static int require_writer(const struct fleet *fleet, struct err *err)
{
    return fleet_require_admin(fleet, "write to buckets", err);
}

int fleet_bucket_put(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str value, int64_t timeout, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(bucket) };
    struct bucket_read *writing = ARENA_NEW(fleet->arena, struct bucket_read);

    if (require_writer(fleet, err) < 0 ||
        nats_kv_put(&kv, key, value, on_bucket_written, writing, err) < 0 ||
        fleet_wait(fleet, &writing->is_done, timeout, err) < 0)
        return -1;
    return wait_written(fleet, writing, err);
}

int fleet_bucket_replace(struct fleet *fleet, enum store_bucket bucket, const char *key,
                         struct str value, uint64_t revision, struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(bucket) };
    struct bucket_read *writing = ARENA_NEW(fleet->arena, struct bucket_read);
    int result;

    if (require_writer(fleet, err) < 0)
        return -1;
    result = revision ? nats_kv_update(&kv, key, value, revision, on_bucket_written, writing, err)
                      : nats_kv_create(&kv, key, value, on_bucket_written, writing, err);
    return result < 0 ? -1 : wait_written(fleet, writing, err);
}

int fleet_bucket_purge(struct fleet *fleet, enum store_bucket bucket, const char *key,
                       struct err *err)
{
    const struct nats_kv kv = { .js = fleet->js, .bucket = store_bucket_name(bucket) };
    struct bucket_read *writing = ARENA_NEW(fleet->arena, struct bucket_read);

    if (require_writer(fleet, err) < 0 ||
        nats_kv_purge(&kv, key, 0, on_bucket_written, writing, err) < 0)
        return -1;
    return wait_written(fleet, writing, err);
}

/* --- time --------------------------------------------------------------------------- */

/* Masters give a sign of life so often. */
#define BEAT_NS (5 * CLOCK_SECOND)

static void take_server_time(void *self, const struct nats_kv_entry *entry)
{
    int64_t *last = self;

    if (!entry->is_answer && entry->time > *last)
        *last = entry->time;
}

/* Our own clock is more exact than what follows, unless it cannot be right. */
static bool is_clock_right(int64_t last_beat)
{
    const int64_t age = clock_wall() - last_beat;

    return age >= -CLOCK_SECOND && age <= BEAT_NS + CLOCK_SECOND;
}

void fleet_learn_time(struct fleet *fleet)
{
    int64_t last = 0, now;
    struct err ignored;

    if (fleet_bucket_each(fleet, STORE_MASTER_HEARTBEAT, NULL, take_server_time, &last, &ignored) <
            0 ||
        last == 0 || is_clock_right(last))
        return;
    now = clock_now();
    bus_time_note(now - BEAT_NS, now, last);
}
