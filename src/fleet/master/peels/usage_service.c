/*
 * The service "peel-usage": keeps a peel from filling the shared streams and buckets.
 *
 * Servers limit streams and buckets in total, but not per peel. So one master at a time counts the
 * writes of each peel: in streams by reading the headers of new messages, when they have grown
 * enough; in buckets that masters watch anyway, as they arrive (struct usage_meter).
 *
 * A peel that writes more than its share in a minute loses its own earlier data there. One that
 * writes half of the capacity is revoked (`peel_flood`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/number.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/admission.h"
#include "fleet/master/announce.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/enroll/enroll_admin.h"
#include "fleet/master/lease.h"
#include "fleet/master/peels/usage.h"
#include "fleet/master/services.h"
#include "fleet/nats/header.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/stream.h"
#include "fleet/nats/subject.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/peel_id.h"

#define LEASE   "usage"
#define TICK_NS CLOCK_SECOND
/* A stream is read after it grew by this fraction of its capacity. */
#define STEPS    256
#define STEP_MIN ((int64_t)1 << 20)
/* Messages read at a time, as a sample. */
#define READ_MAX 20000
/* Overhead per message, beside payload and subject. */
#define MESSAGE_BYTES 32

static const struct place_row {
    const char *stream, *name;
    const char *mine; /* subjects of a peel there; %s is its id */
    size_t token; /* position of the id in the subject, from 0; only for streams that are read */
    bool is_read;
} rows[USAGE_PLACES] = {
    [USAGE_EVENTS] = { STORE_EVENTS, "events", "zester.event.%s.>", 2, true },
    [USAGE_JOB_EVENTS] = { STORE_JOB_EVENTS, "job-events", "zester.job.*.*.%s", 4, true },
    [USAGE_BASKET] = { "KV_basket", "basket", "$KV.basket.%s.>", 0, false },
    [USAGE_FACTS] = { "KV_facts", "facts", NULL, 0, false },
};

struct peel_usage;

/* A stream or bucket. */
struct metered {
    struct peel_usage *peel_usage;
    enum usage_place number;
    bool is_busy;                  /* a request or a reading is in progress */
    uint64_t counted;              /* last counted sequence; 0: none yet */
    uint64_t until;                /* end of the current reading */
    int64_t bytes;                 /* size of the stream at that time */
    struct nats_ordered *messages; /* being read; or NULL */
    struct usage found;            /* in them */
    uint64_t read, added;          /* messages read, and added in all */
};

struct peel_usage {
    struct master *master;
    struct lease lease;
    struct timer timer;
    struct usage usage;
    struct usage_meter meter;
    struct metered places[USAGE_PLACES];
    char problem[HEALTH_TEXT_MAX]; /* the last peel over its share */
    int64_t problem_until;         /* clock_now */
};

/* --- peels over their share ------------------------------------------------------------ */

/* A peel being revoked. */
struct removal {
    struct peel_usage *peel_usage;
    struct arena arena; /* it is in it */
    enum usage_place place;
    const char *peel, *reason;
};

static void on_metered_purged(void *self, const struct nats_error *error)
{
    (void)self;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("cannot remove the data of a peel error=%s", error->text);
}

/* `below` 0: everything. */
static void purge_peel(struct peel_usage *peel_usage, enum usage_place place, const char *peel,
                       uint64_t below)
{
    AUTO_BUF struct buf pattern = BUF_INIT(NATS_SUBJECT_MAX);
    const char *mine = rows[place].mine;
    const char *mark = mine ? strstr(mine, "%s") : NULL;
    struct err err;

    if (!mark)
        return; /* the bucket keeps only a few of its entries */
    buf_printf(&pattern, "%.*s%s%s", (int)(mark - mine), mine, peel, mark + strlen("%s"));
    if (nats_stream_purge(&peel_usage->master->js, rows[place].stream,
                          &(struct nats_purge){ .subject = buf_text(&pattern), .below = below },
                          on_metered_purged, NULL, &err) < 0)
        log_warning("cannot remove the data of a peel peel=%s error=%s", peel, err.text);
}

static void end_removal(struct removal *removal)
{
    struct arena arena = removal->arena;

    arena_done(&arena);
}

