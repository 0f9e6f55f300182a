#include "fleet/enroll/registry.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"

struct op;
typedef void step_fn(struct op *op);

/* One call: reads, then a decision, then writes. It lives in its own arena. */
struct op {
    struct arena arena;
    const struct registry *registry;
    struct admission_moment moment;
    struct admission_answer answer;
    size_t written; /* changes of the answer */
    registry_fn *fn;
    void *self;

    /* the read under way */
    struct admission_entry *into;
    step_fn *next;

    struct admission_request request;
    struct admission_stored stored;
    struct admission_claim claim;
    struct admission_entry raced; /* what is there in place of what was written */

    /* a decision */
    registry_decided_fn *decided;
    enum admission_decision decision;
    struct enrollment_request order;
    struct enrollment record;
};

static struct op *new_registry_op(const struct registry *registry, const char *remote_addr)
{
    struct arena arena = ARENA_INIT;
    struct op *op = ARENA_NEW(&arena, struct op);

    op->registry = registry;
    op->moment.now = bus_time();
    op->moment.remote_addr = arena_strdup(&arena, remote_addr);
    op->moment.sponsor = "";
    ksuid_new(op->moment.now / CLOCK_SECOND, op->moment.ksuid);
    chance_bytes(op->moment.bytes, sizeof(op->moment.bytes));
    op->arena = arena;
    return op;
}

static struct op *new_registry_call(const struct registry *registry, const char *remote_addr,
                                    registry_fn *fn, void *self)
{
    struct op *op = new_registry_op(registry, remote_addr);

    op->fn = fn;
    op->self = self;
    return op;
}

/* --- the end ------------------------------------------------------------------------ */

static void finish_registry_op(struct op *op)
{
    const char *error = value_get_text(&op->answer.body, "error");
    struct arena arena = op->arena;

    if (op->decided)
        op->decided(op->self, &(struct registry_verdict){ .record = error ? NULL : &op->record,
                                                          .error = error,
                                                          .status = op->answer.status });
    else
        op->fn(op->self, &op->answer);
    arena_done(&arena); /* the operation is in it */
}

static void fail_registry_op(struct op *op, enum admission_status status, const char *text)
{
    admission_fail(&op->arena, status, arena_strdup(&op->arena, text), &op->answer);
    finish_registry_op(op);
}

/* --- writing ------------------------------------------------------------------------ */

static struct nats_kv open_registry_bucket(const struct op *op, enum store_bucket bucket)
{
    /* what was just written must be seen: from the leader; and of two decisions one is refused */
    return (struct nats_kv){ .js = op->registry->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true,
                             .settled = true };
}

static void on_index_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)error; /* a record that no index names counts for nothing */
    (void)revision;
}

/* Another request got the index: the record written for it is an orphan. */
static void purge_orphan(struct op *op)
{
    const struct nats_kv kv = open_registry_bucket(op, STORE_ENROLLMENTS);
    struct err err;

    for (size_t i = 0; i < op->written; i++)
        if (op->answer.changes[i].bucket == STORE_ENROLLMENTS &&
            op->answer.changes[i].revision == 0)
            (void)nats_kv_purge(&kv, op->answer.changes[i].key, 0, on_index_purged, NULL, &err);
}

static void write_next(struct op *op);
static bool is_enrollment_id(const char *id);
static void read_registry_entry(struct op *op, enum store_bucket bucket, const char *key,
                                struct admission_entry *into, step_fn *next);

static void lose_race(struct op *op)
{
    struct admission_answer lost;

    purge_orphan(op);
    admission_conflict(&op->arena, &op->answer, op->written, &lost);
    op->answer = lost;
    finish_registry_op(op);
}

/* Is there what was written, or what has come of it? A machine fetches its credentials as soon as
 * it is approved, and what is issued to one whose facts are known is active at once: then our entry
 * is no longer the last, although it was the only one. */
