/*
 * digest - hashes by name, for checksums that others publish: md5, sha1, sha224, sha256, sha384,
 * sha512.
 *
 * SHA-256 and SHA-512 are libsodium's. The others come from OpenSSL's libcrypto, which is loaded on
 * first use: linking it would take half the time of a short run. md5 and sha1 detect damaged files;
 * they do not protect against forgery.
 *
 * Threads: any.
 */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include <stddef.h>

#include "core/base/hex.h"
#include "core/base/str.h"

#define DIGEST_MAX     64
#define DIGEST_HEX_MAX HEX_SIZE(DIGEST_MAX)

struct digest;
struct err;

/* By name, in any case; NULL when there is none. */
const struct digest *digest_find(struct str name);
/* By the number of hexadecimal digits; NULL when there is none. */
const struct digest *digest_find_digits(size_t count);
const char *digest_name(const struct digest *digest);
/* Below 0, 0 or above: `a` is weaker, the same, stronger. */
int digest_compare(const struct digest *a, const struct digest *b);

/* Long work calls this to ask whether to continue; fails with the reason to stop. */
typedef int digest_check_fn(struct err *err);
/* Bytes between two calls. */
#define DIGEST_PIECE ((size_t)16 << 20)

/* The next piece to hash, borrowed until the next call; empty at the end. */
typedef int digest_read_fn(void *self, struct str *ret_piece, struct err *err);

/* As lower-case text. Fails when libcrypto is missing or refuses (md5 in FIPS mode), and when
 * `check` does; `check` may be NULL. */
int digest_hex(const struct digest *digest, struct str bytes, digest_check_fn *check,
               char text[static DIGEST_HEX_MAX], struct err *err);
/* The same for the pieces that `read` returns. */
int digest_hex_read(const struct digest *digest, digest_read_fn *read, void *self,
                    char text[static DIGEST_HEX_MAX], struct err *err);

#endif
