/*
 * ca - the fleet's own certificate authority, as files in a folder.
 *
 *     root.crt          trusted by every machine, 10 years
 *     root.key          needed for a new intermediate only: may be kept elsewhere
 *     intermediate.crt  signs servers, 5 years
 *     intermediate.key
 *
 * Keys are readable by their owner only. Files are never overwritten. Machines trust only the root;
 * servers send the intermediate with their certificate.
 *
 *     ca_init -> { ca_open -> ca_issue... -> ca_done }...
 *
 * Memory: ca_done frees; texts are in the arena. Threads: one at a time.
 */
#ifndef FLEET_ENROLL_CA_H
#define FLEET_ENROLL_CA_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/enroll/certificate.h"

#define CA_ROOT_DAYS         3653
#define CA_INTERMEDIATE_DAYS 1826
#define CA_SERVER_DAYS       365
/* Validity of the enrollment certificate, which the master renews itself. */
#define CA_ENROLL_DAYS 90

#define CA_ROOT_FILE "root.crt"

struct ca {
    struct certificate root, intermediate;
    struct certificate_key key; /* of the intermediate */
    struct str root_pem, intermediate_pem;
    bool has_root_key;
};

/* Creates all four files in `dir`, and `dir` itself if needed. Fails with ERR_BUSY if one of the
 * files exists. A failure leaves nothing behind. */
int ca_init(const char *dir, int64_t now, struct err *err);
/* Does `dir` have one? */
int ca_is_there(const char *dir, bool *ret_is_there, struct err *err);
/* Checks that the files belong together. */
int ca_open(struct arena *arena, const char *dir, struct ca *ret_ca, struct err *err);
void ca_done(struct ca *ca);

/* A server's certificate and key. */
struct ca_leaf {
    struct str chain_pem; /* the certificate and the intermediate */
    struct str key_pem;   /* secret */
};
/* `spec` has names, time and validity; its kind is ignored. */
int ca_issue(const struct ca *ca, const struct certificate_spec *spec, struct arena *arena,
             struct ca_leaf *ret_leaf, struct err *err);

#define AUTO_CA __attribute__((cleanup(ca_done)))

#endif
