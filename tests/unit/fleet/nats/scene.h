/*
 * scene - a loop, a hub and what happened, for tests of the client.
 *
 *     SCENE_RUN(&scene, condition)     turns the loop until it holds
 */
#ifndef TESTS_UNIT_FLEET_NATS_SCENE_H
#define TESTS_UNIT_FLEET_NATS_SCENE_H

#include <stdio.h>

#include "core/base/err.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/request.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "test.h"

#define SCENE_SECONDS 60

struct scene {
    struct loop *loop;
    struct nats_hub *hub;
    struct timer tick;
    struct err err;
};

static inline void scene_begin(struct scene *scene)
{
    *scene = (struct scene){ .loop = loop_new(&scene->err) };
    CHECK(scene->loop != NULL);
    scene->hub = nats_hub_new(scene->loop);
}

static inline void scene_end(struct scene *scene)
{
    nats_hub_free(scene->hub);
    loop_free(scene->loop);
}

static inline void scene_on_tick(struct timer *timer)
{
    loop_stop(container_of(timer, struct scene, tick)->loop);
}

/* Everything that happens within a millisecond. */
static inline void scene_turn(struct scene *scene)
{
    timer_set(loop_timers(scene->loop), &scene->tick, clock_now() + CLOCK_MS, scene_on_tick);
    loop_run(scene->loop);
}

#define SCENE_RUN(scene, condition)                                                                \
    do {                                                                                           \
        int64_t scene_deadline = clock_now() + SCENE_SECONDS * CLOCK_SECOND;                       \
        while (!(condition) && clock_now() < scene_deadline)                                       \
            scene_turn(scene);                                                                     \
        test_check(condition, "in time: " #condition, __FILE__, __LINE__);                         \
    } while (0)

/* A connection that counts its events. */
struct watched {
    struct nats_conn *conn;
    struct nats_listener listener;
    int counts[NATS_EVENT_WRITABLE + 1];
    char error[NATS_ERROR_TEXT_SIZE];  /* of the last event that had one */
    char broken[NATS_ERROR_TEXT_SIZE]; /* of the first disconnect; attempts that follow have others
                                        */
    enum nats_fault fault;
};

static inline void watched_on_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct watched *watched = container_of(listener, struct watched, listener);

    if (event->kind == NATS_EVENT_DISCONNECTED && !watched->counts[event->kind])
        (void)snprintf(watched->broken, sizeof(watched->broken), "%s", event->error->text);
    watched->counts[event->kind]++;
    if (event->error) {
        (void)snprintf(watched->error, sizeof(watched->error), "%s", event->error->text);
        watched->fault = event->error->fault;
    }
}

static inline void watched_start(struct scene *scene, struct watched *watched,
                                 const struct nats_options *options)
{
    *watched = (struct watched){ .conn = nats_conn_new(scene->hub, options, &scene->err) };
    if (!watched->conn)
        CHECK_STR(scene->err.text, "");
    nats_listen(watched->conn, &watched->listener, watched_on_event);
}

/* Plain, to one server, and connected when it returns. */
static inline void watched_connect(struct scene *scene, struct watched *watched, const char *url)
{
    watched_start(scene, watched,
                  &(struct nats_options){ .servers = &url,
                                          .server_count = 1,
                                          .plain = true,
                                          .backoff_min = 5 * CLOCK_MS,
                                          .backoff_max = 50 * CLOCK_MS });
    SCENE_RUN(scene, watched->counts[NATS_EVENT_CONNECTED] > 0);
}

/* What came, as "subject=payload " one after the other. */
struct inbox {
    struct buf text;
    int count;
};

static inline void inbox_on_message(void *self, const struct nats_msg *msg)
{
    struct inbox *inbox = self;

    inbox->count++;
    buf_printf(&inbox->text, "%.*s=%.*s ", STR_ARG(msg->subject), STR_ARG(msg->payload));
}

static inline struct nats_sub *inbox_open(struct nats_conn *conn, struct inbox *inbox,
                                          const char *subject, const char *queue)
{
    struct nats_sub *sub;
    struct err err;

    *inbox = (struct inbox){ .text = BUF_INIT(BUF_NO_LIMIT) };
    sub = nats_sub_new(
        conn,
        &(struct nats_sub_options){
            .subject = subject, .queue = queue, .message = inbox_on_message, .self = inbox },
        &err);
    CHECK(sub != NULL);
    return sub;
}

static inline void publish_text(struct nats_conn *conn, const char *subject, const char *text)
{
    struct err err;

    CHECK_INT(
        nats_publish(conn,
                     &(struct nats_pub){ .subject = str_from(subject), .payload = str_from(text) },
                     &err),
        0);
}

/* How an operation ended. */
struct scene_outcome {
    int count;
    bool failed;
    struct nats_error error;
    struct buf payload;
};

static inline void outcome_on_done(void *self, const struct nats_error *error)
{
    struct scene_outcome *outcome = self;

    outcome->count++;
    outcome->failed = error != NULL;
    if (error)
        outcome->error = *error;
}

static inline void outcome_on_reply(void *self, const struct nats_error *error,
                                    const struct nats_msg *msg)
{
    struct scene_outcome *outcome = self;

    outcome_on_done(self, error);
    outcome->payload.max = BUF_NO_LIMIT;
    buf_clear(&outcome->payload);
    if (msg)
        buf_add_str(&outcome->payload, msg->payload);
}

/* Until the server has seen everything. */
static inline void flush_conn(struct scene *scene, struct nats_conn *conn)
{
    struct scene_outcome outcome = { 0 };

    CHECK_INT(nats_flush(conn, outcome_on_done, &outcome, &scene->err), 0);
    SCENE_RUN(scene, outcome.count == 1);
    CHECK(!outcome.failed);
}

#endif
