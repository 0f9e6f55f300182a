#include "fleet/wire/revoked.h"

#include <inttypes.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/data/msgpack.h"
#include "core/data/record.h"

#define TEXT_MAX 256

/* As it is stored: the keys are bytes, so that what was signed need not be written again. */
struct stored {
    int64_t time;
    struct str keys, signature;
};

/* clang-format off */
static const struct record_field stored_fields[] = {
    RECORD("time",      INT,   struct stored, time, RECORD_REQUIRED, RECORD_RANGE(1, INT64_MAX)),
    RECORD("keys",      BYTES, struct stored, keys, RECORD_REQUIRED),
    RECORD("signature", BYTES, struct stored, signature, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("list of revoked keys", struct stored, stored_fields, RECORD_LENIENT);
/* clang-format on */

static void print_revoked_text(const struct stored *stored, struct buf *out)
{
    char sum[SHA256_HEX_SIZE];

    sha256_hex(stored->keys.p, stored->keys.n, sum);
    buf_printf(out, "zester revoked 1\ntime %" PRId64 "\nsha256 %s\n", stored->time, sum);
}

struct str revoked_sign(struct arena *arena, const struct ed25519_pair *signer,
                        const struct revoked_notice *list)
{
    AUTO_BUF struct buf keys = BUF_INIT(BUF_NO_LIMIT), text = BUF_INIT(TEXT_MAX);
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    struct stored stored = { .time = list->time };
    struct err err;

    (void)msgpack_encode(&keys, &list->keys, &err); /* texts and numbers */
    stored.keys = buf_view(&keys);
    print_revoked_text(&stored, &text);
    ed25519_sign_pair(signer, buf_view(&text), signature);
    stored.signature = str_bytes(signature, sizeof(signature));
    (void)record_encode(&bytes, &stored_type, &stored, &err);
    return buf_copy(&bytes, arena);
}

static int read_stored_list(struct arena *arena, struct str bytes, struct stored *ret,
                            struct err *err)
{
    if (bytes.n > REVOKED_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", REVOKED_MAX);
    if (record_decode(arena, &stored_type, 0, bytes, ret, err) < 0)
        return -1;
    if (ret->signature.n != ED25519_SIGNATURE_SIZE)
        return err_set(err, ERR_INVALID, "a signature of %zu bytes instead of %d", ret->signature.n,
                       ED25519_SIGNATURE_SIZE);
    return 0;
}

int revoked_read(struct arena *arena, const unsigned char account[static ED25519_PUBLIC_SIZE],
                 struct str bytes, struct revoked_notice *ret_list, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct stored stored = { 0 };
    struct value keys;
    struct err why;

    if (read_stored_list(arena, bytes, &stored, &why) < 0)
        return err_set(err, ERR_UNSAFE, "the list of revoked keys cannot be read: %s", why.text);
    print_revoked_text(&stored, &text);
    if (!ed25519_verify(account, buf_view(&text), (const unsigned char *)stored.signature.p))
        return err_set(err, ERR_UNSAFE, "the list of revoked keys is not signed by the account");
    if (msgpack_decode(arena, stored.keys, &keys, &why) < 0 || keys.kind != VALUE_MAP ||
        keys.map->count > REVOKED_KEYS_MAX)
        return err_set(err, ERR_UNSAFE, "the list of revoked keys is not a map of up to %d keys",
                       REVOKED_KEYS_MAX);
    *ret_list = (struct revoked_notice){ .time = stored.time, .keys = keys };
    return 0;
}

bool revoked_has(const struct revoked_notice *list, const char *key)
{
    return value_get(&list->keys, key) != NULL;
}
