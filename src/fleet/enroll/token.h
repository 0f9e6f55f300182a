/*
 * token - lets machines enroll without waiting for an operator, for a while.
 *
 *     zester-peel join HOST zt1.<text>
 *
 * The text carries the pin of the fleet's certificate authority, so that the machine knows whom it
 * talks to from its first byte on; when it ends; and a secret with the id under which the master
 * knows it. The bus keeps only a hash of the secret, in the bucket of enrollments below
 * TOKEN_KEY. A machine sends the whole text, over a connection that the pin has proven.
 *
 *     token_make -> token_print                 the one who gives it out
 *     token_parse                               machine and master
 *     token_allows                              the master, with what is stored
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
/* The header of requests, so that limits do not apply; its value is the text. */
#define TOKEN_HEADER "X-Zester-Token"
/* The key of the request's body that holds the text. */
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

/* `random` are bytes that nobody can guess. Fails with ERR_INVALID for a bad pin. */
#define TOKEN_RANDOM_BYTES (TOKEN_ID_BYTES + TOKEN_SECRET_BYTES)
int token_make(const char *pin, int64_t expires,
               const unsigned char random[static TOKEN_RANDOM_BYTES], struct token *ret_token,
               struct err *err);
void token_print(const struct token *token, struct buf *out);
/* Fails with ERR_INVALID; a typing mistake is found by a checksum. */
int token_parse(struct str text, struct token *ret_token, struct err *err);

/* What the bus keeps. */
struct token_record {
    const char *id, *secret_sha256; /* hex */
    struct value_time created_at, expires_at;
    const char *created_by;
    const char *peels; /* a glob that ids must match; "": any */
};
extern const struct record_type token_record_type;

/* The hash of the secret for a record. */
void token_hash(const struct token *token, char hash[static SHA256_HEX_SIZE]);
/* Does it let this peel in now? An empty id asks for the token alone. */
bool token_allows(const struct token_record *record, const struct token *token, struct str peel,
                  int64_t now);

#endif
