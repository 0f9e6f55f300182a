/*
 * bootstrap - fetches information about the fleet from a master, and establishes trust.
 *
 * Sources of trust, strongest first: a configured certificate file, pins, the certificate trusted
 * before (enroll-ca.crt), the system's certificates, and, on first contact without credentials and
 * unless `strict`, the master's own certificate. A certificate that does not match one of the first
 * three is fatal.
 *
 *     <auth_dir>/enroll-ca.crt             the established trust, for the next time
 *     <auth_dir>/nats-ca.crt               the same for servers of the bus, unless it exists
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
    const char *pin;           /* of the fleet's root, to bind; "": not known */
    struct param_strs servers; /* of the bus; may be empty */
};

/* The addresses of masters, in order. */
struct param_strs bootstrap_masters(struct arena *arena, const struct peel_conf *conf);

/* Asks one master. Fails with ERR_UNSAFE for an untrusted one; `reterr_is_other`: it does not match
 * an explicit trust. `has_creds`: no first contact. */
int bootstrap_ask(struct arena *arena, const struct peel_conf *conf, const char *url,
                  bool has_creds, const struct cancel *cancel, struct bootstrap *ret,
                  bool *reterr_is_other, struct err *err);
/* Stores it. */
int bootstrap_keep(const struct peel_conf *conf, const struct bootstrap *bootstrap,
                   struct err *err);

/* The stored servers, separated by commas; NULL: none, or for other masters. */
const char *bootstrap_cached_servers(struct arena *arena, const struct peel_conf *conf);

#endif
