/*
 * fleet - a server as `zester nats-auth init` sets it up, with all keys in a folder.
 *
 *     fleet_start(&fleet);      fleet.auth_dir has identity files and nats-ca.crt; fleet.url
 *     fleet_stop(&fleet);
 */
#ifndef TESTS_UNIT_FLEET_BUS_FLEET_H
#define TESTS_UNIT_FLEET_BUS_FLEET_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/server_conf.h"
#include "fleet/enroll/ca.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/server.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "test.h"

struct fleet_server {
    struct arena arena;
    struct server server;
    struct identity identity;
    const char *auth_dir, *ca_dir;
    const char *url; /* tls:// */
    struct str root_pem;
};

static inline void fleet_write(const char *path, struct str text)
{
    struct err err;

    CHECK_INT(fs_replace(path, text, NULL, &err), 0);
}

/* A certificate for 127.0.0.1 and localhost, by the authority in `ca_dir`. */
static inline void fleet_issue(struct fleet_server *fleet, const char *cert, const char *key)
{
    static const char *address = "127.0.0.1", *name = "localhost";
    const struct certificate_spec spec = { .name = "server",
                                           .dns = { 1, &name },
                                           .ips = { 1, &address },
                                           .now = clock_wall() / CLOCK_SECOND,
                                           .life = CERTIFICATE_DAY };
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf leaf;
    struct err err;

    CHECK_INT(ca_open(&fleet->arena, fleet->ca_dir, &ca, &err), 0);
    CHECK_INT(ca_issue(&ca, &spec, &fleet->arena, &leaf, &err), 0);
    fleet->root_pem = arena_str(&fleet->arena, ca.root_pem);
    fleet_write(cert, leaf.chain_pem);
    fleet_write(key, leaf.key_pem);
}

static inline void fleet_write_conf(struct fleet_server *fleet, struct server_conf *conf)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    struct err err;

    conf->host = "127.0.0.1";
    conf->port = fleet->server.port;
    conf->cert_file = arena_printf(&fleet->arena, "%s/crt", fleet->ca_dir);
    conf->key_file = arena_printf(&fleet->arena, "%s/key", fleet->ca_dir);
    conf->store_dir = arena_printf(&fleet->arena, "%s/js", fleet->server.folder);
    CHECK_INT(server_conf_print(&text, conf, &fleet->identity, &err), 0);
    fleet_write(fleet->server.config, buf_view(&text));
}

static inline void fleet_start(struct fleet_server *fleet)
{
    struct server_conf conf = { .name = "test" };
    struct newfile files[IDENTITY_FILES];
    int64_t now = clock_wall() / CLOCK_SECOND;
    struct err err;

    *fleet = (struct fleet_server){ .arena = ARENA_INIT, .server = server_new("") };
    fleet->auth_dir = arena_printf(&fleet->arena, "%s/auth", test_folder());
    fleet->ca_dir = arena_printf(&fleet->arena, "%s/auth/ca", test_folder());
    CHECK_INT(identity_make(&fleet->arena, now, &fleet->identity, &err), 0);
    identity_list(&fleet->identity, files);
    CHECK_INT(newfiles_write(fleet->auth_dir, files, IDENTITY_FILES, "", &err), 0);
    CHECK_INT(ca_init(fleet->ca_dir, now, &err), 0);
    fleet_issue(fleet, arena_printf(&fleet->arena, "%s/crt", fleet->ca_dir),
                arena_printf(&fleet->arena, "%s/key", fleet->ca_dir));
    fleet_write(arena_printf(&fleet->arena, "%s/nats-ca.crt", fleet->auth_dir), fleet->root_pem);
    fleet_write_conf(fleet, &conf);
    fleet->url = arena_printf(&fleet->arena, "tls://127.0.0.1:%d", fleet->server.port);
    server_start(&fleet->server);
}

/* Credentials of a peel with a new key. */
static inline void fleet_issue_peel(struct fleet_server *fleet, const char *peel, const char *path)
{
    AUTO_BUF struct buf text = BUF_INIT(NATS_CREDS_MAX);
    unsigned char seed[ED25519_SEED_SIZE];
    char public_key[NATS_NKEY_TEXT_SIZE];
    struct identity_issuer issuer;
    struct accounts accounts;
    struct nats_creds creds;
    bool is_separate;
    const char *jwt;
    struct err err;

    chance_bytes(seed, sizeof(seed));
    nats_nkey_make(NATS_NKEY_USER, seed, &creds.key);
    nats_nkey_print_public(&creds.key, public_key);
    CHECK_INT(identity_read_accounts(fleet->auth_dir, &accounts, &is_separate, &err), 0);
    issuer = identity_issuer(&accounts, ACCOUNT_PEELS, is_separate);
    CHECK_INT(identity_issue_peel(&fleet->arena, &issuer, peel, public_key,
                                  clock_wall() / CLOCK_SECOND, &jwt, &err),
              0);
    accounts_done(&accounts);
    creds.jwt = arena_strdup(&fleet->arena, jwt);
    nats_creds_print(&creds, &text);
    fleet_write(path, buf_view(&text));
}

static inline void fleet_stop(struct fleet_server *fleet)
{
    server_stop(&fleet->server, SIGKILL);
    arena_done(&fleet->arena);
}

#endif