static void on_usage_revoked(void *self, enum admission_status status,
                             const struct enrollment_reply *reply)
{
    struct removal *removal = self;

    if (status != ADMISSION_OK)
        log_error("cannot revoke a peel that floods the bus peel=%s error=%s", removal->peel,
                  reply->err);
    else
        purge_peel(removal->peel_usage, removal->place, removal->peel, 0);
    end_removal(removal);
}

/* The entry of a peel contains its enrollment id. */
static void on_metered_enrollment(void *self, const struct nats_error *error,
                                  const struct nats_kv_entry *entry)
{
    struct removal *removal = self;

    if (error) {
        if (error->fault != NATS_FAULT_CANCELED)
            log_error("cannot revoke a peel that floods the bus peel=%s error=%s", removal->peel,
                      error->text);
        end_removal(removal);
        return;
    }
    enroll_admin_decide(
        removal->peel_usage->master, ADMISSION_REVOKE,
        &(struct enrollment_request){ .id = arena_str(&removal->arena, entry->value).p,

                                      .operator_name = ENROLLMENT_BY_LIMITS,
                                      .reason = removal->reason },
        on_usage_revoked, removal);
}

static void revoke_peel(struct peel_usage *peel_usage, enum usage_place place, const char *peel,
                        const char *reason)
{
    const struct nats_kv kv = { .js = peel_usage->master->js,
                                .bucket = store_bucket_name(STORE_ENROLLMENTS),
                                .indirect = true };
    struct arena arena = ARENA_INIT;
    struct removal *removal = ARENA_NEW(&arena, struct removal);
    const char *key = arena_printf(&arena, ADMISSION_INDEX "%s", peel);
    struct err err;

    *removal = (struct removal){ .peel_usage = peel_usage,
                                 .place = place,
                                 .peel = arena_strdup(&arena, peel),
                                 .reason = arena_strdup(&arena, reason) };
    removal->arena = arena;
    if (nats_kv_get(&kv, key, on_metered_enrollment, removal, &err) < 0)
        end_removal(removal);
}

static void send_usage_event(struct peel_usage *peel_usage, const char *peel, const char *place,
                             int64_t bytes, bool is_revoked)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value data = value_map(value_map_new(&arena, 4));
    struct err err;

    value_map_set(&arena, data.map, value_text("peel"), value_text(peel));
    value_map_set(&arena, data.map, value_text("place"), value_text(place));
    value_map_set(&arena, data.map, value_text("bytes"), value_int(bytes));
    value_map_set(&arena, data.map, value_text("revoked"), value_bool(is_revoked));
    if (announce_event(peel_usage->master,
                       &(struct announcement){ .tag = arena_printf(&arena, "peel/%s/flood", peel),
                                               .data = data },
                       &err) < 0)
        log_warning("cannot send the event about a flooding peel peel=%s error=%s", peel, err.text);
}

/* Once a minute per place, and once more when it is revoked. */
static void report_peel(struct peel_usage *peel_usage, enum usage_place place,
                        const struct usage_peel *peel, bool is_revoked)
{
    const int64_t bytes = peel->bytes[place];

    (void)snprintf(peel_usage->problem, sizeof(peel_usage->problem),
                   "'%s' wrote %lld MiB to %s within a minute%s", peel->id,
                   (long long)(bytes >> 20), rows[place].name, is_revoked ? ": revoked" : "");
    peel_usage->problem_until = clock_after(clock_now(), USAGE_WINDOW_NS);
    log_warning("a peel writes more than its share%s peel=%s place=%s bytes=%lld",
                is_revoked ? ", and is revoked" : "; its earlier data is removed", peel->id,
                rows[place].name, (long long)bytes);
    metrics_add(peel_usage->master->metrics, MASTER_PEEL_OVERUSE, 1, peel->id, rows[place].name);
    send_usage_event(peel_usage, peel->id, rows[place].name, bytes, is_revoked);
}

static bool may_revoke(const struct peel_usage *peel_usage, const char *peel)
{
    const struct enrollment_cache *enrollment_cache =
        master_find(peel_usage->master, &enrollment_cache_service);

    return peel_usage->master->conf.peel_flood == PEEL_FLOOD_REVOKE &&
           !enrollment_cache_is_revoked(enrollment_cache, str_from(peel));
}

