#include "fleet/bus/link.h"

#include <stdlib.h>

#include "fleet/bus/fleet.h"
#include "fleet/bus/grant.h"
#include "fleet/nats/scene.h"
#include "test.h"

/* A link that counts its events. */
struct linked {
    struct link *link;
    struct watched conn;
};

static void link_up(struct scene *scene, struct linked *linked, const struct link_options *options)
{
    *linked = (struct linked){ .link = link_new(scene->hub, options, &scene->err) };
    if (!linked->link)
        CHECK_STR(scene->err.text, "");
    linked->conn.conn = link_conn(linked->link);
    nats_listen(linked->conn.conn, &linked->conn.listener, watched_on_event);
}

static void wait_connected(struct scene *scene, struct linked *linked)
{
    SCENE_RUN(scene,
              linked->conn.counts[NATS_EVENT_CONNECTED] + linked->conn.counts[NATS_EVENT_RETRY] >
                  0);
    CHECK_STR(linked->conn.error, "");
}

/* --- what can never work ------------------------------------------------------------- */

TEST(addresses_that_are_not_tls_are_refused_with_the_reason)
{
    static const struct {
        const char *urls, *error;
    } cases[] = {
        { "nats://a:4222",
          "'nats://a:4222': refused: without TLS, anyone on the network can read and "
          "change everything; "
          "use 'tls://a:4222'" },
        { "tls://a:4222, nats://b", "'nats://b': refused" },
        { "a:4222", "'a:4222': expected 'tls://HOST:PORT'" },
        { "ws://a", "'ws://a': unknown scheme 'ws', expected 'tls://'" },
        { "", "no server address" },
        { " , ", "no server address" },
    };
    struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;

        CHECK(link_new(scene.hub,
                       &(struct link_options){ .urls = cases[i].urls, .creds_file = "/none" },
                       &err) == NULL);
        CHECK_HAS(err.text, cases[i].error);
    }
    scene_end(&scene);
}

TEST(files_that_cannot_be_used_are_named)
{
    struct fleet_server fleet;
    struct scene scene;
    struct link_options options;
    struct err err;

    scene_begin(&scene);
    fleet_start(&fleet);
    options = (struct link_options){ .urls = fleet.url, .creds_file = "/none" };
    CHECK(link_new(scene.hub, &options, &err) == NULL);
    CHECK_STR(err.text, "credentials file '/none' does not exist");
    options.creds_file = fleet.server.config;
    CHECK(link_new(scene.hub, &options, &err) == NULL);
    CHECK_HAS(err.text, "credentials without a section 'NATS USER JWT'");
    options.creds_file = arena_printf(&fleet.arena, "%s/master.creds", fleet.auth_dir);
    options.ca_file = "/none";
    CHECK(link_new(scene.hub, &options, &err) == NULL);
    CHECK_STR(err.text, "CA file '/none' does not exist");
    options.ca_file = fleet.server.config;
    CHECK(link_new(scene.hub, &options, &err) == NULL);
    CHECK_STR(err.text, arena_printf(&fleet.arena, "CA file '%s': no certificate in PEM form in it",
                                     fleet.server.config));
    fleet_stop(&fleet);
    scene_end(&scene);
}

/* --- connecting ---------------------------------------------------------------------- */

