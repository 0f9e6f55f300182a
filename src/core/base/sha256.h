/*
 * sha256 - fingerprints of 32 bytes.
 *
 *     sha256(bytes, n, digest);                            at once
 *     sha256_init -> sha256_add... -> sha256_end           piece by piece
 *
 * Threads: one at a time for each struct.
 */
#ifndef CORE_BASE_SHA256_H
#define CORE_BASE_SHA256_H

#include <stddef.h>

#include "core/base/hex.h"
#include "core/base/str.h"

#define SHA256_SIZE     32
#define SHA256_HEX_SIZE HEX_SIZE(SHA256_SIZE)

/* Large enough for the state of the library. */
#define SHA256_STATE_SIZE 112

struct sha256 {
    _Alignas(max_align_t) unsigned char state[SHA256_STATE_SIZE];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t n);
/* Initialise `sha` again before using it again. */
void sha256_end(struct sha256 *sha, unsigned char digest[static SHA256_SIZE]);
void sha256_end_hex(struct sha256 *sha, char text[static SHA256_HEX_SIZE]);

void sha256(const void *bytes, size_t n, unsigned char digest[static SHA256_SIZE]);
/* The digest as lower-case text. */
void sha256_hex(const void *bytes, size_t n, char text[static SHA256_HEX_SIZE]);

/* HMAC with SHA-256 (RFC 2104), for a secret of any length. */
void sha256_hmac(struct str secret, struct str bytes, unsigned char digest[static SHA256_SIZE]);

#endif
