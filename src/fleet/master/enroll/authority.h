/*
 * authority - what a master enrolls machines with: the account's key and its signing key, the
 * certificate of its HTTPS endpoint, and the document by which peels learn whom to trust and where
 * the bus is.
 *
 * The certificate is renewed without a restart: whoever serves with it is called. A copy of the
 * document is on the bus at secrets/_cluster_info, written only when it differs.
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

/* How often certificates are looked at. */
#define AUTHORITY_CHECK_NS (INT64_C(3600) * 1000000000)
/* How often it is checked whether the signing key that is missing was copied here. */
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
    /* There is a new certificate; set by who serves with it. */
    void (*renewed)(void *self);
    void *renewed_self;
    /* for authority.c */
    char *auth_dir;
    int64_t told; /* generation of the keys that were published for peels */
    bool has_warned;
    struct request_signature_memory warrants;
    struct arena document_arena;
    struct str document; /* MessagePack */
};

extern const struct master_service authority_service;

/* Whom this master believes about published trees, for a reader of this name, which remembers in
 * the workroom what it has accepted. */
struct tree_trust authority_trust(struct master *master, const char *reader);

/* May this be done: did an operator ask for it, if `require_signed_requests` needs to know?
 * Fails with ERR_UNSAFE. */
int authority_check_order(struct master *master, const struct nats_msg *msg, struct err *err);

/* Before credentials are issued, and when what is known of signing keys may have changed: use the
 * key that is here now, and tell peels of it. */
void authority_look_at_keys(struct authority *authority);

/* The bootstrap document. */
struct value authority_document(const struct authority *authority, struct arena *arena);

#endif
