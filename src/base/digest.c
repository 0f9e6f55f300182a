#include "base/digest.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/library.h"
#include "base/mem.h"

#define LIBCRYPTO "libcrypto.so.3"

typedef int digest_fn(const struct digest *digest, struct str bytes, unsigned char *out,
                      struct err *err);

struct digest {
    const char *name;
    size_t size;
    digest_fn *make;
};

/* --- libsodium ------------------------------------------------------------------------- */

static int make_sha256(const struct digest *digest, struct str bytes, unsigned char *out,
                       struct err *err)
{
    (void)digest;
    (void)err;
    (void)crypto_hash_sha256(out, (const unsigned char *)bytes.p, bytes.n);
    return 0;
}

static int make_sha512(const struct digest *digest, struct str bytes, unsigned char *out,
                       struct err *err)
{
    (void)digest;
    (void)err;
    (void)crypto_hash_sha512(out, (const unsigned char *)bytes.p, bytes.n);
    return 0;
}

/* --- OpenSSL --------------------------------------------------------------------------- */

static struct {
    int (*q_digest)(OSSL_LIB_CTX *context, const char *name, const char *properties,
                    const void *bytes, size_t n, unsigned char *out, size_t *ret_size);
} openssl;
static const struct library_symbol symbols[] = { { "EVP_Q_digest", &openssl.q_digest } };
static struct library library = { LIBCRYPTO, symbols, ARRAY_LEN(symbols), NULL, 0 };

static int make_other(const struct digest *digest, struct str bytes, unsigned char *out,
                      struct err *err)
{
    size_t size = 0;

    if (!library_get(&library))
        return err_set(err, ERR_NOT_FOUND, "%s requires %s", digest->name, LIBCRYPTO);
    if (!openssl.q_digest(NULL, digest->name, NULL, bytes.p ? bytes.p : "", bytes.n, out, &size) ||
        size != digest->size)
        return err_set(err, ERR_UNSUPPORTED, "%s is not available in OpenSSL", digest->name);
    return 0;
}

/* --- by name --------------------------------------------------------------------------- */

/* The weakest first; no two of the same size. */
static const struct digest digests[] = {
    { "md5", 16, make_other },     { "sha1", 20, make_other },   { "sha224", 28, make_other },
    { "sha256", 32, make_sha256 }, { "sha384", 48, make_other }, { "sha512", 64, make_sha512 },
};

const struct digest *digest_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(digests); i++)
        if (strlen(digests[i].name) == name.n && strncasecmp(digests[i].name, name.p, name.n) == 0)
            return &digests[i];
    return NULL;
}

const struct digest *digest_find_digits(size_t count)
{
    for (size_t i = 0; i < ARRAY_LEN(digests); i++)
        if (digests[i].size * 2 == count)
            return &digests[i];
    return NULL;
}

const char *digest_name(const struct digest *digest)
{
    return digest->name;
}

int digest_compare(const struct digest *a, const struct digest *b)
{
    return (a > b) - (a < b);
}

int digest_hex(const struct digest *digest, struct str bytes, char text[static DIGEST_HEX_MAX],
               struct err *err)
{
    unsigned char out[DIGEST_MAX];

    if (digest->make(digest, bytes, out, err) < 0)
        return -1;
    hex_write(out, digest->size, text);
    return 0;
}
