#include "control/message.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "control/frame.h"
#include "data/msgpack.h"

/* A message is a list of this many. */
enum { PART_KIND, PART_ID, PART_NAME, PART_BODY, PARTS };

int message_encode(struct buf *out, const struct message *message, struct err *err)
{
    struct value parts[PARTS] = {
        [PART_KIND] = value_int(message->kind),
        [PART_ID] = value_int((int64_t)message->id),
        [PART_NAME] = value_text(message->name),
        [PART_BODY] = message->body,
    };
    struct value_list list = { .count = PARTS, .cap = PARTS, .items = parts };
    struct value whole = value_list(&list);
    size_t start = frame_begin(out);

    if (msgpack_encode(out, &whole, err) < 0 || frame_end(out, start, err) < 0) {
        buf_cut(out, start);
        out->full = false;
        return -1;
    }
    return 0;
}

static bool is_shape(const struct value *v)
{
    return value_is(v, VALUE_LIST) && v->list->count == PARTS &&
           value_is(&v->list->items[PART_KIND], VALUE_INT) &&
           value_is(&v->list->items[PART_ID], VALUE_INT) &&
           value_is(&v->list->items[PART_NAME], VALUE_STR);
}

int message_decode(struct arena *arena, struct str payload, struct message *ret_message,
                   struct err *err)
{
    struct value whole;
    const struct value *parts;

    if (msgpack_decode(arena, payload, &whole, err) < 0)
        return err_wrap(err, "read a message");
    if (!is_shape(&whole))
        return err_set(err, ERR_INVALID, "read a message: it is no list of kind, id, name, body");
    parts = whole.list->items;
    if (parts[PART_KIND].i < 0 || parts[PART_KIND].i >= MESSAGE_KINDS || parts[PART_ID].i < 0)
        return err_set(err, ERR_INVALID, "read a message: no such kind or id");
    if (memchr(parts[PART_NAME].s.p, '\0', parts[PART_NAME].s.n))
        return err_set(err, ERR_INVALID, "read a message: a NUL in its name");
    *ret_message = (struct message){
        .kind = (enum message_kind)parts[PART_KIND].i,
        .id = (uint64_t)parts[PART_ID].i,
        .name = parts[PART_NAME].s.p,
        .body = parts[PART_BODY],
    };
    return 0;
}

struct message message_hello(void)
{
    return (struct message){ MESSAGE_HELLO, MESSAGE_PROTOCOL, "kepler " ZESTER_VERSION,
                             value_null() };
}

int message_check_hello(const struct message *message, struct err *err)
{
    if (message->kind != MESSAGE_HELLO)
        return err_set(err, ERR_INVALID, "the other side did not say who it is");
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
    const struct value *found = value_get(&message->body, key);

    return found && value_is_textual(found) ? found->s.p : fallback;
}
