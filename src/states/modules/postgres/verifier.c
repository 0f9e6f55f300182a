#include "states/modules/postgres/verifier.h"

#include <ctype.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/sha256.h"

#define SCRAM      "SCRAM-SHA-256$"
#define ITERATIONS 4096
/* Limit for a stored verifier; each iteration costs time. */
#define ITERATIONS_MAX 1000000

static bool is_md5_verifier(struct str text)
{
    if (text.n != 35 || !str_starts(text, STR("md5")))
        return false;
    for (size_t i = 3; i < text.n; i++)
        if (!isxdigit((unsigned char)text.p[i]))
            return false;
    return true;
}

bool verifier_is(struct str text)
{
    return is_md5_verifier(text) || str_starts(text, STR(SCRAM));
}

enum verifier_kind verifier_kind_of(struct str text)
{
    return is_md5_verifier(text) ? VERIFIER_MD5 : VERIFIER_SCRAM;
}

static int make_verifier_md5(struct arena *arena, const char *role, const char *password,
                             const char **ret, struct err *err)
{
    const struct digest *md5 = digest_find(STR("md5"));
    char text[DIGEST_HEX_MAX];

    if (digest_hex(md5, str_from(arena_printf(arena, "%s%s", password, role)), NULL, text, err) < 0)
        return -1;
    *ret = arena_printf(arena, "md5%s", text);
    return 0;
}

/* PBKDF2 with one block: as long as the hash. */
static void derive_key(struct str password, struct str salt, int64_t iterations,
                       unsigned char key[static SHA256_SIZE])
{
    AUTO_BUF struct buf first = BUF_INIT(BUF_NO_LIMIT);
    unsigned char round[SHA256_SIZE];

    buf_add_str(&first, salt);
    buf_add(&first, "\0\0\0\1", 4);
    sha256_hmac(password, buf_view(&first), round);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        key[i] = round[i];
    for (int64_t n = 1; n < iterations; n++) {
        sha256_hmac(password, str_bytes(round, SHA256_SIZE), round);
        for (size_t i = 0; i < SHA256_SIZE; i++)
            key[i] ^= round[i];
    }
}

static const char *make_scram(struct arena *arena, const char *password, struct str salt,
                              int64_t iterations)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    unsigned char salted[SHA256_SIZE], client[SHA256_SIZE], stored[SHA256_SIZE],
        server[SHA256_SIZE];

    derive_key(str_from(password), salt, iterations, salted);
    sha256_hmac(str_bytes(salted, SHA256_SIZE), STR("Client Key"), client);
    sha256(client, SHA256_SIZE, stored);
    sha256_hmac(str_bytes(salted, SHA256_SIZE), STR("Server Key"), server);
    buf_printf(&out, SCRAM "%lld:", (long long)iterations);
    base64_encode(salt, BASE64_STANDARD, &out);
    buf_add_char(&out, '$');
    base64_encode(str_bytes(stored, SHA256_SIZE), BASE64_STANDARD, &out);
    buf_add_char(&out, ':');
    base64_encode(str_bytes(server, SHA256_SIZE), BASE64_STANDARD, &out);
    return buf_copy(&out, arena).p;
}

int verifier_make(struct arena *arena, enum verifier_kind kind, const char *role,
                  const char *password, const unsigned char salt[static VERIFIER_SALT_SIZE],
                  const char **ret, struct err *err)
{
    if (kind == VERIFIER_MD5)
        return make_verifier_md5(arena, role, password, ret, err);
    *ret = make_scram(arena, password, str_bytes(salt, VERIFIER_SALT_SIZE), ITERATIONS);
    return 0;
}

static bool match_scram(struct arena *arena, struct str stored, const char *password)
{
    AUTO_BUF struct buf salt = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_from_offset(stored, sizeof(SCRAM) - 1);
    const struct str count = str_cut(&rest, ':');
    struct err ignored;
    int64_t iterations;

    if (number_parse_int(count, &iterations, &ignored) < 0 || iterations < 1 ||
        iterations > ITERATIONS_MAX || !rest.p ||
        base64_decode(str_cut(&rest, '$'), BASE64_STANDARD, &salt, &ignored) < 0)
        return false;
    return str_is(stored, make_scram(arena, password, buf_view(&salt), iterations));
}

int verifier_matches(struct arena *arena, struct str stored, const char *role, const char *password,
                     bool *ret, struct err *err)
{
    const char *wanted;

    *ret = false;
    if (str_starts(stored, STR(SCRAM))) {
        *ret = match_scram(arena, stored, password);
        return 0;
    }
    if (!is_md5_verifier(stored))
        return 0;
    if (make_verifier_md5(arena, role, password, &wanted, err) < 0)
        return -1;
    *ret = str_is(stored, wanted);
    return 0;
}
