#include "fleet/master/peels/roster.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/rate.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/jobs/heartbeat_monitor.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "language/target/index.h"
#include "language/target/target.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/peel_id.h"

/* Peels whose facts may arrive at once, when a master starts. */
#define ROSTER_SOURCES 50000
/* Problems of a peel in the log. */
#define NOTES_PER_MINUTE 10

/* A known peel. */
struct known {
    struct arena arena; /* of its facts */
    struct value facts; /* null: none yet */
    int64_t seen;       /* clock_now of the last heartbeat; 0: none */
    char *problem;      /* in it, of trees; NULL: none */
    char id[];
};

/* A watched bucket. */
struct source {
    struct roster *roster;
    struct nats_kv_watch *watch;
    bool caught_up;
};

struct roster {
    struct roster_options options;
    struct map peels; /* struct known */
    struct heartbeat_monitor masters;
    struct target_index *index; /* peels with facts */
    size_t with_facts;
    struct source facts, peel_beats, master_beats;
    struct rate reads, complaints; /* of facts, per peel */
    struct rate notes;             /* of problems in the log, per peel */
};

/* --- entries ------------------------------------------------------------------------ */

static struct known *get_known(struct map *map, struct str id)
{
    struct known *known = map_find(map, id);

    if (known)
        return known;
    known = mem_zalloc(sizeof(*known) + id.n + 1);
    memcpy(known->id, id.p, id.n);
    (void)map_set(map, str_from(known->id), known);
    return known;
}

static void free_known(struct known *known)
{
    arena_done(&known->arena);
    free(known->problem);
    free(known);
}

static void free_all(struct map *map)
{
    MAP_EACH (map, entry)
        free_known(entry->value);
    map_done(map);
}

static void set_facts(struct roster *roster, struct known *known, const struct value *facts)
{
    bool had = known->facts.kind == VALUE_MAP, has = facts && facts->kind == VALUE_MAP;

    struct err ignored; /* valid ids are short enough */

    roster->with_facts = roster->with_facts + has - had;
    known->facts = has ? *facts : value_null();
    if (has)
        (void)target_index_put(roster->index, str_from(known->id), &known->facts, &ignored);
    else
        target_index_remove(roster->index, str_from(known->id));
    if (roster->options.on_facts)
        roster->options.on_facts(roster->options.self, str_from(known->id),
                                 has ? &known->facts : NULL);
}

/* Logged once a minute. */
static void drop_facts(struct roster *roster, struct str peel, const char *why)
{
    if (rate_take(&roster->complaints, peel, clock_now()) == 0)
        log_warning("facts of '%.*s' %s: ignored", STR_ARG(peel), why);
    if (roster->options.dropped)
        roster->options.dropped(roster->options.self, peel);
}

static void read_roster_facts(struct roster *roster, struct str peel, struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct known *known;
    struct value facts;
    struct err err;

    if (roster->options.wrote)
        roster->options.wrote(roster->options.self, peel, bytes.n);
    if (rate_take(&roster->reads, peel, clock_now()) > 0) {
        drop_facts(roster, peel, "come too often");
        return;
    }
    if (bytes.n > ROSTER_FACTS_MAX || msgpack_decode_front(&arena, bytes, &facts, &err) < 0 ||
        facts.kind != VALUE_MAP) {
        drop_facts(roster, peel, "cannot be read");
        arena_done(&arena);
        return;
    }
    known = get_known(&roster->peels, peel);
    arena_done(&known->arena);
    known->arena = arena;
    set_facts(roster, known, &facts);
}

static bool was_peel_seen(const struct known *known, int64_t silence)
{
    return known && known->seen && clock_now() - known->seen <= silence;
}

/* Peels without facts and heartbeat have left the fleet, or never joined it. */
static void forget_gone(struct roster *roster)
{
    if (!roster_is_seeded(roster))
        return;
    MAP_EACH (&roster->peels, entry) {
        struct known *known = entry->value;

        if (known->facts.kind == VALUE_MAP || was_peel_seen(known, ROSTER_PEEL_SILENCE_NS))
            continue;
        (void)map_remove(&roster->peels, entry->key);
        free_known(known);
    }
}

static void on_facts_entry(void *self, const struct nats_kv_entry *entry)
{
    struct source *source = self;
    struct known *known;

    if (!peel_id_is_valid(entry->key))
        return;
    if (entry->change == NATS_KV_PUT) {
        read_roster_facts(source->roster, entry->key, entry->value);
        return;
    }
    known = map_find(&source->roster->peels, entry->key);
    if (!known)
        return;
    set_facts(source->roster, known, NULL);
    arena_done(&known->arena);
    known->arena = (struct arena)ARENA_INIT;
    forget_gone(source->roster);
}

