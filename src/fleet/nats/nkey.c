#include "fleet/nats/nkey.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base32.h"
#include "core/base/buf.h"
#include "core/base/err.h"

#define SEED_MARK   (18 << 3) /* S */
#define CRC_SIZE    2
#define CRC_POLYNOM 0x1021 /* xmodem */
/* Two bytes of marks at most. */
#define RAW_MAX (2 + ED25519_SEED_SIZE + CRC_SIZE)

static const struct {
    const char *name;
    unsigned char prefix;
} kinds[] = {
    [NATS_NKEY_ACCOUNT] = { "account", 0 },         [NATS_NKEY_USER] = { "user", 20 << 3 },
    [NATS_NKEY_OPERATOR] = { "operator", 14 << 3 }, [NATS_NKEY_SERVER] = { "server", 13 << 3 },
    [NATS_NKEY_CLUSTER] = { "cluster", 2 << 3 },
};
_Static_assert(ARRAY_LEN(kinds) == NATS_NKEY_KINDS, "every kind has a prefix");

static uint16_t compute_crc16(const unsigned char *bytes, size_t n)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < n; i++) {
        crc = (uint16_t)(crc ^ (bytes[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? (crc << 1) ^ CRC_POLYNOM : crc << 1);
    }
    return crc;
}

/* NATS_NKEY_KINDS: none has this prefix. */
static size_t find_nkey_kind(int prefix)
{
    size_t kind = 0;

    while (kind < NATS_NKEY_KINDS && kinds[kind].prefix != prefix)
        kind++;
    return kind;
}

/* The bytes of a text without the checksum, which is right; the text is not shown. */
static int decode_nkey(struct str text, unsigned char *raw, size_t want, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(RAW_MAX);
    int result = base32_decode(text, &bytes, err);
    const unsigned char *p = (const unsigned char *)bytes.p;

    if (result < 0 || bytes.n != want + CRC_SIZE)
        result = err_set(err, ERR_INVALID, "not a valid nkey");
    else if (compute_crc16(p, want) != (uint16_t)(p[want] | p[want + 1] << 8))
        result = err_set(err, ERR_INVALID, "not a valid nkey: the checksum does not match");
    else
        memcpy(raw, p, want);
    if (bytes.p)
        ed25519_wipe(bytes.p, bytes.cap);
    return result;
}

static void encode_nkey(unsigned char *raw, size_t n, char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(NATS_NKEY_TEXT_SIZE);
    uint16_t crc = compute_crc16(raw, n);

    raw[n] = (unsigned char)(crc & 255);
    raw[n + 1] = (unsigned char)(crc >> 8);
    base32_encode(str_bytes(raw, n + CRC_SIZE), &out);
    memcpy(text, out.p, out.n + 1);
    ed25519_wipe(out.p, out.cap);
    ed25519_wipe(raw, n + CRC_SIZE);
}

void nats_nkey_make(enum nats_nkey_kind kind, const unsigned char seed[static ED25519_SEED_SIZE],
                    struct nats_nkey *ret_key)
{
    *ret_key = (struct nats_nkey){ .kind = kind, .has_seed = true };
    memcpy(ret_key->seed, seed, ED25519_SEED_SIZE);
    ed25519_public(ret_key->seed, ret_key->public_key);
}

int nats_nkey_parse_seed(struct str text, struct nats_nkey *ret_key, struct err *err)
{
    unsigned char raw[RAW_MAX];
    int result = decode_nkey(text, raw, 2 + ED25519_SEED_SIZE, err);

    if (result == 0) {
        size_t kind = find_nkey_kind((raw[0] & 7) << 5 | raw[1] >> 3);

        if ((raw[0] & 0xf8) == SEED_MARK && (raw[1] & 7) == 0 && kind < NATS_NKEY_KINDS)
            nats_nkey_make((enum nats_nkey_kind)kind, raw + 2, ret_key);
        else
            result = err_set(err, ERR_INVALID, "not the seed of an nkey");
    }
    ed25519_wipe(raw, sizeof(raw));
    return result;
}

int nats_nkey_parse_public(struct str text, struct nats_nkey *ret_key, struct err *err)
{
    unsigned char raw[RAW_MAX];
    size_t kind;

    if (decode_nkey(text, raw, 1 + ED25519_PUBLIC_SIZE, err) < 0)
        return -1;
    kind = find_nkey_kind(raw[0]);
    if (kind == NATS_NKEY_KINDS)
        return err_set(err, ERR_INVALID, "not a public nkey");
    *ret_key = (struct nats_nkey){ .kind = (enum nats_nkey_kind)kind };
    memcpy(ret_key->public_key, raw + 1, ED25519_PUBLIC_SIZE);
    return 0;
}

void nats_nkey_print_public(const struct nats_nkey *key, char text[static NATS_NKEY_TEXT_SIZE])
{
    unsigned char raw[RAW_MAX];

    raw[0] = kinds[key->kind].prefix;
    memcpy(raw + 1, key->public_key, ED25519_PUBLIC_SIZE);
    encode_nkey(raw, 1 + ED25519_PUBLIC_SIZE, text);
}

void nats_nkey_print_seed(const struct nats_nkey *key, char text[static NATS_NKEY_TEXT_SIZE])
{
    unsigned char raw[RAW_MAX], prefix = kinds[key->kind].prefix;

    assert(key->has_seed);
    raw[0] = (unsigned char)(SEED_MARK | prefix >> 5);
    raw[1] = (unsigned char)((prefix & 31) << 3);
    memcpy(raw + 2, key->seed, ED25519_SEED_SIZE);
    encode_nkey(raw, 2 + ED25519_SEED_SIZE, text);
}

struct ed25519_pair nats_nkey_pair(const struct nats_nkey *key)
{
    return (struct ed25519_pair){ key->seed, key->public_key };
}

void nats_nkey_sign(const struct nats_nkey *key, struct str text,
                    unsigned char signature[static ED25519_SIGNATURE_SIZE])
{
    assert(key->has_seed);
    const struct ed25519_pair pair = nats_nkey_pair(key);

    ed25519_sign_pair(&pair, text, signature);
}

void nats_nkey_derive(const struct nats_nkey *key, const char *purpose,
                      unsigned char secret[static SHA256_SIZE])
{
    const struct str seed = { (const char *)key->seed, sizeof(key->seed) };

    assert(key->has_seed);
    sha256_hmac(seed, str_from(purpose), secret);
}

bool nats_nkey_verify(const struct nats_nkey *key, struct str text,
                      const unsigned char signature[static ED25519_SIGNATURE_SIZE])
{
    return ed25519_verify(key->public_key, text, signature);
}

void nats_nkey_done(struct nats_nkey *key)
{
    ed25519_wipe(key, sizeof(*key));
}

const char *nats_nkey_kind_name(enum nats_nkey_kind kind)
{
    return kinds[kind].name;
}

void nats_nkey_print_bytes(unsigned char prefix,
                           const unsigned char bytes[static ED25519_PUBLIC_SIZE],
                           char text[static NATS_NKEY_TEXT_SIZE])
{
    unsigned char raw[RAW_MAX];

    raw[0] = prefix;
    memcpy(raw + 1, bytes, ED25519_PUBLIC_SIZE);
    encode_nkey(raw, 1 + ED25519_PUBLIC_SIZE, text);
}

int nats_nkey_parse_bytes(struct str text, unsigned char prefix,
                          unsigned char ret_bytes[static ED25519_PUBLIC_SIZE], struct err *err)
{
    unsigned char raw[RAW_MAX];

    if (decode_nkey(text, raw, 1 + ED25519_PUBLIC_SIZE, err) < 0)
        return -1;
    if (raw[0] != prefix)
        return err_set(err, ERR_INVALID, "not a valid nkey: it is of another kind");
    memcpy(ret_bytes, raw + 1, ED25519_PUBLIC_SIZE);
    return 0;
}
