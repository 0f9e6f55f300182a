#include "core/base/arena.h"
#include "core/base/buf.h"
#include "fleet/bus/store.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/services.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "test.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

#define PEELS 60

static const struct master_service *const services[] = {
    &master_roster_service,
    &master_dispatch_service,
    &master_late_service,
};

/* A master of a few services, on a real server. */
struct yard {
    struct js_scene world;
    struct arena arena;
    struct master master;
    int ready;
    struct job job;
    int reads, own_reads; /* of the record */
    int acks, naks;       /* of returns in the stream */
    const char *peels[PEELS];
};

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct yard *)self)->ready++;
}

static void on_read(void *self, const struct nats_msg *msg)
{
    if (str_find(msg->payload, STR("$KV.jobs.J1\""), 0) != STR_NONE)
        ((struct yard *)self)->reads++;
}

static void on_verdict(void *self, const struct nats_msg *msg)
{
    struct yard *yard = self;

    yard->acks += str_starts(msg->payload, STR("+ACK"));
    yard->naks += str_starts(msg->payload, STR("-NAK"));
}

static void overhear(struct yard *yard, const char *subject, nats_msg_fn *fn)
{
    CHECK(
        nats_sub_new(yard->world.conn.conn,
                     &(struct nats_sub_options){ .subject = subject, .message = fn, .self = yard },
                     &yard->world.scene.err));
}

static void start_services(struct yard *yard)
{
    struct master *master = &yard->master;
    struct err *err = &yard->world.scene.err;

    master->loop = yard->world.scene.loop;
    master->js = yard->world.js;
    master->metrics = metrics_new(master_metrics, MASTER_METRICS);
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        void *self = services[i]->open(master, err);

        CHECK(self);
        master->services[master->service_count++] =
            (struct master_running){ .service = services[i], .self = self };
        CHECK_INT(services[i]->start(self, err), 0);
    }
}

static void yard_begin(struct yard *yard)
{
    *yard = (struct yard){ .arena = ARENA_INIT };
    js_scene_begin(&yard->world);
    CHECK_INT(store_ensure(&yard->world.js, &(struct store_options){ 0 }, on_ready, yard,
                           &yard->world.scene.err),
              0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
    for (size_t i = 0; i < PEELS; i++)
        yard->peels[i] = arena_printf(&yard->arena, "web-%zu", i);
    overhear(yard, "$JS.API.STREAM.MSG.GET.KV_jobs", on_read);
    overhear(yard, "$JS.ACK." STORE_JOB_EVENTS "." STORE_RETURNS ".>", on_verdict);
    start_services(yard);
}

static void yard_end(struct yard *yard)
{
    struct master *master = &yard->master;

    for (size_t i = master->service_count; i-- > 0;)
        services[i]->stop(master->services[i].self);
    nats_publisher_free(master->events);
    nats_conn_free(yard->world.conn.conn);
    for (size_t i = master->service_count; i-- > 0;)
        services[i]->free(master->services[i].self);
    metrics_free(master->metrics);
    scene_end(&yard->world.scene);
    server_stop(&yard->world.server, SIGTERM);
    arena_done(&yard->arena);
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    CHECK(!error);
    ((struct yard *)self)->ready++;
}

/* A job that ended without any answer. */
static void store_job(struct yard *yard)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "jobs" };
    const struct job job = { .jid = "J1",
                             .function = "test.ping",
                             .targets = { PEELS, yard->peels },
                             .timeout = CLOCK_SECOND,
                             .user = "root",
                             .owner = "master-dead",
                             .state_id = "ping",
                             .target_expr = "web-*",
                             .status = JOB_FAILED };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);

    CHECK_INT(record_encode(&bytes, &job_type, &job, &yard->world.scene.err), 0);
    yard->ready = 0;
    CHECK_INT(nats_kv_create(&kv, "J1", buf_view(&bytes), on_put, yard, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

static void say_return(struct yard *yard, const char *peel)
{
    const char *subject = arena_printf(&yard->arena, "zester.job.J1.return.%s", peel);
    const struct exec_return ret = {
        .jid = "J1", .peel_id = peel, .success = true, .error = "", .timestamp = { 1, 0 }
    };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct err *err = &yard->world.scene.err;

    CHECK_INT(record_encode(&bytes, &exec_return_type, &ret, err), 0);
    CHECK_INT(nats_publish(
                  yard->world.conn.conn,
                  &(struct nats_pub){ .subject = str_from(subject), .payload = buf_view(&bytes) },
                  err),
              0);
}

static void on_job(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct yard *yard = self;

    CHECK(!error);
    CHECK_INT(record_decode(&yard->arena, &job_type, 1, arena_str(&yard->arena, entry->value),
                            &yard->job, &yard->world.scene.err),
              0);
    yard->ready++;
}

static const struct job *read_job(struct yard *yard)
{
    const struct nats_kv kv = { .js = yard->world.js, .bucket = "jobs", .indirect = true };

    yard->ready = 0;
    yard->own_reads++;
    CHECK_INT(nats_kv_get(&kv, "J1", on_job, yard, &yard->world.scene.err), 0);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
    return &yard->job;
}

TEST(late_returns_correct_the_record_with_a_single_read)
{
    struct yard yard;

    yard_begin(&yard);
    store_job(&yard);
    for (size_t i = 0; i < PEELS; i++)
        say_return(&yard, yard.peels[i]);
    SCENE_RUN(&yard.world.scene, read_job(&yard)->success_count == PEELS);
    CHECK_INT(yard.job.return_count, PEELS);
    CHECK_INT(yard.job.status, JOB_COMPLETE);
    SCENE_RUN(&yard.world.scene, yard.reads > yard.own_reads); /* all reads are seen */
    CHECK(yard.reads - yard.own_reads < PEELS);
    yard_end(&yard);
}

static void on_dispatched(void *self, enum dispatch_outcome outcome, const char *text)
{
    (void)text;
    CHECK_INT(outcome, DISPATCH_SENT);
    ((struct yard *)self)->ready++;
}

static void dispatch_job(struct yard *yard)
{
    const struct job job = { .jid = "J1",
                             .function = "test.ping",
                             .targets = { PEELS, yard->peels },
                             .timeout = 60 * CLOCK_SECOND,
                             .user = "root",
                             .owner = "",
                             .state_id = "ping",
                             .target_expr = "web-*" };

    yard->ready = 0;
    dispatcher_send(master_dispatcher(&yard->master), &job, false, on_dispatched, yard);
    SCENE_RUN(&yard->world.scene, yard->ready == 1);
}

TEST(returns_of_a_just_ended_job_are_not_looked_up_again)
{
    struct yard yard;

    yard_begin(&yard);
    dispatch_job(&yard);
    for (size_t i = 0; i < PEELS; i++)
        say_return(&yard, yard.peels[i]);
    SCENE_RUN(&yard.world.scene, read_job(&yard)->status == JOB_COMPLETE);
    SCENE_RUN(&yard.world.scene, yard.acks + yard.naks == PEELS);
    CHECK_INT(yard.naks, 0);
    yard_end(&yard);
}
