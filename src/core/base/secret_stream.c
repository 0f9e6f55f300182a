#include "core/base/secret_stream.h"

#include <sodium.h>
#include <string.h>

#include "core/base/buf.h"

#define MARK_PURPOSE "zester backup key"

_Static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == SECRET_STREAM_KEY_SIZE,
               "the key fits");
_Static_assert(crypto_secretstream_xchacha20poly1305_HEADERBYTES == SECRET_STREAM_HEAD_SIZE,
               "the head fits");
_Static_assert(crypto_secretstream_xchacha20poly1305_ABYTES == SECRET_STREAM_EXTRA,
               "the extra bytes fit");
_Static_assert(sizeof(crypto_secretstream_xchacha20poly1305_state) <= SECRET_STREAM_STATE_SIZE,
               "the state fits");
_Static_assert(crypto_pwhash_SALTBYTES == SECRET_STREAM_SALT_SIZE, "the salt fits");
_Static_assert(crypto_generichash_BYTES_MIN <= SECRET_STREAM_MARK_SIZE, "the mark fits");

static crypto_secretstream_xchacha20poly1305_state *state_of(struct secret_stream *stream)
{
    return (crypto_secretstream_xchacha20poly1305_state *)(void *)stream->state;
}

void secret_stream_random(void *bytes, size_t n)
{
    randombytes_buf(bytes, n);
}

bool secret_stream_key_of_passphrase(struct str passphrase,
                                     const unsigned char salt[static SECRET_STREAM_SALT_SIZE],
                                     const struct secret_stream_cost *cost,
                                     unsigned char key[static SECRET_STREAM_KEY_SIZE])
{
    if (cost->passes < 1 || cost->passes > SECRET_STREAM_PASSES_MAX ||
        cost->memory < SECRET_STREAM_MEMORY_MIN || cost->memory > SECRET_STREAM_MEMORY_MAX)
        return false;
    return crypto_pwhash(key, SECRET_STREAM_KEY_SIZE, passphrase.p, passphrase.n, salt,
                         cost->passes, (size_t)cost->memory, crypto_pwhash_ALG_ARGON2ID13) == 0;
}

void secret_stream_key_of_file(struct str content,
                               const unsigned char salt[static SECRET_STREAM_SALT_SIZE],
                               unsigned char key[static SECRET_STREAM_KEY_SIZE])
{
    (void)crypto_generichash(key, SECRET_STREAM_KEY_SIZE, (const unsigned char *)content.p,
                             content.n, salt, SECRET_STREAM_SALT_SIZE);
}

void secret_stream_mark(const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                        unsigned char mark[static SECRET_STREAM_MARK_SIZE])
{
    (void)crypto_generichash(mark, SECRET_STREAM_MARK_SIZE, (const unsigned char *)MARK_PURPOSE,
                             strlen(MARK_PURPOSE), key, SECRET_STREAM_KEY_SIZE);
}

void secret_stream_begin(struct secret_stream *stream,
                         const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                         unsigned char head[static SECRET_STREAM_HEAD_SIZE])
{
    (void)crypto_secretstream_xchacha20poly1305_init_push(state_of(stream), head, key);
}

bool secret_stream_resume(struct secret_stream *stream,
                          const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                          const unsigned char head[static SECRET_STREAM_HEAD_SIZE])
{
    return crypto_secretstream_xchacha20poly1305_init_pull(state_of(stream), head, key) == 0;
}

bool secret_stream_seal(struct secret_stream *stream, struct str message, bool is_last,
                        struct buf *out)
{
    const unsigned char tag = is_last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
                                      : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;
    unsigned char *room = (unsigned char *)buf_reserve(out, message.n + SECRET_STREAM_EXTRA);

    if (!room)
        return false;
    (void)crypto_secretstream_xchacha20poly1305_push(
        state_of(stream), room, NULL, (const unsigned char *)message.p, message.n, NULL, 0, tag);
    out->n += message.n + SECRET_STREAM_EXTRA;
    out->p[out->n] = '\0';
    return true;
}

bool secret_stream_open(struct secret_stream *stream, struct str sealed, bool *ret_is_last,
                        struct buf *out)
{
    unsigned char tag, *room;

    if (sealed.n < SECRET_STREAM_EXTRA)
        return false;
    room = (unsigned char *)buf_reserve(out, sealed.n - SECRET_STREAM_EXTRA);
    if (!room || crypto_secretstream_xchacha20poly1305_pull(state_of(stream), room, NULL, &tag,
                                                            (const unsigned char *)sealed.p,
                                                            sealed.n, NULL, 0) != 0)
        return false;
    out->n += sealed.n - SECRET_STREAM_EXTRA;
    out->p[out->n] = '\0';
    *ret_is_last = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    return true;
}
