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
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/registry.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/departure.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

struct peel_delete {
    struct master *master;
    struct nats_sub *requests;
};

/* An entry that goes, or a pattern of them. */
struct removal {
    struct leaving_peel *leaving_peel;
    enum store_bucket bucket;
    const char *key;
    bool is_pattern;
    int32_t *count;    /* in the leaving peel */
    uint64_t revision; /* only this one; 0: whatever is there */
};

/* An enrollment as it was read. */
struct stored_enrollment {
    struct enrollment record;
    uint64_t revision; /* 0: it was changed here */
};

/* One machine of a request. */
struct leaving_peel {
    struct departure departure;
    int32_t uncounted; /* removals that are not reported */
    struct {
        VEC(struct stored_enrollment) list;
    } records;
};

struct deleted_peel {
    struct arena arena;
    struct peel_delete *peel_delete;
    struct str reply;
    struct departure_request request;
    struct map by_peel; /* struct leaving_peel */
    struct leaving_peel *leavers;
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
    { STORE_FACTS, "", "", false, 0 }, /* the enrollment cache of each master removes them, too */
    { STORE_SECRETS, "", "", false, offsetof(struct departure, secrets) },
    { STORE_PEEL_HEARTBEAT, "", "", false, offsetof(struct departure, heartbeat) },
    { STORE_PEEL_PRESENCE, "", "", false, 0 },
    { STORE_BASKET, "", ".>", true, offsetof(struct departure, basket) },
    { STORE_UPDATE_STATUS, "peel.", "", false, offsetof(struct departure, update_status) },
};

static struct nats_kv open_bucket(const struct deleted_peel *deleted_peel, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = deleted_peel->peel_delete->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true,
                             .history = store_bucket_history(bucket) };
}

static void set_error(struct deleted_peel *deleted_peel, struct leaving_peel *leaving_peel,
                      const char *error)
{
    if (!leaving_peel->departure.err[0])
        leaving_peel->departure.err = arena_strdup(&deleted_peel->arena, error);
}

/* --- the end ---------------------------------------------------------------------------- */

static void finish_farewell(struct deleted_peel *deleted_peel, const char *error)
{
    struct departure_reply reply = { .err = error ? error : "" };
    struct arena arena = deleted_peel->arena;

    for (size_t i = 0; !error && i < deleted_peel->request.peels.n; i++) {
        const struct departure *departure = &deleted_peel->leavers[i].departure;

        VEC_PUSH_IN(&arena, &reply.peels.list, *departure);
        audit_log(&(struct audit){ .action = "peel.delete",
                                   .by = deleted_peel->request.operator,
                                   .peel = departure->peel_id,
                                   .reason = deleted_peel->request.reason,
                                   .error = departure->err });
    }
    if (error)
        audit_log(&(struct audit){
            .action = "peel.delete", .by = deleted_peel->request.operator, .error = error });
    master_answer(deleted_peel->peel_delete->master, deleted_peel->reply, &departure_reply_type,
                  &reply);
    arena_done(&arena); /* the deleted peel is in it */
}

/* --- entries ---------------------------------------------------------------------------- */

static void remove_next(struct deleted_peel *deleted_peel);

static void skip_removal(struct deleted_peel *deleted_peel, const char *error)
{
    const struct removal *removal = &deleted_peel->removals.list.p[deleted_peel->removed++];

    if (error)
        set_error(deleted_peel, removal->leaving_peel, error);
    remove_next(deleted_peel);
}

static void on_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    struct deleted_peel *deleted_peel = self;

    (void)revision;
    if (!error)
        ++*deleted_peel->removals.list.p[deleted_peel->removed].count;
    skip_removal(deleted_peel, error ? error->text : NULL);
}

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct deleted_peel *deleted_peel = self;
    const struct removal *removal = &deleted_peel->removals.list.p[deleted_peel->removed];
    const struct nats_kv kv = open_bucket(deleted_peel, removal->bucket);
    struct err err;

    (void)entry;
    if (error)
        skip_removal(deleted_peel, error->fault == NATS_FAULT_NOT_FOUND ? NULL : error->text);
    else if (nats_kv_purge(&kv, removal->key, removal->revision, on_purged, deleted_peel, &err) < 0)
        skip_removal(deleted_peel, err.text);
}

