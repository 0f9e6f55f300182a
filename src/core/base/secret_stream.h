/*
 * secret_stream - messages sealed one after the other with one key: XChaCha20-Poly1305, libsodium's
 * secretstream.
 *
 * Each message is sealed together with its place: one that was changed, left out, repeated or moved
 * does not open. The last one is marked, so a stream that was cut off is known as well.
 *
 * A key comes from a passphrase, by Argon2id with a salt and costs that are stored beside the
 * stream, or from the bytes of a key file. `secret_stream_mark` tells whether a key is the right
 * one, and says nothing about it.
 *
 *     writer   secret_stream_begin -> { secret_stream_seal }...
 *     reader   secret_stream_resume -> { secret_stream_open }...
 *
 * The owner of a key wipes it (ed25519_wipe). Threads: any, one stream in one thread at a time.
 */
#ifndef CORE_BASE_SECRET_STREAM_H
#define CORE_BASE_SECRET_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;

#define SECRET_STREAM_KEY_SIZE  32
#define SECRET_STREAM_SALT_SIZE 16
#define SECRET_STREAM_MARK_SIZE 16
#define SECRET_STREAM_HEAD_SIZE 24
/* Bytes that a sealed message is longer. */
#define SECRET_STREAM_EXTRA 17
/* Room for the state of libsodium. */
#define SECRET_STREAM_STATE_SIZE 64

struct secret_stream {
    _Alignas(16) unsigned char state[SECRET_STREAM_STATE_SIZE];
};

/* The costs of Argon2id. */
struct secret_stream_cost {
    uint64_t passes;
    uint64_t memory; /* bytes */
};
/* Half a second and 256 MiB on a machine of today. */
#define SECRET_STREAM_PASSES ((uint64_t)3)
#define SECRET_STREAM_MEMORY ((uint64_t)256 << 20)
/* Limits of a reader: a forged file must not use all memory. */
#define SECRET_STREAM_PASSES_MAX ((uint64_t)16)
#define SECRET_STREAM_MEMORY_MIN ((uint64_t)8 << 10)
#define SECRET_STREAM_MEMORY_MAX ((uint64_t)1 << 30)

void secret_stream_random(void *bytes, size_t n);
/* False when the costs are outside the limits, or there is not so much memory. */
bool secret_stream_key_of_passphrase(struct str passphrase,
                                     const unsigned char salt[static SECRET_STREAM_SALT_SIZE],
                                     const struct secret_stream_cost *cost,
                                     unsigned char key[static SECRET_STREAM_KEY_SIZE]);
void secret_stream_key_of_file(struct str content,
                               const unsigned char salt[static SECRET_STREAM_SALT_SIZE],
                               unsigned char key[static SECRET_STREAM_KEY_SIZE]);
void secret_stream_mark(const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                        unsigned char mark[static SECRET_STREAM_MARK_SIZE]);

void secret_stream_begin(struct secret_stream *stream,
                         const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                         unsigned char head[static SECRET_STREAM_HEAD_SIZE]);
/* False when the head is not one. */
bool secret_stream_resume(struct secret_stream *stream,
                          const unsigned char key[static SECRET_STREAM_KEY_SIZE],
                          const unsigned char head[static SECRET_STREAM_HEAD_SIZE]);

/* Appends the sealed message. False when `out` is full. */
bool secret_stream_seal(struct secret_stream *stream, struct str message, bool is_last,
                        struct buf *out);
/* Appends the message. False when it is not the next one of the stream; `out` is then unchanged. */
bool secret_stream_open(struct secret_stream *stream, struct str sealed, bool *ret_is_last,
                        struct buf *out);

#endif
