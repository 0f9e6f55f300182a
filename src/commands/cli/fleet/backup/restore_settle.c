#include "commands/cli/fleet/backup/restore_settle.h"

#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/base/vec.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/store.h"
#include "fleet/jobs/claim.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/nkey.h"
#include "fleet/nats/puller.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/signature.h"

#define ASK_NS    (10 * CLOCK_SECOND)
#define BATCH     256
#define ROUND_NS  (2 * CLOCK_SECOND)
#define ACTIVE    "active."
#define JOB_BYTES ((size_t)8 << 20)

/* --- events ---------------------------------------------------------------------------- */

struct skipping {
    struct fleet *fleet;
    const char *stream, *consumer;
    uint64_t last;
    struct nats_puller *puller;
    struct nats_consumer_info info;
    struct nats_error error;
    bool is_done, has_failed;
    size_t skipped;
};

static void on_skipped_consumer(void *self, const struct nats_error *error,
                                const struct nats_consumer_info *info)
{
    struct skipping *skipping = self;

    skipping->is_done = true;
    skipping->has_failed = error != NULL;
    if (error)
        skipping->error = *error;
    else
        skipping->info = *info;
}

static int ask_consumer(struct skipping *skipping, struct err *err)
{
    skipping->is_done = false;
    if (nats_consumer_info(&skipping->fleet->js, skipping->stream, skipping->consumer,
                           on_skipped_consumer, skipping, err) < 0 ||
        fleet_wait(skipping->fleet, &skipping->is_done, ASK_NS, err) < 0)
        return -1;
    return skipping->has_failed ? nats_error_to_err(&skipping->error, err) : 0;
}

static void on_sent(void *self, const struct nats_error *error)
{
    (void)error; /* the next question shows what came */
    ((struct skipping *)self)->is_done = true;
}

static int flush_acks(struct skipping *skipping, struct err *err)
{
    skipping->is_done = false;
    if (nats_flush(skipping->fleet->js.conn, on_sent, skipping, err) < 0)
        return -1;
    return fleet_wait(skipping->fleet, &skipping->is_done, ASK_NS, err);
}

/* Delivered to a master of old, which can no longer acknowledge it. The server looks at the
 * sequence in the stream only. */
static int ack_delivered(struct skipping *skipping, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);
    uint64_t seq = skipping->info.ack_floor_stream_seq;

    while (seq < skipping->info.delivered_stream_seq && seq < skipping->last) {
        seq++;
        buf_clear(&subject);
        buf_printf(&subject, "$JS.ACK.%s.%s.1.%llu.1.1.0", skipping->stream, skipping->consumer,
                   (unsigned long long)seq);
        if (nats_ack(skipping->fleet->js.conn, buf_view(&subject), err) < 0)
            return -1;
        if (seq % BATCH == 0 && flush_acks(skipping, err) < 0)
            return -1;
    }
    return flush_acks(skipping, err);
}

/* A later one is of now: it goes back at once. */
static void on_waiting_event(void *self, const struct nats_msg *msg)
{
    struct skipping *skipping = self;
    struct nats_delivery delivery;
    struct err ignored; /* the next round repeats it */

    nats_puller_done(skipping->puller, 1);
    if (!nats_delivery_parse(msg->reply, &delivery))
        return;
    if (delivery.stream_seq > skipping->last) {
        (void)nats_nak(skipping->fleet->js.conn, msg->reply, 0, &ignored);
    } else {
        (void)nats_ack(skipping->fleet->js.conn, msg->reply, &ignored);
        skipping->skipped++;
    }
    skipping->is_done = delivery.stream_seq >= skipping->last || delivery.pending == 0;
}

