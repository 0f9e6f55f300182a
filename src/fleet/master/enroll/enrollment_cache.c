#include "fleet/master/enroll/enrollment_cache.h"

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

/* One peel. */
struct enrolled_peel {
    char *peel;
    char *id;        /* current enrollment, from the index; "": none yet */
    char *curve_key; /* curve key of that enrollment; NULL: not read yet */
    enum enrollment_state state;
    bool has_facts;
};

/* A machine without a join token that waits for a decision. */
struct waiting {
    char *id; /* enrollment id */
    char *address;
};

struct enrollment_cache {
    struct master *master;
    struct map residents; /* by peel; values are struct enrolled_peel */
    struct map waiting;   /* struct waiting by id */
    struct nats_kv_watch *records, *facts;
    struct enrollment_cache_listener *listeners;
    char *pause; /* why enrollment is paused; NULL: not paused */
    bool is_complete;
    char problem[HEALTH_TEXT_MAX];
};

static char *copy_enrollment_text(struct str text)
{
    char *copy = mem_alloc(text.n + 1);

    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

static struct enrolled_peel *take_enrolled_peel(struct enrollment_cache *cache, struct str peel)
{
    struct enrolled_peel *enrolled_peel = map_find(&cache->residents, peel);

    if (enrolled_peel)
        return enrolled_peel;
    enrolled_peel = mem_zalloc(sizeof(*enrolled_peel));
    enrolled_peel->peel = copy_enrollment_text(peel);
    enrolled_peel->id = mem_strdup("");
    (void)map_set(&cache->residents, str_from(enrolled_peel->peel), enrolled_peel);
    return enrolled_peel;
}

/* --- consequences ------------------------------------------------------------------- */

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

static void on_enrollment_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("facts of a revoked peel cannot be removed error=%s", error->text);
}

static void purge_facts(struct enrollment_cache *cache, const struct enrolled_peel *enrolled_peel)
{
    const struct nats_kv kv = { .js = cache->master->js,
                                .bucket = store_bucket_name(STORE_FACTS),
                                .history = store_bucket_history(STORE_FACTS) };
    struct err err;

    log_warning("removed facts of a revoked peel peel=%s", enrolled_peel->peel);
    if (nats_kv_purge(&kv, enrolled_peel->peel, 0, on_enrollment_purged, cache, &err) < 0)
        log_warning("facts of a revoked peel cannot be removed error=%s", err.text);
}

static void judge_enrolled_peel(struct enrollment_cache *cache,
                                const struct enrolled_peel *enrolled_peel)
{
    const struct authority *authority = master_find(cache->master, &authority_service);

    if (!cache->is_complete || !enrolled_peel->has_facts || !enrolled_peel->id[0])
        return;
    if (enrolled_peel->state == ENROLLMENT_ISSUED)
        registry_decide(&authority->registry, ADMISSION_ACTIVATE,
                        &(struct enrollment_request){
                            .id = enrolled_peel->id, .operator_name = "", .reason = "" },
                        on_activated, cache);
    else if (enrolled_peel->state == ENROLLMENT_REVOKED)
        purge_facts(cache, enrolled_peel);
}

/* --- watching ----------------------------------------------------------------------- */

/* An index is written after its record, and only the record changes later. So every relevant change
 * comes after the index. */
static void note_index(struct enrollment_cache *cache, struct str peel, struct str id)
{
    struct enrolled_peel *enrolled_peel = take_enrolled_peel(cache, peel);

    if (!str_starts(id, STR(ADMISSION_ID))) {
        log_warning("index of an enrollment cannot be read peel=%.*s", STR_ARG(peel));
        return;
    }
    if (str_eq(id, str_from(enrolled_peel->id)))
        return;
    free(enrolled_peel->id);
    enrolled_peel->id = copy_enrollment_text(id);
    free(enrolled_peel->curve_key);
    enrolled_peel->curve_key = NULL;
    enrolled_peel->state = ENROLLMENT_PENDING;
}

static void note_record(struct enrollment_cache *cache, const struct enrollment *record)
{
    struct enrolled_peel *enrolled_peel = take_enrolled_peel(cache, str_from(record->peel_id));

    if (strcmp(record->id, enrolled_peel->id) != 0)
        return;
    enrolled_peel->state = record->state;
    free(enrolled_peel->curve_key);
    enrolled_peel->curve_key = mem_strdup(record->curve_public_key);
    judge_enrolled_peel(cache, enrolled_peel);
}

