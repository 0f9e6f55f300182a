/*
 * server_conf - prints a nats-server configuration for the fleet.
 *
 * TLS only, operator mode, JetStream, and a resolver that keeps account claims on disk, so that a
 * revocation survives a restart. One file with absolute paths; `server_name`, `host`, `port` and
 * `http` have a line each, which scripts may replace.
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_BUS_SERVER_CONF_H
#define FLEET_BUS_SERVER_CONF_H

#include <stdint.h>

#include "core/data/params.h"

struct buf;
struct err;
struct identity;

#define SERVER_CONF_PORT 4222

struct server_conf {
    const char *name, *host, *http; /* http: address and port of the monitor; NULL: none */
    int64_t port;
    const char *store_dir; /* of JetStream; claims are in its folder "accounts" */
    const char *cert_file, *key_file;
    const char *ca_file; /* for the other servers of a cluster; NULL: none */
    /* A cluster; name NULL: none. */
    const char *cluster_name, *cluster_host;
    int64_t cluster_port;
    struct param_strs routes; /* "tls://host:port" of the others */
    int64_t leaf_port;        /* port for leaf nodes; 0: none */
    /* A leaf node has no JetStream: it forwards the requests of peels to its hubs. Empty: not a
     * leaf node. */
    struct param_strs hubs;             /* "tls://host:port", their leaf_port */
    const char *leaf_creds, *sys_creds; /* files; of a user of each account */
};

/* Appends the text. Fails with ERR_INVALID for a relative path or one with a quote. */
int server_conf_print(struct buf *out, const struct server_conf *conf,
                      const struct identity *identity, struct err *err);

#endif
