#include "fleet/master/record_guard.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/cluster_info.h"
#include "fleet/wire/job.h"

/* Limit for keys known only from damaged entries; further ones wait for a restart. */
#define STRANGERS_MAX 4096
/* Maximum concurrent repairs. */
#define WINDOW   64
#define RETRY_NS (5 * CLOCK_SECOND)
/* Log lines per minute; the metric counts all. */
#define LINES_MAX 60

/* Records of masters and operators that are not rewritten soon otherwise. */
static const struct {
    enum store_bucket bucket;
    const char *pattern; /* key pattern; NULL: all */
    /* GUARD_READS: too many or too large to keep; restored from the history. GUARD_READS_NEW: also
     * not read at the start. */
    enum { GUARD_KEEPS, GUARD_COUNTS, GUARD_READS, GUARD_READS_NEW } way;
} guarded[] = {
    { STORE_ENROLLMENTS, NULL, GUARD_KEEPS },
    { STORE_OPERATORS, NULL, GUARD_KEEPS },
    { STORE_APPROVALS, NULL, GUARD_KEEPS },
    { STORE_UPDATE_MANIFESTS, NULL, GUARD_KEEPS },
    { STORE_UPDATE_ROLLOUTS, NULL, GUARD_KEEPS },
    { STORE_PEEL_PRESENCE, NULL, GUARD_KEEPS },
    { STORE_SECRETS, CLUSTER_INFO_KEY, GUARD_KEEPS },
    { STORE_LEASES, NULL, GUARD_COUNTS },
    { STORE_JOBS, "*", GUARD_READS },
    /* each key is written once, so a history of them costs nothing */
    { STORE_TREE_HISTORY, "*.revision.*", GUARD_READS },
    { STORE_TREE_HISTORY, "*.manifest.*", GUARD_READS },
    { STORE_TREE_HISTORY, "*.signature.*", GUARD_READS },
    { STORE_TREE_HISTORY, "*.blob.*", GUARD_READS_NEW },
};

struct record_guard;

/* A watched bucket. */
struct watched_bucket {
    struct record_guard *guard;
    struct nats_kv kv;
    struct nats_kv_watch *watch;
    struct map records; /* by key; values are struct record */
    size_t strangers;   /* records without a value */
    bool only_counts;
    bool only_reads; /* restore from the history; keep no values */
    bool is_of_jobs;
    int64_t ttl; /* 0: entries stay */
};

/* A key. */
struct record {
    struct watched_bucket *watched;
    char *value; /* last good value; NULL: unknown */
    size_t size;
    uint64_t revision; /* of the value, or of its removal */
    int64_t time;
    uint64_t damaged; /* damaged revision to replace; 0: none */
    bool is_busy;

    /* the pending read of the history */
    uint64_t began; /* with this damage */
    uint64_t newest;
    size_t entries;
    bool is_newest_bad;
    char key[];
};

struct record_guard {
    struct master *master;
    struct watched_bucket watched_buckets[ARRAY_LEN(guarded)];
    struct timer retry;
    size_t under_way;
    size_t lines;
    int64_t lines_since;
    bool is_open;
};

static void begin_repair(struct record *record);

/* --- log -------------------------------------------------------------------------------- */

static void count_damage(const struct watched_bucket *watched, const char *result)
{
    metrics_add(watched->guard->master->metrics, MASTER_RECORDS_DAMAGED, 1, watched->kv.bucket,
                result);
}

/* Limited, so that an attacker cannot fill the disk. */
static bool may_log(struct record_guard *guard)
{
    const int64_t now = clock_now();

    if (!guard->lines_since || now - guard->lines_since > 60 * CLOCK_SECOND) {
        guard->lines_since = now;
        guard->lines = 0;
    }
    return guard->lines++ < LINES_MAX;
}

/* --- records ----------------------------------------------------------------------------- */

static struct record *take_guarded_record(struct watched_bucket *watched, struct str key)
{
    struct record *record = map_find(&watched->records, key);

    if (record || watched->strangers >= STRANGERS_MAX)
        return record;
    record = mem_zalloc(sizeof(*record) + key.n + 1);
    record->watched = watched;
    memcpy(record->key, key.p, key.n);
    (void)map_set(&watched->records, str_from(record->key), record);
    watched->strangers++;
    return record;
}

static void drop_value(struct record *record)
{
    record->watched->strangers += record->value != NULL;
    free(record->value);
    record->value = NULL;
    record->size = 0;
}

/* Drop a key without a value. */
static void forget_record(struct record *record)
{
    if (record->value || record->is_busy || record->damaged)
        return;
    (void)map_remove(&record->watched->records, str_from(record->key));
    record->watched->strangers--;
    free(record);
}