static void on_key(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct deleted_peel *deleted_peel = self;
    const struct removal pattern = deleted_peel->removals.list.p[deleted_peel->removed];

    if (error || !entry)
        skip_removal(deleted_peel, error ? error->text : NULL);
    else
        VEC_PUSH_IN(&deleted_peel->arena, &deleted_peel->removals.list,
                    (struct removal){ .leaving_peel = pattern.leaving_peel,
                                      .bucket = pattern.bucket,
                                      .key = arena_str(&deleted_peel->arena, entry->key).p,
                                      .count = pattern.count });
}

static int begin_removal(struct deleted_peel *deleted_peel, const struct removal *removal,
                         struct err *err)
{
    const struct nats_kv kv = open_bucket(deleted_peel, removal->bucket);

    return removal->is_pattern ? nats_kv_keys(&kv, removal->key, on_key, deleted_peel, err)
                               : nats_kv_get(&kv, removal->key, on_entry, deleted_peel, err);
}

static void remove_next(struct deleted_peel *deleted_peel)
{
    struct err err;

    while (deleted_peel->removed < deleted_peel->removals.list.n) {
        const struct removal *removal = &deleted_peel->removals.list.p[deleted_peel->removed];

        if (begin_removal(deleted_peel, removal, &err) == 0)
            return;
        set_error(deleted_peel, removal->leaving_peel, err.text);
        deleted_peel->removed++;
    }
    finish_farewell(deleted_peel, NULL);
}

/* Could its credentials still be used, if nobody refused them? */
static bool must_be_kept(const struct enrollment *record)
{
    return record->state == ENROLLMENT_REVOKED && record->issued_at.seconds != 0 &&
           (record->expires_at.seconds == 0 || record->expires_at.seconds > bus_time_seconds());
}

static void plan_enrollments(struct deleted_peel *deleted_peel, struct leaving_peel *leaving_peel)
{
    struct removal removal = { .leaving_peel = leaving_peel, .bucket = STORE_ENROLLMENTS };

    removal.count = &leaving_peel->departure.enrollments;
    VEC_EACH (&leaving_peel->records.list, stored_enrollment) {
        removal.key = stored_enrollment->record.id;
        removal.revision = stored_enrollment->revision;
        if (!must_be_kept(&stored_enrollment->record))
            VEC_PUSH_IN(&deleted_peel->arena, &deleted_peel->removals.list, removal);
    }
    removal.revision = 0;
    removal.count = &leaving_peel->uncounted;
    removal.key = admission_index_key(&deleted_peel->arena, leaving_peel->departure.peel_id);
    VEC_PUSH_IN(&deleted_peel->arena, &deleted_peel->removals.list, removal);
}

static void plan_removals(struct deleted_peel *deleted_peel, struct leaving_peel *leaving_peel)
{
    struct departure *departure = &leaving_peel->departure;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        VEC_PUSH_IN(
            &deleted_peel->arena, &deleted_peel->removals.list,
            (struct removal){ .leaving_peel = leaving_peel,
                              .bucket = parts[i].bucket,
                              .key = arena_printf(&deleted_peel->arena, "%s%s%s", parts[i].before,
                                                  departure->peel_id, parts[i].after),
                              .is_pattern = parts[i].is_pattern,
                              .count = parts[i].count > 0
                                           ? (int32_t *)(void *)((char *)departure + parts[i].count)
                                           : &leaving_peel->uncounted });
    plan_enrollments(deleted_peel, leaving_peel);
}

static void begin_removals(struct deleted_peel *deleted_peel)
{
    for (size_t i = 0; i < deleted_peel->request.peels.n; i++)
        if (!deleted_peel->leavers[i].departure.err[0])
            plan_removals(deleted_peel, &deleted_peel->leavers[i]);
    remove_next(deleted_peel);
}

/* --- credentials ------------------------------------------------------------------------ */

/* Servers have confirmed, or the operator is warned. */
static void on_enforced(void *self, const char *warning)
{
    struct deleted_peel *deleted_peel = self;

    for (size_t i = 0; warning && i < deleted_peel->request.peels.n; i++)
        if (deleted_peel->leavers[i].departure.revoked > 0)
            deleted_peel->leavers[i].departure.warning =
                arena_strdup(&deleted_peel->arena, warning);
    if (--deleted_peel->pushes == 0)
        begin_removals(deleted_peel);
}

