#include "cli/fleet/peels.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/fleet/bucket.h"
#include "data/msgpack.h"
#include "data/time_text.h"
#include "data/value.h"
#include "sys/clock.h"
#include "wire/liveness.h"
#include "wire/peel_id.h"
#include "wire/presence.h"

/* How many states a line names. */
#define NAMES_SHOWN 2

/* --- reading ------------------------------------------------------------------------ */

static const char *copy_text(struct arena *arena, const char *text, const char *otherwise)
{
    struct str kept = str_slice(str_from(text ? text : ""), 0, FLEET_PEEL_TEXT_MAX);

    kept.n = utf8_valid_length(kept);
    return kept.n > 0 ? arena_str(arena, kept).p : otherwise;
}

static const char *fact_text(struct arena *arena, const struct value *facts, const char *map,
                             const char *key)
{
    const struct value *inner = value_get(facts, map);

    return copy_text(arena, inner ? value_get_text(inner, key) : NULL, "-");
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

void fleet_peels_take_facts(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_peel *peel;
    struct value facts;
    struct err err;

    if (!peel_id_is_valid(entry->key) ||
        msgpack_decode_front(&scratch, entry->value, &facts, &err) < 0)
        return;
    peel = fleet_peels_add(peels, entry->key);
    peel->os = fact_text(peels->arena, &facts, "os", "name");
    peel->arch = fact_text(peels->arena, &facts, "os", "arch");
}

static struct param_strs copy_texts(struct arena *arena, struct param_strs from)
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
    peel->run.refs = copy_texts(peels->arena, run->refs);
    peel->run.differs = copy_texts(peels->arena, run->differs);
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

bool fleet_peels_take_beat(struct fleet_peels *peels, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_peel *peel = map_find(&peels->by_id, entry->key);
    struct liveness_peel beat;
    struct lastrun run;
    struct err err;

    if (!peel || record_decode(&scratch, &liveness_peel_type, 1, entry->value, &beat, &err) < 0)
        return false;
    peel->seen = entry->time;
    if (strcmp(peel->version, beat.version) != 0)
        peel->version = copy_text(peels->arena, beat.version, "");
    if (beat.run.kind != VALUE_MAP ||
        record_read(&scratch, &lastrun_type, 1, &beat.run, &run, &err) < 0)
        return false;
    lastrun_bound(&run, &scratch);
    if (peel->has_run && peel->run.time.seconds == run.time.seconds &&
        peel->run.time.nanoseconds == run.time.nanoseconds)
        return false;
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
}

static int compare_peels(const void *a, const void *b)
{
    const struct fleet_peel *left = *(const struct fleet_peel *const *)a;
    const struct fleet_peel *right = *(const struct fleet_peel *const *)b;

    return strcmp(left->id, right->id);
}

void fleet_peels_sort(struct fleet_peels *peels)
{
    if (peels->list.n > 1)
        qsort(peels->list.p, peels->list.n, sizeof(peels->list.p[0]), compare_peels);
}

static void on_facts(void *self, const struct nats_kv_entry *entry)
{
    fleet_peels_take_facts(self, entry);
}

static void on_beat(void *self, const struct nats_kv_entry *entry)
{
    (void)fleet_peels_take_beat(self, entry);
}

static void on_presence(void *self, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_peel *peel = map_find(&((struct fleet_peels *)self)->by_id, entry->key);
    struct presence presence;
    struct err err;

    if (peel && record_decode(&scratch, &presence_type, 1, entry->value, &presence, &err) == 0 &&
        presence.seen.seconds > 0 && presence.seen.seconds < INT64_MAX / CLOCK_SECOND)
        peel->last_seen = presence.seen.seconds * CLOCK_SECOND;
}

int fleet_peels_read(struct fleet *fleet, struct fleet_peels *peels, struct err *err)
{
    if (fleet_bucket_each(fleet, STORE_FACTS, NULL, on_facts, peels, err) < 0 ||
        fleet_bucket_each(fleet, STORE_PEEL_HEARTBEAT, NULL, on_beat, peels, err) < 0)
        return -1;
    if (fleet_bucket_each(fleet, STORE_PEEL_PRESENCE, NULL, on_presence, peels, err) < 0 &&
        err->code != ERR_NOT_FOUND) /* masters of an older version have no such bucket */
        return -1;
    VEC_EACH (&peels->list, peel)
        if ((*peel)->seen > 0)
            (*peel)->last_seen = (*peel)->seen;
    fleet_peels_sort(peels);
    return 0;
}

/* --- what it means ------------------------------------------------------------------ */

int fleet_peels_find(struct fleet *fleet, const char *name, struct fleet_peels *all,
                     struct fleet_peels *ret_one, struct err *err)
{
    char id[PEEL_ID_SIZE];
    struct fleet_peel *peel;

    if (peel_id_encode(str_from(name), id, err) < 0 || fleet_peels_read(fleet, all, err) < 0)
        return -1;
    peel = map_find(&all->by_id, str_from(id));
    if (!peel)
        return err_set(err, ERR_NOT_FOUND, "no peel '%.256s'", name);
    map_set(&ret_one->by_id, str_from(peel->id), peel);
    VEC_PUSH_IN(ret_one->arena, &ret_one->list, peel);
    return 0;
}

bool fleet_peel_is_online(const struct fleet_peel *peel, int64_t now)
{
    return peel->seen > 0 && now - peel->seen < FLEET_PEEL_ONLINE_NS;
}

enum fleet_drift fleet_peel_drift(const struct fleet_peel *peel)
{
    if (!peel->has_run)
        return FLEET_DRIFT_UNKNOWN;
    if (!peel->run.success)
        return FLEET_DRIFT_FAILED;
    return lastrun_count_differs(&peel->run) > 0 ? FLEET_DRIFT_FOUND : FLEET_DRIFT_NONE;
}

static const char *const drift_names[] = {
    [FLEET_DRIFT_UNKNOWN] = "unknown",
    [FLEET_DRIFT_NONE] = "none",
    [FLEET_DRIFT_FOUND] = "drifted",
    [FLEET_DRIFT_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(drift_names) == FLEET_DRIFTS, "every kind has a name");

const char *fleet_drift_name(enum fleet_drift drift)
{
    return drift_names[drift];
}

/* One line: what a failure says begins with its first. */
static void add_error(struct buf *out, const char *error)
{
    buf_add_str(out, str_line_at(str_from(error), 0));
}

static void add_differences(struct buf *out, const struct lastrun *run)
{
    const uint32_t count = lastrun_count_differs(run);

    buf_printf(out, "%u %s", count, run->failed > 0 ? "failed" : count == 1 ? "differs" : "differ");
    for (size_t i = 0; i < run->differs.n && i < NAMES_SHOWN; i++)
        buf_printf(out, "%s %s", i == 0 ? ":" : ",", run->differs.p[i]);
    if (count > NAMES_SHOWN)
        buf_add_text(out, ", ...");
}

const char *fleet_peel_describe_drift(struct arena *arena, const struct fleet_peel *peel)
{
    AUTO_BUF struct buf out = BUF_INIT(LASTRUN_MAX);
    const enum fleet_drift drift = fleet_peel_drift(peel);

    if (drift == FLEET_DRIFT_UNKNOWN || drift == FLEET_DRIFT_NONE)
        return drift_names[drift];
    if (lastrun_count_differs(&peel->run) > 0) {
        add_differences(&out, &peel->run);
    } else {
        buf_add_text(&out, "failed");
        if (peel->run.error[0])
            buf_add_text(&out, ": ");
        add_error(&out, peel->run.error);
    }
    return buf_copy(&out, arena).p;
}
