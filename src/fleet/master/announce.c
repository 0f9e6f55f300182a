#include "fleet/master/announce.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "fleet/bus/bus_time.h"
#include "fleet/master/master.h"
#include "fleet/nats/publisher.h"
#include "core/sys/clock.h"
#include "fleet/wire/event.h"

#define EVENT_MAX     ((size_t)1 << 20)
#define EVENT_VERSION 1

static void on_announcement_stored(void *self, const struct nats_error *error,
                                   const struct nats_stored_ack *ack)
{
    (void)self;
    (void)ack;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("event cannot be stored error=%s", error->text);
}

static struct nats_publisher *get_event_publisher(struct master *master)
{
    if (!master->events)
        master->events = nats_publisher_new(
            &master->js, &(struct nats_publisher_options){ .queue_max = ANNOUNCE_QUEUE_MAX });
    return master->events;
}

/* The stream stores an id once, so a repeated announcement has the same reactions. */
static void print_announcement_id(const struct announcement *announcement, int64_t now,
                                  char text[static KSUID_SIZE])
{
    unsigned char digest[SHA256_SIZE];
    struct ksuid id = { .seconds = announcement->seconds };
    struct sha256 sha;

    if (!announcement->about) {
        ksuid_new(now / CLOCK_SECOND, text);
        return;
    }
    sha256_init(&sha);
    sha256_add(&sha, announcement->tag, strlen(announcement->tag) + 1);
    sha256_add(&sha, announcement->about, strlen(announcement->about));
    sha256_end(&sha, digest);
    memcpy(id.payload, digest, sizeof(id.payload));
    ksuid_print(&id, text);
}

int announce_event(struct master *master, const struct announcement *announcement, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(EVENT_MAX);
    int64_t now = bus_time();
    char id[KSUID_SIZE];
    const struct event event = {
        .id = id,
        .tag = announcement->tag,
        .data = announcement->data,
        .ts = { .seconds = now / CLOCK_SECOND, .nanoseconds = (uint32_t)(now % CLOCK_SECOND) },
        .v = EVENT_VERSION,
        .origin = "",
        .depth = announcement->depth,
    };

    print_announcement_id(announcement, now, id);
    if (event_print_subject(&subject, SUBJECT_EVENT_MASTER, NULL, event.tag, err) < 0 ||
        record_encode(&bytes, &event_type, &event, err) < 0)
        return -1;
    return nats_publisher_send(get_event_publisher(master),
                               &(struct nats_store){ .subject = buf_view(&subject),
                                                     .payload = buf_view(&bytes),
                                                     .id = str_from(id) },
                               announcement->stored ? announcement->stored : on_announcement_stored,
                               announcement->stored ? announcement->self : master, err);
}

void master_answer(struct master *master, struct str subject, const struct record_type *type,
                   const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct err err;

    if (record_encode(&bytes, type, record, &err) < 0 ||
        nats_publish(master->js.conn,
                     &(struct nats_pub){ .subject = subject, .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to an operator: %s", err.text);
}