static void enforce_revocations(struct deleted_peel *deleted_peel)
{
    struct revocation *revocation =
        master_find(deleted_peel->peel_delete->master, &revocation_service);

    deleted_peel->pushes = 1; /* this one, until all are begun */
    for (size_t i = 0; i < deleted_peel->request.peels.n; i++)
        VEC_EACH (&deleted_peel->leavers[i].records.list, stored_enrollment)
            if (stored_enrollment->record.state == ENROLLMENT_REVOKED &&
                stored_enrollment->revision == 0) {
                deleted_peel->pushes++;
                revocation_push(revocation, &stored_enrollment->record, on_enforced, deleted_peel);
            }
    on_enforced(deleted_peel, NULL);
}

static bool has_credentials(const struct enrollment *record)
{
    return record->state == ENROLLMENT_APPROVED || record->state == ENROLLMENT_ISSUED ||
           record->state == ENROLLMENT_ACTIVE;
}

static void revoke_next(struct deleted_peel *deleted_peel);

/* The entry is valid during the call only, so the times and the key are copied. */
static void on_revoked(void *self, const struct registry_verdict *verdict)
{
    const struct enrollment *record = verdict->record;
    struct deleted_peel *deleted_peel = self;
    struct leaving_peel *leaving_peel = &deleted_peel->leavers[deleted_peel->at];
    struct stored_enrollment *stored_enrollment =
        &leaving_peel->records.list.p[deleted_peel->record++];

    if (verdict->error) {
        set_error(deleted_peel, leaving_peel, verdict->error);
    } else {
        leaving_peel->departure.revoked++;
        stored_enrollment->revision = 0;
        stored_enrollment->record.state = record->state;
        stored_enrollment->record.decided_at = record->decided_at;
        stored_enrollment->record.issued_at = record->issued_at;
        stored_enrollment->record.expires_at = record->expires_at;
    }
    revoke_next(deleted_peel);
}

static bool find_credentials(struct deleted_peel *deleted_peel)
{
    for (; deleted_peel->at < deleted_peel->request.peels.n;
         deleted_peel->at++, deleted_peel->record = 0) {
        const struct leaving_peel *leaving_peel = &deleted_peel->leavers[deleted_peel->at];

        if (leaving_peel->departure.err[0])
            continue;
        for (; deleted_peel->record < leaving_peel->records.list.n; deleted_peel->record++)
            if (has_credentials(&leaving_peel->records.list.p[deleted_peel->record].record))
                return true;
    }
    return false;
}

static void revoke_next(struct deleted_peel *deleted_peel)
{
    const struct authority *authority =
        master_find(deleted_peel->peel_delete->master, &authority_service);
    const struct enrollment *record;

    if (!find_credentials(deleted_peel)) {
        enforce_revocations(deleted_peel);
        return;
    }
    record = &deleted_peel->leavers[deleted_peel->at].records.list.p[deleted_peel->record].record;
    registry_decide(&authority->registry, ADMISSION_REVOKE,
                    &(struct enrollment_request){ .id = record->id,
                                                  .operator_name = deleted_peel->request.operator,
                                                  .reason = deleted_peel->request.reason },
                    on_revoked, deleted_peel);
}

/* --- enrollments ------------------------------------------------------------------------ */

static bool is_connected(const struct deleted_peel *deleted_peel, const char *peel)
{
    return roster_is_online(master_roster(deleted_peel->peel_delete->master), str_from(peel));
}

/* A machine that nothing is known of is a mistake of the operator. */
static void check_leavers(struct deleted_peel *deleted_peel)
{
    const struct roster *roster = master_roster(deleted_peel->peel_delete->master);

    for (size_t i = 0; i < deleted_peel->request.peels.n; i++) {
        struct leaving_peel *leaving_peel = &deleted_peel->leavers[i];
        const char *peel = leaving_peel->departure.peel_id;

        leaving_peel->departure.facts = roster_facts(roster, str_from(peel)) ? 1 : 0;
        if (leaving_peel->records.list.n == 0 && !leaving_peel->departure.facts &&
            !is_connected(deleted_peel, peel))
            set_error(deleted_peel, leaving_peel, "no such peel");
        else if (!deleted_peel->request.force && is_connected(deleted_peel, peel))
            set_error(deleted_peel, leaving_peel,
                      "it is connected, or was within the last 30 seconds; stop it first, or use "
                      "--force");
    }
    revoke_next(deleted_peel);
}

