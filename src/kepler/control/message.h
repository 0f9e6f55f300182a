/*
 * message - what the two ends of the control socket say to each other.
 *
 * A message is one frame (core/data/frame.h, salt 0) with a record: kind, id, name, body, token.
 *
 *     hello    protocol  "kepler 0.1.0"      -       first, from both sides
 *     request  id        "start", "stop"...  map     client to daemon; perhaps with a token
 *     reply    id        "ok" or why not     map     once for each request
 *     event    id        "progress"...       map     as many as there are, also after the reply
 *
 * Ids are the client's; many requests may be under way at once, and what belongs to a
 * request carries its id. A reply that is not "ok" has the name of an error and a map
 * with `message`. A new protocol number is for changes that an older end would get
 * wrong; new names and new keys are not.
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
/* Bytes of one message without its head, in either direction. */
#define MESSAGE_MAX ((size_t)16 << 20)

enum message_kind { MESSAGE_HELLO, MESSAGE_REQUEST, MESSAGE_REPLY, MESSAGE_EVENT };
#define MESSAGE_KINDS (MESSAGE_EVENT + 1)

/* Names of replies. */
#define MESSAGE_OK      "ok"
#define MESSAGE_ERROR   "error"
#define MESSAGE_DENIED  "denied"
#define MESSAGE_UNKNOWN "unknown" /* the config is not loaded and was never */

struct message {
    enum message_kind kind;
    uint64_t id; /* of a hello: the protocol */
    const char *name;
    struct value body;
    const char *token; /* of a request: kepler/control/token.h; NULL: none */
};

/* Append the message with its frame. On failure `out` is unchanged. */
int message_encode(struct buf *out, const struct message *message, struct err *err);
/* The payload of the first message in `bytes`; a NULL view: it is not whole yet. Its frame ends
 * FRAME_HEAD bytes after it. Fails for an invalid message and, by its head alone, for a long one.
 */
int message_find(struct str bytes, struct str *ret_payload, struct err *err);
/* From the payload of a frame. */
int message_decode(struct arena *arena, struct str payload, struct message *ret_message,
                   struct err *err);

/* The first message of a client, and of the daemon. */
struct message message_hello(void);
/* May we go on after this first message of the other side? */
int message_check_hello(const struct message *message, struct err *err);
/* A body that holds one text. */
struct value message_body(struct arena *arena, const char *key, const char *text);
/* The text of a body under this key, or `fallback`. */
const char *message_text(const struct message *message, const char *key, const char *fallback);

#endif
