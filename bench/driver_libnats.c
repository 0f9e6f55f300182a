/* driver_libnats MODE URL COUNT: the work of driver_nats, by libnats. Modes: publish pull both
 * request pipeline put get update idle again. Built where libnats is installed. */
#include <nats/nats.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nats_work.h"

#define THREADS 32
/* A server on a busy machine is slow, not gone. */
#define STALL_MS 60000

static char payload[PAYLOAD];
static const char *url;
static uint64_t count;

static void check(natsStatus status, const char *what)
{
    if (status == NATS_OK)
        return;
    (void)fprintf(stderr, "driver_libnats: %s: %s\n", what, natsStatus_GetText(status));
    exit(1);
}

/* Commands leave at once where an answer is waited for; the default gathers them for a millisecond.
 */
static natsConnection *open_conn(bool asap)
{
    natsConnection *conn = NULL;
    natsOptions *options = NULL;

    check(natsOptions_Create(&options), "options");
    check(natsOptions_SetURL(options, url), "url");
    check(natsOptions_SetSendAsap(options, asap), "asap");
    check(natsOptions_SetMaxReconnect(options, -1), "reconnect");
    check(natsOptions_SetReconnectWait(options, 250), "reconnect");
    check(natsConnection_Connect(&conn, options), "connect");
    natsOptions_Destroy(options);
    return conn;
}

static jsCtx *open_js(natsConnection *conn)
{
    jsOptions options;
    jsCtx *js = NULL;

    check(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = WINDOW;
    options.PublishAsync.StallWait = STALL_MS;
    check(natsConnection_JetStream(&js, conn, &options), "jetstream");
    return js;
}

static void publish_by(natsConnection *conn)
{
    jsCtx *js = open_js(conn);

    for (uint64_t i = 0; i < count; i++)
        check(js_PublishAsync(js, "bench.a", payload, PAYLOAD, NULL), "publish");
    check(js_PublishAsyncComplete(js, NULL), "complete");
}

static void publish(void)
{
    publish_by(open_conn(false));
}

static void pull_by(natsConnection *conn)
{
    jsCtx *js = open_js(conn);
    natsSubscription *sub = NULL;
    jsSubOptions options;

    check(jsSubOptions_Init(&options), "options");
    options.Stream = "BENCH";
    options.Consumer = "c";
    check(js_PullSubscribe(&sub, js, "bench.a", "c", NULL, &options, NULL), "subscribe");
    for (uint64_t got = 0; got < count;) {
        natsMsgList list;

        check(natsSubscription_Fetch(&list, sub, BATCH, 5000, NULL), "fetch");
        for (int i = 0; i < list.Count; i++)
            check(natsMsg_Ack(list.Msgs[i], NULL), "ack");
        got += (uint64_t)list.Count;
        natsMsgList_Destroy(&list);
    }
    check(natsConnection_Flush(conn), "flush");
}

static void pull(void)
{
    pull_by(open_conn(false));
}

static void *run_pull(void *conn)
{
    pull_by(conn);
    return NULL;
}

static void both(void)
{
    natsConnection *conn = open_conn(false);
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_pull, conn) != 0)
        exit(1);
    publish_by(conn);
    (void)pthread_join(thread, NULL);
}

static void ask(natsConnection *conn, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        natsMsg *reply = NULL;

        check(natsConnection_Request(&reply, conn, "bench.echo", payload, PAYLOAD, 10000),
              "request");
        natsMsg_Destroy(reply);
    }
}

static void request(void)
{
    ask(open_conn(true), count);
}

static void *run_ask(void *conn)
{
    ask(conn, count / THREADS);
    return NULL;
}

static void pipeline(void)
{
    natsConnection *conn = open_conn(false);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_ask, conn) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static kvStore *open_kv(void)
{
    kvStore *kv = NULL;

    check(js_KeyValue(&kv, open_js(open_conn(true)), "bench"), "bucket");
    return kv;
}

static void put(void)
{
    kvStore *kv = open_kv();

    for (uint64_t i = 0; i < count; i++) {
        char key[24];

        (void)snprintf(key, sizeof(key), "k%llu", (unsigned long long)(i % KEYS));
        check(kvStore_Put(NULL, kv, key, payload, PAYLOAD), "put");
    }
}

static void get(void)
{
    kvStore *kv = open_kv();

    for (uint64_t i = 0; i < count; i++) {
        kvEntry *entry = NULL;

        check(kvStore_Get(&entry, kv, "k1"), "get");
        kvEntry_Destroy(entry);
    }
}

static void update(void)
{
    kvStore *kv = open_kv();
    uint64_t revision;

    check(kvStore_Put(&revision, kv, "cas", payload, PAYLOAD), "put");
    for (uint64_t i = 0; i < count; i++)
        check(kvStore_Update(&revision, kv, "cas", payload, PAYLOAD, revision), "update");
}

static void on_message(natsConnection *conn, natsSubscription *sub, natsMsg *msg, void *self)
{
    (void)conn;
    (void)sub;
    (void)self;
    natsMsg_Destroy(msg);
}

static natsConnection **conns;

static void idle(void)
{
    conns = calloc(count, sizeof(natsConnection *));
    for (uint64_t i = 0; i < count; i++) {
        natsSubscription *sub = NULL;

        conns[i] = open_conn(true);
        check(natsConnection_Subscribe(&sub, conns[i], "idle", on_message, NULL), "subscribe");
    }
}

static void again(void)
{
    idle();
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (uint64_t i = 0; i < count;) {
        natsStatistics *stats = NULL;
        uint64_t back = 0;

        check(natsStatistics_Create(&stats), "statistics");
        check(natsConnection_GetStats(conns[i], stats), "statistics");
        check(natsStatistics_GetCounts(stats, NULL, NULL, NULL, NULL, &back), "statistics");
        natsStatistics_Destroy(stats);
        if (back > 0 && natsConnection_Status(conns[i]) == NATS_CONN_STATUS_CONNECTED)
            i++;
        else
            (void)usleep(1000);
    }
}

static const struct {
    const char *name;
    void (*fn)(void);
} modes[] = {
    { "publish", publish },   { "pull", pull },   { "both", both }, { "request", request },
    { "pipeline", pipeline }, { "put", put },     { "get", get },   { "update", update },
    { "idle", idle },         { "again", again },
};

int main(int argc, char **argv)
{
    struct rlimit limit;

    if (argc != 4)
        return 2;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    url = argv[2];
    count = strtoull(argv[3], NULL, 10);
    memset(payload, 'x', sizeof(payload));
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].fn();
            (void)fflush(stdout);
            _exit(0);
        }
    return 2;
}
