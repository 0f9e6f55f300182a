#include "cluster.h"
#include "fleet/nats/core.h"
#include "scene.h"

TEST(servers_of_a_cluster_are_found_and_used_when_one_dies)
{
    struct cluster cluster;
    struct watched conn, other;
    struct scene scene;
    struct inbox inbox;

    cluster_start(&cluster, "");
    scene_begin(&scene);
    watched_connect(&scene, &conn, cluster.servers[0].url);
    SCENE_RUN(&scene, conn.conn->servers.list.n == 3);
    CHECK_STR(nats_conn_server(conn.conn), "n0");
    watched_connect(&scene, &other, cluster.servers[1].url);
    (void)inbox_open(conn.conn, &inbox, "x", NULL);
    flush_conn(&scene, conn.conn);
    server_stop(&cluster.servers[0], SIGKILL);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CONNECTED] == 2);
    CHECK(strcmp(nats_conn_server(conn.conn), "n0") != 0);
    /* interest spreads through the cluster in its own time */
    while (inbox.count == 0) {
        publish_text(other.conn, "x", "1");
        flush_conn(&scene, other.conn);
        scene_turn(&scene);
    }
    nats_conn_free(conn.conn);
    nats_conn_free(other.conn);
    buf_done(&inbox.text);
    scene_end(&scene);
    cluster_stop(&cluster);
}

TEST(a_server_that_goes_lame_is_reported_and_left_for_another)
{
    struct cluster cluster;
    struct watched conn;
    struct scene scene;

    cluster_start(&cluster, "");
    scene_begin(&scene);
    watched_connect(&scene, &conn, cluster.servers[2].url);
    SCENE_RUN(&scene, conn.conn->servers.list.n == 3);
    CHECK_INT(kill(cluster.servers[2].pid, SIGUSR2), 0); /* lame duck mode */
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_LAME_DUCK] == 1);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CONNECTED] == 2);
    CHECK(strcmp(nats_conn_server(conn.conn), "n2") != 0);
    nats_conn_free(conn.conn);
    scene_end(&scene);
    cluster_stop(&cluster);
}
