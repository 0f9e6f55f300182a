/*
 * signing - keys of machines, and what they sign to enroll.
 */
#ifndef TESTS_UNIT_FLEET_ENROLL_SIGNING_H
#define TESTS_UNIT_FLEET_ENROLL_SIGNING_H

#include <string.h>

#include "core/base/arena.h"
#include "core/base/base32.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "fleet/nats/nkey.h"

static inline void make_key(enum nats_nkey_kind kind, unsigned char fill, struct nats_nkey *key)
{
    unsigned char seed[ED25519_SEED_SIZE];

    memset(seed, fill, sizeof(seed));
    nats_nkey_make(kind, seed, key);
}

static inline const char *curve_key(struct arena *arena)
{
    AUTO_BUF struct buf text = BUF_INIT(64);
    unsigned char bytes[35] = { 23 << 3, 1, 2, 3 };

    base32_encode(str_bytes(bytes, sizeof(bytes)), &text);
    return buf_copy(&text, arena).p;
}

static inline const char *sign_text(struct arena *arena, const struct nats_nkey *key,
                                    struct str text, enum base64_form form)
{
    AUTO_BUF struct buf out = BUF_INIT(256);
    unsigned char signature[ED25519_SIGNATURE_SIZE];

    nats_nkey_sign(key, text, signature);
    base64_encode(str_bytes(signature, sizeof(signature)), form, &out);
    return buf_copy(&out, arena).p;
}

#endif
