/*
 * The service "departures": machines leave the fleet for good (zester.admin.peel.delete).
 *
 *     list the enrollments -> revoke those with credentials -> servers confirm -> remove entries
 *
 * Nothing is removed before the credentials are revoked: a machine that is still connected would
 * write its entries again. A revoked record stays as long as its credentials could be used, since
 * masters tell servers by these records whom to refuse; the others go, unless somebody has decided
 * about them meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/registry.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/census.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "fleet/wire/departure.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

struct gate {
    struct master *master;
    struct nats_sub *requests;
};

/* An entry that goes, or a pattern of them. */
struct removal {
    struct leaver *leaver;
    enum store_bucket bucket;
    const char *key;
    bool is_pattern;
    int32_t *count;    /* in the leaver */
    uint64_t revision; /* only this one; 0: whatever is there */
};

/* An enrollment as it was read. */
struct held {
    struct enrollment record;
    uint64_t revision; /* 0: it was changed here */
};

/* One machine of a request. */
struct leaver {
    struct departure departure;
    int32_t uncounted; /* removals that are not reported */
    struct {
        VEC(struct held) list;
    } records;
};

struct farewell {
    struct arena arena;
    struct gate *gate;
    struct str reply;
    struct departure_request request;
    struct map by_peel; /* struct leaver */
    struct leaver *leavers;
    size_t at, record; /* the enrollment that is decided about */
    size_t pushes;     /* that servers have not confirmed */
    struct {
        VEC(struct removal) list;
    } removals;
    size_t removed;
};

/* Entries of a peel in the buckets: its id, with something around it. */
static const struct {
    enum store_bucket bucket;
    const char *before, *after;
    bool is_pattern;
    size_t count; /* offset in struct departure; 0: it is not counted here */
} parts[] = {
    { STORE_FACTS, "", "", false, 0 }, /* the census of each master removes them, too */
    { STORE_SECRETS, "", "", false, offsetof(struct departure, secrets) },
    { STORE_PEEL_HEARTBEAT, "", "", false, offsetof(struct departure, heartbeat) },
    { STORE_PEEL_PRESENCE, "", "", false, 0 },
    { STORE_BASKET, "", ".>", true, offsetof(struct departure, basket) },
    { STORE_UPDATE_STATUS, "peel.", "", false, offsetof(struct departure, update_status) },
};

static struct nats_kv open_bucket(const struct farewell *farewell, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = farewell->gate->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true,
                             .history = store_bucket_history(bucket) };
}

static void set_error(struct farewell *farewell, struct leaver *leaver, const char *error)
{
    if (!leaver->departure.err[0])
        leaver->departure.err = arena_strdup(&farewell->arena, error);
}

/* --- the end ---------------------------------------------------------------------------- */

static void finish_farewell(struct farewell *farewell, const char *error)
{
    struct departure_reply reply = { .err = error ? error : "" };
    struct arena arena = farewell->arena;

    for (size_t i = 0; !error && i < farewell->request.peels.n; i++) {
        const struct departure *departure = &farewell->leavers[i].departure;

        VEC_PUSH_IN(&arena, &reply.peels.list, *departure);
        audit_log(&(struct audit){ .action = "peel.delete",
                                   .by = farewell->request.operator,
                                   .peel = departure->peel_id,
                                   .reason = farewell->request.reason,
                                   .error = departure->err });
    }
    if (error)
        audit_log(&(struct audit){
            .action = "peel.delete", .by = farewell->request.operator, .error = error });
    master_answer(farewell->gate->master, farewell->reply, &departure_reply_type, &reply);
    arena_done(&arena); /* the farewell is in it */
}

/* --- entries ---------------------------------------------------------------------------- */

static void remove_next(struct farewell *farewell);

static void skip_removal(struct farewell *farewell, const char *error)
{
    const struct removal *removal = &farewell->removals.list.p[farewell->removed++];

    if (error)
        set_error(farewell, removal->leaver, error);
    remove_next(farewell);
}

