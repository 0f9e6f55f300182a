#include "master/dispatcher.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "bus/store.h"
#include "data/msgpack.h"
#include "master/roster.h"
#include "nats/js_scene.h"
#include "nats/kv.h"
#include "test.h"
#include "wire/exec.h"
#include "wire/subject.h"

/* A master's dispatcher and peels that are not more than a few lines, on a real server. */
struct yard {
    struct js_scene world;
    struct arena arena;
    struct roster *roster;
    struct dispatcher *dispatcher;
    int ready, count;
    enum dispatch_outcome outcome;
    const char *text;
    /* what peels got and how they answer */
    int requests;
    uint64_t epoch;
    int32_t depths; /* the sum of the chain depths of all requests */
    bool acks, returns, success;
    /* what is stored */
    struct job job;
    struct exec_return returned;
    bool has_active;
};

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct yard *)self)->ready++;
}

static struct dispatcher *start_master(struct yard *yard, const char *id)
{
    struct dispatcher *dispatcher = dispatcher_new(
        &(struct dispatcher_options){
            .js = yard->world.js, .master_id = id, .roster = yard->roster },
        &yard->world.scene.err);

    CHECK(dispatcher);
    return dispatcher;
}

static void yard_begin(struct yard *yard)
{
    *yard = (struct yard){ .arena = ARENA_INIT, .acks = true, .returns = true, .success = true };
    js_scene_begin(&yard->world);
    CHECK_INT(store_ensure(&yard->world.js, &(struct store_options){ 0 }, on_ready, yard,
                           &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
    yard->roster =
        roster_new(&yard->world.js, &(struct roster_options){ 0 }, &yard->world.scene.err);
    CHECK(yard->roster);
    SCENE_RUN(&yard->world.scene, roster_is_seeded(yard->roster));
    yard->dispatcher = start_master(yard, "master-1");
}

static void yard_end(struct yard *yard)
{
    dispatcher_free(yard->dispatcher);
    roster_free(yard->roster);
    js_scene_end(&yard->world);
    arena_done(&yard->arena);
}

/* --- peels -------------------------------------------------------------------------- */

static void say(struct yard *yard, const char *subject, const struct record_type *type,
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

static void say_ack(struct yard *yard, const char *jid, const char *peel)
{
    say(yard, arena_printf(&yard->arena, "zester.job.%s.ack.%s", jid, peel), &exec_ack_type,
        &(struct exec_ack){ .jid = jid, .peel_id = peel, .timestamp = { 1, 0 } });
}

static void say_return(struct yard *yard, const char *jid, const char *peel, bool success)
{
    say(yard, arena_printf(&yard->arena, "zester.job.%s.return.%s", jid, peel), &exec_return_type,
        &(struct exec_return){
            .jid = jid, .peel_id = peel, .success = success, .error = "", .timestamp = { 1, 0 } });
}

static void on_request(void *self, const struct nats_msg *msg)
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

static void start_peels(struct yard *yard)
{
    CHECK(nats_sub_new(yard->world.conn.conn,
                       &(struct nats_sub_options){
                           .subject = "zester.cmd.*", .message = on_request, .self = yard },
                       &yard->world.scene.err));
}

/* --- what is stored ----------------------------------------------------------------- */

static void on_job(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
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

static void read_job(struct yard *yard, const char *jid)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "jobs", .indirect = true };

    yard->ready = 0;
    CHECK_INT(nats_kv_get(&kv, jid, on_job, yard, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

static void on_return_entry(void *self, const struct nats_error *error,
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

static void read_return(struct yard *yard, const char *jid, const char *peel)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "job-returns", .indirect = true };

    yard->ready = 0;
    CHECK_INT(nats_kv_get(&kv, arena_printf(&yard->arena, "%s.%s", jid, peel), on_return_entry,
                          yard, &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

static void on_active(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct yard *yard = self;

    (void)entry;
    yard->has_active = !error;
    yard->ready++;
}

static bool has_active(struct yard *yard, const char *jid)
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
static void await_end(struct yard *yard, const char *jid)
{
    int64_t deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;

    do
        read_job(yard, jid);
    while (!job_status_is_final(yard->job.status) && clock_now() < deadline);
}

/* --- jobs --------------------------------------------------------------------------- */

static const char *const two[] = { "web-1", "web-2" };

static struct job make_job(const char *jid)
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

static void on_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    struct yard *yard = self;

    yard->count++;
    yard->outcome = outcome;
    yard->text = arena_strdup(&yard->arena, text);
}

static void dispatch(struct yard *yard, struct dispatcher *dispatcher, const struct job *job)
{
    yard->count = 0;
    dispatcher_send(dispatcher, job, on_dispatched, yard);
    SCENE_RUN(&yard->world.scene, yard->count == 1);
}

TEST(a_job_is_claimed_sent_answered_and_complete)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    CHECK_INT(yard.outcome, DISPATCH_SENT);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.job.return_count, 2);
    CHECK_INT(yard.job.success_count, 2);
    CHECK_STR(yard.job.owner, "master-1");
    CHECK_INT(yard.requests, 2);
    CHECK(yard.epoch > yard.job.epoch); /* the running revision, the claim's revision */
    CHECK_INT(yard.job.offline_at_dispatch.n, 2);
    read_return(&yard, "J1", "web-2");
    CHECK(yard.returned.success);
    while (has_active(&yard, "J1"))
        ;
    yard_end(&yard);
}

TEST(the_same_job_twice_is_sent_once_and_other_work_under_its_id_is_refused)
{
    struct yard yard;
    struct job job = make_job("J1");
    struct dispatcher *other;

    yard_begin(&yard);
    start_peels(&yard);
    other = start_master(&yard, "master-2");
    dispatch(&yard, yard.dispatcher, &job);
    CHECK_INT(yard.outcome, DISPATCH_SENT);
    dispatch(&yard, yard.dispatcher, &job);
    CHECK_INT(yard.outcome, DISPATCH_DUPLICATE);
    dispatch(&yard, other, &job);
    CHECK_INT(yard.outcome, DISPATCH_DUPLICATE);
    await_end(&yard, "J1");
    dispatch(&yard, other, &job);
    CHECK_INT(yard.outcome, DISPATCH_DUPLICATE);
    job.function = "cmd.run";
    dispatch(&yard, other, &job);
    CHECK_INT(yard.outcome, DISPATCH_CONFLICT);
    CHECK_INT(yard.requests, 2);
    dispatcher_free(other);
    yard_end(&yard);
}

TEST(a_failure_of_a_peel_is_on_record)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    yard.success = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_FAILED);
    CHECK_INT(yard.job.return_count, 2);
    CHECK_INT(yard.job.success_count, 0);
    yard_end(&yard);
}

TEST(a_silent_peel_is_unreachable_after_one_repetition_and_a_late_return_corrects_the_record)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    yard.acks = yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    say_return(&yard, "J1", "web-1", true);
    await_end(&yard, "J1");
    CHECK_INT(yard.requests, 3);
    CHECK_INT(yard.job.status, JOB_FAILED);
    CHECK_INT(yard.job.return_count, 2);
    read_return(&yard, "J1", "web-2");
    CHECK(yard.returned.unreachable);
    CHECK_HAS(yard.returned.error, "UNREACHABLE");
    say_return(&yard, "J1", "web-2", true);
    do
        read_job(&yard, "J1");
    while (yard.job.status != JOB_COMPLETE);
    CHECK_INT(yard.job.success_count, 2);
    read_return(&yard, "J1", "web-2");
    CHECK(!yard.returned.unreachable && yard.returned.success);
    yard_end(&yard);
}

TEST(answers_of_strangers_and_forged_ones_do_not_count)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    say_return(&yard, "J1", "web-3", true);
    say(&yard, "zester.job.J1.return.web-1", &exec_return_type,
        &(struct exec_return){
            .jid = "J1", .peel_id = "web-2", .success = true, .error = "", .timestamp = { 1, 0 } });
    say(&yard, "zester.job.J1.return.web-1", &exec_return_type,
        &(struct exec_return){ .jid = "J1",
                               .peel_id = "web-1",
                               .error = "x",
                               .unreachable = true,
                               .timestamp = { 1, 0 } });
    CHECK_INT(nats_publish(yard.world.conn.conn,
                           &(struct nats_pub){ .subject = STR("zester.job.J1.return.web-1"),
                                               .payload = STR("\x81 nonsense") },
                           &yard.world.scene.err),
              0);
    say_return(&yard, "J1", "web-1", true);
    say_return(&yard, "J1", "web-2", true);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    {
        const struct dispatcher_counts *counts = dispatcher_counts(yard.dispatcher);

        CHECK_INT(counts->dropped[DISPATCHER_SPOOF] + counts->dropped[DISPATCHER_STRANGER], 3);
        CHECK_INT(counts->dropped[DISPATCHER_MALFORMED], 0);
    }
    yard_end(&yard);
}