static void judge_race(struct op *op)
{
    const struct admission_change *change = &op->answer.changes[op->written];
    struct enrollment ours, now;
    struct err err;

    if (op->raced.revision == 0 ||
        record_decode(&op->arena, &enrollment_type, 1, change->value, &ours, &err) < 0 ||
        record_decode(&op->arena, &enrollment_type, 1, op->raced.value, &now, &err) < 0 ||
        !enrollment_stems_from(&now, &ours)) {
        lose_race(op);
        return;
    }
    op->written++;
    write_next(op);
}

static void on_registry_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct op *op = self;
    const struct admission_change *change = &op->answer.changes[op->written];

    (void)revision;
    if (!error) {
        op->written++;
        write_next(op);
    } else if (error->fault != NATS_FAULT_CONFLICT) {
        fail_registry_op(op, ADMISSION_BROKEN, error->text);
    } else if (change->revision != 0 && is_enrollment_id(change->key)) {
        read_registry_entry(op, change->bucket, change->key, &op->raced, judge_race);
    } else {
        lose_race(op);
    }
}

static void write_next(struct op *op)
{
    const struct admission_change *change = &op->answer.changes[op->written];
    struct nats_kv kv;
    struct err err;
    int result;

    if (op->written == op->answer.change_count) {
        finish_registry_op(op);
        return;
    }
    kv = open_registry_bucket(op, change->bucket);
    result = change->revision == 0
                 ? nats_kv_create(&kv, change->key, change->value, on_registry_written, op, &err)
                 : nats_kv_update(&kv, change->key, change->value, change->revision,
                                  on_registry_written, op, &err);
    if (result < 0)
        fail_registry_op(op, ADMISSION_BROKEN, err.text);
}

/* --- reading ------------------------------------------------------------------------ */

static void on_registry_read(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct op *op = self;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        fail_registry_op(op, ADMISSION_BROKEN, error->text);
        return;
    }
    if (entry)
        *op->into =
            (struct admission_entry){ entry->revision, arena_str(&op->arena, entry->value) };
    op->next(op);
}

/* An invalid key does not exist. */
static void read_registry_entry(struct op *op, enum store_bucket bucket, const char *key,
                                struct admission_entry *into, step_fn *next)
{
    const struct nats_kv kv = open_registry_bucket(op, bucket);
    struct err err;

    op->into = into;
    op->next = next;
    *into = (struct admission_entry){ 0 };
    if (nats_kv_get(&kv, key, on_registry_read, op, &err) == 0)
        return;
    if (err.code == ERR_INVALID)
        next(op);
    else
        fail_registry_op(op, ADMISSION_BROKEN, err.text);
}

static bool is_enrollment_id(const char *id)
{
    return strncmp(id, ADMISSION_ID, strlen(ADMISSION_ID)) == 0;
}

/* The record that an index names. */
static void read_indexed_record(struct op *op, const struct admission_entry *index,
                                struct admission_entry *into, step_fn *next)
{
    const char *id =
        index->revision != 0 ? arena_strndup(&op->arena, index->value.p, index->value.n) : "";

    if (is_enrollment_id(id))
        read_registry_entry(op, STORE_ENROLLMENTS, id, into, next);
    else
        next(op);
}

/* --- the four calls ----------------------------------------------------------------- */

void registry_nonce(const struct registry *registry, struct str peel_id, struct str public_key,
                    registry_fn *fn, void *self)
{
    struct op *op = new_registry_call(registry, "", fn, self);

    admission_nonce(&op->arena, peel_id, public_key, &op->moment, &op->answer);
    write_next(op);
}

static void submit_read(struct op *op)
{
    admission_submit(&op->arena, &op->request, &op->stored, &op->registry->policy, &op->moment,
                     &op->answer);
    write_next(op);
}

static void submit_read_record(struct op *op)
{
    read_indexed_record(op, &op->stored.index, &op->stored.record, submit_read);
}

static void submit_read_index(struct op *op)
{
    read_registry_entry(op, STORE_ENROLLMENTS, admission_index_key(&op->arena, op->request.peel_id),
                        &op->stored.index, submit_read_record);
}

