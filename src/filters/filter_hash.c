/* Filters that make digests. */
#include "filters/filter.h"

#include <string.h>

#include "base/base64.h"
#include "base/md5.h"
#include "base/sha1.h"
#include "base/sha256.h"
#include "base/sha512.h"
#include "jinja/argument.h"
#include "jinja/function.h"
#include "jinja/ops.h"
#include "jinja/render.h"
#include "jinja/text.h"

#define HMAC_BLOCK 64

/* The bytes of a text or of bytes. */
static int bytes_of(struct render *render, const struct value *v, struct str *ret)
{
    if (v->kind != VALUE_BYTES)
        return argument_text(render, v, ret);
    *ret = v->s;
    return 0;
}

/* --- plain -------------------------------------------------------------------------------- */

typedef void digest_fn(const void *bytes, size_t n, char *text);

static int digest(struct render *render, const struct bound *bound, digest_fn *fn,
                  struct value *ret)
{
    char hex[SHA512_HEX_SIZE]; /* the longest */
    struct str bytes;

    if (bytes_of(render, &bound->args[0], &bytes) < 0)
        return -1;
    fn(bytes.p, bytes.n, hex);
    *ret = op_new_str(render, str_from(hex));
    return 0;
}

static int filter_md5(struct render *render, const struct bound *bound, struct value *ret)
{
    return digest(render, bound, md5_hex, ret);
}

static int filter_sha1(struct render *render, const struct bound *bound, struct value *ret)
{
    return digest(render, bound, sha1_hex, ret);
}

static int filter_sha256(struct render *render, const struct bound *bound, struct value *ret)
{
    return digest(render, bound, sha256_hex, ret);
}

static int filter_sha512(struct render *render, const struct bound *bound, struct value *ret)
{
    return digest(render, bound, sha512_hex, ret);
}

/* --- with a key --------------------------------------------------------------------------- */

static void begin_hmac(struct sha256 *sha, const unsigned char key[static HMAC_BLOCK],
                       unsigned char pad)
{
    unsigned char block[HMAC_BLOCK];

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = key[i] ^ pad;
    sha256_init(sha);
    sha256_add(sha, block, sizeof(block));
}

/* HMAC with SHA-256: RFC 2104. */
static void hmac(struct str secret, struct str text, unsigned char digest[static SHA256_SIZE])
{
    unsigned char key[HMAC_BLOCK] = { 0 };
    struct sha256 sha;

    if (secret.n > sizeof(key)) {
        sha256_init(&sha);
        sha256_add(&sha, secret.p, secret.n);
        sha256_end(&sha, key);
    } else {
        memcpy(key, secret.p, secret.n);
    }
    begin_hmac(&sha, key, 0x36);
    sha256_add(&sha, text.p, text.n);
    sha256_end(&sha, digest);
    begin_hmac(&sha, key, 0x5c);
    sha256_add(&sha, digest, SHA256_SIZE);
    sha256_end(&sha, digest);
}

static int read_hmac(struct render *render, const struct bound *bound,
                     unsigned char digest[static SHA256_SIZE])
{
    struct str text, secret;

    if (bytes_of(render, &bound->args[0], &text) < 0 ||
        bytes_of(render, &bound->args[1], &secret) < 0)
        return -1;
    hmac(secret, text, digest);
    return 0;
}

static int filter_hmac_compute(struct render *render, const struct bound *bound, struct value *ret)
{
    unsigned char digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    if (read_hmac(render, bound, digest) < 0)
        return -1;
    hex_write(digest, sizeof(digest), hex);
    *ret = op_new_str(render, str_from(hex));
    return 0;
}

static int filter_hmac(struct render *render, const struct bound *bound, struct value *ret)
{
    AUTO_BUF struct buf expected = BUF_INIT(TEXT_MAX);
    unsigned char digest[SHA256_SIZE];
    struct str given;

    if (read_hmac(render, bound, digest) < 0 || bytes_of(render, &bound->args[2], &given) < 0)
        return -1;
    base64_encode((struct str){ (const char *)digest, sizeof(digest) }, BASE64_STANDARD, &expected);
    *ret = value_bool(str_eq(buf_view(&expected), given));
    return 0;
}

/* --- names -------------------------------------------------------------------------------- */

/* A UUID of version 5 (RFC 4122) in Salt's namespace: the same for the same text, everywhere. */
static int filter_uuid(struct render *render, const struct bound *bound, struct value *ret)
{
    static const unsigned char space[] = { 0x91, 0x63, 0x3e, 0xbf, 0x1c, 0x86, 0x5e, 0x33,
                                           0x93, 0x5a, 0x28, 0x06, 0x1f, 0x4b, 0x48, 0x0e };
    static const char variants[] = "89ab89ab89ab89ab";
    static const char digits[] = "0123456789abcdef";
    AUTO_BUF struct buf name = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    char hex[SHA1_HEX_SIZE];
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    buf_add(&name, (const char *)space, sizeof(space));
    buf_add_str(&name, text);
    sha1_hex(name.p, name.n, hex);
    hex[12] = '5';
    hex[16] = variants[strchr(digits, hex[16]) - digits];
    buf_printf(&out, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_hash_functions[] = {
    { "hmac",         "value, shared_secret, challenge_hmac", filter_hmac, "whether this is its HMAC with SHA-256, in base64" },
    { "hmac_compute", "value, shared_secret", filter_hmac_compute, "HMAC with SHA-256 as hexadecimal digits" },
    { "md5",          "value", filter_md5, "MD5 as hexadecimal digits" },
    { "sha1",         "value", filter_sha1, "SHA-1 as hexadecimal digits" },
    { "sha256",       "value", filter_sha256, "SHA-256 as hexadecimal digits" },
    { "sha512",       "value", filter_sha512, "SHA-512 as hexadecimal digits" },
    { "uuid",         "value", filter_uuid, "a UUID that belongs to this text" },
    { 0 },
};
/* clang-format on */