/* As the consumer of returns does it for what a subscription missed. */
TEST(a_return_that_was_read_from_the_stream_counts_like_one_that_was_heard)
{
    struct yard yard;
    struct job job = make_job("J1");
    const struct exec_return ret = {
        .jid = "J1", .peel_id = "web-1", .success = true, .error = "", .timestamp = { 1, 0 }
    };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);

    yard_begin(&yard);
    yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    CHECK_INT(record_encode(&bytes, &exec_return_type, &ret, &yard.world.scene.err), 0);
    CHECK(dispatcher_hand_return(yard.dispatcher, STR("J1"), STR("zester.job.J1.return.web-1"),
                                 buf_view(&bytes)));
    CHECK(!dispatcher_hand_return(yard.dispatcher, STR("J2"), STR("zester.job.J2.return.web-1"),
                                  buf_view(&bytes))); /* a job of another */
    say_return(&yard, "J1", "web-2", true);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    read_return(&yard, "J1", "web-1");
    CHECK(yard.returned.success);
    CHECK(!dispatcher_hand_return(yard.dispatcher, STR("J1"), STR("zester.job.J1.return.web-1"),
                                  buf_view(&bytes))); /* it has ended: others correct it */
    yard_end(&yard);
}

TEST(a_stopped_job_is_canceled)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    dispatcher_cancel(yard.dispatcher, STR("J1"));
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_CANCELED);
    CHECK_INT(yard.job.return_count, 0);
    for (size_t i = 0; i < ARRAY_LEN(two); i++) {
        read_return(&yard, "J1", two[i]);
        CHECK(yard.returned.overdue);
        CHECK_STR(yard.returned.error, "canceled: no answer before the job was stopped");
    }
    yard_end(&yard);
}