static void on_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    struct farewell *farewell = self;

    (void)revision;
    if (!error)
        ++*farewell->removals.list.p[farewell->removed].count;
    skip_removal(farewell, error ? error->text : NULL);
}

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct farewell *farewell = self;
    const struct removal *removal = &farewell->removals.list.p[farewell->removed];
    const struct nats_kv kv = open_bucket(farewell, removal->bucket);
    struct err err;

    (void)entry;
    if (error)
        skip_removal(farewell, error->fault == NATS_FAULT_NOT_FOUND ? NULL : error->text);
    else if (nats_kv_purge(&kv, removal->key, removal->revision, on_purged, farewell, &err) < 0)
        skip_removal(farewell, err.text);
}

static void on_key(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct farewell *farewell = self;
    const struct removal pattern = farewell->removals.list.p[farewell->removed];

    if (error || !entry)
        skip_removal(farewell, error ? error->text : NULL);
    else
        VEC_PUSH_IN(&farewell->arena, &farewell->removals.list,
                    (struct removal){ .leaver = pattern.leaver,
                                      .bucket = pattern.bucket,
                                      .key = arena_str(&farewell->arena, entry->key).p,
                                      .count = pattern.count });
}

static int begin_removal(struct farewell *farewell, const struct removal *removal, struct err *err)
{
    const struct nats_kv kv = open_bucket(farewell, removal->bucket);

    return removal->is_pattern ? nats_kv_keys(&kv, removal->key, on_key, farewell, err)
                               : nats_kv_get(&kv, removal->key, on_entry, farewell, err);
}

static void remove_next(struct farewell *farewell)
{
    struct err err;

    while (farewell->removed < farewell->removals.list.n) {
        const struct removal *removal = &farewell->removals.list.p[farewell->removed];

        if (begin_removal(farewell, removal, &err) == 0)
            return;
        set_error(farewell, removal->leaver, err.text);
        farewell->removed++;
    }
    finish_farewell(farewell, NULL);
}

/* Could its credentials still be used, if nobody refused them? */
static bool must_be_kept(const struct enrollment *record)
{
    return record->state == ENROLLMENT_REVOKED && record->issued_at.seconds != 0 &&
           (record->expires_at.seconds == 0 || record->expires_at.seconds > bus_time_seconds());
}

static void plan_enrollments(struct farewell *farewell, struct leaver *leaver)
{
    struct removal removal = { .leaver = leaver, .bucket = STORE_ENROLLMENTS };

    removal.count = &leaver->departure.enrollments;
    VEC_EACH (&leaver->records.list, held) {
        removal.key = held->record.id;
        removal.revision = held->revision;
        if (!must_be_kept(&held->record))
            VEC_PUSH_IN(&farewell->arena, &farewell->removals.list, removal);
    }
    removal.revision = 0;
    removal.count = &leaver->uncounted;
    removal.key = admission_index_key(&farewell->arena, leaver->departure.peel_id);
    VEC_PUSH_IN(&farewell->arena, &farewell->removals.list, removal);
}

static void plan_removals(struct farewell *farewell, struct leaver *leaver)
{
    struct departure *departure = &leaver->departure;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        VEC_PUSH_IN(
            &farewell->arena, &farewell->removals.list,
            (struct removal){ .leaver = leaver,
                              .bucket = parts[i].bucket,
                              .key = arena_printf(&farewell->arena, "%s%s%s", parts[i].before,
                                                  departure->peel_id, parts[i].after),
                              .is_pattern = parts[i].is_pattern,
                              .count = parts[i].count > 0
                                           ? (int32_t *)(void *)((char *)departure + parts[i].count)
                                           : &leaver->uncounted });
    plan_enrollments(farewell, leaver);
}

static void begin_removals(struct farewell *farewell)
{
    for (size_t i = 0; i < farewell->request.peels.n; i++)
        if (!farewell->leavers[i].departure.err[0])
            plan_removals(farewell, &farewell->leavers[i]);
    remove_next(farewell);
}

/* --- credentials ------------------------------------------------------------------------ */

