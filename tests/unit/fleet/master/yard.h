/*
 * yard - a dispatcher of a master and minimal peels, on a real server.
 */
#ifndef TESTS_UNIT_FLEET_MASTER_YARD_H
#define TESTS_UNIT_FLEET_MASTER_YARD_H

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "test.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/subject.h"

struct yard {
    struct js_scene world;
    struct arena arena;
    struct roster *roster;
    struct dispatcher *dispatcher;
    int ready, count;
    bool is_again; /* jobs may have been sent before */
    enum dispatch_outcome outcome;
    const char *text;
    /* what peels got and how they answer */
    int requests;
    uint64_t epoch;
    int32_t depths; /* the sum of the chain depths of all requests */
    bool acks, returns, success;
    int64_t not_before; /* not 0: acks ask for the request again at that second */
    /* what is stored */
    struct job job;
    struct exec_return returned;
    bool has_active;
};

static inline void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct yard *)self)->ready++;
}

static inline struct dispatcher *start_master(struct yard *yard, const char *id)
{
    struct dispatcher *dispatcher = dispatcher_new(
        &(struct dispatcher_options){
            .js = yard->world.js, .master_id = id, .roster = yard->roster },
        &yard->world.scene.err);

    CHECK(dispatcher);
    return dispatcher;
}

static inline void on_parted(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    CHECK(!error && revision > 0);
}

/* It has ended, and said so: its jobs may be taken over. */
static inline void part_master(struct yard *yard, const char *id)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "master-heartbeat" };

    CHECK_INT(nats_kv_delete(&kv, id, 0, on_parted, NULL, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, !roster_master_lives(yard->roster, str_from(id)));
}

static inline void yard_begin(struct yard *yard)
{
    *yard = (struct yard){ .arena = ARENA_INIT, .acks = true, .returns = true, .success = true };
    js_scene_begin(&yard->world);
    CHECK_INT(store_ensure(&yard->world.js, &(struct store_options){ 0 }, on_ready, yard,
                           &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
    yard->roster = roster_new(&yard->world.js, &(struct roster_options){ .master_id = "observer" },
                              &yard->world.scene.err);
    CHECK(yard->roster);
    SCENE_RUN(&yard->world.scene, roster_is_seeded(yard->roster));
    part_master(yard, "master-1");
    part_master(yard, "master-dead");
    yard->dispatcher = start_master(yard, "master-1");
}

static inline void yard_end(struct yard *yard)
{
    dispatcher_free(yard->dispatcher);
    roster_free(yard->roster);
    js_scene_end(&yard->world);
    arena_done(&yard->arena);
}

/* --- peels -------------------------------------------------------------------------- */

static inline void say(struct yard *yard, const char *subject, const struct record_type *type,
                       const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct err err;

    CHECK_INT(record_encode(&bytes, type, record, &err), 0);
    CHECK_INT(nats_publish(
                  yard->world.conn.conn,
                  &(struct nats_pub){ .subject = str_from(subject), .payload = buf_view(&bytes) },
                  &err),
              0);
}

static inline void say_ack(struct yard *yard, const char *jid, const char *peel)
{
    say(yard, arena_printf(&yard->arena, "zester.job.%s.ack.%s", jid, peel), &exec_ack_type,
        &(struct exec_ack){ .jid = jid,
                            .peel_id = peel,
                            .timestamp = { 1, 0 },
                            .not_before = { yard->not_before, 0 } });
}

static inline void say_return(struct yard *yard, const char *jid, const char *peel, bool success)
{
    say(yard, arena_printf(&yard->arena, "zester.job.%s.return.%s", jid, peel), &exec_return_type,
        &(struct exec_return){
            .jid = jid, .peel_id = peel, .success = success, .error = "", .timestamp = { 1, 0 } });
}

static inline void on_request(void *self, const struct nats_msg *msg)
{
    struct yard *yard = self;
    struct exec_request request;
    enum subject_kind kind;
    struct subject_names names;
    const char *peel;
    struct err err;

    CHECK(subject_parse(msg->subject, &kind, &names));
    CHECK_INT(record_decode(&yard->arena, &exec_request_type, 1, msg->payload, &request, &err), 0);
    peel = arena_strndup(&yard->arena, names.peel.p, names.peel.n);
    yard->requests++;
    yard->epoch = request.epoch;
    yard->depths += request.rdepth;
    if (yard->acks)
        say_ack(yard, request.jid, peel);
    if (yard->returns)
        say_return(yard, request.jid, peel, yard->success);
}

static inline void start_peels(struct yard *yard)
{
    CHECK(nats_sub_new(yard->world.conn.conn,
                       &(struct nats_sub_options){
                           .subject = "zester.cmd.*", .message = on_request, .self = yard },
                       &yard->world.scene.err));
}

/* --- what is stored ----------------------------------------------------------------- */

static inline void on_job(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct yard *yard = self;
    struct err err;

    yard->job = (struct job){ 0 };
    if (!error)
        CHECK_INT(record_decode(&yard->arena, &job_type, 1, arena_str(&yard->arena, entry->value),
                                &yard->job, &err),
                  0);
    yard->ready++;
}

static inline void read_job(struct yard *yard, const char *jid)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "jobs", .indirect = true };

    yard->ready = 0;
    CHECK_INT(nats_kv_get(&kv, jid, on_job, yard, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

static inline void on_return_entry(void *self, const struct nats_error *error,
                                   const struct nats_kv_entry *entry)
{
    struct yard *yard = self;
    struct err err;

    yard->returned = (struct exec_return){ .error = "none" };
    if (!error)
        CHECK_INT(record_decode(&yard->arena, &exec_return_type, 1,
                                arena_str(&yard->arena, entry->value), &yard->returned, &err),
                  0);
    yard->ready++;
}

static inline void read_return(struct yard *yard, const char *jid, const char *peel)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "job-returns", .indirect = true };

    yard->ready = 0;
    CHECK_INT(nats_kv_get(&kv, arena_printf(&yard->arena, "%s.%s", jid, peel), on_return_entry,
                          yard, &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

static inline void on_active(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct yard *yard = self;

    (void)entry;
    yard->has_active = !error;
    yard->ready++;
}

static inline bool has_active(struct yard *yard, const char *jid)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "jobs", .indirect = true };

    yard->ready = 0;
    CHECK_INT(nats_kv_get(&kv, arena_printf(&yard->arena, "active.%s", jid), on_active, yard,
                          &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
    return yard->has_active;
}

/* Until the record has a final status. */
static inline void await_end(struct yard *yard, const char *jid)
{
    int64_t deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;

    do
        read_job(yard, jid);
    while (!job_status_is_final(yard->job.status) && clock_now() < deadline);
}

/* --- jobs --------------------------------------------------------------------------- */

static const char *const two[] = { "web-1", "web-2" };

static inline struct job make_job(const char *jid)
{
    return (struct job){ .jid = jid,
                         .function = "test.ping",
                         .targets = { 2, two },
                         .timeout = 20 * CLOCK_SECOND,
                         .user = "root",
                         .owner = "",
                         .state_id = "ping",
                         .target_expr = "web-*" };
}

static inline void on_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct yard *yard = self;

    yard->count++;
    yard->outcome = outcome;
    yard->text = arena_strdup(&yard->arena, text);
}

static inline void dispatch(struct yard *yard, struct dispatcher *dispatcher, const struct job *job)
{
    yard->count = 0;
    dispatcher_send(dispatcher, job, yard->is_again, on_dispatched, yard);
    SCENE_RUN(&yard->world.scene, yard->count == 1);
}

#endif