static void judge_peel_usage(void *self, const struct usage_peel *peel, enum usage_verdict verdict,
                             bool first)
{
    const struct metered *place = self;
    struct peel_usage *peel_usage = place->peel_usage;
    const bool is_revoked = verdict == USAGE_FLOOD && first && may_revoke(peel_usage, peel->id);

    if (first)
        report_peel(peel_usage, place->number, peel, is_revoked);
    purge_peel(peel_usage, place->number, peel->id, place->counted + 1);
    if (is_revoked)
        revoke_peel(peel_usage, place->number, peel->id, peel_usage->problem);
}

static void judge_metered_stream(struct metered *place)
{
    usage_each(&place->peel_usage->usage, place->number, judge_peel_usage, place);
}

/* --- reading new messages -------------------------------------------------------------- */

/* Extrapolate from the sample. */
static void end_usage_reading(struct metered *place)
{
    struct usage *found = &place->found;
    const int64_t scale = place->read > 0 ? (int64_t)(place->added / place->read) : 1;

    nats_ordered_free(place->messages);
    place->messages = NULL;
    MAP_EACH (&found->peels, entry) {
        const struct usage_peel *peel = entry->value;

        usage_add(&place->peel_usage->usage, place->number, str_from(peel->id),
                  peel->bytes[place->number] * (scale > 0 ? scale : 1), clock_now());
    }
    usage_done(found);
    judge_metered_stream(place); /* remove data from before this reading */
    place->counted = place->until;
    place->is_busy = false;
}

static int64_t get_message_size(const struct nats_msg *msg)
{
    uint64_t payload = 0;
    struct str text;
    struct err ignored;

    if (nats_header_find(msg->header, "Nats-Msg-Size", &text))
        (void)number_parse_uint(text, &payload, &ignored);
    return (int64_t)payload + (int64_t)msg->subject.n + MESSAGE_BYTES;
}

static void on_metered_message(void *self, const struct nats_msg *msg,
                               const struct nats_delivery *delivery)
{
    struct metered *place = self;
    const struct str peel = nats_subject_token(msg->subject, rows[place->number].token);

    place->read++;
    if (peel_id_is_valid(peel)) /* not a master or operator */
        usage_add(&place->found, place->number, peel, get_message_size(msg), clock_now());
    if (place->read >= READ_MAX || delivery->stream_seq >= place->until)
        end_usage_reading(place);
}

static void on_all_read(void *self)
{
    end_usage_reading(self);
}

static void on_reading_failed(void *self, const struct nats_error *error)
{
    struct metered *place = self;

    if (error->fault != NATS_FAULT_CANCELED)
        log_warning("cannot count the writes of peels stream=%s error=%s",
                    rows[place->number].stream, error->text);
    end_usage_reading(place);
}

static void begin_usage_reading(struct metered *place, const struct nats_stream_info *info)
{
    struct err err;

    place->until = info->last_seq;
    place->added = info->last_seq - place->counted;
    place->read = 0;
    place->bytes = info->bytes;
    place->messages =
        nats_ordered_new(&place->peel_usage->master->js,
                         &(struct nats_ordered_options){ .stream = rows[place->number].stream,
                                                         .after_seq = place->counted,
                                                         .headers_only = true,
                                                         .message = on_metered_message,
                                                         .caught_up = on_all_read,
                                                         .failed = on_reading_failed,
                                                         .self = place },
                         &err);
    if (!place->messages)
        place->is_busy = false;
}

/* A full stream does not grow, so use the mean message size. */
static int64_t guess_growth(const struct metered *place, const struct nats_stream_info *info)
{
    const int64_t added = (int64_t)(info->last_seq - place->counted);
    const int64_t by_count = info->messages > 0 ? info->bytes / info->messages * added : 0;
    const int64_t by_bytes = info->bytes - place->bytes;

    return by_count > by_bytes ? by_count : by_bytes;
}

