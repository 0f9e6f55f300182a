/*
 * cluster_info - the bootstrap document of a fleet: its certificates and the addresses of its
 * servers. Masters serve it as JSON and keep a copy on the bus.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_CLUSTER_INFO_H
#define FLEET_WIRE_CLUSTER_INFO_H

#include <stdint.h>

#include "core/data/params.h"
#include "core/data/record.h"

#define CLUSTER_INFO_KEY     "_cluster_info" /* in the bucket of secrets */
#define CLUSTER_INFO_VERSION 1

struct cluster_info {
    int32_t v;
    struct str ca_bundle_pem;
    const char *fingerprint; /* of the fleet's certificate authority; "": none */
    struct param_strs nats_urls;
    const char *issued_at;
};
extern const struct record_type cluster_info_type;

#endif
