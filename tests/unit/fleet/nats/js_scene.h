/*
 * js_scene - a server with JetStream and a connection to it, for tests.
 */
#ifndef TESTS_UNIT_FLEET_NATS_JS_SCENE_H
#define TESTS_UNIT_FLEET_NATS_JS_SCENE_H

#include "fleet/nats/consumer.h"
#include "fleet/nats/js.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/stream.h"
#include "scene.h"
#include "server.h"

struct js_scene {
    struct server server;
    struct scene scene;
    struct watched conn;
    struct nats_js js;
};

static inline void js_scene_begin_on(struct js_scene *world, const char *store)
{
    world->server = server_new("");
    if (store)
        server_set_store(&world->server, store);
    server_start(&world->server);
    scene_begin(&world->scene);
    watched_connect(&world->scene, &world->conn, world->server.url);
    world->js = (struct nats_js){ .conn = world->conn.conn };
}

static inline void js_scene_begin(struct js_scene *world)
{
    js_scene_begin_on(world, NULL);
}

static inline void js_scene_end(struct js_scene *world)
{
    nats_conn_free(world->conn.conn);
    scene_end(&world->scene);
    server_stop(&world->server, SIGTERM);
}

/* How an operation ended, with numbers of its answer. */
struct js_outcome {
    int count;
    bool failed;
    struct nats_error error;
    int64_t messages, pending, ack_pending, waiting;
    uint64_t seq;
    bool duplicate;
    char payload[256];
};

static inline void js_outcome_set(struct js_outcome *outcome, const struct nats_error *error)
{
    outcome->count++;
    outcome->failed = error != NULL;
    if (error)
        outcome->error = *error;
    else
        outcome->error.text[0] = '\0';
}

static inline void js_on_done(void *self, const struct nats_error *error)
{
    js_outcome_set(self, error);
}

static inline void js_on_stream(void *self, const struct nats_error *error,
                                const struct nats_stream_info *info)
{
    struct js_outcome *outcome = self;

    js_outcome_set(outcome, error);
    if (info) {
        outcome->messages = info->messages;
        outcome->seq = info->last_seq;
    }
}

static inline void js_on_consumer(void *self, const struct nats_error *error,
                                  const struct nats_consumer_info *info)
{
    struct js_outcome *outcome = self;

    js_outcome_set(outcome, error);
    if (info) {
        outcome->pending = info->pending;
        outcome->ack_pending = info->ack_pending;
        outcome->waiting = info->waiting;
    }
}

static inline void js_on_stored(void *self, const struct nats_error *error,
                                const struct nats_stored *stored)
{
    struct js_outcome *outcome = self;

    js_outcome_set(outcome, error);
    if (stored) {
        outcome->seq = stored->seq;
        (void)snprintf(outcome->payload, sizeof(outcome->payload), "%.*s=%.*s",
                       STR_ARG(stored->subject), STR_ARG(stored->payload));
    }
}

static inline void js_on_ack(void *self, const struct nats_error *error,
                             const struct nats_stored_ack *ack)
{
    struct js_outcome *outcome = self;

    js_outcome_set(outcome, error);
    if (ack) {
        outcome->seq = ack->seq;
        outcome->duplicate = ack->duplicate;
    }
}

/* Run `call`, which is given `outcome`, until it has ended. */
#define JS_WAIT(world, outcome, call)                                                              \
    do {                                                                                           \
        *(outcome) = (struct js_outcome){ 0 };                                                     \
        if ((call) < 0)                                                                            \
            CHECK_STR((world)->scene.err.text, "");                                                \
        SCENE_RUN(&(world)->scene, (outcome)->count == 1);                                         \
    } while (0)

/* The same with `done` as the outcome, which must be a success. */
#define JS_OK(world, call)                                                                         \
    do {                                                                                           \
        struct js_outcome done;                                                                    \
        JS_WAIT(world, &done, call);                                                               \
        CHECK_STR(done.error.text, "");                                                            \
    } while (0)

static inline void js_make_stream(struct js_scene *world, const char *name, const char *subject)
{
    JS_OK(world,
          nats_stream_create(
              &world->js, &(struct nats_stream_config){ .name = name, .subjects = { &subject, 1 } },
              js_on_stream, &done, &world->scene.err));
}

#endif
