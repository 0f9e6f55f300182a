#include "fleet/enroll/token.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"

/*
 *     pin     32 bytes
 *     expires  8 bytes, the highest first
 *     id       8 bytes
 *     secret  20 bytes
 *     check    4 bytes: the first of the SHA-256 of the rest
 */
#define PIN_WORD    "sha256:"
#define TIME_BYTES  8
#define CHECK_BYTES 4
#define BODY_BYTES  (SHA256_SIZE + TIME_BYTES + TOKEN_ID_BYTES + TOKEN_SECRET_BYTES)
#define ALL_BYTES   (BODY_BYTES + CHECK_BYTES)

#define ARGS struct token_record

/* clang-format off */
static const struct record_field fields[] = {
    RECORD("id",            TEXT, ARGS, id, RECORD_REQUIRED),
    RECORD("secret_sha256", TEXT, ARGS, secret_sha256, RECORD_REQUIRED),
    RECORD("created_at",    TIME, ARGS, created_at, 0),
    RECORD("expires_at",    TIME, ARGS, expires_at, RECORD_REQUIRED),
    RECORD("created_by",    TEXT, ARGS, created_by, 0, .fallback_text = ""),
    RECORD("peels",         TEXT, ARGS, peels, 0, .fallback_text = ""),
    { 0 },
};
/* clang-format on */
const struct record_type token_record_type = RECORD_TYPE("token", struct token_record, fields, 0);

int token_make(const char *pin, int64_t expires,
               const unsigned char random[static TOKEN_RANDOM_BYTES], struct token *ret_token,
               struct err *err)
{
    if (!certificate_is_pin(pin))
        return err_set(err, ERR_INVALID, "'%s' is not a pin", pin);
    *ret_token = (struct token){ .expires = expires };
    memcpy(ret_token->pin, pin, CERTIFICATE_PIN_SIZE);
    hex_write(random, TOKEN_ID_BYTES, ret_token->id);
    memcpy(ret_token->secret, random + TOKEN_ID_BYTES, TOKEN_SECRET_BYTES);
    return 0;
}

static void add_check(struct buf *bytes)
{
    unsigned char digest[SHA256_SIZE];

    sha256(bytes->p, bytes->n, digest);
    buf_add(bytes, digest, CHECK_BYTES);
}

void token_print(const struct token *token, struct buf *out)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ALL_BYTES);
    struct err err;

    (void)hex_decode(str_from(token->pin + strlen(PIN_WORD)), &bytes, &err);
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_add_char(&bytes, (char)(token->expires >> shift & 0xff));
    (void)hex_decode(str_from(token->id), &bytes, &err);
    buf_add(&bytes, token->secret, TOKEN_SECRET_BYTES);
    add_check(&bytes);
    buf_add_text(out, TOKEN_PREFIX);
    base64_encode(buf_view(&bytes), BASE64_URL, out);
}

static void read_token_body(const unsigned char *at, struct token *ret)
{
    char hex[SHA256_HEX_SIZE];

    *ret = (struct token){ 0 };
    hex_write(at, SHA256_SIZE, hex);
    memcpy(ret->pin, PIN_WORD, strlen(PIN_WORD));
    memcpy(ret->pin + strlen(PIN_WORD), hex, sizeof(hex));
    at += SHA256_SIZE;
    for (int i = 0; i < TIME_BYTES; i++)
        ret->expires = (int64_t)((uint64_t)ret->expires << 8 | at[i]);
    at += TIME_BYTES;
    hex_write(at, TOKEN_ID_BYTES, ret->id);
    memcpy(ret->secret, at + TOKEN_ID_BYTES, TOKEN_SECRET_BYTES);
}

int token_parse(struct str text, struct token *ret_token, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(TOKEN_TEXT_MAX), body = BUF_INIT(ALL_BYTES);
    struct err ignored;

    text = str_trim(text);
    if (text.n > TOKEN_TEXT_MAX || !str_starts(text, STR(TOKEN_PREFIX)) ||
        base64_decode_strict(str_from_offset(text, strlen(TOKEN_PREFIX)), BASE64_URL, &bytes,
                             &ignored) < 0 ||
        bytes.n != ALL_BYTES)
        return err_set(err, ERR_INVALID, "not a join token; make one with 'zester-master token'");
    buf_add(&body, bytes.p, BODY_BYTES);
    add_check(&body);
    if (!str_eq(buf_view(&body), buf_view(&bytes)))
        return err_set(err, ERR_INVALID, "the join token has a typing mistake or is cut off");
    read_token_body((const unsigned char *)bytes.p, ret_token);
    return 0;
}

void token_hash(const struct token *token, char hash[static SHA256_HEX_SIZE])
{
    sha256_hex(token->secret, TOKEN_SECRET_BYTES, hash);
}

/* In a time that does not depend on how much is right. */
static bool is_equal_constant_time(const char *a, const char *b, size_t n)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < n; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

bool token_allows(const struct token_record *record, const struct token *token, struct str peel,
                  int64_t now)
{
    char hash[SHA256_HEX_SIZE];

    token_hash(token, hash);
    return strcmp(record->id, token->id) == 0 &&
           strlen(record->secret_sha256) + 1 == sizeof(hash) &&
           is_equal_constant_time(record->secret_sha256, hash, sizeof(hash)) &&
           now < record->expires_at.seconds &&
           (peel.n == 0 || !record->peels[0] || glob_match(str_from(record->peels), peel));
}
