#include "fleet/master/enroll/census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/store.h"
#include "fleet/enroll/registry.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/nats/kv.h"

/* What is known of one peel. */
struct resident {
    char *peel;
    char *id;        /* its current enrollment, by the index; "" before there is one */
    char *curve_key; /* of that enrollment; NULL: not read yet */
    enum enrollment_state state;
    bool has_facts;
};

/* A machine without a join token that waits for a decision. */
struct waiting {
    char *id; /* of its enrollment */
    char *address;
};

struct census {
    struct master *master;
    struct map residents; /* by peel; values are struct resident */
    struct map waiting;   /* struct waiting by id */
    struct nats_kv_watch *records, *facts;
    struct census_listener *listeners;
    char *pause; /* why no new machine is admitted; NULL: they are */
    bool is_complete;
    char problem[HEALTH_TEXT_MAX];
};

static char *copy_text(struct str text)
{
    char *copy = mem_alloc(text.n + 1);

    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

static struct resident *take_resident(struct census *census, struct str peel)
{
    struct resident *resident = map_find(&census->residents, peel);

    if (resident)
        return resident;
    resident = mem_zalloc(sizeof(*resident));
    resident->peel = copy_text(peel);
    resident->id = mem_strdup("");
    (void)map_set(&census->residents, str_from(resident->peel), resident);
    return resident;
}

/* --- what follows ------------------------------------------------------------------- */

static void on_activated(void *self, const struct registry_verdict *verdict)
{
    (void)self;
    if (verdict->error)
        log_debug("enrollment not activated error=%s",
                  verdict->error); /* another master was faster */
    else
        audit_log(&(struct audit){ .action = "enroll.activate",
                                   .by = "facts",
                                   .id = verdict->record->id,
                                   .peel = verdict->record->peel_id });
}

static void on_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("facts of a revoked peel cannot be removed error=%s", error->text);
}

static void purge_facts(struct census *census, const struct resident *resident)
{
    const struct nats_kv kv = { .js = census->master->js,
                                .bucket = store_bucket_name(STORE_FACTS),
                                .history = store_bucket_history(STORE_FACTS) };
    struct err err;

    log_warning("facts of a revoked peel are removed peel=%s", resident->peel);
    if (nats_kv_purge(&kv, resident->peel, 0, on_purged, census, &err) < 0)
        log_warning("facts of a revoked peel cannot be removed error=%s", err.text);
}

static void judge_resident(struct census *census, const struct resident *resident)
{
    const struct authority *authority = master_find(census->master, &authority_service);

    if (!census->is_complete || !resident->has_facts || !resident->id[0])
        return;
    if (resident->state == ENROLLMENT_ISSUED)
        registry_decide(
            &authority->registry, ADMISSION_ACTIVATE,
            &(struct enrollment_request){ .id = resident->id, .operator_name = "", .reason = "" },
            on_activated, census);
    else if (resident->state == ENROLLMENT_REVOKED)
        purge_facts(census, resident);
}

/* --- watching ----------------------------------------------------------------------- */

/* An index is written once its record is there, and a record only changes after that. So whatever
 * matters here comes after the index. */
static void note_index(struct census *census, struct str peel, struct str id)
{
    struct resident *resident = take_resident(census, peel);

    if (!str_starts(id, STR(ADMISSION_ID))) {
        log_warning("index of an enrollment cannot be read peel=%.*s", STR_ARG(peel));
        return;
    }
    if (str_eq(id, str_from(resident->id)))
        return;
    free(resident->id);
    resident->id = copy_text(id);
    free(resident->curve_key);
    resident->curve_key = NULL;
    resident->state = ENROLLMENT_PENDING;
}

static void note_record(struct census *census, const struct enrollment *record)
{
    struct resident *resident = take_resident(census, str_from(record->peel_id));

    if (strcmp(record->id, resident->id) != 0)
        return;
    resident->state = record->state;
    free(resident->curve_key);
    resident->curve_key = mem_strdup(record->curve_public_key);
    judge_resident(census, resident);
}

static void forget_waiting(struct census *census, struct str id)
{
    struct waiting *waiting = map_remove(&census->waiting, id);

    if (!waiting)
        return;
    free(waiting->id);
    free(waiting->address);
    free(waiting);
}

static void note_waiting(struct census *census, const struct enrollment *record)
{
    struct waiting *waiting;

    forget_waiting(census, str_from(record->id));
    if (record->state != ENROLLMENT_PENDING || record->sponsor[0])
        return;
    waiting = mem_zalloc(sizeof(*waiting));
    waiting->id = mem_strdup(record->id);
    waiting->address = mem_strdup(record->remote_addr);
    (void)map_set(&census->waiting, str_from(waiting->id), waiting);
}

static void note_pause(struct census *census, struct str value)
{
    struct authority *authority = master_find(census->master, &authority_service);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct enrollment_pause pause;
    struct err err;

    if (record_decode(&arena, &enrollment_pause_type, 1, value, &pause, &err) < 0) {
        log_warning("pause of enrollment cannot be read error=%s", err.text);
        return;
    }
    free(census->pause);
    census->pause = pause.is_paused ? mem_strdup(pause.reason) : NULL;
    authority->registry.policy.pause = census->pause;
    log_info("enrollment %s by=%s reason=%s", pause.is_paused ? "paused" : "open",
             pause.operator_name, pause.reason);
}

