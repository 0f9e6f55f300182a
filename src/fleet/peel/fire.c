#include "fleet/peel/fire.h"

#include <ctype.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "fleet/peel/job.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/own_event.h"
#include "fleet/peel/snapshot.h"
#include "states/state/host.h"
#include "states/state/report.h"
#include "core/sys/clock.h"
#include "fleet/wire/event.h"

/* Bytes of an event. */
#define FIRE_MAX ((size_t)64 << 10)

/* "/etc/nginx.conf" is "/etc/nginx-conf": segments that a tag can have, without empty ones. */
static void add_segments(struct buf *tag, const char *text)
{
    buf_add_char(tag, '/');
    for (const char *p = text; *p && tag->n < EVENT_TAG_MAX; p++)
        if (*p != '/')
            buf_add_char(tag, isalnum((unsigned char)*p) || *p == '_' ? *p : '-');
        else if (tag->p[tag->n - 1] != '/')
            buf_add_char(tag, '/');
    while (tag->p[tag->n - 1] == '/')
        buf_cut(tag, tag->n - 1);
}

static const char *make_tag(struct arena *arena, const struct peel_job *job, const char *text)
{
    AUTO_BUF struct buf tag = BUF_INIT((size_t)2 * EVENT_TAG_MAX);

    buf_add_text(&tag, "salt/state_result");
    add_segments(&tag, job->request.jid);
    add_segments(&tag, job->options->peel_id);
    add_segments(&tag, text);
    return arena_strdup(arena, buf_text(&tag));
}

static struct value make_fired_data(struct arena *arena, const struct peel_job *job,
                                    const struct state_result *result, bool whole)
{
    struct state_result shown = *result;
    struct value_map *data = value_map_new(arena, 2);
    struct value ret;

    if (!whole) {
        shown.diff = STR("");
        shown.details = NULL;
    }
    ret = report_state(arena, &shown);
    value_map_set(arena, ret.map, value_text("result"),
                  value_bool(!state_result_is_broken(result)));
    value_map_set(arena, data, value_text("jid"), value_text(job->request.jid));
    value_map_set(arena, data, value_text("ret"), ret);
    return value_map(data);
}

static int keep_fired_event(struct peel_job *job, struct arena *arena, struct event *event,
                            uint64_t *ret, const struct state_result *result, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    AUTO_BUF struct buf bytes = BUF_INIT(FIRE_MAX);
    struct outbox_message message = { .id = event->id,
                                      .about = arena_printf(arena, "event %s", event->tag) };

    event->data = make_fired_data(arena, job, result, true);
    if (record_encode(&bytes, &event_type, event, err) < 0) {
        buf_clear(&bytes);
        event->data = make_fired_data(arena, job, result, false);
        if (record_encode(&bytes, &event_type, event, err) < 0)
            return -1;
    }
    if (event_print_subject(&subject, SUBJECT_EVENT_SEND, job->options->peel_id, event->tag, err) <
        0)
        return -1;
    message.subject = buf_text(&subject);
    message.payload = buf_view(&bytes);
    return outbox_keep(job->options->outbox, &message, true, ret, err);
}

void fire(const struct state_host *host, const char *tag, const struct state_result *result)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct peel_job *job = host->fire_user;
    const int64_t now = clock_wall();
    char id[KSUID_SIZE];
    struct event event = {
        .id = id,
        .tag = make_tag(&arena, job, tag),
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .v = EXEC_PROTOCOL,
        .origin = "",
        .depth = job->request.rdepth,
    };
    uint64_t number;
    struct err err;

    ksuid_new(now / CLOCK_SECOND, id);
    if (keep_fired_event(job, &arena, &event, &number, result, &err) < 0)
        job->trouble =
            arena_printf(&job->arena, "event of %s not sent: %s", result->name, err.text);
    else
        job_queue_post(job->job_queue, number);
}

int fire_send(const struct state_host *host, struct arena *arena, struct state_event *event,
              struct err *err)
{
    struct peel_job *job = host->fire_user;
    AUTO_BUF struct buf bytes = BUF_INIT(job->reply_max);
    struct own_event own;
    struct outbox_message message;
    uint64_t number;

    if (own_event_make(arena,
                       &(struct own_event_wish){ .peel = job->options->peel_id,
                                                 .kind = SUBJECT_EVENT_SEND,
                                                 .tag = event->tag,
                                                 .data = event->data,
                                                 .settings = &job->settings->value,
                                                 .depth = job->request.rdepth },
                       &own, err) < 0 ||
        own_event_encode(&own, &bytes, err) < 0)
        return -1;
    message = (struct outbox_message){ .subject = own.subject,
                                       .id = own.id,
                                       .about = arena_printf(arena, "event %s", event->tag),
                                       .payload = buf_view(&bytes) };
    if (outbox_keep(job->options->outbox, &message, true, &number, err) < 0)
        return -1;
    event->id = arena_strdup(arena, own.id);
    job_queue_post(job->job_queue, number);
    return 0;
}
