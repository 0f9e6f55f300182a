/*
 * Messages are published and consumed at once while the server is killed again and again. Every
 * message that was acknowledged must be in the stream once, in the order of its subject, and must
 * have been delivered; nothing may grow.
 *
 *     NATS_FAULT="1000000 50" build/release/tests/unit/fleet/nats/test_fault     messages and kills
 */
#include <malloc.h>
#include <unistd.h>

#include "core/base/number.h"
#include "js_scene.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/puller.h"
#include "core/sys/chance.h"

#define MESSAGES   20000
#define KILLS      4
#define SUBJECTS   16
#define PAYLOAD    300
#define BATCH      500
#define GROWTH_MAX ((size_t)4 << 20)
/* How long a run may take whose size was asked for. */
#define WISH_SECONDS 7200

struct fault {
    struct nats_conn *conn;
    struct nats_publisher *publisher;
    struct nats_puller *puller;
    uint64_t messages, sent, acked, failed, delivered, again, troubles;
    uint64_t *seqs; /* of each message in the stream, as it was delivered; 0: not yet */
    uint64_t *acks; /* the same, as it was acknowledged */
    uint64_t limit; /* what may be sent now */
};

struct ticket {
    struct fault *fault;
    uint64_t number;
};

static void on_ack(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct ticket *ticket = self;

    ticket->fault->acked += !error;
    ticket->fault->failed += error != NULL;
    if (ack)
        ticket->fault->acks[ticket->number] = ack->seq;
    free(ticket);
}

static bool send_one(struct fault *fault)
{
    char payload[PAYLOAD] = "", id[32], subject[32];
    struct ticket *ticket = mem_alloc(sizeof(*ticket));
    struct err err;

    *ticket = (struct ticket){ fault, fault->sent };
    (void)snprintf(payload, sizeof(payload), "%llu ", (unsigned long long)fault->sent);
    (void)snprintf(id, sizeof(id), "m%llu", (unsigned long long)fault->sent);
    (void)snprintf(subject, sizeof(subject), "s.%llu",
                   (unsigned long long)(fault->sent % SUBJECTS));
    if (nats_publisher_send(fault->publisher,
                            &(struct nats_store){ .subject = str_from(subject),
                                                  .payload = { payload, sizeof(payload) },
                                                  .id = str_from(id) },
                            on_ack, ticket, &err) == 0) {
        fault->sent++;
        return true;
    }
    CHECK_INT(err.code, ERR_BUSY);
    free(ticket);
    return false;
}

static void on_ready(void *self)
{
    struct fault *fault = self;

    while (fault->sent < fault->limit && send_one(fault))
        ;
}

static void on_message(void *self, const struct nats_msg *msg)
{
    struct fault *fault = self;
    struct str rest = msg->payload;
    struct nats_delivery delivery;
    uint64_t number;
    struct err err;

    CHECK_INT(number_parse_uint(str_cut(&rest, ' '), &number, &err), 0);
    CHECK(nats_delivery_parse(msg->reply, &delivery) && number < fault->messages);
    if (fault->seqs[number] == 0)
        fault->delivered++;
    else
        fault->again++;
    CHECK(fault->seqs[number] == 0 || fault->seqs[number] == delivery.stream_seq);
    fault->seqs[number] = delivery.stream_seq;
    (void)nats_ack(fault->conn, msg->reply, &err); /* one that is lost comes again */
    nats_puller_done(fault->puller, 1);
}

static void on_trouble(void *self, const struct nats_error *error)
{
    (void)error;
    ((struct fault *)self)->troubles++;
}

static void on_failed(void *self, const struct nats_error *error)
{
    (void)self;
    CHECK_STR(error->text, "");
}

