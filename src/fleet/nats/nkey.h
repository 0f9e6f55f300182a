/*
 * nkey - Ed25519 keys in NATS form: base32 with a prefix letter for the kind.
 *
 *     public   base32( prefix | 32 bytes | crc16 )                     "UDXU4R..."
 *     seed     base32( seed mark and prefix | 32 bytes | crc16 )       "SUAMLB..."
 *
 * A key from a seed can sign; one from a public text can only verify. Pure: the caller supplies 32
 * random bytes for a new key. Memory: none on the heap; nats_nkey_done wipes the seed. Threads:
 * any.
 */
#ifndef FLEET_NATS_NKEY_H
#define FLEET_NATS_NKEY_H

#include <stdbool.h>

#include "core/base/ed25519.h"
#include "core/base/sha256.h"
#include "core/base/str.h"

struct buf;
struct err;

enum nats_nkey_kind {
    NATS_NKEY_ACCOUNT,  /* A */
    NATS_NKEY_USER,     /* U */
    NATS_NKEY_OPERATOR, /* O */
    NATS_NKEY_SERVER,   /* N */
    NATS_NKEY_CLUSTER,  /* C */
};
#define NATS_NKEY_KINDS (NATS_NKEY_CLUSTER + 1)

/* Room for either text, with its NUL. */
#define NATS_NKEY_TEXT_SIZE 64

struct nats_nkey {
    enum nats_nkey_kind kind;
    bool has_seed;
    unsigned char seed[ED25519_SEED_SIZE];
    unsigned char public_key[ED25519_PUBLIC_SIZE];
};

/* Makes a key from 32 unpredictable bytes. */
void nats_nkey_make(enum nats_nkey_kind kind, const unsigned char seed[static ED25519_SEED_SIZE],
                    struct nats_nkey *ret_key);
/* Fail with ERR_INVALID; the error never shows a seed. */
int nats_nkey_parse_seed(struct str text, struct nats_nkey *ret_key, struct err *err);
int nats_nkey_parse_public(struct str text, struct nats_nkey *ret_key, struct err *err);
void nats_nkey_print_public(const struct nats_nkey *key, char text[static NATS_NKEY_TEXT_SIZE]);
/* The key must have a seed. The text is as secret as the key. */
void nats_nkey_print_seed(const struct nats_nkey *key, char text[static NATS_NKEY_TEXT_SIZE]);

/* The key must have a seed. */
void nats_nkey_sign(const struct nats_nkey *key, struct str text,
                    unsigned char signature[static ED25519_SIGNATURE_SIZE]);
/* The same key, for code that signs without this header. */
struct ed25519_pair nats_nkey_pair(const struct nats_nkey *key);
/* Derives bytes from the seed: always the same, but different for each purpose. */
void nats_nkey_derive(const struct nats_nkey *key, const char *purpose,
                      unsigned char secret[static SHA256_SIZE]);
bool nats_nkey_verify(const struct nats_nkey *key, struct str text,
                      const unsigned char signature[static ED25519_SIGNATURE_SIZE]);
void nats_nkey_done(struct nats_nkey *key);

/* For fleet/nats/xkey.h: 32 bytes with another prefix, and back. */
#define NATS_NKEY_CURVE_PREFIX (23 << 3) /* X */
void nats_nkey_print_bytes(unsigned char prefix,
                           const unsigned char bytes[static ED25519_PUBLIC_SIZE],
                           char text[static NATS_NKEY_TEXT_SIZE]);
int nats_nkey_parse_bytes(struct str text, unsigned char prefix,
                          unsigned char ret_bytes[static ED25519_PUBLIC_SIZE], struct err *err);

/* "account", "user", ... */
const char *nats_nkey_kind_name(enum nats_nkey_kind kind);

#endif