/* When it was written, by our own clock: initial entries may be old. */
static int64_t find_entry_time(const struct nats_kv_entry *entry)
{
    int64_t age = bus_time() - entry->time, now = clock_now();

    return age > 0 && age < now ? now - age : now;
}

/* The peel may claim anything, of itself alone. */
static void note_problem(struct roster *roster, struct known *known, struct str bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct liveness_trees trees = { .problem = "" };
    struct liveness_peel beat;
    struct str problem;
    struct err err;

    if (record_decode(&arena, &liveness_peel_type, 1, bytes, &beat, &err) == 0)
        liveness_read_trees(&arena, &beat.trees, &trees);
    problem = liveness_problem(str_from(trees.problem));
    if (str_eq(problem, str_from(known->problem ? known->problem : "")))
        return;
    free(known->problem);
    known->problem = problem.n ? mem_strdup(arena_str(&arena, problem).p) : NULL;
    if (rate_take(&roster->notes, str_from(known->id), clock_now()) > 0)
        return;
    if (known->problem)
        log_warning("a peel runs on older trees peel=%s error=%s", known->id, known->problem);
    else
        log_info("a peel has the published trees again peel=%s", known->id);
}

static void on_peel_beat(void *self, const struct nats_kv_entry *entry)
{
    struct source *source = self;
    struct known *known;

    if (!peel_id_is_valid(entry->key))
        return;
    if (entry->change == NATS_KV_PUT) {
        known = get_known(&source->roster->peels, entry->key);
        known->seen = find_entry_time(entry);
        note_problem(source->roster, known, entry->value);
        return;
    }
    known = map_find(&source->roster->peels, entry->key);
    if (!known)
        return;
    known->seen = 0;
    if (known->facts.kind != VALUE_MAP)
        forget_gone(source->roster);
}

/* Uses the time of arrival, since server clocks differ. */
static void on_master_beat(void *self, const struct nats_kv_entry *entry)
{
    struct source *source = self;

    struct heartbeat_monitor *masters = &source->roster->masters;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct heartbeat_monitor_sign sign = { .id = entry->key,
                                           .now = clock_now(),
                                           .stored = entry->time };
    struct liveness_master record;
    struct err err;

    if (entry->change != NATS_KV_PUT) {
        heartbeat_monitor_part(masters, entry->key, sign.now);
        return;
    }
    if (record_decode(&arena, &liveness_master_type, 1, entry->value, &record, &err) == 0)
        sign.since = record.since.seconds * CLOCK_SECOND + record.since.nanoseconds;
    heartbeat_monitor_note(masters, &sign);
}

static void on_roster_caught_up(void *self)
{
    ((struct source *)self)->caught_up = true;
}

static void on_roster_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_error("watching the fleet: %s", error->text);
}

/* --- life --------------------------------------------------------------------------- */

static int start_roster_source(struct source *source, const struct nats_js *js,
                               enum store_bucket bucket,
                               void (*entry)(void *self, const struct nats_kv_entry *entry),
                               struct err *err)
{
    const struct nats_kv kv = { .js = *js, .bucket = store_bucket_name(bucket) };

    source->watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .entry = entry,
                                                           .caught_up = on_roster_caught_up,
                                                           .failed = on_roster_watch_failed,
                                                           .self = source },
                          err);
    return source->watch ? 0 : -1;
}

struct roster *roster_new(const struct nats_js *js, const struct roster_options *options,
                          struct err *err)
{
    struct roster *roster = mem_zalloc(sizeof(*roster));

    roster->options = *options;
    heartbeat_monitor_init(&roster->masters, options->master_id);
    roster->index = target_index_new();
    rate_init_for(&roster->reads, ROSTER_FACTS_BURST, ROSTER_FACTS_PER_MINUTE, ROSTER_SOURCES);
    rate_init(&roster->complaints, 1, 1);
    rate_init(&roster->notes, NOTES_PER_MINUTE, NOTES_PER_MINUTE);
    roster->facts.roster = roster->peel_beats.roster = roster->master_beats.roster = roster;
    if (start_roster_source(&roster->facts, js, STORE_FACTS, on_facts_entry, err) == 0 &&
        start_roster_source(&roster->peel_beats, js, STORE_PEEL_HEARTBEAT, on_peel_beat, err) ==
            0 &&
        start_roster_source(&roster->master_beats, js, STORE_MASTER_HEARTBEAT, on_master_beat,
                            err) == 0)
        return roster;
    roster_free(roster);
    return NULL;
}

void roster_free(struct roster *roster)
{
    if (!roster)
        return;
    nats_kv_watch_free(roster->facts.watch);
    nats_kv_watch_free(roster->peel_beats.watch);
    nats_kv_watch_free(roster->master_beats.watch);
    target_index_free(roster->index);
    free_all(&roster->peels);
    rate_done(&roster->reads);
    rate_done(&roster->complaints);
    rate_done(&roster->notes);
    heartbeat_monitor_done(&roster->masters);
    free(roster);
}

