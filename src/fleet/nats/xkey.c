#include "fleet/nats/xkey.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define VERSION_MARK "xkv1"
#define MARK_SIZE    (sizeof(VERSION_MARK) - 1)

void nats_xkey_of(const struct nats_nkey *key, struct nats_xkey *ret_key)
{
    box_public(key->seed, ret_key->public_key);
}

void nats_xkey_print(const struct nats_xkey *key, char text[static NATS_NKEY_TEXT_SIZE])
{
    nats_nkey_print_bytes(NATS_NKEY_CURVE_PREFIX, key->public_key, text);
}

int nats_xkey_parse(struct str text, struct nats_xkey *ret_key, struct err *err)
{
    return nats_nkey_parse_bytes(text, NATS_NKEY_CURVE_PREFIX, ret_key->public_key, err);
}

int nats_xkey_seal(const struct nats_nkey *sender, const struct nats_xkey *receiver,
                   const unsigned char nonce[static BOX_NONCE_SIZE], struct str text,
                   struct buf *out, struct err *err)
{
    buf_add_text(out, VERSION_MARK);
    buf_add(out, nonce, BOX_NONCE_SIZE);
    if (!box_seal(sender->seed, receiver->public_key, nonce, text, out))
        return err_set(err, ERR_INVALID, "the curve key of the receiver is not valid");
    return 0;
}

int nats_xkey_open(const struct nats_nkey *receiver, const struct nats_xkey *sender,
                   struct str sealed, struct buf *out, struct err *err)
{
    unsigned char nonce[BOX_NONCE_SIZE];

    if (!str_starts(sealed, STR(VERSION_MARK)) || sealed.n < MARK_SIZE + BOX_NONCE_SIZE)
        return err_set(err, ERR_INVALID, "not a sealed value");
    memcpy(nonce, sealed.p + MARK_SIZE, BOX_NONCE_SIZE);
    if (!box_open(receiver->seed, sender->public_key, nonce,
                  str_from_offset(sealed, MARK_SIZE + BOX_NONCE_SIZE), out))
        return err_set(err, ERR_INVALID, "the sealed value is not for this key, or was changed");
    return 0;
}
