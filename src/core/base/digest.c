#include "core/base/digest.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/base/library.h"
#include "core/base/mem.h"

#define LIBCRYPTO "libcrypto.so.3"

/* The input still to hash. */
struct input {
    digest_read_fn *read;
    void *self;
};

typedef int digest_fn(const struct digest *digest, struct input *input, unsigned char *out,
                      struct err *err);

struct digest {
    const char *name;
    size_t size;
    digest_fn *make;
};

/* Takes the next piece; false at the end, and on a read error, which sets `*result`. */
static bool next_piece(struct input *input, struct str *ret_piece, int *result, struct err *err)
{
    *result = input->read(input->self, ret_piece, err);
    return *result == 0 && ret_piece->n > 0;
}

/* --- libsodium ------------------------------------------------------------------------- */

static int make_sha256(const struct digest *digest, struct input *input, unsigned char *out,
                       struct err *err)
{
    crypto_hash_sha256_state state;
    struct str piece;
    int result = 0;

    (void)digest;
    (void)crypto_hash_sha256_init(&state);
    while (next_piece(input, &piece, &result, err))
        (void)crypto_hash_sha256_update(&state, (const unsigned char *)piece.p, piece.n);
    (void)crypto_hash_sha256_final(&state, out);
    return result;
}

static int make_sha512(const struct digest *digest, struct input *input, unsigned char *out,
                       struct err *err)
{
    crypto_hash_sha512_state state;
    struct str piece;
    int result = 0;

    (void)digest;
    (void)crypto_hash_sha512_init(&state);
    while (next_piece(input, &piece, &result, err))
        (void)crypto_hash_sha512_update(&state, (const unsigned char *)piece.p, piece.n);
    (void)crypto_hash_sha512_final(&state, out);
    return result;
}

/* --- OpenSSL --------------------------------------------------------------------------- */

static struct {
    EVP_MD_CTX *(*create)(void);
    void (*drop)(EVP_MD_CTX *context);
    const EVP_MD *(*find)(const char *name);
    int (*begin)(EVP_MD_CTX *context, const EVP_MD *kind, ENGINE *engine);
    int (*add)(EVP_MD_CTX *context, const void *bytes, size_t n);
    int (*end)(EVP_MD_CTX *context, unsigned char *out, unsigned *ret_size);
} openssl;
static const struct library_symbol symbols[] = {
    { "EVP_MD_CTX_new", &openssl.create },     { "EVP_MD_CTX_free", &openssl.drop },
    { "EVP_get_digestbyname", &openssl.find }, { "EVP_DigestInit_ex", &openssl.begin },
    { "EVP_DigestUpdate", &openssl.add },      { "EVP_DigestFinal_ex", &openssl.end },
};
static struct library library = { LIBCRYPTO, symbols, ARRAY_LEN(symbols), NULL, 0 };

static int make_other(const struct digest *digest, struct input *input, unsigned char *out,
                      struct err *err)
{
    EVP_MD_CTX *context;
    unsigned size = 0;
    struct str piece;
    int result = 0;
    bool good;

    if (!library_get(&library))
        return err_set(err, ERR_NOT_FOUND, "%s requires %s", digest->name, LIBCRYPTO);
    context = openssl.create();
    good = context && openssl.begin(context, openssl.find(digest->name), NULL) == 1;
    while (good && next_piece(input, &piece, &result, err))
        good = openssl.add(context, piece.p, piece.n) == 1;
    good = good && openssl.end(context, out, &size) == 1 && size == digest->size;
    openssl.drop(context);
    if (result == 0 && !good)
        return err_set(err, ERR_UNSUPPORTED, "%s is not available in OpenSSL", digest->name);
    return result;
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

struct in_memory {
    struct str rest;
    digest_check_fn *check;
};

static int read_memory(void *self, struct str *ret_piece, struct err *err)
{
    struct in_memory *memory = self;
    const size_t n = memory->rest.n < DIGEST_PIECE ? memory->rest.n : DIGEST_PIECE;

    *ret_piece = str_slice(memory->rest, 0, n);
    memory->rest = str_from_offset(memory->rest, n);
    return n > 0 && memory->check ? memory->check(err) : 0;
}

int digest_hex(const struct digest *digest, struct str bytes, digest_check_fn *check,
               char text[static DIGEST_HEX_MAX], struct err *err)
{
    struct in_memory memory = { bytes, check };

    return digest_hex_read(digest, read_memory, &memory, text, err);
}

int digest_hex_read(const struct digest *digest, digest_read_fn *read, void *self,
                    char text[static DIGEST_HEX_MAX], struct err *err)
{
    unsigned char out[DIGEST_MAX];
    struct input input = { read, self };

    if (digest->make(digest, &input, out, err) < 0)
        return -1;
    hex_write(out, digest->size, text);
    return 0;
}