/* --- questions ---------------------------------------------------------------------- */

bool roster_is_seeded(const struct roster *roster)
{
    return roster->facts.caught_up && roster->peel_beats.caught_up &&
           roster->master_beats.caught_up;
}

size_t roster_count(const struct roster *roster)
{
    return roster->with_facts;
}

size_t roster_online_count(const struct roster *roster)
{
    size_t count = 0;

    MAP_EACH (&roster->peels, entry)
        count += was_peel_seen(entry->value, ROSTER_PEEL_SILENCE_NS);
    return count;
}

bool roster_is_online(const struct roster *roster, struct str peel)
{
    return was_peel_seen(map_find(&roster->peels, peel), ROSTER_PEEL_SILENCE_NS);
}

int64_t roster_seen(const struct roster *roster, struct str peel)
{
    const struct known *known = map_find(&roster->peels, peel);

    return known ? known->seen : 0;
}

void roster_each(const struct roster *roster, void (*fn)(void *self, struct str peel, int64_t seen),
                 void *self)
{
    MAP_EACH (&roster->peels, entry) {
        const struct known *known = entry->value;

        if (known->facts.kind == VALUE_MAP)
            fn(self, entry->key, known->seen);
    }
}

size_t roster_problems(const struct roster *roster, struct roster_problem *ret_first)
{
    size_t count = 0;

    MAP_EACH (&roster->peels, entry) {
        const struct known *known = entry->value;

        if (!known->problem || !was_peel_seen(known, ROSTER_PEEL_SILENCE_NS))
            continue;
        if (count++ == 0 || strcmp(known->id, ret_first->peel) < 0)
            *ret_first = (struct roster_problem){ known->id, known->problem };
    }
    return count;
}

bool roster_master_lives(const struct roster *roster, struct str master_id)
{
    return !roster->master_beats.caught_up ||
           !heartbeat_monitor_is_gone(&roster->masters, master_id);
}

int64_t roster_beats_since(const struct roster *roster)
{
    return roster->master_beats.caught_up ? heartbeat_monitor_since(&roster->masters, clock_now())
                                          : 0;
}

uint64_t roster_doubts(const struct roster *roster)
{
    return roster->masters.doubts;
}

const struct value *roster_facts(const struct roster *roster, struct str peel)
{
    const struct known *known = map_find(&roster->peels, peel);

    return known && known->facts.kind == VALUE_MAP ? &known->facts : NULL;
}

static int compare_roster_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int parse_roster_target(struct arena *arena, const struct roster_question *question,
                               const struct target **ret_target, struct err *err)
{
    const struct target_options options = { .groups = question->groups,
                                            .no_settings = !question->with_settings };
    const char *type = question->type;
    enum target_type kind = TARGET_COMPOUND;
    const char *nearest = NULL;

    if (type[0] && !target_type_find(str_from(type), &kind, &nearest))
        return err_set(err, ERR_INVALID, "unknown target type '%s'%s%s%s", type,
                       nearest ? " (did you mean '" : "", nearest ? nearest : "",
                       nearest ? "'?)" : "");
    return target_read(arena, str_from(question->expr), kind, &options, ret_target, err);
}

bool roster_needs_settings(const struct roster_question *question)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct roster_question with_settings = *question;
    const struct target *target;
    struct err ignored; /* reported when it is resolved */

    with_settings.with_settings = true;
    return parse_roster_target(&arena, &with_settings, &target, &ignored) == 0 &&
           target_uses_settings(target);
}

void roster_put_settings(struct roster *roster, struct str peel, const struct value *settings)
{
    target_index_put_settings(roster->index, peel, settings);
}

static bool is_roster_stop_requested(void *self)
{
    return clock_thread() >= *(const int64_t *)self;
}

int roster_resolve(const struct roster *roster, struct arena *arena,
                   const struct roster_question *question, struct param_strs *ret_peels,
                   struct err *err)
{
    int64_t deadline = clock_after(clock_thread(), question->time);
    const struct target_limit limit = { is_roster_stop_requested, &deadline };
    const struct target *target;
    struct target_found found;
    const char **ids;

    if (parse_roster_target(arena, question, &target, err) < 0 ||
        target_index_find_within(roster->index, target, question->time ? &limit : NULL, arena,
                                 &found, err) < 0)
        return -1;
    ids = ARENA_ARRAY(arena, const char *, found.ids.n);
    for (size_t i = 0; i < found.ids.n; i++)
        ids[i] = arena_str(arena, found.ids.p[i]).p;
    if (found.ids.n > 1)
        qsort(ids, found.ids.n, sizeof(ids[0]), compare_roster_names);
    *ret_peels = (struct param_strs){ found.ids.n, ids };
    return 0;
}