void registry_submit(const struct registry *registry, struct str body,
                     const struct registry_sender *sender, registry_fn *fn, void *self)
{
    struct op *op = new_registry_call(registry, sender->remote_addr, fn, self);

    op->moment.sponsor = arena_strdup(&op->arena, sender->sponsor);
    op->moment.crowd = sender->crowd ? arena_strdup(&op->arena, sender->crowd) : NULL;
    if (!admission_read(&op->arena, body, &op->request, &op->answer)) {
        finish_registry_op(op);
        return;
    }
    read_registry_entry(op, STORE_ENROLL_CHALLENGES, op->request.challenge_id,
                        &op->stored.challenge, submit_read_index);
}

static void status_read(struct op *op)
{
    admission_status(&op->arena, &op->claim.record, &op->answer);
    finish_registry_op(op);
}

void registry_status(const struct registry *registry, const char *id, registry_fn *fn, void *self)
{
    struct op *op = new_registry_call(registry, "", fn, self);

    if (is_enrollment_id(id))
        read_registry_entry(op, STORE_ENROLLMENTS, id, &op->claim.record, status_read);
    else
        status_read(op);
}

static void creds_read(struct op *op)
{
    admission_creds(&op->arena, &op->claim, &op->registry->policy, &op->moment, &op->answer);
    write_next(op);
}

static void creds_read_index(struct op *op)
{
    struct err err;

    if (op->claim.record.revision != 0 &&
        record_decode(&op->arena, &enrollment_type, 1, op->claim.record.value, &op->record, &err) ==
            0)
        read_registry_entry(op, STORE_ENROLLMENTS,
                            admission_index_key(&op->arena, op->record.peel_id), &op->claim.index,
                            creds_read);
    else
        creds_read(op);
}

void registry_creds(const struct registry *registry, const char *id, struct str authorization,
                    registry_fn *fn, void *self)
{
    struct op *op = new_registry_call(registry, "", fn, self);

    op->claim.id = arena_strdup(&op->arena, id);
    op->claim.authorization = arena_str(&op->arena, authorization);
    if (is_enrollment_id(id))
        read_registry_entry(op, STORE_ENROLLMENTS, op->claim.id, &op->claim.record,
                            creds_read_index);
    else
        creds_read(op);
}

/* --- decisions ---------------------------------------------------------------------- */

static void decide_read(struct op *op)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct admission_entry *entry = &op->stored.record;
    struct enrollment before;
    struct err err;

    if (entry->revision == 0) {
        fail_registry_op(op, ADMISSION_UNKNOWN,
                         arena_printf(&op->arena, "'%s': no such enrollment", op->order.id));
        return;
    }
    if (record_decode(&op->arena, &enrollment_type, 1, entry->value, &before, &err) < 0 ||
        admission_decide(op->decision, &before, &op->order, &op->registry->policy, op->moment.now,
                         &op->record, &err) < 0 ||
        record_encode(&bytes, &enrollment_type, &op->record, &err) < 0) {
        fail_registry_op(op, ADMISSION_REFUSED, err.text);
        return;
    }
    op->answer.changes[0] =
        (struct admission_change){ STORE_ENROLLMENTS, op->record.id, buf_copy(&bytes, &op->arena),
                                   entry->revision };
    op->answer.change_count = 1;
    write_next(op);
}

static void decide_read_record(struct op *op)
{
    read_indexed_record(op, &op->stored.index, &op->stored.record, decide_read);
}

void registry_decide(const struct registry *registry, enum admission_decision decision,
                     const struct enrollment_request *request, registry_decided_fn *fn, void *self)
{
    struct op *op = new_registry_op(registry, "");

    op->decided = fn;
    op->self = self;
    op->decision = decision;
    op->order = (struct enrollment_request){
        .id = arena_strdup(&op->arena, request->id),
        .operator_name = arena_strdup(&op->arena, request->operator_name),
        .reason = arena_strdup(&op->arena, request->reason),
        .force = request->force,
    };
    if (is_enrollment_id(op->order.id))
        read_registry_entry(op, STORE_ENROLLMENTS, op->order.id, &op->stored.record, decide_read);
    else
        read_registry_entry(op, STORE_ENROLLMENTS, admission_index_key(&op->arena, op->order.id),
                            &op->stored.index, decide_read_record);
}
