/*
 * message - the protocol of the control socket.
 *
 * A message is one frame (core/data/frame.h, salt 0) with a record: kind, id, name, body, token.
 *
 *     hello    protocol  "kepler 0.1.0"      -       first, from both sides
 *     request  id        "start", "stop"...  map     client to daemon; perhaps with a token
 *     reply    id        "ok" or an error    map     once for each request
 *     event    id        "progress"...       map     any number, also after the reply
 *
 * The client chooses ids; many requests may be in progress, and everything about a request carries
 * its id. A reply that is not "ok" has the name of an error and a map with `message`. A new
 * protocol number is for changes that an older end would misread; new names and keys need none.
 *
 * Pure. Memory: decoded messages live in the arena. Threads: any.
 */
#ifndef KEPLER_CONTROL_MESSAGE_H
#define KEPLER_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/value.h"

struct buf;
struct err;

#define MESSAGE_PROTOCOL 3
/* Maximum bytes of one message without its head, in either direction. */
#define MESSAGE_MAX ((size_t)16 << 20)

enum message_kind { MESSAGE_HELLO, MESSAGE_REQUEST, MESSAGE_REPLY, MESSAGE_EVENT };
#define MESSAGE_KINDS (MESSAGE_EVENT + 1)

/* Reply names. */
#define MESSAGE_OK      "ok"
#define MESSAGE_ERROR   "error"
#define MESSAGE_DENIED  "denied"
#define MESSAGE_UNKNOWN "unknown" /* the config is not loaded and never was */

struct message {
    enum message_kind kind;
    uint64_t id; /* in a hello: the protocol */
    const char *name;
    struct value body;
    const char *token; /* in a request: kepler/control/token.h; NULL: none */
};

/* Append the message with its frame. On failure `out` is unchanged. */
int message_encode(struct buf *out, const struct message *message, struct err *err);
/* Finds the payload of the first message in `bytes`; a NULL view: it is not complete yet. Its frame
 * ends FRAME_HEAD bytes after it. Fails for an invalid message and, by its head alone, for a long
 * one. */
int message_find(struct str bytes, struct str *ret_payload, struct err *err);
/* Decodes the payload of a frame. */
int message_decode(struct arena *arena, struct str payload, struct message *ret_message,
                   struct err *err);

/* The first message of a client, and of the daemon. */
struct message message_hello(void);
/* Is the peer's first message acceptable? */
int message_check_hello(const struct message *message, struct err *err);
/* A body with one text. */
struct value message_body(struct arena *arena, const char *key, const char *text);
/* The text of this key in a body, or `fallback`. */
const char *message_text(const struct message *message, const char *key, const char *fallback);

#endif
