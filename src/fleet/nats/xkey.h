/*
 * xkey - curve keys as NATS writes them ("X..."), and what is sealed from one to another.
 *
 *     "xkv1" | 24 bytes that were never used before | box of core/base/box.h
 *
 * The curve key of a machine comes from the same 32 bytes as its signing key.
 *
 * Pure: whoever seals brings the random bytes. Threads: any.
 */
#ifndef FLEET_NATS_XKEY_H
#define FLEET_NATS_XKEY_H

#include "core/base/box.h"
#include "fleet/nats/nkey.h"

struct buf;
struct err;

struct nats_xkey {
    unsigned char public_key[BOX_KEY_SIZE];
};

/* The curve key that belongs to a key with a seed. */
void nats_xkey_of(const struct nats_nkey *key, struct nats_xkey *ret_key);
void nats_xkey_print(const struct nats_xkey *key, char text[static NATS_NKEY_TEXT_SIZE]);
/* Fails with ERR_INVALID. */
int nats_xkey_parse(struct str text, struct nats_xkey *ret_key, struct err *err);

/* Append what only the receiver can open, and knows to be from `sender`, which has a seed. Fails
 * with ERR_INVALID for a key that cannot be one. */
int nats_xkey_seal(const struct nats_nkey *sender, const struct nats_xkey *receiver,
                   const unsigned char nonce[static BOX_NONCE_SIZE], struct str text,
                   struct buf *out, struct err *err);
/* Append the text. Fails with ERR_INVALID; `receiver` has a seed. */
int nats_xkey_open(const struct nats_nkey *receiver, const struct nats_xkey *sender,
                   struct str sealed, struct buf *out, struct err *err);

#endif
