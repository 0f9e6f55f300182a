#include "kepler/control/message.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/record.h"

static const char *const kind_words[] = {
    [MESSAGE_HELLO] = "hello",
    [MESSAGE_REQUEST] = "request",
    [MESSAGE_REPLY] = "reply",
    [MESSAGE_EVENT] = "event",
};
_Static_assert(ARRAY_LEN(kind_words) == MESSAGE_KINDS, "every kind has a word");

/* clang-format off */
#define ARGS struct message
static const struct record_field message_fields[] = {
    RECORD("kind", WORD, ARGS, kind, RECORD_REQUIRED, RECORD_WORDS(kind_words)),
    RECORD("id",   INT,  ARGS, id,   RECORD_REQUIRED),
    RECORD("name", TEXT, ARGS, name, RECORD_REQUIRED),
    RECORD("body", ANY,  ARGS, body, RECORD_OMIT),
    RECORD("token", TEXT, ARGS, token, RECORD_OMIT),
    { 0 },
};
#undef ARGS
/* clang-format on */

static const struct record_type message_type =
    RECORD_TYPE("message", struct message, message_fields, 0);

int message_encode(struct buf *out, const struct message *message, struct err *err)
{
    const size_t start = out->n;

    if (record_append(out, &message_type, message, MESSAGE_PROTOCOL, 0, err) < 0)
        return -1;
    if (out->n - start > FRAME_HEAD + MESSAGE_MAX) {
        size_t size = out->n - start;

        buf_cut(out, start);
        return err_set(err, ERR_LIMIT, "a message of %zu bytes exceeds the limit of %zu", size,
                       MESSAGE_MAX);
    }
    return 0;
}

int message_find(struct str bytes, struct str *ret_payload, struct err *err)
{
    struct frame_scan scan = { .bytes = bytes };
    struct frame_head head;
    struct frame frame;

    *ret_payload = (struct str){ NULL, 0 };
    switch (frame_next(&scan, &frame)) {
    case FRAME_WHOLE: *ret_payload = frame.payload; return 0;
    case FRAME_DAMAGE:
        return err_set(err, ERR_INVALID,
                       "the peer does not speak protocol %d: restart the daemon after an upgrade",
                       MESSAGE_PROTOCOL);
    case FRAME_TORN:
    case FRAME_END: break;
    }
    if (bytes.n >= FRAME_HEAD && frame_head_decode(bytes.p, 0, &head) && head.length > MESSAGE_MAX)
        return err_set(err, ERR_LIMIT, "a message of %u bytes exceeds the limit of %zu",
                       head.length, MESSAGE_MAX);
    return 0;
}

int message_decode(struct arena *arena, struct str payload, struct message *ret_message,
                   struct err *err)
{
    struct message message;

    if (record_decode(arena, &message_type, MESSAGE_PROTOCOL, payload, &message, err) < 0)
        return err_wrap(err, "read a message");
    *ret_message = message;
    return 0;
}

struct message message_hello(void)
{
    return (struct message){ .kind = MESSAGE_HELLO,
                             .id = MESSAGE_PROTOCOL,
                             .name = "kepler " ZESTER_VERSION };
}

int message_check_hello(const struct message *message, struct err *err)
{
    if (message->kind != MESSAGE_HELLO)
        return err_set(err, ERR_INVALID, "the peer did not identify itself");
    if (message->id != MESSAGE_PROTOCOL)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' speaks protocol %llu, this is 'kepler " ZESTER_VERSION
                       "' with protocol %d: restart the daemon after an upgrade",
                       message->name, (unsigned long long)message->id, MESSAGE_PROTOCOL);
    return 0;
}

struct value message_body(struct arena *arena, const char *key, const char *text)
{
    struct value_map *map = value_map_new(arena, 1);

    value_map_set(arena, map, value_text(key), value_text(text));
    return value_map(map);
}

const char *message_text(const struct message *message, const char *key, const char *fallback)
{
    const char *found = value_get_text(&message->body, key);

    return found ? found : fallback;
}
