/*
 * authority - what a master enrolls machines with: the account's key, the certificate of its HTTPS
 * endpoint, and the document by which peels learn whom to trust and where the bus is.
 *
 * The certificate is renewed without a restart: whoever serves with it is called. A copy of the
 * document is on the bus at secrets/_cluster_info, written only when it differs.
 *
 * Memory: the service. Threads: the loop's.
 */
#ifndef MASTER_ENROLL_AUTHORITY_H
#define MASTER_ENROLL_AUTHORITY_H

#include "bus/tree_trust.h"
#include "bus/warrant.h"
#include "enroll/registry.h"
#include "master/enroll/leaf.h"
#include "master/master.h"
#include "nats/nkey.h"

/* How often certificates are looked at. */
#define AUTHORITY_CHECK_NS (INT64_C(3600) * 1000000000)

struct authority {
    struct master *master;
    struct nats_nkey account;
    struct leaf leaf;
    struct registry registry;
    struct timer timer;
    /* There is a new certificate; set by who serves with it. */
    void (*renewed)(void *self);
    void *renewed_self;
    /* for authority.c */
    struct warrant_memory warrants;
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

/* The bootstrap document. */
struct value authority_document(const struct authority *authority, struct arena *arena);

#endif
