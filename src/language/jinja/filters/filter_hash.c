/* Filters that make digests. */
#include "language/jinja/filters/filter.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* The bytes of a text or bytes value. */
static int get_hashed_bytes(struct render *render, const struct value *v, struct str *ret)
{
    if (v->kind != VALUE_BYTES)
        return argument_text(render, v, ret);
    *ret = v->s;
    return 0;
}

/* --- plain -------------------------------------------------------------------------------- */

static int make_digest(struct render *render, const char *name, struct str bytes,
                       char hex[static DIGEST_HEX_MAX])
{
    struct err err;

    if (digest_hex(digest_find(str_from(name)), bytes, NULL, hex, &err) == 0)
        return 0;
    return render_fail(render, RENDER_TYPE, "%s", err.text);
}

static int filter_digest(struct render *render, const struct bound_args *bound, const char *name,
                         struct value *ret)
{
    char hex[DIGEST_HEX_MAX];
    struct str bytes;

    if (get_hashed_bytes(render, &bound->args[0], &bytes) < 0 ||
        make_digest(render, name, bytes, hex) < 0)
        return -1;
    *ret = op_new_str(render, str_from(hex));
    return 0;
}

static int filter_md5(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return filter_digest(render, bound, "md5", ret);
}

static int filter_sha1(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return filter_digest(render, bound, "sha1", ret);
}

static int filter_sha256(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return filter_digest(render, bound, "sha256", ret);
}

static int filter_sha512(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return filter_digest(render, bound, "sha512", ret);
}

/* --- with a key --------------------------------------------------------------------------- */

static int read_hmac(struct render *render, const struct bound_args *bound,
                     unsigned char digest[static SHA256_SIZE])
{
    struct str text, secret;

    if (get_hashed_bytes(render, &bound->args[0], &text) < 0 ||
        get_hashed_bytes(render, &bound->args[1], &secret) < 0)
        return -1;
    sha256_hmac(secret, text, digest);
    return 0;
}

static int filter_hmac_compute(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    unsigned char digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    if (read_hmac(render, bound, digest) < 0)
        return -1;
    hex_write(digest, sizeof(digest), hex);
    *ret = op_new_str(render, str_from(hex));
    return 0;
}

static int filter_hmac(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf expected = BUF_INIT(TEXT_MAX);
    unsigned char digest[SHA256_SIZE];
    struct str given;

    if (read_hmac(render, bound, digest) < 0 ||
        get_hashed_bytes(render, &bound->args[2], &given) < 0)
        return -1;
    base64_encode((struct str){ (const char *)digest, sizeof(digest) }, BASE64_STANDARD, &expected);
    *ret = value_bool(str_eq(buf_view(&expected), given));
    return 0;
}

/* --- names -------------------------------------------------------------------------------- */

/* A UUID of version 5 (RFC 4122) in Salt's namespace: the same for the same text, everywhere. */
static int filter_uuid(struct render *render, const struct bound_args *bound, struct value *ret)
{
    static const unsigned char space[] = { 0x91, 0x63, 0x3e, 0xbf, 0x1c, 0x86, 0x5e, 0x33,
                                           0x93, 0x5a, 0x28, 0x06, 0x1f, 0x4b, 0x48, 0x0e };
    static const char variants[] = "89ab89ab89ab89ab";
    static const char digits[] = "0123456789abcdef";
    AUTO_BUF struct buf name = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    char hex[DIGEST_HEX_MAX];
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    buf_add(&name, (const char *)space, sizeof(space));
    buf_add_str(&name, text);
    if (make_digest(render, "sha1", buf_view(&name), hex) < 0)
        return -1;
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