/* Servers have confirmed, or the operator is warned. */
static void on_enforced(void *self, const char *warning)
{
    struct farewell *farewell = self;

    for (size_t i = 0; warning && i < farewell->request.peels.n; i++)
        if (farewell->leavers[i].departure.revoked > 0)
            farewell->leavers[i].departure.warning = arena_strdup(&farewell->arena, warning);
    if (--farewell->pushes == 0)
        begin_removals(farewell);
}

static void enforce_revocations(struct farewell *farewell)
{
    struct revocation *revocation = master_find(farewell->gate->master, &revocation_service);

    farewell->pushes = 1; /* this one, until all are begun */
    for (size_t i = 0; i < farewell->request.peels.n; i++)
        VEC_EACH (&farewell->leavers[i].records.list, held)
            if (held->record.state == ENROLLMENT_REVOKED && held->revision == 0) {
                farewell->pushes++;
                revocation_push(revocation, &held->record, on_enforced, farewell);
            }
    on_enforced(farewell, NULL);
}

static bool has_credentials(const struct enrollment *record)
{
    return record->state == ENROLLMENT_APPROVED || record->state == ENROLLMENT_ISSUED ||
           record->state == ENROLLMENT_ACTIVE;
}

static void revoke_next(struct farewell *farewell);

/* What the registry says is good during the call: the times and the key are kept. */
static void on_revoked(void *self, const struct registry_verdict *verdict)
{
    const struct enrollment *record = verdict->record;
    struct farewell *farewell = self;
    struct leaver *leaver = &farewell->leavers[farewell->at];
    struct held *held = &leaver->records.list.p[farewell->record++];

    if (verdict->error) {
        set_error(farewell, leaver, verdict->error);
    } else {
        leaver->departure.revoked++;
        held->revision = 0;
        held->record.state = record->state;
        held->record.decided_at = record->decided_at;
        held->record.issued_at = record->issued_at;
        held->record.expires_at = record->expires_at;
    }
    revoke_next(farewell);
}

static bool find_credentials(struct farewell *farewell)
{
    for (; farewell->at < farewell->request.peels.n; farewell->at++, farewell->record = 0) {
        const struct leaver *leaver = &farewell->leavers[farewell->at];

        if (leaver->departure.err[0])
            continue;
        for (; farewell->record < leaver->records.list.n; farewell->record++)
            if (has_credentials(&leaver->records.list.p[farewell->record].record))
                return true;
    }
    return false;
}

static void revoke_next(struct farewell *farewell)
{
    const struct authority *authority = master_find(farewell->gate->master, &authority_service);
    const struct enrollment *record;

    if (!find_credentials(farewell)) {
        enforce_revocations(farewell);
        return;
    }
    record = &farewell->leavers[farewell->at].records.list.p[farewell->record].record;
    registry_decide(&authority->registry, ADMISSION_REVOKE,
                    &(struct enrollment_request){ .id = record->id,
                                                  .operator_name = farewell->request.operator,
                                                  .reason = farewell->request.reason },
                    on_revoked, farewell);
}

/* --- enrollments ------------------------------------------------------------------------ */

static bool is_connected(const struct farewell *farewell, const char *peel)
{
    return roster_is_online(master_roster(farewell->gate->master), str_from(peel));
}

/* A machine that nothing is known of is a mistake of the operator. */
static void check_leavers(struct farewell *farewell)
{
    const struct roster *roster = master_roster(farewell->gate->master);

    for (size_t i = 0; i < farewell->request.peels.n; i++) {
        struct leaver *leaver = &farewell->leavers[i];
        const char *peel = leaver->departure.peel_id;

        leaver->departure.facts = roster_facts(roster, str_from(peel)) ? 1 : 0;
        if (leaver->records.list.n == 0 && !leaver->departure.facts &&
            !is_connected(farewell, peel))
            set_error(farewell, leaver, "no such peel");
        else if (!farewell->request.force && is_connected(farewell, peel))
            set_error(farewell, leaver,
                      "it is connected, or was within the last 30 seconds; stop it first, or use "
                      "--force");
    }
    revoke_next(farewell);
}

