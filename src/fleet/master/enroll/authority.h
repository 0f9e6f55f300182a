/*
 * authority - the keys of enrollment: the account key and its signing key, the certificate of the
 * HTTPS endpoint, and the bootstrap document, which tells peels whom to trust and where the bus is.
 *
 * The certificate is renewed without a restart; its server gets a callback. A copy of the document
 * is on the bus at secrets/_cluster_info, written only when it differs.
 *
 * Memory: the service. Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_AUTHORITY_H
#define FLEET_MASTER_ENROLL_AUTHORITY_H

#include "fleet/bus/accounts.h"
#include "fleet/bus/tree_trust.h"
#include "fleet/bus/request_signature.h"
#include "fleet/enroll/registry.h"
#include "fleet/master/enroll/leaf.h"
#include "fleet/master/enroll/signing.h"
#include "fleet/master/master.h"
#include "fleet/nats/nkey.h"

/* How often certificates are checked. */
#define AUTHORITY_CHECK_NS (INT64_C(3600) * 1000000000)
/* How often a missing signing key is looked for. */
#define AUTHORITY_KEY_NS (INT64_C(2) * 1000000000)

struct authority {
    struct master *master;
    struct nats_nkey account; /* the fleet's */
    struct accounts accounts;
    bool is_separate; /* peels and operators have accounts of their own */
    struct signing signing;
    struct leaf leaf;
    struct registry registry;
    struct timer timer, key_timer;
    bool is_started;
    /* Called after a renewal; set by the server that uses it. */
    void (*renewed)(void *self);
    void *renewed_self;
    /* for authority.c */
    char *auth_dir;
    int64_t published; /* generation of the keys that were published for peels */
    bool has_warned;
    struct request_signature_memory warrants;
    struct arena document_arena;
    struct str document; /* MessagePack */
};

extern const struct master_service authority_service;

/* The trust of this master in published trees, for the reader of this name, which records accepted
 * trees in the workroom. */
struct tree_trust authority_trust(struct master *master, const char *reader);

/* Checks an operator's signature, when `require_signed_requests` is set. Fails with ERR_UNSAFE. */
int authority_check_order(struct master *master, const struct nats_msg *msg, struct err *err);

/* Use the signing key that is present now, and publish it to peels. Called before credentials are
 * issued, and when signing keys may have changed. */
void authority_look_at_keys(struct authority *authority);

/* The bootstrap document. */
struct value authority_document(const struct authority *authority, struct arena *arena);

#endif