static void forget_waiting(struct enrollment_cache *cache, struct str id)
{
    struct waiting *waiting = map_remove(&cache->waiting, id);

    if (!waiting)
        return;
    free(waiting->id);
    free(waiting->address);
    free(waiting);
}

static void note_waiting(struct enrollment_cache *cache, const struct enrollment *record)
{
    struct waiting *waiting;

    forget_waiting(cache, str_from(record->id));
    if (record->state != ENROLLMENT_PENDING || record->sponsor[0])
        return;
    waiting = mem_zalloc(sizeof(*waiting));
    waiting->id = mem_strdup(record->id);
    waiting->address = mem_strdup(record->remote_addr);
    (void)map_set(&cache->waiting, str_from(waiting->id), waiting);
}

static void note_pause(struct enrollment_cache *cache, struct str value)
{
    struct authority *authority = master_find(cache->master, &authority_service);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct enrollment_pause pause;
    struct err err;

    if (record_decode(&arena, &enrollment_pause_type, 1, value, &pause, &err) < 0) {
        log_warning("pause of enrollment cannot be read error=%s", err.text);
        return;
    }
    free(cache->pause);
    cache->pause = pause.is_paused ? mem_strdup(pause.reason) : NULL;
    authority->registry.policy.pause = cache->pause;
    log_info("enrollment %s by=%s reason=%s", pause.is_paused ? "paused" : "open",
             pause.operator_name, pause.reason);
}

static void on_enrollment_record(void *self, const struct nats_kv_entry *entry)
{
    struct enrollment_cache *cache = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct enrollment record;
    struct err err;

    if (entry->change != NATS_KV_PUT) {
        forget_waiting(cache, entry->key);
        return;
    }
    if (str_is(entry->key, ENROLLMENT_PAUSE_KEY))
        note_pause(cache, entry->value);
    if (str_starts(entry->key, STR(ADMISSION_INDEX)))
        note_index(cache, str_from_offset(entry->key, strlen(ADMISSION_INDEX)), entry->value);
    if (!str_starts(entry->key, STR(ADMISSION_ID)))
        return;
    if (record_decode(&arena, &enrollment_type, 1, entry->value, &record, &err) < 0) {
        log_warning("enrollment cannot be read key=%.*s error=%s", STR_ARG(entry->key), err.text);
        return;
    }
    if (!str_eq_text(entry->key, record.id)) {
        log_warning("ignored an enrollment with another id key=%.*s id=%s", STR_ARG(entry->key),
                    record.id);
        return;
    }
    note_waiting(cache, &record);
    note_record(cache, &record);
    for (struct enrollment_cache_listener *listener = cache->listeners; listener;
         listener = listener->next)
        listener->changed(listener, &record);
}

static void on_records_there(void *self)
{
    struct enrollment_cache *cache = self;

    cache->is_complete = true;
    MAP_EACH (&cache->residents, entry)
        judge_enrolled_peel(cache, entry->value);
    for (struct enrollment_cache_listener *listener = cache->listeners; listener;
         listener = listener->next)
        if (listener->caught_up)
            listener->caught_up(listener);
}

static void on_enrollment_facts(void *self, const struct nats_kv_entry *entry)
{
    struct enrollment_cache *cache = self;
    struct enrolled_peel *enrolled_peel = take_enrolled_peel(cache, entry->key);

    enrolled_peel->has_facts = entry->change == NATS_KV_PUT;
    if (enrolled_peel->has_facts)
        judge_enrolled_peel(cache, enrolled_peel);
}

