/* Jobs of dead masters, and their messages in the stream. */
#include <signal.h>
#include <sys/wait.h>

#include "fleet/master/yard.h"
#include "fleet/nats/kv.h"
#include "test.h"

/* Limits of job_replay.c and job_rescue.c: concurrent reads and takeovers. */
#define READERS_MAX 4
#define RESCUES_MAX 8

static void on_created(void *self, const struct nats_error *error, uint64_t revision)
{
    CHECK(!error && revision > 0);
    *(uint64_t *)self = revision;
}

/* Stores a record as a dead master left it; returns its revision. */
static uint64_t store_job(struct yard *yard, struct job *job)
{
    const struct nats_kv jobs = { .js = yard->world.js, .bucket = "jobs" };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct scene *scene = &yard->world.scene;
    uint64_t revision = 0;

    job->deadline = (struct value_time){ clock_wall() / CLOCK_SECOND + 200, 0 };
    CHECK_INT(record_encode(&bytes, &job_type, job, &scene->err), 0);
    CHECK_INT(nats_kv_create(&jobs, job->jid, buf_view(&bytes), on_created, &revision, &scene->err),
              0);
    SCENE_RUN(scene, revision > 0);
    return revision;
}

TEST(a_job_whose_master_died_after_the_claim_is_sent_by_another)
{
    struct yard yard;
    struct job job = make_job("J1");
    uint64_t revision;

    yard_begin(&yard);
    start_peels(&yard);
    job.owner = "master-dead";
    job.status = JOB_CLAIMED;
    revision = store_job(&yard, &job);
    dispatcher_recover(yard.dispatcher, "J1");
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.job.reclaim_count, 1);
    CHECK_INT(yard.requests, 2);
    CHECK_INT(yard.epoch, revision);
    yard_end(&yard);
}

TEST(a_job_taken_over_too_often_fails_with_an_answer_per_target)
{
    struct yard yard;
    struct job job = make_job("J1");

    yard_begin(&yard);
    start_peels(&yard);
    job.owner = "master-dead";
    job.status = JOB_RUNNING;
    job.reclaim_count = 3;
    store_job(&yard, &job);
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

TEST(a_running_job_keeps_its_returns_and_its_epoch_after_a_takeover)
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

TEST(a_master_presumed_dead_releases_the_jobs_taken_over_by_others)
{
    struct yard yard;
    struct job mine = make_job("J1"), taken = make_job("J2");
    struct dispatcher *second;

    yard_begin(&yard);
    yard.returns = false;
    start_peels(&yard);
    dispatch(&yard, yard.dispatcher, &mine);
    dispatch(&yard, yard.dispatcher, &taken);
    SCENE_RUN(&yard.world.scene, yard.requests == 4);
    second = start_master(&yard, "master-2");
    dispatcher_recover(second, "J2");
    SCENE_RUN(&yard.world.scene, (read_job(&yard, "J2"), yard.job.reclaim_count == 1));
    dispatcher_verify(yard.dispatcher, 1);
    SCENE_RUN(&yard.world.scene, !dispatcher_has(yard.dispatcher, STR("J2")));
    CHECK(dispatcher_has(yard.dispatcher, STR("J1")));
    CHECK(dispatcher_has(second, STR("J2")));
    dispatcher_free(second);
    yard_end(&yard);
}

/* The answer to its takeover was lost: the job may have been sent. */
TEST(a_takeover_with_a_lost_answer_sends_no_other_epoch)
{
    struct yard yard;
    struct job job = make_job("J1"), stored = job;
    int64_t begun;

    yard_begin(&yard);
    dispatcher_free(yard.dispatcher);
    yard.world.js.timeout = 2 * CLOCK_SECOND;
    yard.dispatcher = start_master(&yard, "master-1");
    yard.world.js.timeout = 0;
    start_peels(&yard);
    stored.owner = "master-1";
    stored.status = JOB_RUNNING;
    stored.sent_epoch = 5;
    (void)store_job(&yard, &stored);
    (void)kill(yard.world.server.pid, SIGSTOP);
    CHECK_INT(waitpid(yard.world.server.pid, NULL, WUNTRACED), yard.world.server.pid);
    begun = clock_now();
    dispatcher_send(yard.dispatcher, &job, false, on_dispatched, &yard);
    SCENE_RUN(&yard.world.scene,
              clock_now() - begun > 5 * CLOCK_SECOND / 2); /* the first attempt failed */
    (void)kill(yard.world.server.pid, SIGCONT);
    SCENE_RUN(&yard.world.scene, yard.count == 1);
    CHECK_INT(yard.outcome, DISPATCH_SENT);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.epoch, 5);
    yard_end(&yard);
}