/* Older revisions are ignored. */
static void note_good(struct record *record, const struct nats_kv_entry *entry)
{
    if (entry->revision < record->revision)
        return;
    drop_value(record);
    record->revision = entry->revision;
    record->time = entry->time;
    if (entry->change != NATS_KV_PUT)
        return;
    record->value = mem_alloc(entry->value.n + 1);
    memcpy(record->value, entry->value.p ? entry->value.p : "", entry->value.n);
    record->size = entry->value.n;
    record->watched->strangers--;
}

/* Entries with a TTL expire silently. */
static bool is_record_expired(const struct record *record)
{
    return record->watched->ttl && bus_time() - record->time >= record->watched->ttl;
}

static void forget_expired_records(struct watched_bucket *watched)
{
    struct map_entry *entry, *next;

    for (entry = map_next(&watched->records, NULL); watched->ttl && entry; entry = next) {
        struct record *record = entry->value;

        next = map_next(&watched->records, entry);
        if (record->value && is_record_expired(record) && !record->is_busy) {
            drop_value(record);
            forget_record(record);
        }
    }
}

/* --- repairs ---------------------------------------------------------------------------- */

static void on_guard_retry(struct timer *timer)
{
    struct record_guard *guard = container_of(timer, struct record_guard, retry);

    for (size_t i = 0; i < ARRAY_LEN(guarded); i++)
        MAP_EACH (&guard->watched_buckets[i].records, entry)
            begin_repair(entry->value);
}

static void arm_guard_retry(struct record_guard *guard)
{
    if (guard->is_open)
        timer_set(loop_timers(guard->master->loop), &guard->retry,
                  clock_after(clock_now(), RETRY_NS), on_guard_retry);
}

/* More damage may have arrived meanwhile. */
static void end_repair(struct record *record, bool is_done)
{
    struct record_guard *guard = record->watched->guard;

    record->is_busy = false;
    guard->under_way--;
    if (record->watched->only_reads) {
        drop_value(record);
        record->revision = 0;
    }
    if (is_done && record->damaged == record->began)
        record->damaged = 0;
    if (!is_done)
        arm_guard_retry(guard);
    else if (record->damaged)
        begin_repair(record);
    forget_record(record);
}

static void on_guarded_record_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct record *record = self;
    struct watched_bucket *watched = record->watched;
    const bool is_restored = record->value != NULL;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CONFLICT) {
        if (error->fault != NATS_FAULT_CANCELED && may_log(watched->guard))
            log_warning(
                "cannot restore an overwritten record, trying again bucket=%s key=%s error=%s",
                watched->kv.bucket, record->key, error->text);
        end_repair(record, false);
        return;
    }
    if (!error) { /* otherwise another master was faster */
        count_damage(watched, is_restored ? "restored" : "removed");
        if (may_log(watched->guard))
            log_warning("record was overwritten with a server's answer: %s; the credentials of a "
                        "peel are used for an attack bucket=%s key=%s",
                        is_restored ? "written again" : "no earlier value, removed",
                        watched->kv.bucket, record->key);
    }
    end_repair(record, true);
}

/* No good value is left, neither here nor in the history. */
static void report_lost(struct record *record)
{
    count_damage(record->watched, "lost");
    if (may_log(record->watched->guard))
        log_error("record is lost: overwritten with server answers until neither the history of "
                  "its bucket nor a running master had a good one bucket=%s key=%s",
                  record->watched->kv.bucket, record->key);
    end_repair(record, true);
}

/* The owner of a running job restores its record; it must not change before. */
static bool is_of_its_master(const struct record *record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;

    return record->watched->is_of_jobs && record->value &&
           record_decode(&arena, &job_type, 1, (struct str){ record->value, record->size }, &job,
                         &err) == 0 &&
           !job_status_is_final(job.status);
}

static void repair_record(struct record *record)
{
    struct watched_bucket *watched = record->watched;
    struct err err;
    int result;

    if (record->value && is_record_expired(record))
        drop_value(record);
    if (!record->is_newest_bad || is_of_its_master(record)) {
        end_repair(record, true);
        return;
    }
    if (record->value)
        result =
            nats_kv_update(&watched->kv, record->key, (struct str){ record->value, record->size },
                           record->newest, on_guarded_record_written, record, &err);
    else if (record->revision || record->entries < watched->kv.history)
        result = nats_kv_delete(&watched->kv, record->key, record->newest,
                                on_guarded_record_written, record, &err);
    else {
        report_lost(record);
        return;
    }
    if (result < 0)
        end_repair(record, false);
}

