/*
 * info - the INFO message of a server: first in a connection, and after each change.
 *
 * Missing fields get sane defaults. Memory: texts live in the arena that nats_info_decode was
 * given. Threads: any.
 */
#ifndef FLEET_NATS_INFO_H
#define FLEET_NATS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct err;

/* 2.9.10 is 2009010: versions compare as numbers. */
#define NATS_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

struct nats_info {
    struct str server_id, server_name, version_text, nonce, cluster;
    int version; /* NATS_VERSION; 0: malformed */
    uint64_t client_id;
    size_t max_payload;
    bool headers, jetstream, auth_required, tls_required, tls_available, lame_duck;
    struct str *urls; /* other servers of the cluster, as host:port */
    size_t url_count;
};

int nats_info_decode(struct arena *arena, struct str json, struct nats_info *ret_info,
                     struct err *err);

#endif