/* --- the stream --------------------------------------------------------------- */

static const char *const many[] = { "web-1", "web-2", "db-1", "db-2", "db-3",
                                    "db-4",  "db-5",  "db-6", "db-7", "db-8" };

static struct job make_left(const char *jid, size_t targets)
{
    struct job job = make_job(jid);

    job.targets = (struct param_strs){ targets, many };
    job.owner = "master-dead";
    job.status = JOB_RUNNING;
    return job;
}

/* The stream is read with a consumer then, not message by message. */
TEST(a_job_with_many_targets_keeps_its_returns_after_a_takeover)
{
    struct yard yard;
    struct job job = make_left("J1", ARRAY_LEN(many));

    yard_begin(&yard);
    start_peels(&yard);
    (void)store_job(&yard, &job);
    for (size_t i = 1; i < ARRAY_LEN(many); i++)
        say_return(&yard, "J1", many[i], true);
    dispatcher_recover(yard.dispatcher, "J1");
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.job.return_count, ARRAY_LEN(many));
    CHECK_INT(yard.requests, 1);
    yard_end(&yard);
}

/* Such as: queued, because the return was lost on its way to the master. */
TEST(a_return_is_found_behind_a_made_up_one)
{
    struct yard yard;
    struct job job = make_left("J1", 2);

    yard_begin(&yard);
    start_peels(&yard);
    (void)store_job(&yard, &job);
    say_return(&yard, "J1", "web-1", true);
    say(&yard, "zester.job.J1.return.web-1", &exec_return_type,
        &(struct exec_return){
            .jid = "J1", .peel_id = "web-1", .error = "queued", .unreachable = true });
    dispatcher_recover(yard.dispatcher, "J1");
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.requests, 1);
    yard_end(&yard);
}

TEST(a_takeover_does_not_resend_a_job_to_an_acknowledged_target)
{
    struct yard yard;
    struct job job = make_left("J1", 2);

    yard_begin(&yard);
    start_peels(&yard);
    (void)store_job(&yard, &job);
    say_ack(&yard, "J1", "web-1");
    dispatcher_recover(yard.dispatcher, "J1");
    SCENE_RUN(&yard.world.scene, (read_return(&yard, "J1", "web-2"), yard.returned.success));
    say_return(&yard, "J1", "web-1", true);
    await_end(&yard, "J1");
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    CHECK_INT(yard.requests, 1);
    yard_end(&yard);
}

static const char *name_job(struct yard *yard, size_t number)
{
    return arena_printf(&yard->arena, "J%zu", number);
}

/* Consumers of the stream, by the advisories of the server. */
struct consumers {
    int made, now, most;
};

static void on_made(void *self, const struct nats_msg *msg)
{
    struct consumers *consumers = self;

    (void)msg;
    consumers->made++;
    consumers->now++;
    if (consumers->now > consumers->most)
        consumers->most = consumers->now;
}

static void on_deleted(void *self, const struct nats_msg *msg)
{
    (void)msg;
    ((struct consumers *)self)->now--;
}