/* The history also has later writes of other masters. */
static void on_history(void *self, const struct nats_error *error,
                       const struct nats_kv_entry *entry)
{
    struct record *record = self;

    if (error) {
        end_repair(record, false);
    } else if (!entry) {
        repair_record(record);
    } else {
        record->entries++;
        record->newest = entry->revision;
        record->is_newest_bad = entry->is_answer;
        if (!entry->is_answer)
            note_good(record, entry);
    }
}

static void begin_repair(struct record *record)
{
    struct watched_bucket *watched = record->watched;
    struct record_guard *guard = watched->guard;
    struct err err;

    if (!record->damaged || record->is_busy || !guard->is_open)
        return;
    if (guard->under_way >= WINDOW) {
        arm_guard_retry(guard);
        return;
    }
    record->began = record->damaged;
    record->newest = 0;
    record->entries = 0;
    record->is_newest_bad = false;
    if (nats_kv_history(&watched->kv, record->key, on_history, record, &err) < 0) {
        arm_guard_retry(guard);
        return;
    }
    record->is_busy = true;
    guard->under_way++;
}

/* --- watching --------------------------------------------------------------------------- */

static void note_damage(struct watched_bucket *watched, const struct nats_kv_entry *entry)
{
    struct record *record;

    if (watched->only_counts) {
        count_damage(watched, "kept");
        return;
    }
    record = take_guarded_record(watched, entry->key);
    if (!record)
        return;
    record->damaged = entry->revision;
    begin_repair(record);
    forget_record(record);
}

static void on_guarded_entry(void *self, const struct nats_kv_entry *entry)
{
    struct watched_bucket *watched = self;
    struct record *record;

    if (entry->is_answer) {
        note_damage(watched, entry);
        return;
    }
    if (watched->only_counts)
        return;
    forget_expired_records(watched);
    record = watched->only_reads ? map_find(&watched->records, entry->key)
                                 : take_guarded_record(watched, entry->key);
    if (!record)
        return;
    if (!watched->only_reads)
        note_good(record, entry);
    if (record->damaged <= entry->revision)
        record->damaged = 0;
    forget_record(record);
}

static void on_guard_watch_failed(void *self, const struct nats_error *error)
{
    const struct watched_bucket *watched = self;

    if (error->fault != NATS_FAULT_CANCELED)
        log_error("records cannot be watched bucket=%s error=%s", watched->kv.bucket, error->text);
}

/* --- the service ------------------------------------------------------------------------ */

static void *open_record_guard(struct master *master, struct err *err)
{
    struct record_guard *guard = mem_zalloc(sizeof(*guard));

    (void)err;
    guard->master = master;
    return guard;
}

static void stop_record_guard(void *self)
{
    struct record_guard *guard = self;

    guard->is_open = false;
    timer_clear(loop_timers(guard->master->loop), &guard->retry);
    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        nats_kv_watch_free(guard->watched_buckets[i].watch);
        guard->watched_buckets[i].watch = NULL;
    }
}

static int open_guarded_bucket(struct record_guard *guard, size_t number, struct err *err)
{
    struct watched_bucket *watched = &guard->watched_buckets[number];
    const enum store_bucket bucket = guarded[number].bucket;

    watched->guard = guard;
    watched->only_counts = guarded[number].way == GUARD_COUNTS;
    watched->only_reads = guarded[number].way >= GUARD_READS;
    watched->is_of_jobs = bucket == STORE_JOBS;
    watched->ttl = store_bucket_ttl(bucket);
    watched->kv = (struct nats_kv){ .js = guard->master->js,
                                    .bucket = store_bucket_name(bucket),
                                    .history = store_bucket_history(bucket) };
    watched->watch = nats_kv_watch_new(
        &watched->kv,
        &(struct nats_kv_watch_options){ .pattern = guarded[number].pattern,
                                         .new_only = guarded[number].way == GUARD_READS_NEW,
                                         .entry = on_guarded_entry,
                                         .failed = on_guard_watch_failed,
                                         .self = watched },
        err);
    return watched->watch ? 0 : -1;
}

static int start_record_guard(void *self, struct err *err)
{
    struct record_guard *guard = self;

    guard->is_open = true;
    for (size_t i = 0; i < ARRAY_LEN(guarded); i++)
        if (open_guarded_bucket(guard, i, err) < 0) {
            stop_record_guard(guard);
            return -1;
        }
    return 0;
}

static void free_record_guard(void *self)
{
    struct record_guard *guard = self;

    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        MAP_EACH (&guard->watched_buckets[i].records, entry) {
            struct record *record = entry->value;

            free(record->value);
            free(record);
        }
        map_done(&guard->watched_buckets[i].records);
    }
    free(guard);
}

const struct master_service record_guard_service = {
    .name = "records",
    .open = open_record_guard,
    .start = start_record_guard,
    .stop = stop_record_guard,
    .free = free_record_guard,
};
