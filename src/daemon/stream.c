#include "daemon/stream.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/call.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "logs/log_reader.h"

struct stream {
    struct log_reader *reader;
    bool follow, more;
    bool bounded; /* to `left` lines */
    uint64_t left;
};

int stream_new(const struct stream_options *options, struct stream **ret_stream, struct err *err)
{
    struct stream *stream = mem_zalloc(sizeof(*stream));

    stream->follow = options->follow;
    stream->bounded = options->has_head;
    stream->left = options->head;
    if (log_reader_open(options->folder, &options->filter, &stream->reader, err) < 0 ||
        (options->has_tail && log_reader_tail(stream->reader, options->tail, err) < 0)) {
        stream_free(stream);
        return -1;
    }
    if (options->follow)
        log_reader_keep_cleared(stream->reader);
    *ret_stream = stream;
    return 0;
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    log_reader_free(stream->reader);
    free(stream);
}

static struct value line_value(struct arena *arena, const struct log_line *line)
{
    struct value_list *list = value_list_new(arena, 7);
    const int64_t flags = (line->lost ? 1 : 0) | (line->continues ? 2 : 0) | (line->open ? 4 : 0);

    value_list_push(arena, list, value_int((int64_t)line->seq));
    value_list_push(arena, list, value_int(line->time));
    value_list_push(arena, list, value_text(arena_strdup(arena, line->service)));
    value_list_push(arena, list, value_text(arena_strdup(arena, line->hook)));
    value_list_push(arena, list, value_int(line->stream));
    value_list_push(arena, list, value_int(flags));
    value_list_push(arena, list, value_bytes(arena_str(arena, line->text)));
    return value_list(list);
}

/* One bundle; false when there is no further line now. */
static bool send_bundle(struct stream *stream, struct call *call)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_list *lines = value_list_new(&arena, 0);
    struct value_map *body = value_map_new(&arena, 1);
    const struct log_line *line = NULL;
    struct err err;
    bool more = true;

    while (lines->count < STREAM_LINES_MAX && arena.used < STREAM_BYTES_MAX) {
        if (stream->bounded && stream->left == 0) {
            more = false;
            break;
        }
        if (log_reader_next(stream->reader, &line, &err) < 0) {
            log_warning("logs cannot be read error=%s", err.text);
            line = NULL;
        }
        more = line != NULL;
        if (!more)
            break;
        value_list_push(&arena, lines, line_value(&arena, line));
        stream->left -= stream->bounded;
    }
    if (lines->count > 0) {
        value_map_set(&arena, body, value_text("lines"), value_list(lines));
        call_event(call, "lines", value_map(body));
    }
    return more;
}

void stream_pump(struct stream *stream, struct call *call, bool *ret_done)
{
    stream->more = true;
    for (int i = 0; i < STREAM_BUNDLES_MAX; i++) {
        if (connection_is_busy(&call->client->connection))
            return; /* `drained` goes on */
        if (!send_bundle(stream, call)) {
            stream->more = false;
            *ret_done = !stream->follow || (stream->bounded && stream->left == 0);
            return;
        }
    }
    daemon_pump_soon(call->daemon);
}

bool stream_has_more(const struct stream *stream)
{
    return stream->more;
}
