/* Room on the bus: what is nearly full, and who was cut off because it took too much. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/doctor/doctor.h"
#include "core/data/value.h"
#include "fleet/view/enrollments.h"
#include "fleet/nats/js.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"

#define ANSWER_NS (INT64_C(5) * CLOCK_SECOND)
/* Percent of its room; a log that is always full exceeds it. */
#define FULL_PERCENT 90

struct listing {
    struct doctor *doctor;
    struct fleet_enrollments enrollments;
    bool is_done;
};

/* A log that is full loses its oldest entries, as it should; others refuse new ones. */
static void judge_stream(struct doctor *doctor, const struct value *stream)
{
    const struct value *config = value_get(stream, "config");
    const int64_t room = nats_js_number(config, "max_bytes", 0);
    const int64_t bytes = nats_js_number(stream, "state.bytes", 0);
    const char *name = value_get_text(config, "name"), *discard = value_get_text(config, "discard");

    if (!name || !discard || strcmp(discard, "new") != 0 || room <= 0 ||
        bytes / FULL_PERCENT < room / 100)
        return;
    doctor_add(doctor,
               (struct doctor_finding){
                   "room", DOCTOR_WARN,
                   arena_printf(doctor->arena,
                                "%s uses %lld of %lld MiB: new entries are refused when it is full",
                                name, (long long)(bytes >> 20), (long long)(room >> 20)),
                   "raise jetstream_max_bytes in master.yaml, on servers that have as much" });
}

static void on_streams(void *self, const struct nats_error *error, const struct value *reply)
{
    struct listing *listing = self;
    const struct value *streams = reply ? value_get(reply, "streams") : NULL;

    (void)error; /* the check of streams says what is wrong */
    listing->is_done = true;
    for (size_t i = 0; streams && streams->kind == VALUE_LIST && i < streams->list->count; i++)
        judge_stream(listing->doctor, &streams->list->items[i]);
}

static void on_counted_enrollment(void *self, const struct nats_error *error,
                                  const struct nats_kv_entry *entry)
{
    struct listing *listing = self;

    (void)error;
    if (entry)
        fleet_enrollments_take(&listing->enrollments, entry->key, entry->value);
    else
        listing->is_done = true;
}

static void add_floods(struct doctor *doctor, struct fleet_enrollments *enrollments)
{
    fleet_enrollments_end(enrollments);
    VEC_EACH (&enrollments->records, record)
        if (record->state == ENROLLMENT_REVOKED && record->decided_by &&
            strcmp(record->decided_by, ENROLLMENT_BY_LIMITS) == 0 &&
            map_has(&enrollments->current, str_from(record->id)))
            doctor_add(doctor, (struct doctor_finding){
                                   "floods", DOCTOR_WARN,
                                   arena_printf(doctor->arena, "masters have revoked %s: %s",
                                                record->peel_id, record->reject_reason),
                                   "check what runs on that machine before it enrolls again, or "
                                   "set `peel_flood: report` in master.yaml" });
}

void doctor_check_room(struct doctor *doctor)
{
    struct listing *streams = ARENA_NEW(doctor->arena, struct listing);
    struct listing *enrollments = ARENA_NEW(doctor->arena, struct listing);
    const struct nats_kv kv = { .js = doctor->fleet->js,
                                .bucket = store_bucket_name(STORE_ENROLLMENTS) };
    struct err ignored; /* the check of streams says what is wrong */

    streams->doctor = doctor;
    enrollments->enrollments = (struct fleet_enrollments)FLEET_ENROLLMENTS_INIT(doctor->arena);
    if (nats_js_call(&doctor->fleet->js, "STREAM.LIST", STR(""), on_streams, streams, &ignored) ==
        0)
        (void)fleet_wait(doctor->fleet, &streams->is_done, ANSWER_NS, &ignored);
    if (nats_kv_list(&kv, NULL, on_counted_enrollment, enrollments, &ignored) == 0 &&
        fleet_wait(doctor->fleet, &enrollments->is_done, ANSWER_NS, &ignored) == 0)
        add_floods(doctor, &enrollments->enrollments);
}