static void on_created(void *self, const struct nats_error *error, uint64_t revision)
{
    CHECK(!error && revision > 0);
    ((struct yard *)self)->ready = 1;
}

TEST(a_job_of_a_master_that_ended_after_the_claim_is_sent_by_another)
{
    struct yard yard;
    struct job job = make_job("J1");
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct nats_kv jobs = { .bucket = "jobs" };

    yard_begin(&yard);
    start_peels(&yard);
    job.owner = "master-dead";
    job.status = JOB_CLAIMED;
    job.deadline = (struct value_time){ clock_wall() / CLOCK_SECOND + 20, 0 };
    CHECK_INT(record_encode(&bytes, &job_type, &job, &yard.world.scene.err), 0);
    jobs.js = yard.world.js;
    yard.ready = 0;
    CHECK_INT(
        nats_kv_create(&jobs, "J1", buf_view(&bytes), on_created, &yard, &yard.world.scene.err), 0);
    SCENE_RUN(&yard.world.scene, yard.ready == 1);
    dispatcher_recover(yard.dispatcher, "J1");
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.job.reclaim_count, 1);
    CHECK_INT(yard.requests, 2);
    yard_end(&yard);
}

TEST(a_job_that_is_taken_over_too_often_fails_with_an_answer_for_each_target)
{
    struct yard yard;
    struct job job = make_job("J1");
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct nats_kv jobs = { .bucket = "jobs" };

    yard_begin(&yard);
    start_peels(&yard);
    job.owner = "master-dead";
    job.status = JOB_RUNNING;
    job.reclaim_count = 3;
    job.deadline = (struct value_time){ clock_wall() / CLOCK_SECOND + 200, 0 };
    CHECK_INT(record_encode(&bytes, &job_type, &job, &yard.world.scene.err), 0);
    jobs.js = yard.world.js;
    yard.ready = 0;
    CHECK_INT(
        nats_kv_create(&jobs, "J1", buf_view(&bytes), on_created, &yard, &yard.world.scene.err), 0);
    SCENE_RUN(&yard.world.scene, yard.ready == 1);
    dispatcher_recover(yard.dispatcher, "J1");
    SCENE_RUN(&yard.world.scene, (read_job(&yard, "J1"), yard.job.return_count == 2));
    CHECK_INT(yard.job.status, JOB_FAILED);
    CHECK_INT(yard.requests, 0);
    for (size_t i = 0; i < ARRAY_LEN(two); i++) {
        read_return(&yard, "J1", two[i]);
        CHECK(yard.returned.unreachable);
    }
    yard_end(&yard);
}

