#include "fleet/peel/bootstrap.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/peel/conf.h"
#include "core/sys/fs.h"
#include "test.h"

static struct peel_conf make_conf(struct arena *arena)
{
    struct peel_conf conf = { .auth_dir = arena_printf(arena, "%s/auth", test_folder()),
                              .data_dir = arena_printf(arena, "%s/data", test_folder()) };
    struct err err;

    CHECK_INT(fs_mkdirs(conf.auth_dir, 0700, &err), 0);
    return conf;
}

TEST(masters_are_those_of_the_list_else_the_one_else_the_usual_name)
{
    static const char *list[] = { "https://a:1", "https://b:2" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct peel_conf conf = make_conf(&arena);

    CHECK_STR(bootstrap_masters(&arena, &conf).p[0], "https://zester:8443");
    conf.master_url = "https://one:1";
    CHECK_STR(bootstrap_masters(&arena, &conf).p[0], "https://one:1");
    conf.master_urls = (struct param_strs){ 2, list };
    CHECK_INT(bootstrap_masters(&arena, &conf).n, 2);
}

TEST(servers_of_the_bus_are_remembered_for_the_same_masters_and_pins_only)
{
    static const char *servers[] = { "tls://a:4222", "tls://b:4222" }, *pin = "sha256:00";
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct peel_conf conf = make_conf(&arena);
    const struct bootstrap found = { .url = "https://zester:8443",
                                     .pin = "",
                                     .anchor_pem = STR("anchor\n"),
                                     .servers = { 2, servers } };
    struct str text;
    struct err err;

    CHECK(bootstrap_cached_servers(&arena, &conf) == NULL);
    CHECK_INT(bootstrap_keep(&conf, &found, &err), 0);
    CHECK_STR(bootstrap_cached_servers(&arena, &conf), "tls://a:4222,tls://b:4222");
    CHECK_INT(
        fs_read(&arena, arena_printf(&arena, "%s/nats-ca.crt", conf.auth_dir), 100, &text, &err),
        0);
    CHECK_STR(text.p, "anchor\n");
    conf.enroll_ca_pin = (struct param_strs){ 1, &pin };
    CHECK(bootstrap_cached_servers(&arena, &conf) == NULL);
    conf.enroll_ca_pin.n = 0;
    conf.master_url = "https://other:8443";
    CHECK(bootstrap_cached_servers(&arena, &conf) == NULL);
}

TEST(a_file_of_servers_that_is_damaged_counts_as_none)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct peel_conf conf = make_conf(&arena);
    struct err err;

    CHECK_INT(fs_mkdirs(conf.data_dir, 0700, &err), 0);
    CHECK_INT(fs_replace(arena_printf(&arena, "%s/" BOOTSTRAP_CACHE, conf.data_dir), STR("garbage"),
                         NULL, &err),
              0);
    CHECK(bootstrap_cached_servers(&arena, &conf) == NULL);
}
