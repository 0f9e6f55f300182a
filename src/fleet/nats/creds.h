/*
 * creds - a user's credentials: a JWT, and the seed of its key.
 *
 *     -----BEGIN NATS USER JWT-----
 *     eyJ0eXAiOiJKV1Qi...
 *     ------END NATS USER JWT------
 *     -----BEGIN USER NKEY SEED-----
 *     SUAMLB...
 *     ------END USER NKEY SEED------
 *
 * Memory: nats_creds_done wipes and frees; the caller wipes the parsed text.
 */
#ifndef FLEET_NATS_CREDS_H
#define FLEET_NATS_CREDS_H

#include "core/base/str.h"
#include "fleet/nats/nkey.h"

struct buf;
struct err;

#define NATS_CREDS_MAX ((size_t)64 << 10)

/* Zero: none. */
struct nats_creds {
    char *jwt;
    struct nats_nkey key;
};

/* Fails with ERR_INVALID; the error shows neither JWT nor seed. */
int nats_creds_parse(struct str text, struct nats_creds *ret_creds, struct err *err);
/* The text of a credentials file, as secret as the seed in it. */
void nats_creds_print(const struct nats_creds *creds, struct buf *out);
void nats_creds_done(struct nats_creds *creds);

#endif