static void on_enrollment_watch_failed(void *self, const struct nats_error *error)
{
    struct enrollment_cache *cache = self;

    (void)snprintf(cache->problem, sizeof(cache->problem), "%s", error->text);
    log_error("enrollments cannot be watched error=%s", error->text);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_enrollment_cache(struct master *master, struct err *err)
{
    struct enrollment_cache *cache = mem_zalloc(sizeof(*cache));

    (void)err;
    cache->master = master;
    return cache;
}

static struct nats_kv_watch *watch_enrollment_bucket(struct enrollment_cache *cache,
                                                     enum store_bucket bucket,
                                                     const struct nats_kv_watch_options *options,
                                                     struct err *err)
{
    const struct nats_kv kv = { .js = cache->master->js, .bucket = store_bucket_name(bucket) };

    return nats_kv_watch_new(&kv, options, err);
}

static void stop_enrollment_cache(void *self)
{
    struct enrollment_cache *cache = self;

    nats_kv_watch_free(cache->records);
    nats_kv_watch_free(cache->facts);
    cache->records = cache->facts = NULL;
}

static int start_enrollment_cache(void *self, struct err *err)
{
    struct enrollment_cache *cache = self;

    cache->records = watch_enrollment_bucket(
        cache, STORE_ENROLLMENTS,
        &(struct nats_kv_watch_options){ .entry = on_enrollment_record,
                                         .caught_up = on_records_there,
                                         .failed = on_enrollment_watch_failed,
                                         .self = cache },
        err);
    if (cache->records)
        cache->facts = watch_enrollment_bucket(
            cache, STORE_FACTS,
            &(struct nats_kv_watch_options){ .without_values = true,
                                             .entry = on_enrollment_facts,
                                             .failed = on_enrollment_watch_failed,
                                             .self = cache },
            err);
    if (cache->facts)
        return 0;
    stop_enrollment_cache(cache);
    return -1;
}

static void free_enrollment_cache(void *self)
{
    struct enrollment_cache *cache = self;

    MAP_EACH (&cache->residents, entry) {
        struct enrolled_peel *enrolled_peel = entry->value;

        free(enrolled_peel->peel);
        free(enrolled_peel->id);
        free(enrolled_peel->curve_key);
        free(enrolled_peel);
    }
    map_done(&cache->residents);
    while (map_count(&cache->waiting) > 0)
        forget_waiting(cache, map_next(&cache->waiting, NULL)->key);
    map_done(&cache->waiting);
    free(cache->pause);
    free(cache);
}

static enum health_status check_enrollment_cache(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct enrollment_cache *cache = self;

    (void)snprintf(message, HEALTH_TEXT_MAX, "%s",
                   cache->is_complete || cache->problem[0] ? cache->problem : "reading");
    if (cache->problem[0])
        return HEALTH_DOWN;
    return cache->is_complete ? HEALTH_OK : HEALTH_DEGRADED;
}

const struct master_service enrollment_cache_service = {
    .name = "enrollments",
    .open = open_enrollment_cache,
    .start = start_enrollment_cache,
    .stop = stop_enrollment_cache,
    .free = free_enrollment_cache,
    .check = check_enrollment_cache,
};

void enrollment_cache_listen(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener)
{
    listener->next = cache->listeners;
    cache->listeners = listener;
}

void enrollment_cache_forget(struct enrollment_cache *cache,
                             struct enrollment_cache_listener *listener)
{
    struct enrollment_cache_listener **place = &cache->listeners;

    while (*place && *place != listener)
        place = &(*place)->next;
    if (*place)
        *place = listener->next;
}

bool enrollment_cache_is_complete(const struct enrollment_cache *cache)
{
    return cache->is_complete;
}

bool enrollment_cache_is_revoked(const struct enrollment_cache *cache, struct str peel)
{
    const struct enrolled_peel *enrolled_peel = map_find(&cache->residents, peel);

    return enrolled_peel && enrolled_peel->state == ENROLLMENT_REVOKED;
}

struct enrollment_cache_waiting enrollment_cache_count_waiting(const struct enrollment_cache *cache,
                                                               const char *address)
{
    struct enrollment_cache_waiting count = { .all = map_count(&cache->waiting) };

    MAP_EACH (&cache->waiting, entry)
        count.of_address += strcmp(((const struct waiting *)entry->value)->address, address) == 0;
    return count;
}

bool enrollment_cache_has(const struct enrollment_cache *cache, struct str peel)
{
    return map_has(&cache->residents, peel);
}

const char *enrollment_cache_curve_key(const struct enrollment_cache *cache, struct str peel)
{
    const struct enrolled_peel *enrolled_peel = map_find(&cache->residents, peel);
    bool counts = enrolled_peel && (enrolled_peel->state == ENROLLMENT_ISSUED ||
                                    enrolled_peel->state == ENROLLMENT_ACTIVE);

    return counts ? enrolled_peel->curve_key : NULL;
}