static void count_consumers(struct yard *yard, struct consumers *consumers)
{
    struct nats_conn *conn = yard->world.conn.conn;
    struct err *err = &yard->world.scene.err;

    CHECK(nats_sub_new(
        conn,
        &(struct nats_sub_options){ .subject = "$JS.EVENT.ADVISORY.CONSUMER.CREATED.job-events.>",
                                    .message = on_made,
                                    .self = consumers },
        err));
    CHECK(nats_sub_new(
        conn,
        &(struct nats_sub_options){ .subject = "$JS.EVENT.ADVISORY.CONSUMER.DELETED.job-events.>",
                                    .message = on_deleted,
                                    .self = consumers },
        err));
}

/* A dead master leaves all its jobs at once: J0 and so on. */
static void leave_jobs(struct yard *yard, size_t count, size_t targets)
{
    for (size_t i = 0; i < count; i++) {
        struct job job = make_left(name_job(yard, i), targets);

        (void)store_job(yard, &job);
    }
}

static void take_over(struct yard *yard, size_t count, size_t targets)
{
    leave_jobs(yard, count, targets);
    for (size_t i = 0; i < count; i++)
        dispatcher_recover(yard->dispatcher, name_job(yard, i));
    for (size_t i = 0; i < count; i++) {
        await_end(yard, name_job(yard, i));
        CHECK_INT(yard->job.status, JOB_COMPLETE);
        CHECK_INT(yard->job.return_count, targets);
    }
}

TEST(jobs_with_few_targets_are_taken_over_without_a_consumer)
{
    struct consumers consumers = { 0 };
    struct yard yard;

    yard_begin(&yard);
    start_peels(&yard);
    count_consumers(&yard, &consumers);
    take_over(&yard, 20, 2);
    CHECK_INT(consumers.made, 0);
    yard_end(&yard);
}

TEST(takeovers_of_many_jobs_use_few_consumers)
{
    struct consumers consumers = { 0 };
    struct yard yard;

    yard_begin(&yard);
    start_peels(&yard);
    count_consumers(&yard, &consumers);
    take_over(&yard, 20, ARRAY_LEN(many));
    CHECK_INT(consumers.made, 20);
    CHECK(consumers.most <= READERS_MAX);
    yard_end(&yard);
}

/* Maximum number of jobs taken over and not ended. */
static size_t count_taken(const struct yard *yard, size_t *most)
{
    const struct dispatcher_counts *counts = dispatcher_counts(yard->dispatcher);

    if (counts->reclaims - counts->ended[JOB_COMPLETE] > *most)
        *most = counts->reclaims - counts->ended[JOB_COMPLETE];
    return counts->ended[JOB_COMPLETE];
}

/* A master that dies in the middle has taken over only those. */
TEST(abandoned_jobs_are_taken_over_a_few_at_a_time)
{
    const size_t count = 12 * RESCUES_MAX;
    struct yard yard;
    size_t most = 0;

    yard_begin(&yard);
    leave_jobs(&yard, count, 1);
    for (size_t i = 0; i < count; i++)
        say_return(&yard, name_job(&yard, i), many[0], true);
    for (size_t i = 0; i < count; i++)
        dispatcher_recover(yard.dispatcher, name_job(&yard, i));
    SCENE_RUN(&yard.world.scene, count_taken(&yard, &most) == count);
    CHECK(most > 0 && most <= RESCUES_MAX);
    yard_end(&yard);
}

TEST(jobs_queued_for_takeover_are_dropped_with_their_master)
{
    struct yard yard;

    yard_begin(&yard);
    leave_jobs(&yard, 2 * RESCUES_MAX, 1);
    for (size_t i = 0; i < 2 * RESCUES_MAX; i++)
        dispatcher_recover(yard.dispatcher, name_job(&yard, i));
    dispatcher_free(yard.dispatcher);
    yard.dispatcher = NULL;
    read_job(&yard, "J15");
    CHECK_INT(yard.job.reclaim_count, 0);
    yard_end(&yard);
}