static void on_enrollment(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct farewell *farewell = self;
    struct held held = { .revision = entry ? entry->revision : 0 };
    struct leaver *leaver;
    struct err err;

    if (error) {
        finish_farewell(farewell, error->text);
    } else if (!entry) {
        check_leavers(farewell);
    } else if (str_starts(entry->key, STR(ADMISSION_ID)) &&
               record_decode(&farewell->arena, &enrollment_type, 1,
                             arena_str(&farewell->arena, entry->value), &held.record, &err) == 0) {
        leaver = map_find(&farewell->by_peel, str_from(held.record.peel_id));
        if (leaver)
            VEC_PUSH_IN(&farewell->arena, &leaver->records.list, held);
    }
}

/* --- a request -------------------------------------------------------------------------- */

static int read_request(struct farewell *farewell, struct str payload, struct err *err)
{
    struct param_strs *peels = &farewell->request.peels;

    if (record_decode(&farewell->arena, &departure_request_type, 1, payload, &farewell->request,
                      err) < 0)
        return -1;
    if (peels->n > DEPARTURE_PEELS_MAX)
        return err_set(err, ERR_LIMIT, "at most %d peels at once", DEPARTURE_PEELS_MAX);
    farewell->leavers = ARENA_ARRAY(&farewell->arena, struct leaver, peels->n + 1);
    for (size_t i = 0; i < peels->n; i++) {
        const char *peel = peels->p[i];

        if (!peel_id_is_valid(str_from(peel)))
            return err_set(err, ERR_INVALID, "'%s' is not a valid peel id", peel);
        if (map_set(&farewell->by_peel, str_from(peel), &farewell->leavers[i]))
            return err_set(err, ERR_INVALID, "'%s' is given twice", peel);
        farewell->leavers[i] = (struct leaver){
            .departure = { .peel_id = peel, .err = "", .warning = "" },
        };
    }
    return 0;
}

static int check_ready(const struct gate *gate, struct err *err)
{
    const struct roster *roster = master_roster(gate->master);

    if (!roster || !roster_is_seeded(roster) ||
        !census_is_complete(master_find(gate->master, &census_service)))
        return err_set(err, ERR_BUSY, "this master has just started; try again");
    return 0;
}

static void on_request(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct farewell *farewell = ARENA_NEW(&arena, struct farewell);
    struct nats_kv kv;
    struct err err;

    *farewell = (struct farewell){ .arena = arena, .gate = self };
    farewell->by_peel = (struct map)MAP_INIT_IN(&farewell->arena);
    farewell->reply = arena_str(&farewell->arena, msg->reply);
    farewell->request = (struct departure_request){ .operator= "", .reason = "" };
    kv = open_bucket(farewell, STORE_ENROLLMENTS);
    if (check_ready(farewell->gate, &err) < 0 ||
        read_request(farewell, arena_str(&farewell->arena, msg->payload), &err) < 0 ||
        nats_kv_list(&kv, NULL, on_enrollment, farewell, &err) < 0)
        finish_farewell(farewell, err.text);
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_gate(struct master *master, struct err *err)
{
    struct gate *gate = mem_zalloc(sizeof(*gate));

    (void)err;
    gate->master = master;
    return gate;
}

static int start_gate(void *self, struct err *err)
{
    struct gate *gate = self;

    gate->requests =
        nats_sub_new(gate->master->js.conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_PEEL_DELETE),
                                                 .queue = subject_queue(SUBJECT_PEEL_DELETE),
                                                 .message = on_request,
                                                 .self = gate },
                     err);
    return gate->requests ? 0 : -1;
}

static void stop_gate(void *self)
{
    struct gate *gate = self;

    nats_sub_free(gate->requests);
    gate->requests = NULL;
}

const struct master_service master_departure_service = {
    .name = "departures",
    .open = open_gate,
    .start = start_gate,
    .stop = stop_gate,
    .free = free,
};
