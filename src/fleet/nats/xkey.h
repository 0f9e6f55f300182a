/*
 * xkey - curve keys in NATS form ("X..."), and boxes sealed from one to another.
 *
 *     "xkv1" | nonce of 24 bytes | box of core/base/box.h
 *
 * The curve key of a machine comes from the same 32 bytes as its signing key.
 *
 * Pure: the caller supplies the random bytes. Threads: any.
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

/* The curve key of a key with a seed. */
void nats_xkey_of(const struct nats_nkey *key, struct nats_xkey *ret_key);
void nats_xkey_print(const struct nats_xkey *key, char text[static NATS_NKEY_TEXT_SIZE]);
/* Fails with ERR_INVALID. */
int nats_xkey_parse(struct str text, struct nats_xkey *ret_key, struct err *err);

/* Appends a box that only the receiver can open and that proves the sender, which has a seed. Fails
 * with ERR_INVALID for an invalid key. */
int nats_xkey_seal(const struct nats_nkey *sender, const struct nats_xkey *receiver,
                   const unsigned char nonce[static BOX_NONCE_SIZE], struct str text,
                   struct buf *out, struct err *err);
/* Appends the text. Fails with ERR_INVALID; `receiver` has a seed. */
int nats_xkey_open(const struct nats_nkey *receiver, const struct nats_xkey *sender,
                   struct str sealed, struct buf *out, struct err *err);

#endif
