/*
 * bootstrap - what a master says about the fleet, and whom this machine has come to trust.
 *
 * The ladder, from the strongest to the weakest: a file of certificates that was configured, pins,
 * the certificate that was trusted before (enroll-ca.crt), the certificates of the system, and on
 * first contact, while there are no credentials and unless `strict`, whatever the master shows. A
 * certificate that does not fit one of the first three is fatal.
 *
 *     <auth_dir>/enroll-ca.crt             the trust that was found, for the next time
 *     <auth_dir>/nats-ca.crt               the same for servers of the bus, when there is none
 *     <data_dir>/nats-bootstrap.msgpack    where the bus is, for the same masters and pins
 *
 * Memory: the arena. Threads: any; blocks.
 */
#ifndef FLEET_PEEL_BOOTSTRAP_H
#define FLEET_PEEL_BOOTSTRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "fleet/enroll/certificate.h"

struct arena;
struct cancel;
struct err;
struct peel_conf;

#define BOOTSTRAP_ANCHOR  "enroll-ca.crt"
#define BOOTSTRAP_CACHE   "nats-bootstrap.msgpack"
#define BOOTSTRAP_PATH    "/api/v1/enroll"
#define BOOTSTRAP_MAX     ((size_t)1 << 20)
#define BOOTSTRAP_TIMEOUT (INT64_C(15) * 1000000000)

struct bootstrap {
    const char *url;           /* of the master */
    bool is_system;            /* trusted by certificates of the system */
    struct str anchor_pem;     /* else by this one */
    const char *pin;           /* of the fleet's root, to be bound; "": none is known */
    struct param_strs servers; /* of the bus; may be empty */
};

/* The addresses of masters, in order. */
struct param_strs bootstrap_masters(struct arena *arena, const struct peel_conf *conf);

/* Ask one master. Fails with ERR_UNSAFE when it must not be trusted; `reterr_is_other` says then
 * whether somebody else was named as trusted. `has_creds`: no first contact. */
int bootstrap_ask(struct arena *arena, const struct peel_conf *conf, const char *url,
                  bool has_creds, const struct cancel *cancel, struct bootstrap *ret,
                  bool *reterr_is_other, struct err *err);
/* Remember it. */
int bootstrap_keep(const struct peel_conf *conf, const struct bootstrap *bootstrap,
                   struct err *err);

/* Servers that were kept, as a list with commas; NULL: none, or for other masters. */
const char *bootstrap_cached_servers(struct arena *arena, const struct peel_conf *conf);

#endif
