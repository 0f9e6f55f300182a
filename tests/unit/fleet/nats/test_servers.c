#include "fleet/nats/servers.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/nats/info.h"
#include "test.h"

static const struct {
    const char *text, *host;
    int port;
    bool tls;
} good[] = {
    { "a", "a", 4222, false },
    { "a:1", "a", 1, false },
    { "nats://a.b.c:65535", "a.b.c", 65535, false },
    { "tls://a/", "a", 4222, true },
    { "tls://[::1]:4333", "::1", 4333, true },
    { "[fe80::1]", "fe80::1", 4222, false },
    { "10.0.0.1:4222", "10.0.0.1", 4222, false },
};

TEST(addresses_are_read)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct nats_servers servers;
        struct err err;

        nats_servers_init(&servers);
        CHECK_INT(nats_servers_add(&servers, str_from(good[i].text), &err), 0);
        CHECK_STR(servers.list.p[0].host, good[i].host);
        CHECK_INT(servers.list.p[0].port, good[i].port);
        CHECK_INT(servers.list.p[0].tls, good[i].tls);
        nats_servers_done(&servers);
    }
}

static const struct {
    const char *text, *error;
} bad[] = {
    { "", "server '': not a valid host name" },
    { ":1", "server ':1': not a valid host name" },
    { "a:0", "server 'a:0': port is not in 1..65535" },
    { "a:65536", "server 'a:65536': port is not in 1..65535" },
    { "a b", "server 'a b': not a valid host name" },
    { "ws://a", "server 'ws://a': expected tls:// or nats://" },
    { "[::1", "server '[::1': ']' is missing" },
    { "[::1]x", "server '[::1]x': expected ':' and a port after ']'" },
    { "u:p@a", "server 'u:p@a': user and password do not belong into an address" },
    { "a/b", "server 'a/b': not a valid host name" },
};

TEST(addresses_that_make_no_sense_are_refused)
{
    struct nats_servers servers;
    struct err err;

    nats_servers_init(&servers);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(nats_servers_add(&servers, str_from(bad[i].text), &err), -1);
        CHECK_STR(err.text, bad[i].error);
    }
    CHECK_INT(servers.list.n, 0);
    nats_servers_done(&servers);
}

static void add_all(struct nats_servers *servers, const char *const *texts, size_t count)
{
    struct err err;

    nats_servers_init(servers);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(nats_servers_add(servers, str_from(texts[i]), &err), 0);
}

TEST(servers_take_turns_and_a_round_ends_after_all)
{
    static const char *const texts[] = { "a", "b", "c", "a:4222" };
    struct nats_servers servers;
    AUTO_BUF struct buf order = BUF_INIT(100);
    bool over;

    add_all(&servers, texts, ARRAY_LEN(texts));
    CHECK_INT(servers.list.n, 3);
    for (int i = 0; i < 7; i++) {
        const struct nats_server *server = nats_servers_next(&servers, &over);

        buf_printf(&order, "%s%s ", over ? "| " : "", server->host);
    }
    CHECK_STR(buf_text(&order), "a b c | a b c | a ");
    CHECK_INT(servers.rounds, 2);
    nats_servers_succeeded(&servers);
    CHECK_INT(servers.rounds, 0);
    CHECK_STR(nats_servers_next(&servers, &over)->host, "b"); /* not the one that was just lost */
    nats_servers_done(&servers);
}

TEST(a_lame_server_is_tried_last)
{
    static const char *const texts[] = { "a", "b", "c" };
    struct nats_servers servers;
    bool over;

    add_all(&servers, texts, ARRAY_LEN(texts));
    servers.list.p[0].lame = true;
    CHECK_STR(nats_servers_next(&servers, &over)->host, "b");
    CHECK_STR(nats_servers_next(&servers, &over)->host, "c");
    CHECK_STR(nats_servers_next(&servers, &over)->host, "a");
    CHECK(!over);
    nats_servers_done(&servers);
}

TEST(discovered_servers_come_and_go_and_given_ones_stay)
{
    static const char *const texts[] = { "host.example" };
    const struct str first[] = { STR("10.0.0.1:4222"), STR("other:5"), STR("bad:0") };
    const struct str second[] = { STR("other:5"), STR("[::7]:6") };
    struct nats_servers servers;
    bool over;

    add_all(&servers, texts, ARRAY_LEN(texts));
    (void)nats_servers_next(&servers, &over);
    nats_servers_discover(&servers, first, ARRAY_LEN(first), "host.example");
    CHECK_INT(servers.list.n, 3);
    CHECK_STR(servers.list.p[1].tls_name, "host.example"); /* an address has no name of its own */
    CHECK(!servers.list.p[2].tls_name);
    CHECK_STR(nats_servers_next(&servers, &over)->host, "10.0.0.1");
    nats_servers_discover(&servers, second, ARRAY_LEN(second), NULL);
    CHECK_INT(servers.list.n, 4); /* the current one is kept */
    CHECK_STR(nats_servers_current(&servers)->host, "10.0.0.1");
    CHECK_STR(nats_servers_next(&servers, &over)->host, "other");
    nats_servers_discover(&servers, NULL, 0, NULL);
    CHECK_INT(servers.list.n, 2);
    CHECK_STR(nats_servers_current(&servers)->host, "other");
    nats_servers_done(&servers);
}

TEST(the_pause_doubles_and_differs_by_chance)
{
    struct nats_servers servers = { .rounds = 0 };

    CHECK_INT(nats_servers_pause(&servers, 100, 1000, 99), 100);
    CHECK_INT(nats_servers_pause(&servers, 100, 1000, 100), 1);
    servers.rounds = 2;
    CHECK_INT(nats_servers_pause(&servers, 100, 1000, 399), 400);
    servers.rounds = 60;
    CHECK_INT(nats_servers_pause(&servers, 100, 1000, 999), 1000);
    CHECK_INT(nats_servers_pause(&servers, 100, 1000, 1000), 1);
    CHECK_INT(nats_servers_pause(&servers, INT64_MAX / 2, INT64_MAX, 0), 1);
}

static const struct {
    const char *text;
    int version;
} versions[] = {
    { "2.9.10", NATS_VERSION(2, 9, 10) },
    { "2.10.0-beta.1", NATS_VERSION(2, 10, 0) },
    { "2.9", 0 },
    { "", 0 },
    { "x.1.2", 0 },
    { "2.9999999999999.1", 0 },
};

TEST(versions_compare_as_numbers)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct nats_info info;
        struct err err;
        char *json = arena_printf(&arena, "{\"version\":\"%s\"}", versions[i].text);

        CHECK_INT(nats_info_decode(&arena, str_from(json), &info, &err), 0);
        CHECK_INT(info.version, versions[i].version);
    }
}
