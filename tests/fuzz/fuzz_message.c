/* Any bytes are frames with messages and requests, or an error; what is read is written as it was
 * understood. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/control/message.h"
#include "core/data/frame.h"
#include "kepler/control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_request(struct arena *arena, const struct message *message)
{
    enum request_kind kind;
    struct value body;
    struct err err;
    void *args;
    int result;

    if (!request_find(message->name, &kind) ||
        request_decode(arena, kind, &message->body, &args, &err) < 0)
        return;
    body = request_encode(arena, kind, args);
    result = request_decode(arena, kind, &body, &args, &err);
    assert(result == 0);
}

static void try_message(struct arena *arena, struct str payload)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct message message, back;
    struct err err;
    int result;

    if (message_decode(arena, payload, &message, &err) < 0)
        return;
    result = message_encode(&out, &message, &err);
    assert(result == 0);
    result = message_find(buf_view(&out), &payload, &err);
    assert(result == 0 && payload.p);
    result = message_decode(arena, payload, &back, &err);
    assert(result == 0 && back.kind == message.kind && back.id == message.id);
    try_request(arena, &message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str rest = { (const char *)data, size }, payload;
    struct err err;

    while (message_find(rest, &payload, &err) == 0 && payload.p) {
        try_message(&arena, payload);
        rest = str_from_offset(rest, FRAME_HEAD + payload.n);
    }
    try_message(&arena, (struct str){ (const char *)data, size }); /* past the checksums */
    return 0;
}
