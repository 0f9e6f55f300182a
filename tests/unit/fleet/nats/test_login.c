#include "identity.h"
#include "scene.h"
#include "server.h"

static void start_user(struct scene *scene, struct watched *conn, const struct server *server,
                       struct nats_creds *creds, unsigned attempts)
{
    const char *url = server->url;

    watched_start(scene, conn,
                  &(struct nats_options){ .servers = &url,
                                          .server_count = 1,
                                          .plain = true,
                                          .creds = identity_on_creds,
                                          .creds_self = creds,
                                          .inbox_prefix = "_INBOX_u",
                                          .attempts_max = attempts,
                                          .backoff_min = CLOCK_MS,
                                          .backoff_max = 20 * CLOCK_MS });
}

#define RIGHTS                                                                                     \
    "\"pub\":{\"allow\":[\"event.u.>\"]},\"sub\":{\"allow\":[\"cmd.u.>\",\"_INBOX_u.>\"]},"

TEST(a_signed_nonce_lets_a_user_in_with_their_rights_only)
{
    struct identity identity;
    struct nats_creds creds;
    struct scene_outcome mine = { 0 }, foreign = { 0 };
    char id[NATS_NKEY_TEXT_SIZE];
    struct server server;
    struct watched conn;
    struct scene scene;

    identity_new(&identity);
    server = server_new(identity.config);
    server_start(&server);
    identity_user(&identity, RIGHTS, 0, &creds, id);
    scene_begin(&scene);
    start_user(&scene, &conn, &server, &creds, 1);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("event.u.x") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &mine, NULL, &scene.err),
              0);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("event.other.x") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &foreign, NULL,
                           &scene.err),
              0);
    SCENE_RUN(&scene, mine.count + foreign.count == 2);
    CHECK_STR(conn.error, "");
    CHECK_INT(mine.error.fault, NATS_FAULT_NO_RESPONDERS);
    CHECK_INT(foreign.error.fault, NATS_FAULT_DENIED);
    nats_conn_free(conn.conn);
    nats_creds_done(&creds);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

/* A signature may begin with any byte. */
TEST(every_one_of_many_logins_succeeds)
{
    enum { COUNT = 600, AT_ONCE = 50 };
    static struct watched conns[AT_ONCE];
    struct identity identity;
    struct nats_creds creds;
    char id[NATS_NKEY_TEXT_SIZE];
    struct server server;
    struct scene scene;

    identity_new(&identity);
    server = server_new(identity.config);
    server_start(&server);
    identity_user(&identity, "", 0, &creds, id);
    scene_begin(&scene);
    for (int done = 0; done < COUNT; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++)
            start_user(&scene, &conns[i], &server, &creds, 1);
        for (int i = 0; i < AT_ONCE; i++) {
            SCENE_RUN(&scene,
                      conns[i].counts[NATS_EVENT_CONNECTED] + conns[i].counts[NATS_EVENT_CLOSED] >
                          0);
            CHECK_STR(conns[i].error, "");
            nats_conn_free(conns[i].conn);
        }
    }
    nats_creds_done(&creds);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(credentials_that_expire_end_the_connection_and_renewed_ones_are_used)
{
    struct identity identity;
    struct nats_creds creds, renewed;
    char id[NATS_NKEY_TEXT_SIZE];
    struct server server;
    struct watched conn;
    struct scene scene;
    int before;

    identity_new(&identity);
    server = server_new(identity.config);
    server_start(&server);
    identity_user(&identity, "", 2, &creds, id);
    identity_user(&identity, "", 0, &renewed, id);
    scene_begin(&scene);
    start_user(&scene, &conn, &server, &creds, 0);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CONNECTED] == 1);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_DISCONNECTED] == 1);
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    CHECK_STR(conn.error, "the server says: User Authentication Expired");
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_RETRY] > 0);
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    nats_creds_done(&creds);
    creds = renewed;
    before = conn.counts[NATS_EVENT_CONNECTED];
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CONNECTED] > before);
    nats_conn_free(conn.conn);
    nats_creds_done(&creds);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(a_user_that_is_revoked_is_cut_off)
{
    char id[NATS_NKEY_TEXT_SIZE], revocations[200];
    struct identity identity;
    struct nats_creds creds;
    struct server server;
    struct watched conn;
    struct scene scene;

    identity_new(&identity);
    server = server_new(identity.config);
    server_start(&server);
    identity_user(&identity, "", 0, &creds, id);
    scene_begin(&scene);
    start_user(&scene, &conn, &server, &creds, 0);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CONNECTED] == 1);
    (void)snprintf(revocations, sizeof(revocations), "{\"%s\":%lld}", id,
                   (long long)time(NULL) + 1);
    identity_configure(&identity, revocations);
    server_configure(&server, identity.config);
    CHECK_INT(kill(server.pid, SIGHUP), 0);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_DISCONNECTED] == 1);
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_RETRY] > 1);
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 1);
    nats_conn_free(conn.conn);
    nats_creds_done(&creds);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

static int on_no_creds(void *self, struct nats_creds *ret, struct err *err)
{
    (void)self;
    (void)ret;
    return err_set(err, ERR_NOT_FOUND, "no file");
}

TEST(credentials_that_cannot_be_had_fail_the_attempt)
{
    struct identity identity;
    struct server server;
    struct watched conn;
    struct scene scene;
    const char *url;

    identity_new(&identity);
    server = server_new(identity.config);
    url = server.url;
    server_start(&server);
    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){ .servers = &url,
                                          .server_count = 1,
                                          .plain = true,
                                          .creds = on_no_creds,
                                          .attempts_max = 1 });
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_HAS(conn.error, "credentials: no file");
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}
