#include "fleet/view/peels.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/msgpack.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "fleet/view/trees.h"
#include "fleet/wire/liveness.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/presence.h"

/* --- reading ------------------------------------------------------------------------ */

static const char *copy_peel_text(struct arena *arena, const char *text, const char *otherwise)
{
    struct str kept = str_slice(str_from(text ? text : ""), 0, FLEET_PEEL_TEXT_MAX);

    kept.n = utf8_valid_length(kept);
    return kept.n > 0 ? arena_str(arena, kept).p : otherwise;
}

static const char *fact_text(struct arena *arena, const struct value *facts, const char *map,
                             const char *key)
{
    const struct value *inner = value_get(facts, map);

    return copy_peel_text(arena, inner ? value_get_text(inner, key) : NULL, "-");
}

struct fleet_peel *fleet_peels_add(struct fleet_peels *peels, struct str id)
{
    struct fleet_peel *peel = map_find(&peels->by_id, id);

    if (peel)
        return peel;
    peel = ARENA_NEW(peels->arena, struct fleet_peel);
    peel->id = arena_str(peels->arena, id).p;
    peel->name = peel_id_name(peels->arena, peel->id);
    peel->os = peel->arch = "-";
    peel->version = "";
    (void)map_set(&peels->by_id, str_from(peel->id), peel);
    VEC_PUSH_IN(peels->arena, &peels->list, peel);
    return peel;
}

void fleet_peels_note_facts(struct fleet_peels *peels, struct str id, const struct value *facts)
{
    struct fleet_peel *peel = fleet_peels_add(peels, id);

    peel->os = fact_text(peels->arena, facts, "os", "name");
    peel->arch = fact_text(peels->arena, facts, "os", "arch");
}

void fleet_peels_take_facts(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct value facts;
    struct err err;

    if (peel_id_is_valid(entry->key) &&
        msgpack_decode_front(&scratch, entry->value, &facts, &err) == 0)
        fleet_peels_note_facts(peels, entry->key, &facts);
}

static struct param_strs copy_peel_texts(struct arena *arena, struct param_strs from)
{
    const char **texts = ARENA_ARRAY(arena, const char *, from.n + 1);

    for (size_t i = 0; i < from.n; i++)
        texts[i] = arena_strdup(arena, from.p[i]);
    return (struct param_strs){ from.n, texts };
}

void fleet_peels_keep_run(struct fleet_peels *peels, struct fleet_peel *peel,
                          const struct lastrun *run)
{
    peel->has_run = true;
    peel->run = *run;
    peel->run.id = arena_strdup(peels->arena, run->id);
    peel->run.function = arena_strdup(peels->arena, run->function);
    peel->run.error = arena_strdup(peels->arena, run->error);
    peel->run.refs = copy_peel_texts(peels->arena, run->refs);
    peel->run.differs = copy_peel_texts(peels->arena, run->differs);
}

void fleet_peels_offer_run(struct fleet_peels *peels, struct fleet_peel *peel,
                           const struct lastrun *run)
{
    const struct value_time converged =
        peel->has_run ? peel->run.converged : (struct value_time){ 0 };

    if (!peel->has_run ||
        (strcmp(peel->run.id, run->id) != 0 && time_is_later(run->time, peel->run.time)))
        fleet_peels_keep_run(peels, peel, run);
    else if (converged.seconds == 0)
        peel->run.converged = run->converged;
    if (peel->run.converged.seconds == 0)
        peel->run.converged = converged;
}

/* Lists that live long copy them only when they differ. */
static void note_peel_trees(struct fleet_peels *peels, struct fleet_peel *peel,
                            const struct liveness_trees *trees)
{
    const struct str problem = liveness_problem(str_from(trees->problem));

    if (peel->has_trees && strcmp(peel->trees.states, trees->states) == 0 &&
        strcmp(peel->trees.settings, trees->settings) == 0 && str_is(problem, peel->trees.problem))
        return;
    peel->has_trees = trees->states[0] || trees->settings[0] || trees->problem[0];
    peel->trees = fleet_trees_copy(peels->arena, trees);
}

bool fleet_peels_take_beat(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_peel *peel = map_find(&peels->by_id, entry->key);
    struct liveness_peel beat;
    struct liveness_trees trees;
    struct lastrun run;
    struct err err;

    if (!peel || record_decode(&scratch, &liveness_peel_type, 1, entry->value, &beat, &err) < 0)
        return false;
    peel->seen = entry->time;
    if (strcmp(peel->version, beat.version) != 0)
        peel->version = copy_peel_text(peels->arena, beat.version, "");
    liveness_read_trees(&scratch, &beat.trees, &trees);
    note_peel_trees(peels, peel, &trees);
    if (beat.run.kind != VALUE_MAP ||
        record_read(&scratch, &lastrun_type, 1, &beat.run, &run, &err) < 0)
        return false;
    lastrun_bound(&run, &scratch);
    if (peel->has_run && peel->run.time.seconds == run.time.seconds &&
        peel->run.time.nanoseconds == run.time.nanoseconds) {
        peel->run.stale = run.stale;
        return false;
    }
    fleet_peels_keep_run(peels, peel, &run);
    return true;
}

