#include "fleet/master/settings/sealed_tree.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "fleet/nats/xkey.h"
#include "fleet/wire/fileset.h"

#define NONCE_USE "zester-settings-v1"
#define BOX_MAX   (FILESET_INLINE_MAX + FILESET_PATH_MAX + 256)

/* A nonce derived from path and content. */
static void make_file_nonce(const struct nats_nkey *account, struct str text,
                            unsigned char nonce[static BOX_NONCE_SIZE])
{
    const struct str seed = { (const char *)account->seed, sizeof(account->seed) };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    unsigned char digest[SHA256_SIZE];

    buf_add(&bytes, NONCE_USE, sizeof(NONCE_USE));
    buf_add_str(&bytes, text);
    sha256_hmac(seed, buf_view(&bytes), digest);
    memcpy(nonce, digest, BOX_NONCE_SIZE);
    ed25519_wipe(bytes.p, bytes.n);
}

int sealed_tree_seal(void *self, struct arena *arena, const char *path, struct str *bytes,
                     struct err *err)
{
    const struct nats_nkey *account = self;
    AUTO_BUF struct buf text = BUF_INIT(BOX_MAX), box = BUF_INIT(BOX_MAX);
    unsigned char nonce[BOX_NONCE_SIZE];
    struct nats_xkey receiver;
    int rc;

    buf_add(&text, path, strlen(path) + 1);
    buf_add_str(&text, *bytes);
    make_file_nonce(account, buf_view(&text), nonce);
    nats_xkey_of(account, &receiver);
    rc = nats_xkey_seal(account, &receiver, nonce, buf_view(&text), &box, err);
    ed25519_wipe(text.p, text.n);
    if (rc == 0 && (text.full || box.full))
        rc = err_set(err, ERR_LIMIT, "more than %zu bytes", FILESET_INLINE_MAX);
    if (rc == 0)
        *bytes = buf_copy(&box, arena);
    return rc;
}

int sealed_tree_open(void *self, struct arena *arena, const char *path, struct str *bytes,
                     struct err *err)
{
    const struct nats_nkey *account = self;
    const size_t head = strlen(path) + 1;
    AUTO_BUF struct buf text = BUF_INIT(BOX_MAX);
    struct nats_xkey sender;
    int rc;

    nats_xkey_of(account, &sender);
    rc = nats_xkey_open(account, &sender, *bytes, &text, err);
    if (rc == 0 && (text.n < head || memcmp(text.p, path, head) != 0))
        rc = err_set(err, ERR_INVALID, "not sealed for this path");
    if (rc == 0)
        *bytes = arena_str(arena, (struct str){ text.p + head, text.n - head });
    ed25519_wipe(text.p, text.n);
    return rc;
}
