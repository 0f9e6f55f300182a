#include "fleet/peel/event_send.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "states/local/wish.h"
#include "fleet/nats/error.h"
#include "fleet/nats/publisher.h"
#include "fleet/peel/job.h"
#include "fleet/peel/own_event.h"
#include "fleet/peel/snapshot.h"

/* An event that is on its way. */
struct sending {
    struct peel_job *job;
    void (*fn)(struct peel_job *job);
    struct own_event own;
};

static void on_sent_event_stored(void *self, const struct nats_error *error,
                                 const struct nats_stored_ack *ack)
{
    struct sending *sending = self;
    const struct value id = value_text(sending->own.id);

    (void)ack;
    if (error)
        job_say(sending->job, NULL,
                arena_printf(&sending->job->arena, "event not sent: %s", error->text));
    else
        job_say(sending->job, &id, NULL);
    sending->fn(sending->job);
    free(sending);
}

/* The arguments without those that steer. */
static struct value take_data(struct peel_job *job, const struct value *given)
{
    struct value data = value_copy(&job->arena, given);
    const struct value tag = value_text("tag");

    (void)value_map_remove(data.map, &tag);
    return data;
}

static int make_sent_event(struct peel_job *job, const struct value *given, struct own_event *ret,
                           struct err *err)
{
    const char *tag = job->request.id[0] && strcmp(job->request.id, "ad-hoc") != 0
                          ? job->request.id
                          : value_get_text(given, "tag");

    if (!tag || !tag[0])
        return err_set(err, ERR_INVALID, EVENT_SEND " requires a tag");
    return own_event_make(
        &job->arena,
        &(struct own_event_wish){ .peel = job->options->peel_id,
                                  .kind = SUBJECT_EVENT_SEND,
                                  .tag = tag,
                                  .data = take_data(job, given),
                                  .settings = job->settings ? &job->settings->value : NULL,
                                  .depth = job->request.rdepth },
        ret, err);
}

static int publish_event(struct peel_job *job, struct nats_publisher *publisher,
                         struct sending *sending, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(job->reply_max);
    struct nats_store store = { .subject = str_from(sending->own.subject),
                                .id = str_from(sending->own.id) };

    if (!publisher)
        return err_set(err, ERR_BUSY, "event not sent: there is no connection to the bus");
    if (own_event_encode(&sending->own, &bytes, err) < 0)
        return -1;
    store.payload = buf_view(&bytes);
    return nats_publisher_send(publisher, &store, on_sent_event_stored, sending, err);
}

/* A dry run: the key for rules, and the data. */
static const char *describe_wish(struct peel_job *job, const struct own_event *own)
{
    AUTO_BUF struct buf data = BUF_INIT(job->reply_max);
    struct err err;

    if (!own->key)
        return "nothing would be sent";
    if (own->event.data.kind == VALUE_MAP && own->event.data.map->count > 0 &&
        json_print(&data, &own->event.data, JSON_STYLE_COMPACT, &err) < 0)
        buf_clear(&data);
    return arena_printf(&job->arena, "would send the event %s%s%s", own->key, data.n > 0 ? " " : "",
                        buf_text(&data));
}

void event_send(struct peel_job *job, struct nats_publisher *publisher,
                void (*fn)(struct peel_job *job))
{
    struct value given = job->request.args.kind == VALUE_MAP
                             ? value_copy(&job->arena, &job->request.args)
                             : value_map(value_map_new(&job->arena, 0));
    struct sending *sending = mem_zalloc(sizeof(*sending));
    struct diags diags = DIAGS_INIT(&job->arena);
    bool test = false;
    struct value wish;
    struct err err = { 0 };

    sending->job = job;
    sending->fn = fn;
    if (!job_begin(job)) {
        fn(job);
        free(sending);
        return;
    }
    if (wish_take_test(&given, &test, &diags) < 0)
        (void)diags_to_err(&diags, &err);
    else if (make_sent_event(job, &given, &sending->own, &err) == 0 && !test &&
             publish_event(job, publisher, sending, &err) == 0)
        return;
    job->answer.test = test;
    wish = value_text(describe_wish(job, &sending->own));
    job_say(job, &wish, err.text[0] ? err.text : NULL);
    fn(job);
    free(sending);
}