void fleet_peels_copy(struct fleet_peels *peels, const struct fleet_peel *from)
{
    struct fleet_peel *peel = fleet_peels_add(peels, str_from(from->id));

    peel->os = arena_strdup(peels->arena, from->os);
    peel->arch = arena_strdup(peels->arena, from->arch);
    peel->version = arena_strdup(peels->arena, from->version);
    peel->seen = from->seen;
    if (from->has_run)
        fleet_peels_keep_run(peels, peel, &from->run);
    if (from->has_trees)
        note_peel_trees(peels, peel, &from->trees);
}

static int compare_peel_ids(const void *a, const void *b)
{
    const struct fleet_peel *left = *(const struct fleet_peel *const *)a;
    const struct fleet_peel *right = *(const struct fleet_peel *const *)b;

    return strcmp(left->id, right->id);
}

void fleet_peels_sort(struct fleet_peels *peels)
{
    if (peels->list.n > 1)
        qsort(peels->list.p, peels->list.n, sizeof(peels->list.p[0]), compare_peel_ids);
}

void fleet_peels_take_presence(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_peel *peel = map_find(&peels->by_id, entry->key);
    struct presence presence;
    struct err err;

    if (peel && record_decode(&scratch, &presence_type, 1, entry->value, &presence, &err) == 0 &&
        presence.seen.seconds > 0 && presence.seen.seconds < INT64_MAX / CLOCK_SECOND)
        peel->last_seen = presence.seen.seconds * CLOCK_SECOND;
}

void fleet_peels_end(struct fleet_peels *peels)
{
    VEC_EACH (&peels->list, peel)
        if ((*peel)->seen > 0)
            (*peel)->last_seen = (*peel)->seen;
    fleet_peels_sort(peels);
}

/* --- what it means ------------------------------------------------------------------ */

bool fleet_peel_is_online(const struct fleet_peel *peel, int64_t now)
{
    return peel->seen > 0 && now - peel->seen < FLEET_PEEL_ONLINE_NS;
}

static const struct lastrun *find_peel_run(const struct fleet_peel *peel)
{
    return peel->has_run ? &peel->run : NULL;
}

enum drift fleet_peel_drift(const struct fleet_peel *peel)
{
    return drift_find(find_peel_run(peel));
}

const char *fleet_peel_describe_drift(struct arena *arena, const struct fleet_peel *peel)
{
    return drift_describe(arena, find_peel_run(peel));
}

/* --- values ------------------------------------------------------------------------- */

static void put_peel_value(struct arena *arena, struct value *map, const char *key, struct value v)
{
    value_map_set(arena, map->map, value_text(key), v);
}

static struct value time_or_null(struct arena *arena, int64_t seconds)
{
    return seconds > 0 ? value_text(time_text(arena, (struct value_time){ seconds, 0 }))
                       : value_null();
}

static struct value list_peel_texts(struct arena *arena, struct param_strs texts)
{
    struct value_list *list = value_list_new(arena, texts.n);

    for (size_t i = 0; i < texts.n; i++)
        value_list_push(arena, list, value_text(texts.p[i]));
    return value_list(list);
}

static struct value describe_run(struct arena *arena, const struct lastrun *run)
{
    struct value map = value_map(value_map_new(arena, 10));

    put_peel_value(arena, &map, "id", value_text(run->id));
    put_peel_value(arena, &map, "function", value_text(run->function));
    put_peel_value(arena, &map, "refs", list_peel_texts(arena, run->refs));
    put_peel_value(arena, &map, "time", time_or_null(arena, run->time.seconds));
    put_peel_value(arena, &map, "test", value_bool(run->test));
    put_peel_value(arena, &map, "success", value_bool(run->success));
    put_peel_value(arena, &map, "states", value_int(run->states));
    put_peel_value(arena, &map, "changed", value_int(run->changed));
    put_peel_value(arena, &map, "failed", value_int(run->failed));
    put_peel_value(arena, &map, "skipped", value_int(run->skipped));
    put_peel_value(arena, &map, "would_change_again", value_int(run->again));
    put_peel_value(arena, &map, "stale", value_bool(run->stale));
    put_peel_value(arena, &map, "duration", value_int(run->duration));
    if (run->error[0])
        put_peel_value(arena, &map, "error", value_text(run->error));
    return map;
}

/* The first five keys are those of the first version. */
struct value fleet_peel_value(struct arena *arena, const struct fleet_peel *peel, int64_t now)
{
    struct value map = value_map(value_map_new(arena, 10));
    const struct lastrun none = { 0 };
    const struct lastrun *run = peel->has_run ? &peel->run : &none;

    put_peel_value(arena, &map, "peel_id", value_text(peel->name));
    put_peel_value(arena, &map, "os", value_text(peel->os));
    put_peel_value(arena, &map, "arch", value_text(peel->arch));
    put_peel_value(arena, &map, "online", value_bool(fleet_peel_is_online(peel, now)));
    put_peel_value(arena, &map, "last_seen", time_or_null(arena, peel->last_seen / CLOCK_SECOND));
    put_peel_value(arena, &map, "converged", time_or_null(arena, run->converged.seconds));
    put_peel_value(arena, &map, "drift", value_text(drift_name(fleet_peel_drift(peel))));
    put_peel_value(arena, &map, "differs", list_peel_texts(arena, run->differs));
    put_peel_value(arena, &map, "differs_count", value_int(lastrun_count_differs(run)));
    put_peel_value(arena, &map, "last_run",
                   peel->has_run ? describe_run(arena, run) : value_null());
    return map;
}