TEST(a_running_job_that_is_taken_over_keeps_its_returns_and_repeats_its_epoch_to_the_silent)
{
    struct yard yard;
    struct job job = make_job("J1");
    struct dispatcher *second;
    uint64_t epoch;

    yard_begin(&yard);
    yard.acks = yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    SCENE_RUN(&yard.world.scene, yard.requests == 2);
    epoch = yard.epoch;
    say_return(&yard, "J1", "web-1", true);
    SCENE_RUN(&yard.world.scene, (read_return(&yard, "J1", "web-1"), yard.returned.success));
    dispatcher_free(yard.dispatcher);
    yard.dispatcher = NULL;
    second = start_master(&yard, "master-2");
    yard.acks = yard.returns = true;
    dispatcher_recover(second, "J1");
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_STR(yard.job.owner, "master-2");
    CHECK_INT(yard.requests, 3);
    CHECK_INT(yard.epoch, epoch);
    dispatcher_free(second);
    yard_end(&yard);
}

/* When it is sent, when it is sent again to a peel that is silent, and by a master that takes it
 * over. */
TEST(the_depth_of_a_chain_is_in_every_request_of_its_job)
{
    struct yard yard;
    struct job job = make_job("rxn-1");
    struct dispatcher *second;

    yard_begin(&yard);
    job.metadata = value_map(value_map_new(&yard.arena, 1));
    value_map_set(&yard.arena, job.metadata.map, value_text(DISPATCHER_DEPTH), value_text("2"));
    yard.acks = yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    SCENE_RUN(&yard.world.scene, yard.requests == 4);
    CHECK_INT(yard.depths, 8);
    dispatcher_free(yard.dispatcher);
    yard.dispatcher = NULL;
    second = start_master(&yard, "master-2");
    yard.acks = yard.returns = true;
    dispatcher_recover(second, "rxn-1");
    await_end(&yard, "rxn-1");
    CHECK(yard.requests > 4);
    CHECK_INT(yard.depths, 2 * yard.requests);
    dispatcher_free(second);
    yard_end(&yard);
}

TEST(a_batch_of_one_with_no_failure_allowed_stops_at_the_first)
{
    struct yard yard;
    struct job job = make_job("J1");
    struct value_map *metadata;

    yard_begin(&yard);
    metadata = value_map_new(&yard.arena, 2);
    value_map_set(&yard.arena, metadata, value_text(DISPATCHER_BATCH), value_text("1"));
    value_map_set(&yard.arena, metadata, value_text(DISPATCHER_FAILURES), value_text("0"));
    job.metadata = value_map(metadata);
    yard.success = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &job);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_FAILED);
    CHECK_INT(yard.job.return_count, 2);
    CHECK_INT(yard.requests, 1);
    read_return(&yard, "J1", "web-2");
    CHECK_HAS(yard.returned.error, "not sent");
    CHECK(!yard.returned.unreachable);
    yard_end(&yard);
}

static const struct {
    const char *jid, *function, *target;
    const char *error;
} bad[] = {
    { "", "test.ping", "a", "is not a valid job id" },
    { "a.b", "test.ping", "a", "is not a valid job id" },
    { "J", "ping", "a", "is not the name of a function" },
    { "J", "Test.ping", "a", "is not the name of a function" },
    { "J", "test.ping; rm", "a", "is not the name of a function" },
    { "J", "test.ping", "a.*", "is not a valid peel id" },
};

TEST(a_job_that_makes_no_sense_is_refused)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct job job = make_job(bad[i].jid);
        struct err err;

        job.function = bad[i].function;
        job.targets = (struct param_strs){ 1, &bad[i].target };
        CHECK_INT(dispatcher_check(&job, &err), -1);
        CHECK_HAS(err.text, bad[i].error);
    }
}