TEST(the_ca_is_found_in_the_order_of_the_manual)
{
    struct fleet_server fleet;
    struct scene scene;
    struct link_options options;
    struct linked linked;
    const char *copy;

    scene_begin(&scene);
    fleet_start(&fleet);
    copy = arena_printf(&fleet.arena, "%s/copy.crt", test_folder());
    fleet_write(copy, fleet.root_pem);
    options = (struct link_options){
        .urls = fleet.url,
        .auth_dir = fleet.auth_dir,
        .creds_file = arena_printf(&fleet.arena, "%s/master.creds", fleet.auth_dir),
    };
    link_up(&scene, &linked, &options); /* nats-ca.crt */
    wait_connected(&scene, &linked);
    CHECK_STR(link_user(linked.link), "master");
    link_free(linked.link);

    options.auth_dir = NULL;
    link_up(&scene, &linked, &options); /* the system's, which has never heard of it */
    SCENE_RUN(&scene, linked.conn.counts[NATS_EVENT_RETRY] > 0);
    CHECK_HAS(linked.conn.error, "certificate");
    link_free(linked.link);

    CHECK_INT(setenv(LINK_CA_VARIABLE, copy, 1), 0);
    link_up(&scene, &linked, &options);
    wait_connected(&scene, &linked);
    link_free(linked.link);

    CHECK_INT(setenv(LINK_CA_VARIABLE, "/none", 1), 0);
    options.ca_file = copy;
    link_up(&scene, &linked, &options);
    wait_connected(&scene, &linked);
    link_free(linked.link);
    fleet_stop(&fleet);
    scene_end(&scene);
}

TEST(a_peel_asks_through_the_inbox_that_its_credentials_grant)
{
    struct fleet_server fleet;
    struct scene scene;
    struct linked linked;
    AUTO_BUF struct buf inbox = BUF_INIT(256);
    const char *creds;

    scene_begin(&scene);
    fleet_start(&fleet);
    creds = arena_printf(&fleet.arena, "%s/web-01.creds", fleet.auth_dir);
    fleet_issue_peel(&fleet, "web-01", creds);
    link_up(&scene, &linked,
            &(struct link_options){
                .urls = fleet.url, .auth_dir = fleet.auth_dir, .creds_file = creds });
    wait_connected(&scene, &linked);
    nats_inbox_print(linked.conn.conn, &inbox);
    CHECK(str_starts(buf_view(&inbox), STR("_INBOX.web-01.")));
    CHECK_STR(link_user(linked.link), "web-01");
    link_free(linked.link);
    fleet_stop(&fleet);
    scene_end(&scene);
}

TEST(renewed_credentials_and_a_new_ca_are_used_without_a_restart)
{
    struct fleet_server fleet;
    struct scene scene;
    struct linked linked;
    const char *creds, *ca, *old_ca;
    struct err err;

    scene_begin(&scene);
    fleet_start(&fleet);
    creds = arena_printf(&fleet.arena, "%s/p.creds", fleet.auth_dir);
    ca = arena_printf(&fleet.arena, "%s/nats-ca.crt", fleet.auth_dir);
    fleet_issue_peel(&fleet, "old", creds);
    link_up(&scene, &linked,
            &(struct link_options){
                .urls = fleet.url, .auth_dir = fleet.auth_dir, .creds_file = creds });
    wait_connected(&scene, &linked);

    /* another authority, another certificate, and credentials that nobody issued */
    old_ca = arena_printf(&fleet.arena, "%s.old", fleet.ca_dir);
    server_stop(&fleet.server, SIGKILL);
    CHECK_INT(fs_rename(fleet.ca_dir, old_ca, &err), 0);
    CHECK_INT(ca_init(fleet.ca_dir, clock_wall() / CLOCK_SECOND, &err), 0);
    fleet_issue(&fleet, arena_printf(&fleet.arena, "%s/crt", fleet.ca_dir),
                arena_printf(&fleet.arena, "%s/key", fleet.ca_dir));
    CHECK_INT(fs_unlink(creds, &err), 0);
    server_start(&fleet.server);
    SCENE_RUN(&scene, linked.conn.counts[NATS_EVENT_RETRY] > 0);
    CHECK_INT(linked.conn.counts[NATS_EVENT_CONNECTED], 1);

    fleet_write(ca, fleet.root_pem);
    fleet_issue_peel(&fleet, "old", creds);
    SCENE_RUN(&scene, linked.conn.counts[NATS_EVENT_CONNECTED] == 2);
    link_free(linked.link);
    fleet_stop(&fleet);
    scene_end(&scene);
}
