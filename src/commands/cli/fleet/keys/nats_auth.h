/*
 * nats_auth - creates keys and configuration, for `zester nats-auth init` and other commands, and
 * replaces the signing key.
 */
#ifndef COMMANDS_CLI_FLEET_KEYS_NATS_AUTH_H
#define COMMANDS_CLI_FLEET_KEYS_NATS_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/cli/fleet/link.h"
#include "core/data/params.h"

struct cli;
struct err;

#define NATS_AUTH_MONITOR "127.0.0.1:8222"

struct nats_auth_args {
    const char *dir, *conf, *store; /* keys, the configuration of nats-server, its data */
    const char *cert, *key;         /* of the server; NULL: issued by our own authority */
    const char *name, *host;        /* of the server; where it listens */
    struct param_strs dns, ips;     /* of the certificate that is issued */
    const char *monitor;            /* where it serves its monitoring pages; "": nowhere */
    int64_t port;
    const char *cluster;      /* the name of the cluster; NULL: one server */
    int64_t cluster_port;     /* where the other servers connect */
    struct param_strs routes; /* URLs of the servers of the cluster */
    int64_t leaf_port;        /* where leaf nodes connect; 0: none may */
    struct param_strs hubs;   /* of a leaf node: the servers it connects to */
    const char *out;          /* the folder of its files */
    bool force;               /* what is there is set aside */
};

/* All keys, credentials, certificates and the server configuration. Nothing is overwritten (with
 * `force`, it is renamed), and nothing is left behind on failure. */
int nats_auth_init(struct cli *cli, const struct nats_auth_args *want, struct err *err);

/* `zester nats-auth rotate`. */
struct nats_auth_rotate_args {
    const char *dir;
    bool status, finish, force;
    int64_t spread; /* nanoseconds */
    struct fleet_options fleet;
};
extern const struct param nats_auth_rotate_options[];
int nats_auth_run_rotate(struct cli *cli, const void *args, struct param_strs operands);

#endif