static int pull_waiting(struct skipping *skipping, struct err *err)
{
    const struct nats_puller_options options = { .stream = skipping->stream,
                                                 .consumer = skipping->consumer,
                                                 .batch = BATCH,
                                                 .message = on_waiting_event,
                                                 .self = skipping };
    struct err late; /* the next round looks again */

    skipping->is_done = false;
    skipping->puller = nats_puller_new(&skipping->fleet->js, &options, err);
    if (!skipping->puller)
        return -1;
    (void)fleet_wait(skipping->fleet, &skipping->is_done, ROUND_NS, &late);
    nats_puller_free(skipping->puller);
    return flush_acks(skipping, err);
}

/* A consumer that is not there is made by a master, for new events only. */
static int skip_events(struct fleet *fleet, const char *stream, const char *consumer, uint64_t last,
                       size_t *ret_skipped, struct err *err)
{
    struct skipping *skipping = ARENA_NEW(fleet->arena, struct skipping);
    const int64_t deadline = clock_after(clock_now(), 30 * ASK_NS);

    *skipping =
        (struct skipping){ .fleet = fleet, .stream = stream, .consumer = consumer, .last = last };
    if (ask_consumer(skipping, err) < 0)
        return skipping->has_failed && skipping->error.fault == NATS_FAULT_NOT_FOUND ? 0 : -1;
    *ret_skipped += (size_t)skipping->info.ack_pending;
    if (skipping->info.ack_pending > 0 && ack_delivered(skipping, err) < 0)
        return -1;
    while (skipping->info.pending > 0 && skipping->info.delivered_stream_seq < last) {
        if (pull_waiting(skipping, err) < 0 || ask_consumer(skipping, err) < 0)
            return -1;
        if (clock_now() > deadline)
            return err_set(err, ERR_TIMEOUT, "the events that waited cannot be skipped");
    }
    *ret_skipped += skipping->skipped;
    return 0;
}

/* --- jobs ------------------------------------------------------------------------------ */

struct open_jobs {
    struct arena *arena;
    VEC(const char *) ids;
};

static void on_open_job(void *self, const struct nats_kv_entry *entry)
{
    struct open_jobs *jobs = self;

    VEC_PUSH_IN(jobs->arena, &jobs->ids,
                arena_str(jobs->arena, str_from_offset(entry->key, strlen(ACTIVE))).p);
}

static void sign_ended_job(struct arena *arena, const struct nats_nkey *account, struct job *job)
{
    AUTO_BUF struct buf text = BUF_INIT(SIGNATURE_LINE_MAX);
    const struct ed25519_pair pair = nats_nkey_pair(account);

    if (!job->signature || !job->signature[0])
        return;
    job->signature = "";
    signature_sign_job(&pair, job, &text);
    job->signature = buf_copy(&text, arena).p;
}