static void on_record(void *self, const struct nats_kv_entry *entry)
{
    struct census *census = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct enrollment record;
    struct err err;

    if (entry->change != NATS_KV_PUT) {
        forget_waiting(census, entry->key);
        return;
    }
    if (str_is(entry->key, ENROLLMENT_PAUSE_KEY))
        note_pause(census, entry->value);
    if (str_starts(entry->key, STR(ADMISSION_INDEX)))
        note_index(census, str_from_offset(entry->key, strlen(ADMISSION_INDEX)), entry->value);
    if (!str_starts(entry->key, STR(ADMISSION_ID)))
        return;
    if (record_decode(&arena, &enrollment_type, 1, entry->value, &record, &err) < 0) {
        log_warning("enrollment cannot be read key=%.*s error=%s", STR_ARG(entry->key), err.text);
        return;
    }
    if (!str_eq_text(entry->key, record.id)) {
        log_warning("enrollment is ignored: it is that of another key=%.*s id=%s",
                    STR_ARG(entry->key), record.id);
        return;
    }
    note_waiting(census, &record);
    note_record(census, &record);
    for (struct census_listener *listener = census->listeners; listener; listener = listener->next)
        listener->changed(listener, &record);
}

static void on_records_there(void *self)
{
    struct census *census = self;

    census->is_complete = true;
    MAP_EACH (&census->residents, entry)
        judge_resident(census, entry->value);
    for (struct census_listener *listener = census->listeners; listener; listener = listener->next)
        if (listener->caught_up)
            listener->caught_up(listener);
}

static void on_facts(void *self, const struct nats_kv_entry *entry)
{
    struct census *census = self;
    struct resident *resident = take_resident(census, entry->key);

    resident->has_facts = entry->change == NATS_KV_PUT;
    if (resident->has_facts)
        judge_resident(census, resident);
}

static void on_failed(void *self, const struct nats_error *error)
{
    struct census *census = self;

    (void)snprintf(census->problem, sizeof(census->problem), "%s", error->text);
    log_error("enrollments cannot be watched error=%s", error->text);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_census(struct master *master, struct err *err)
{
    struct census *census = mem_zalloc(sizeof(*census));

    (void)err;
    census->master = master;
    return census;
}

static struct nats_kv_watch *watch_bucket(struct census *census, enum store_bucket bucket,
                                          const struct nats_kv_watch_options *options,
                                          struct err *err)
{
    const struct nats_kv kv = { .js = census->master->js, .bucket = store_bucket_name(bucket) };

    return nats_kv_watch_new(&kv, options, err);
}

static void stop_census(void *self)
{
    struct census *census = self;

    nats_kv_watch_free(census->records);
    nats_kv_watch_free(census->facts);
    census->records = census->facts = NULL;
}

static int start_census(void *self, struct err *err)
{
    struct census *census = self;

    census->records = watch_bucket(census, STORE_ENROLLMENTS,
                                   &(struct nats_kv_watch_options){ .entry = on_record,
                                                                    .caught_up = on_records_there,
                                                                    .failed = on_failed,
                                                                    .self = census },
                                   err);
    if (census->records)
        census->facts = watch_bucket(
            census, STORE_FACTS,
            &(struct nats_kv_watch_options){
                .without_values = true, .entry = on_facts, .failed = on_failed, .self = census },
            err);
    if (census->facts)
        return 0;
    stop_census(census);
    return -1;
}

static void free_census(void *self)
{
    struct census *census = self;

    MAP_EACH (&census->residents, entry) {
        struct resident *resident = entry->value;

        free(resident->peel);
        free(resident->id);
        free(resident->curve_key);
        free(resident);
    }
    map_done(&census->residents);
    while (map_count(&census->waiting) > 0)
        forget_waiting(census, map_next(&census->waiting, NULL)->key);
    map_done(&census->waiting);
    free(census->pause);
    free(census);
}

static enum health_status check_census(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct census *census = self;

    (void)snprintf(message, HEALTH_TEXT_MAX, "%s",
                   census->is_complete || census->problem[0] ? census->problem : "reading");
    if (census->problem[0])
        return HEALTH_DOWN;
    return census->is_complete ? HEALTH_OK : HEALTH_DEGRADED;
}

const struct master_service census_service = {
    .name = "enrollments",
    .open = open_census,
    .start = start_census,
    .stop = stop_census,
    .free = free_census,
    .check = check_census,
};

void census_listen(struct census *census, struct census_listener *listener)
{
    listener->next = census->listeners;
    census->listeners = listener;
}

void census_forget(struct census *census, struct census_listener *listener)
{
    struct census_listener **place = &census->listeners;

    while (*place && *place != listener)
        place = &(*place)->next;
    if (*place)
        *place = listener->next;
}

bool census_is_complete(const struct census *census)
{
    return census->is_complete;
}

bool census_is_revoked(const struct census *census, struct str peel)
{
    const struct resident *resident = map_find(&census->residents, peel);

    return resident && resident->state == ENROLLMENT_REVOKED;
}

struct census_waiting census_count_waiting(const struct census *census, const char *address)
{
    struct census_waiting count = { .all = map_count(&census->waiting) };

    MAP_EACH (&census->waiting, entry)
        count.of_address += strcmp(((const struct waiting *)entry->value)->address, address) == 0;
    return count;
}

bool census_has(const struct census *census, struct str peel)
{
    return map_has(&census->residents, peel);
}

const char *census_curve_key(const struct census *census, struct str peel)
{
    const struct resident *resident = map_find(&census->residents, peel);
    bool counts =
        resident && (resident->state == ENROLLMENT_ISSUED || resident->state == ENROLLMENT_ACTIVE);

    return counts ? resident->curve_key : NULL;
}