static void on_enrollment(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct deleted_peel *deleted_peel = self;
    struct stored_enrollment stored_enrollment = { .revision = entry ? entry->revision : 0 };
    struct leaving_peel *leaving_peel;
    struct err err;

    if (error) {
        finish_farewell(deleted_peel, error->text);
    } else if (!entry) {
        check_leavers(deleted_peel);
    } else if (str_starts(entry->key, STR(ADMISSION_ID)) &&
               record_decode(&deleted_peel->arena, &enrollment_type, 1,
                             arena_str(&deleted_peel->arena, entry->value),
                             &stored_enrollment.record, &err) == 0) {
        leaving_peel = map_find(&deleted_peel->by_peel, str_from(stored_enrollment.record.peel_id));
        if (leaving_peel)
            VEC_PUSH_IN(&deleted_peel->arena, &leaving_peel->records.list, stored_enrollment);
    }
}

/* --- a request -------------------------------------------------------------------------- */

static int read_request(struct deleted_peel *deleted_peel, struct str payload, struct err *err)
{
    struct param_strs *peels = &deleted_peel->request.peels;

    if (record_decode(&deleted_peel->arena, &departure_request_type, 1, payload,
                      &deleted_peel->request, err) < 0)
        return -1;
    if (peels->n > DEPARTURE_PEELS_MAX)
        return err_set(err, ERR_LIMIT, "at most %d peels at once", DEPARTURE_PEELS_MAX);
    deleted_peel->leavers = ARENA_ARRAY(&deleted_peel->arena, struct leaving_peel, peels->n + 1);
    for (size_t i = 0; i < peels->n; i++) {
        const char *peel = peels->p[i];

        if (!peel_id_is_valid(str_from(peel)))
            return err_set(err, ERR_INVALID, "'%s' is not a valid peel id", peel);
        if (map_set(&deleted_peel->by_peel, str_from(peel), &deleted_peel->leavers[i]))
            return err_set(err, ERR_INVALID, "'%s' is given twice", peel);
        deleted_peel->leavers[i] = (struct leaving_peel){
            .departure = { .peel_id = peel, .err = "", .warning = "" },
        };
    }
    return 0;
}

static int check_ready(const struct peel_delete *peel_delete, struct err *err)
{
    const struct roster *roster = master_roster(peel_delete->master);

    if (!roster || !roster_is_seeded(roster) ||
        !enrollment_cache_is_complete(master_find(peel_delete->master, &enrollment_cache_service)))
        return err_set(err, ERR_BUSY, "this master has just started; try again");
    return 0;
}

static void on_request(void *self, const struct nats_msg *msg)
{
    struct arena arena = ARENA_INIT;
    struct deleted_peel *deleted_peel = ARENA_NEW(&arena, struct deleted_peel);
    struct nats_kv kv;
    struct err err;

    *deleted_peel = (struct deleted_peel){ .arena = arena, .peel_delete = self };
    deleted_peel->by_peel = (struct map)MAP_INIT_IN(&deleted_peel->arena);
    deleted_peel->reply = arena_str(&deleted_peel->arena, msg->reply);
    deleted_peel->request = (struct departure_request){ .operator= "", .reason = "" };
    kv = open_bucket(deleted_peel, STORE_ENROLLMENTS);
    if (check_ready(deleted_peel->peel_delete, &err) < 0 ||
        read_request(deleted_peel, arena_str(&deleted_peel->arena, msg->payload), &err) < 0 ||
        nats_kv_list(&kv, NULL, on_enrollment, deleted_peel, &err) < 0)
        finish_farewell(deleted_peel, err.text);
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_gate(struct master *master, struct err *err)
{
    struct peel_delete *peel_delete = mem_zalloc(sizeof(*peel_delete));

    (void)err;
    peel_delete->master = master;
    return peel_delete;
}

static int start_gate(void *self, struct err *err)
{
    struct peel_delete *peel_delete = self;

    peel_delete->requests =
        nats_sub_new(peel_delete->master->js.conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_PEEL_DELETE),
                                                 .queue = subject_queue(SUBJECT_PEEL_DELETE),
                                                 .message = on_request,
                                                 .self = peel_delete },
                     err);
    return peel_delete->requests ? 0 : -1;
}

static void stop_gate(void *self)
{
    struct peel_delete *peel_delete = self;

    nats_sub_free(peel_delete->requests);
    peel_delete->requests = NULL;
}

const struct master_service master_departure_service = {
    .name = "departures",
    .open = open_gate,
    .start = start_gate,
    .stop = stop_gate,
    .free = free,
};
