#include "fleet/wire/signing_notice.h"

#include <inttypes.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/record.h"

#define TEXT_MAX 512
/* A year: longer than any credentials live. */
#define SPREAD_MAX (INT64_C(366) * 86400)

struct stored {
    struct signing_notice notice;
    struct str signature;
};

/* clang-format off */
static const struct record_field stored_fields[] = {
    RECORD("generation", INT,   struct stored, notice.generation, RECORD_REQUIRED, RECORD_RANGE(1, INT64_MAX)),
    RECORD("spread",     INT,   struct stored, notice.spread, RECORD_REQUIRED, RECORD_RANGE(0, SPREAD_MAX)),
    RECORD("key",        TEXT,  struct stored, notice.key, RECORD_REQUIRED),
    RECORD("signature",  BYTES, struct stored, signature, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("notice of a signing key", struct stored, stored_fields, RECORD_LENIENT);
/* clang-format on */

static void print_notice_text(const struct signing_notice *notice, struct buf *out)
{
    buf_printf(out, "zester signing key 1\ngeneration %" PRId64 "\nspread %" PRId64 "\nkey %s\n",
               notice->generation, notice->spread, notice->key);
}

struct str signing_notice_sign(struct arena *arena, const struct ed25519_pair *signer,
                               const struct signing_notice *notice)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX), bytes = BUF_INIT(SIGNING_NOTICE_MAX);
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    struct stored stored = { .notice = *notice };
    struct err err;

    print_notice_text(notice, &text);
    ed25519_sign_pair(signer, buf_view(&text), signature);
    stored.signature = str_bytes(signature, sizeof(signature));
    (void)record_encode(&bytes, &stored_type, &stored, &err); /* numbers and a key fit */
    return buf_copy(&bytes, arena);
}

int signing_notice_read(struct arena *arena,
                        const unsigned char account[static ED25519_PUBLIC_SIZE], struct str bytes,
                        struct signing_notice *ret_notice, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    struct stored stored = { 0 };
    struct err why;

    if (bytes.n > SIGNING_NOTICE_MAX ||
        record_decode(arena, &stored_type, 0, bytes, &stored, &why) < 0 ||
        stored.signature.n != ED25519_SIGNATURE_SIZE)
        return err_set(err, ERR_UNSAFE, "the notice of a signing key cannot be read");
    print_notice_text(&stored.notice, &text);
    if (text.full ||
        !ed25519_verify(account, buf_view(&text), (const unsigned char *)stored.signature.p))
        return err_set(err, ERR_UNSAFE, "the notice of a signing key is not signed by the account");
    *ret_notice = stored.notice;
    return 0;
}
