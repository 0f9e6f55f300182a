/*
 * leaf - the certificate of the HTTPS endpoint: issued by the fleet's CA, or read from files.
 *
 * An issued one names this machine: its host name and addresses, "zester", "localhost", and what
 * ca.enroll_sans adds. It is kept in memory only, and renewed after two thirds of its lifetime.
 *
 * Memory: leaf_done wipes and frees. Threads: one.
 */
#ifndef FLEET_MASTER_ENROLL_LEAF_H
#define FLEET_MASTER_ENROLL_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"
#include "fleet/enroll/certificate.h"
#include "fleet/master/conf.h"

struct err;

struct leaf {
    struct arena arena;
    bool is_issued;        /* by the fleet's CA */
    struct str chain, key; /* PEM; the key is secret */
    struct str ca_bundle;  /* PEM bundle that peels trust on the bus; may be empty */
    int64_t ca_begins;     /* start of the bundle's first certificate; seconds since 1970 */
    char pin[CERTIFICATE_PIN_SIZE]; /* of the bundle's first certificate; "": none */
    int64_t made, ends;             /* seconds since 1970 */
};

int leaf_load(const struct master_conf *conf, int64_t now, struct leaf *ret_leaf, struct err *err);
void leaf_done(struct leaf *leaf);

/* Two thirds of the way from `made` to `ends`. */
int64_t leaf_renewal(int64_t made, int64_t ends);

#endif
