#include "fleet/master/api/stream.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/json.h"
#include "fleet/master/api/api.h"
#include "fleet/master/api/asker.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

static void close_api_stream(struct api_stream *stream)
{
    struct api *api = stream->api;

    timer_clear(loop_timers(api->master->loop), &stream->timer);
    asker_forget_stream(stream);
    for (size_t i = 0; i < api->streams.n; i++)
        if (api->streams.p[i] == stream)
            api->streams.p[i] = api->streams.p[--api->streams.n];
    free(stream->user);
    stream->kind->closed(stream);
}

/* The client is gone or too slow, or the master stops. */
static void on_api_stream_closed(void *self)
{
    close_api_stream(self);
}

void api_stream_end(struct api_stream *stream)
{
    http_stream_end(stream->http);
    close_api_stream(stream);
}

static void on_api_stream_beat(struct timer *timer);

static void arm_stream_beat(struct api_stream *stream)
{
    timer_set(loop_timers(stream->api->master->loop), &stream->timer,
              clock_after(clock_now(), API_STREAM_BEAT_NS), on_api_stream_beat);
}

static void on_api_stream_beat(struct timer *timer)
{
    struct api_stream *stream = container_of(timer, struct api_stream, timer);

    if (!asker_check_stream(stream))
        return;
    http_stream_beat(stream->http);
    arm_stream_beat(stream);
    if (stream->kind->beat)
        stream->kind->beat(stream);
}

bool api_stream_has_room(struct api_call *call)
{
    if (call->api->streams.n < API_STREAMS_MAX)
        return true;
    api_fail_later(call, "too many streams are open");
    return false;
}

bool api_stream_open(struct api_stream *stream, struct api_call *call,
                     const struct api_stream_kind *kind)
{
    *stream = (struct api_stream){ .api = call->api,
                                   .kind = kind,
                                   .digest = call->digest,
                                   .act = call->route->act,
                                   .user = mem_strdup(call->asker.user) };
    stream->http = api_answer_stream(call, on_api_stream_closed, stream);
    if (!stream->http) {
        free(stream->user);
        return false;
    }
    VEC_PUSH(&stream->api->streams, stream);
    http_stream_set_max(stream->http, API_STREAM_BYTES_MAX);
    http_stream_beat(stream->http);
    arm_stream_beat(stream);
    return true;
}

void api_stream_send(struct api_stream *stream, const char *event, const struct value *data)
{
    AUTO_BUF struct buf text = BUF_INIT(API_STREAM_BYTES_MAX);
    struct err err;

    if (json_print(&text, data, JSON_STYLE_TEXT, &err) < 0)
        log_warning("event of a stream cannot be written error=%s", err.text);
    else
        http_stream_send(stream->http, event, buf_text(&text));
}