static void on_metered_stream_info(void *self, const struct nats_error *error,
                                   const struct nats_stream_info *info)
{
    struct metered *place = self;
    struct peel_usage *peel_usage = place->peel_usage;
    int64_t room;

    if (error || !lease_is_held(&peel_usage->lease)) {
        place->is_busy = false;
        return;
    }
    room = nats_js_number(info->config, "max_bytes", 0);
    usage_set_room(&peel_usage->usage, place->number, room);
    if (place->counted == 0 || info->last_seq < place->counted) { /* start here */
        place->counted = info->last_seq;
        place->bytes = info->bytes;
    }
    if (rows[place->number].is_read && info->last_seq > place->counted &&
        guess_growth(place, info) >= (room / STEPS > STEP_MIN ? room / STEPS : STEP_MIN)) {
        begin_usage_reading(place, info);
        return;
    }
    if (!rows[place->number].is_read) {
        judge_metered_stream(place);
        place->counted = info->last_seq;
    }
    place->is_busy = false;
}

static void on_usage_tick(struct timer *timer)
{
    struct peel_usage *peel_usage = container_of(timer, struct peel_usage, timer);
    struct err err;

    timer_set(loop_timers(peel_usage->master->loop), timer, clock_after(clock_now(), TICK_NS),
              on_usage_tick);
    if (!lease_is_held(&peel_usage->lease))
        return;
    for (size_t i = 0; i < USAGE_PLACES; i++) {
        struct metered *place = &peel_usage->places[i];

        if (!place->is_busy && nats_stream_info(&peel_usage->master->js, rows[i].stream,
                                                on_metered_stream_info, place, &err) == 0)
            place->is_busy = true;
    }
}

/* --- watched buckets ------------------------------------------------------------------- */

static void on_wrote(struct usage_meter *meter, enum usage_place place, struct str peel,
                     size_t bytes)
{
    usage_add(&container_of(meter, struct peel_usage, meter)->usage, place, peel,
              (int64_t)bytes + MESSAGE_BYTES, clock_now());
}

static void on_exceeded(struct usage_meter *meter, enum usage_place place, struct str peel)
{
    struct peel_usage *peel_usage = container_of(meter, struct peel_usage, meter);

    usage_exceed(&peel_usage->usage, place, peel, clock_now());
}

/* --- life ------------------------------------------------------------------------------ */

static void *open_usage_service(struct master *master, struct err *err)
{
    struct peel_usage *peel_usage = mem_zalloc(sizeof(*peel_usage));

    (void)err;
    peel_usage->master = master;
    for (size_t i = 0; i < USAGE_PLACES; i++) {
        peel_usage->places[i].peel_usage = peel_usage;
        peel_usage->places[i].number = (enum usage_place)i;
    }
    peel_usage->meter = (struct usage_meter){ on_wrote, on_exceeded };
    master_roster_set_meter(master, &peel_usage->meter);
    return peel_usage;
}

static int start_usage_service(void *self, struct err *err)
{
    struct peel_usage *peel_usage = self;

    (void)err;
    peel_usage->lease = (struct lease){ .js = peel_usage->master->js,
                                        .key = LEASE,
                                        .holder = peel_usage->master->id };
    lease_start(&peel_usage->lease);
    timer_set(loop_timers(peel_usage->master->loop), &peel_usage->timer, clock_now(),
              on_usage_tick);
    return 0;
}

static void stop_usage_service(void *self)
{
    struct peel_usage *peel_usage = self;

    timer_clear(loop_timers(peel_usage->master->loop), &peel_usage->timer);
    for (size_t i = 0; i < USAGE_PLACES; i++) {
        nats_ordered_free(peel_usage->places[i].messages);
        peel_usage->places[i].messages = NULL;
        usage_done(&peel_usage->places[i].found);
    }
    (void)lease_stop(&peel_usage->lease, NULL, NULL);
}

static void free_usage_service(void *self)
{
    struct peel_usage *peel_usage = self;

    usage_done(&peel_usage->usage);
    free(peel_usage);
}

static enum health_status check_usage_service(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct peel_usage *peel_usage = self;

    if (clock_now() > peel_usage->problem_until)
        return HEALTH_OK;
    (void)snprintf(message, HEALTH_TEXT_MAX, "%s", peel_usage->problem);
    return HEALTH_DEGRADED;
}

const struct master_service master_usage_service = {
    .name = "peel-usage",
    .open = open_usage_service,
    .start = start_usage_service,
    .stop = stop_usage_service,
    .free = free_usage_service,
    .check = check_usage_service,
};
