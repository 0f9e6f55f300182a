#include "fleet/master/jobs/dispatcher.h"

#include "fleet/master/yard.h"
#include "test.h"

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
    CHECK(yard.epoch > 0);
    CHECK_INT(yard.epoch, yard.job.epoch);
    CHECK_INT(yard.job.offline_at_dispatch.n, 2);
    read_return(&yard, "J1", "web-2");
    CHECK(yard.returned.success);
    while (has_active(&yard, "J1"))
        ;
    yard_end(&yard);
}

TEST(a_repeated_job_is_sent_once_and_another_job_with_its_id_is_refused)
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

static void on_write(void *self, const struct nats_msg *msg)
{
    (void)msg;
    ++*(int *)self;
}

TEST(a_job_that_may_have_been_sent_is_read_before_anything_is_written)
{
    struct yard yard;
    struct job job = make_job("J1");
    struct dispatcher *other;
    int writes = 0;

    yard_begin(&yard);
    start_peels(&yard);
    other = start_master(&yard, "master-2");
    yard.is_again = true;
    dispatch(&yard, yard.dispatcher, &job);
    CHECK_INT(yard.outcome, DISPATCH_SENT);
    await_end(&yard, "J1");
    while (has_active(&yard, "J1"))
        ;
    CHECK(nats_sub_new(
        yard.world.conn.conn,
        &(struct nats_sub_options){ .subject = "$KV.jobs.>", .message = on_write, .self = &writes },
        &yard.world.scene.err));
    dispatch(&yard, other, &job);
    CHECK_INT(yard.outcome, DISPATCH_DUPLICATE);
    CHECK_INT(yard.requests, 2);
    CHECK_INT(writes, 0);
    dispatcher_free(other);
    yard_end(&yard);
}

TEST(a_failure_of_a_peel_is_recorded)
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

TEST(answers_of_strangers_and_forged_answers_are_dropped)
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
    say(&yard, "zester.job.J1.return.web-1", &exec_return_type,
        &(struct exec_return){ .jid = "J2",
                               .peel_id = "web-1",
                               .success = false,
                               .error = "",
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

        CHECK_INT(counts->dropped[DISPATCHER_SPOOF] + counts->dropped[DISPATCHER_STRANGER], 4);
        CHECK_INT(counts->dropped[DISPATCHER_MALFORMED], 0);
    }
    yard_end(&yard);
}

/* As the consumer of returns does for missed messages. */
TEST(a_return_read_from_the_stream_counts_like_a_received_one)
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
    CHECK(!dispatcher_knows_return(yard.dispatcher, STR("J1"), STR("web-1")));
    CHECK(dispatcher_hand_return(yard.dispatcher, STR("J1"), STR("zester.job.J1.return.web-1"),
                                 buf_view(&bytes)));
    CHECK(dispatcher_knows_return(yard.dispatcher, STR("J1"), STR("web-1")));
    CHECK(!dispatcher_knows_return(yard.dispatcher, STR("J1"), STR("web-2")));
    CHECK(!dispatcher_hand_return(yard.dispatcher, STR("J2"), STR("zester.job.J2.return.web-1"),
                                  buf_view(&bytes))); /* another master's job */
    say_return(&yard, "J1", "web-2", true);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    read_return(&yard, "J1", "web-1");
    CHECK(yard.returned.success);
    CHECK(!dispatcher_hand_return(yard.dispatcher, STR("J1"), STR("zester.job.J1.return.web-1"),
                                  buf_view(&bytes))); /* it has ended, so others correct it */
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

/* When it is sent, when it is sent again to a peel that is silent, and by a master that takes it
 * over. */
TEST(every_request_of_a_job_has_its_chain_depth)
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

static void on_beaten(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)error;
    (void)revision;
    ((struct yard *)self)->count++;
}

/* Both peels are connected, and their jobs are queued for an hour. */
static void begin_queue(struct yard *yard, struct job *job)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "peel-heartbeat" };

    yard->count = 0;
    for (size_t i = 0; i < ARRAY_LEN(two); i++)
        CHECK_INT(nats_kv_put(&kv, two[i], STR("x"), on_beaten, yard, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, roster_online_count(yard->roster) == 2);
    job->metadata = value_map(value_map_new(&yard->arena, 1));
    value_map_set(&yard->arena, job->metadata.map, value_text(JOB_QUEUE), value_text("3600"));
    yard->returns = false;
    start_peels(yard);
}

TEST(a_peel_outside_its_window_gets_the_same_request_when_it_asks)
{
    struct yard yard;
    struct job job = make_job("J1");
    uint64_t epoch;

    yard_begin(&yard);
    begin_queue(&yard, &job);
    yard.not_before = clock_wall() / CLOCK_SECOND + 2;
    dispatch(&yard, yard.dispatcher, &job);
    SCENE_RUN(&yard.world.scene, yard.requests == 2);
    epoch = yard.epoch;
    do
        read_return(&yard, "J1", "web-1");
    while (strcmp(yard.returned.error, "none") == 0);
    CHECK(yard.returned.queued);
    CHECK(strstr(yard.returned.error, "its maintenance window opens then") != NULL);
    yard.not_before = 0;
    yard.returns = true;
    SCENE_RUN(&yard.world.scene, yard.requests == 4);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.epoch, epoch);
    CHECK_INT(yard.requests, 4);
    yard_end(&yard);
}

TEST(a_peel_whose_window_opens_after_the_queue_time_is_given_up_at_once)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    begin_queue(&yard, &job);
    yard.not_before = clock_wall() / CLOCK_SECOND + 7200;
    dispatch(&yard, yard.dispatcher, &job);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_FAILED);
    read_return(&yard, "J1", "web-2");
    CHECK(strstr(yard.returned.error, "after the time for which the job is queued") != NULL);
    CHECK(!yard.returned.queued);
    yard_end(&yard);
}

TEST(a_batch_of_one_without_allowed_failures_stops_at_the_first)
{
    struct yard yard;
    struct job job = make_job("J1");
    struct value_map *metadata;

    yard_begin(&yard);
    metadata = value_map_new(&yard.arena, 2);
    value_map_set(&yard.arena, metadata, value_text(JOB_BATCH), value_text("1"));
    value_map_set(&yard.arena, metadata, value_text(JOB_BATCH_FAILURES), value_text("0"));
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

TEST(an_invalid_job_is_refused)
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
