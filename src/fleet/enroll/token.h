/*
 * token - join tokens: machines enroll without waiting for an operator, for a limited time.
 *
 *     zester-peel join HOST zt1.<text>
 *
 * The text carries the pin of the fleet's certificate authority, so the machine can verify the
 * server from the first byte on; the expiry; and a secret with its id. The bus stores only a hash
 * of the secret, in the bucket of enrollments below TOKEN_KEY. A machine sends the whole text, over
 * a connection verified by the pin.
 *
 *     token_make -> token_print                 the issuer
 *     token_parse                               machine and master
 *     token_allows                              the master, with the stored record
 *
 * Pure: clock and random bytes are handed in. Threads: any.
 */
#ifndef FLEET_ENROLL_TOKEN_H
#define FLEET_ENROLL_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/data/record.h"
#include "fleet/enroll/certificate.h"

struct buf;
struct err;

#define TOKEN_PREFIX "zt1."
/* Key of a bucket entry: this and the id. */
#define TOKEN_KEY "token."
/* Request header with the text, which lifts rate limits. */
#define TOKEN_HEADER "X-Zester-Token"
/* Key of the text in the request's body. */
#define TOKEN_FIELD    "token"
#define TOKEN_TEXT_MAX 256

#define TOKEN_ID_BYTES     8
#define TOKEN_SECRET_BYTES 20

struct token {
    char pin[CERTIFICATE_PIN_SIZE];
    int64_t expires; /* seconds since 1970 */
    char id[HEX_SIZE(TOKEN_ID_BYTES)];
    unsigned char secret[TOKEN_SECRET_BYTES];
};

/* `random` must be unpredictable. Fails with ERR_INVALID for a bad pin. */
#define TOKEN_RANDOM_BYTES (TOKEN_ID_BYTES + TOKEN_SECRET_BYTES)
int token_make(const char *pin, int64_t expires,
               const unsigned char random[static TOKEN_RANDOM_BYTES], struct token *ret_token,
               struct err *err);
void token_print(const struct token *token, struct buf *out);
/* Fails with ERR_INVALID; a checksum detects typing mistakes. */
int token_parse(struct str text, struct token *ret_token, struct err *err);

/* The stored record. */
struct token_record {
    const char *id, *secret_sha256; /* hex */
    struct value_time created_at, expires_at;
    const char *created_by;
    const char *peels; /* a glob for peel ids; "": any */
};
extern const struct record_type token_record_type;

/* The hash of the secret for a record. */
void token_hash(const struct token *token, char hash[static SHA256_HEX_SIZE]);
/* May this peel enroll with it now? An empty id checks the token alone. */
bool token_allows(const struct token_record *record, const struct token *token, struct str peel,
                  int64_t now);

#endif
