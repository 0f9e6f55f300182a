#include "core/base/box.h"

#include <sodium.h>

#include "core/base/buf.h"

_Static_assert(crypto_box_PUBLICKEYBYTES == BOX_KEY_SIZE, "the public key fits");
_Static_assert(crypto_box_SECRETKEYBYTES == BOX_KEY_SIZE, "the secret key fits");
_Static_assert(crypto_box_NONCEBYTES == BOX_NONCE_SIZE, "the nonce fits");
_Static_assert(crypto_box_MACBYTES == BOX_EXTRA, "the box fits");

void box_public(const unsigned char secret[static BOX_KEY_SIZE],
                unsigned char public_key[static BOX_KEY_SIZE])
{
    (void)crypto_scalarmult_base(public_key, secret);
}

bool box_seal(const unsigned char sender[static BOX_KEY_SIZE],
              const unsigned char receiver_public[static BOX_KEY_SIZE],
              const unsigned char nonce[static BOX_NONCE_SIZE], struct str text, struct buf *out)
{
    unsigned char *room = (unsigned char *)buf_reserve(out, text.n + BOX_EXTRA);

    if (!room || crypto_box_easy(room, (const unsigned char *)text.p, text.n, nonce,
                                 receiver_public, sender) != 0)
        return false;
    out->n += text.n + BOX_EXTRA;
    out->p[out->n] = '\0';
    return true;
}

bool box_open(const unsigned char receiver[static BOX_KEY_SIZE],
              const unsigned char sender_public[static BOX_KEY_SIZE],
              const unsigned char nonce[static BOX_NONCE_SIZE], struct str box, struct buf *out)
{
    unsigned char *room;

    if (box.n < BOX_EXTRA)
        return false;
    room = (unsigned char *)buf_reserve(out, box.n - BOX_EXTRA);
    if (!room || crypto_box_open_easy(room, (const unsigned char *)box.p, box.n, nonce,
                                      sender_public, receiver) != 0)
        return false;
    out->n += box.n - BOX_EXTRA;
    out->p[out->n] = '\0';
    return true;
}
