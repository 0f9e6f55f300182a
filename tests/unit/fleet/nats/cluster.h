/*
 * cluster - three real servers that know each other, with JetStream.
 */
#ifndef TESTS_UNIT_FLEET_NATS_CLUSTER_H
#define TESTS_UNIT_FLEET_NATS_CLUSTER_H

#include "server.h"

#define CLUSTER_SIZE 3

struct cluster {
    struct server servers[CLUSTER_SIZE];
};

static inline void cluster_start(struct cluster *cluster, const char *more)
{
    int ports[CLUSTER_SIZE];
    char config[2048];

    for (int i = 0; i < CLUSTER_SIZE; i++)
        ports[i] = server_free_port();
    for (int i = 0; i < CLUSTER_SIZE; i++) {
        (void)snprintf(
            config, sizeof(config),
            "server_name: n%d\n"
            "cluster { name: c, host: 127.0.0.1, port: %d, routes: [ \"nats://127.0.0.1:%d\", "
            "\"nats://127.0.0.1:%d\", \"nats://127.0.0.1:%d\" ] }\n%s",
            i, ports[i], ports[0], ports[1], ports[2], more);
        cluster->servers[i] = server_new(config);
        server_launch(&cluster->servers[i]);
    }
    for (int i = 0; i < CLUSTER_SIZE; i++)
        WAIT_FOR(server_accepts(&cluster->servers[i]));
}

static inline void cluster_stop(struct cluster *cluster)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_stop(&cluster->servers[i], SIGKILL);
}

/* The one that a connection goes to. */
static inline struct server *cluster_find(struct cluster *cluster, const char *server_name)
{
    CHECK(server_name[0] == 'n');
    return &cluster->servers[server_name[1] - '0'];
}

#endif
