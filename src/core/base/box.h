/*
 * box - secrets from one key to another: X25519 and XSalsa20-Poly1305, NaCl's crypto_box.
 *
 * The key is 32 secret bytes, which may be those that an Ed25519 key is made from. Opening a box
 * proves that the sender made it and that it is unchanged.
 *
 * Pure: the caller provides 24 bytes that it never used before. Threads: any.
 */
#ifndef CORE_BASE_BOX_H
#define CORE_BASE_BOX_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;

#define BOX_KEY_SIZE   32
#define BOX_NONCE_SIZE 24
/* Bytes that a box adds to its content. */
#define BOX_EXTRA 16

void box_public(const unsigned char secret[static BOX_KEY_SIZE],
                unsigned char public_key[static BOX_KEY_SIZE]);

/* Append the box. False when the receiver's key is invalid. */
bool box_seal(const unsigned char sender[static BOX_KEY_SIZE],
              const unsigned char receiver_public[static BOX_KEY_SIZE],
              const unsigned char nonce[static BOX_NONCE_SIZE], struct str text, struct buf *out);
/* Append the content. False when another sender made the box or it was changed; `out` is then
 * unchanged. */
bool box_open(const unsigned char receiver[static BOX_KEY_SIZE],
              const unsigned char sender_public[static BOX_KEY_SIZE],
              const unsigned char nonce[static BOX_NONCE_SIZE], struct str box, struct buf *out);

#endif
