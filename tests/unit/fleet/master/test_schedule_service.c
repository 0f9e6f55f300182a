#include "fleet/master/services.h"
#include "yard.h"

/* A dispatcher, and a master with only this service. */
struct post {
    struct yard yard;
    struct master master;
    void *self;
};

static void post_begin(struct post *post)
{
    struct err *err = &post->yard.world.scene.err;

    *post = (struct post){ 0 };
    yard_begin(&post->yard);
    post->master.loop = post->yard.world.scene.loop;
    post->master.js = post->yard.world.js;
    post->master.metrics = metrics_new(master_metrics, MASTER_METRICS);
    post->self = master_schedule_service.open(&post->master, err);
    CHECK(post->self);
    CHECK_INT(master_schedule_service.start(post->self, err), 0);
}

static void post_end(struct post *post)
{
    master_schedule_service.stop(post->self);
    dispatcher_free(post->yard.dispatcher);
    roster_free(post->yard.roster);
    nats_conn_free(post->yard.world.conn.conn);
    master_schedule_service.free(post->self);
    metrics_free(post->master.metrics);
    scene_end(&post->yard.world.scene);
    server_stop(&post->yard.world.server, SIGTERM);
    arena_done(&post->yard.arena);
}

static struct job_scheduled make_result(const char *jid, bool success)
{
    return (struct job_scheduled){ .jid = jid,
                                   .entry = "converge",
                                   .module = "state.highstate",
                                   .success = success,
                                   .error = success ? "" : "it failed",
                                   .duration = 5 * CLOCK_SECOND,
                                   .timestamp = { 1000, 0 } };
}

/* A peel reports a scheduled run. */
static void say_result(struct post *post, const char *subject_jid,
                       const struct job_scheduled *result)
{
    say(&post->yard, arena_printf(&post->yard.arena, "zester.job.%s.schedule.web-1", subject_jid),
        &job_scheduled_type, result);
}

static void await_return(struct post *post, const char *jid, const char *peel)
{
    int64_t deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;

    do
        read_return(&post->yard, jid, peel);
    while (post->yard.returned.jid == NULL && clock_now() < deadline);
}

static double count_drops(struct post *post, const char *reason)
{
    return metrics_value(post->master.metrics, MASTER_JOB_DROPPED, reason, NULL);
}

TEST(a_schedule_result_becomes_an_ended_job_with_the_return_of_its_peel)
{
    struct post post;
    const struct job_scheduled good = make_result("J1", true), bad = make_result("J2", false);

    post_begin(&post);
    say_result(&post, "J1", &good);
    say_result(&post, "J2", &bad);
    await_return(&post, "J1", "web-1");
    CHECK(post.yard.returned.success);
    await_return(&post, "J2", "web-1");
    CHECK(!post.yard.returned.success);
    CHECK_STR(post.yard.returned.error, "it failed");
    read_job(&post.yard, "J2");
    CHECK_INT(post.yard.job.status, JOB_FAILED);
    read_job(&post.yard, "J1");
    CHECK_INT(post.yard.job.status, JOB_COMPLETE);
    CHECK_STR(post.yard.job.function, "state.highstate");
    CHECK_STR(post.yard.job.user, "schedule:converge");
    CHECK_STR(value_get_text(&post.yard.job.metadata, "source"), "schedule");
    CHECK_STR(value_get_text(&post.yard.job.metadata, "entry"), "converge");
    CHECK_INT(post.yard.job.targets.n, 1);
    CHECK_STR(post.yard.job.targets.p[0], "web-1");
    CHECK_INT(post.yard.job.created.seconds, 995);
    CHECK_INT(post.yard.job.success_count, 1);
    CHECK(!has_active(&post.yard, "J1"));
    post_end(&post);
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    CHECK(!error);
    ((struct yard *)self)->ready++;
}

static void store_record(struct post *post, const struct job *job)
{
    const struct nats_kv kv = { .js = post->yard.world.js, .bucket = "jobs" };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err *err = &post->yard.world.scene.err;

    post->yard.ready = 0;
    CHECK_INT(record_encode(&bytes, &job_type, job, err), 0);
    CHECK_INT(nats_kv_put(&kv, job->jid, buf_view(&bytes), on_put, &post->yard, err), 0);
    SCENE_RUN(&post->yard.world.scene, post->yard.ready == 1);
}

TEST(a_result_with_a_foreign_or_second_id_is_dropped)
{
    struct post post;
    const struct job job = make_job("J1");
    const struct job_scheduled foreign = make_result("J1", true), other = make_result("J2", true),
                               good = make_result("J4", true);

    post_begin(&post);
    store_record(&post, &job);
    say_result(&post, "J1", &foreign);
    say_result(&post, "J3", &other);
    say(&post.yard, "zester.job.J3.schedule.web-1", &exec_ack_type,
        &(struct exec_ack){ .jid = "J3", .peel_id = "web-1", .timestamp = { 1, 0 } });
    say_result(&post, "J4", &good);
    await_return(&post, "J4", "web-1");
    SCENE_RUN(&post.yard.world.scene, count_drops(&post, "stranger") == 1);
    CHECK_INT(count_drops(&post, "spoof"), 1);
    CHECK_INT(count_drops(&post, "malformed"), 1);
    read_return(&post.yard, "J1", "web-1");
    CHECK(!post.yard.returned.jid);
    read_job(&post.yard, "J1");
    CHECK_STR(post.yard.job.function, "test.ping");
    read_job(&post.yard, "J3");
    CHECK(!post.yard.job.jid);
    post_end(&post);
}

TEST(a_redelivered_result_adds_a_missing_return_to_its_record)
{
    struct post post;
    const struct job_scheduled good = make_result("J1", true);
    struct job job = make_job("J1");
    struct value metadata;

    post_begin(&post);
    metadata = value_map(value_map_new(&post.yard.arena, 1));
    value_map_set(&post.yard.arena, metadata.map, value_text(JOB_SOURCE),
                  value_text(JOB_SOURCE_SCHEDULE));
    job.targets.n = 1;
    job.status = JOB_COMPLETE;
    job.metadata = metadata;
    store_record(&post, &job);
    say_result(&post, "J1", &good);
    await_return(&post, "J1", "web-1");
    CHECK(post.yard.returned.success);
    post_end(&post);
}