static int end_job(const struct restore_settle_want *want, const struct nats_nkey *account,
                   const char *jid, size_t *count, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(JOB_BYTES);
    struct job job = { 0 };
    struct str record;
    uint64_t revision;

    if (fleet_bucket_find(want->fleet, STORE_JOBS, jid, &record, &revision, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    if (record_decode(&arena, &job_type, 1, record, &job, err) < 0)
        return err_wrap(err, "job %s", jid);
    if (job_status_is_final(job.status))
        return 0;
    claim_fail(&arena, &job,
               arena_printf(&arena,
                            "the fleet was restored from a backup of %s, when this job had not "
                            "ended: what it did after that is not known",
                            time_text(&arena, want->made)));
    job.updated = (struct value_time){ .seconds = clock_wall() / CLOCK_SECOND };
    sign_ended_job(&arena, account, &job);
    (*count)++;
    if (record_encode(&bytes, &job_type, &job, err) < 0)
        return -1;
    return fleet_bucket_replace(want->fleet, STORE_JOBS, jid, buf_view(&bytes), revision, err);
}

static int end_jobs(const struct restore_settle_want *want, const struct nats_nkey *account,
                    size_t *count, struct err *err)
{
    struct open_jobs jobs = { .arena = want->fleet->arena };

    if (fleet_bucket_each(want->fleet, STORE_JOBS, ACTIVE "*", on_open_job, &jobs, err) < 0)
        return -1;
    VEC_EACH (&jobs.ids, jid)
        if (end_job(want, account, *jid, count, err) < 0 ||
            fleet_bucket_purge(want->fleet, STORE_JOBS,
                               arena_printf(want->fleet->arena, ACTIVE "%s", *jid), err) < 0)
            return -1;
    return 0;
}

/* --- trees ----------------------------------------------------------------------------- */

static const enum store_bucket tree_buckets[] = { STORE_SETTINGS_FILES, STORE_STATE_FILES,
                                                  STORE_REACTOR_FILES };
/* A canary is signed later than the general set. */
static const char *const manifests[] = { FILESET_MANIFEST, CANARY_MANIFEST };

/* False: there is none. */
static int find_tree_entry(struct fleet *fleet, enum store_bucket bucket, const char *key,
                           bool *ret_is_there, struct str *ret, struct err *err)
{
    *ret_is_there = fleet_bucket_get(fleet, bucket, key, ret, err) == 0;
    return *ret_is_there || err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int sign_tree(const struct restore_settle_want *want, const struct nats_nkey *account,
                     enum store_bucket bucket, const char *manifest, size_t *count, struct err *err)
{
    struct arena *arena = want->fleet->arena;
    const char *key = signature_key(arena, manifest);
    const struct ed25519_pair pair = nats_nkey_pair(account);
    struct signature_mark mark;
    char sum[SHA256_HEX_SIZE];
    bool has_tree, is_signed;
    struct str text, stored;

    if (find_tree_entry(want->fleet, bucket, manifest, &has_tree, &text, err) < 0 ||
        find_tree_entry(want->fleet, bucket, key, &is_signed, &stored, err) < 0)
        return -1;
    if (!has_tree || !is_signed || signature_read_mark(stored, &mark, err) < 0)
        return 0;
    sha256_hex(text.p, text.n, sum);
    mark.time = clock_wall();
    (*count)++;
    return fleet_bucket_put(
        want->fleet, bucket, key,
        signature_sign_tree(
            arena, &pair, signature_place(arena, store_bucket_name(bucket), manifest), sum, &mark),
        ASK_NS, err);
}

/* Machines that are connected look at a tree when its number is written. */
static int announce_tree(struct fleet *fleet, enum store_bucket bucket, struct err *err)
{
    bool has_number;
    struct str number;

    if (find_tree_entry(fleet, bucket, FILESET_REVISION, &has_number, &number, err) < 0)
        return -1;
    return has_number ? fleet_bucket_put(fleet, bucket, FILESET_REVISION, number, ASK_NS, err) : 0;
}

static int sign_trees(const struct restore_settle_want *want, const struct nats_nkey *account,
                      size_t *count, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(tree_buckets); i++) {
        for (size_t m = 0; m < ARRAY_LEN(manifests); m++)
            if (sign_tree(want, account, tree_buckets[i], manifests[m], count, err) < 0)
                return -1;
        if (announce_tree(want->fleet, tree_buckets[i], err) < 0)
            return -1;
    }
    return 0;
}

int restore_settle(const struct restore_settle_want *want, struct restore_settled *ret,
                   struct err *err)
{
    struct nats_nkey account;
    int result;

    *ret = (struct restore_settled){ 0 };
    if (identity_read_key(want->auth_dir, IDENTITY_ACCOUNT_SEED, &account, err) < 0)
        return -1;
    result =
        skip_events(want->fleet, STORE_EVENTS, STORE_REACTOR, want->last_event, &ret->events, err);
    if (result == 0)
        result = skip_events(want->fleet, STORE_EXHAUSTED, STORE_EXHAUSTED, want->last_exhausted,
                             &ret->events, err);
    if (result == 0)
        result = end_jobs(want, &account, &ret->jobs, err);
    if (result == 0)
        result = sign_trees(want, &account, &ret->trees, err);
    nats_nkey_done(&account);
    return result;
}