static void start(struct js_scene *world, struct fault *fault)
{
    js_make_stream(world, "S", "s.>");
    JS_OK(world,
          nats_consumer_ensure(&world->js, "S",
                               &(struct nats_consumer_config){ .name = "c",
                                                               .durable = true,
                                                               .ack_wait = 2 * CLOCK_SECOND,
                                                               .max_ack_pending = 2 * BATCH },
                               js_on_consumer, &done, &world->scene.err));
    fault->conn = world->conn.conn;
    fault->seqs = mem_zalloc(fault->messages * sizeof(*fault->seqs));
    fault->acks = mem_zalloc(fault->messages * sizeof(*fault->acks));
    fault->publisher = nats_publisher_new(
        &world->js, &(struct nats_publisher_options){
                        .window = 512, .queue_max = 1024, .ready = on_ready, .self = fault });
    fault->puller = nats_puller_new(&world->js,
                                    &(struct nats_puller_options){ .stream = "S",
                                                                   .consumer = "c",
                                                                   .batch = BATCH,
                                                                   .expires = 2 * CLOCK_SECOND,
                                                                   .heartbeat = 500 * CLOCK_MS,
                                                                   .message = on_message,
                                                                   .trouble = on_trouble,
                                                                   .failed = on_failed,
                                                                   .self = fault },
                                    &world->scene.err);
    CHECK(fault->puller != NULL);
}

static void check_order(const struct fault *fault)
{
    uint64_t last[SUBJECTS] = { 0 };

    for (uint64_t i = 0; i < fault->messages; i++) {
        CHECK(fault->seqs[i] != 0 && fault->seqs[i] == fault->acks[i]);
        CHECK(fault->seqs[i] > last[i % SUBJECTS]);
        last[i % SUBJECTS] = fault->seqs[i];
    }
}

static void read_wish(uint64_t *messages, uint64_t *kills)
{
    const char *text = getenv("NATS_FAULT");
    struct str rest = str_from(text ? text : "");
    struct err err;

    *messages = MESSAGES;
    *kills = KILLS;
    if (!text)
        return;
    (void)alarm(WISH_SECONDS);
    CHECK(number_parse_uint(str_cut(&rest, ' '), messages, &err) == 0 && rest.p &&
          number_parse_uint(rest, kills, &err) == 0 && *messages > 0);
}

TEST(kills_of_the_server_lose_nothing_double_nothing_and_keep_the_order)
{
    struct fault fault = { 0 };
    struct js_outcome outcome;
    struct js_scene world;
    uint64_t kills;
    size_t before = 0;

    read_wish(&fault.messages, &kills);
    js_scene_begin(&world);
    start(&world, &fault);
    for (uint64_t i = 1; i <= kills + 1; i++) {
        uint64_t part = fault.messages * i / (kills + 1);
        uint64_t target = part - chance_number() % 1000; /* in the middle of it */

        fault.limit = part;
        on_ready(&fault);
        SCENE_RUN(&world.scene, fault.acked >= target);
        if (i == 2)
            before = mallinfo2().uordblks;
        if (i > kills)
            break;
        server_stop(&world.server, SIGKILL);
        server_start(&world.server);
    }
    SCENE_RUN(&world.scene, fault.acked == fault.messages);
    SCENE_RUN(&world.scene, fault.delivered == fault.messages);
    CHECK_INT(fault.failed, 0);
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "S", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, fault.messages);
    check_order(&fault);
    CHECK(mallinfo2().uordblks < before + GROWTH_MAX); /* always true where malloc is replaced */
    if (getenv("NATS_FAULT"))
        (void)fprintf(
            stderr,
            "%llu messages, %llu kills, %llu redelivered, %llu troubles, heap %zu -> %zu KiB\n",
            (unsigned long long)fault.messages, (unsigned long long)kills,
            (unsigned long long)fault.again, (unsigned long long)fault.troubles, before >> 10,
            mallinfo2().uordblks >> 10);
    nats_puller_free(fault.puller);
    nats_publisher_free(fault.publisher);
    free(fault.seqs);
    free(fault.acks);
    js_scene_end(&world);
}
