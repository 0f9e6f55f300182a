#include "fleet/view/trees.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "fleet/nats/kv.h"
#include "fleet/view/peels.h"
#include "fleet/wire/peel_id.h"

/* Heartbeats end after this time: then nobody is waited for. */
#define PEEL_SILENCE_NS   (30 * CLOCK_SECOND)
#define MASTER_SILENCE_NS (15 * CLOCK_SECOND)
/* A peel writes every 10 s, a master every 5. */
#define LATE_NS (11 * CLOCK_SECOND)

static const char *copy_tree_name(struct arena *arena, const char *name)
{
    return arena_str(arena, str_slice(str_from(name), 0, LIVENESS_TREE_SIZE - 1)).p;
}

struct liveness_trees fleet_trees_copy(struct arena *arena, const struct liveness_trees *from)
{
    return (struct liveness_trees){
        .states = copy_tree_name(arena, from->states),
        .settings = copy_tree_name(arena, from->settings),
        .reactor = copy_tree_name(arena, from->reactor),
        .canary = copy_tree_name(arena, from->canary),
        .problem = arena_str(arena, liveness_problem(str_from(from->problem))).p,
        .refused = copy_tree_name(arena, from->refused),
    };
}

void fleet_trees_take_master(struct fleet_trees *trees, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct liveness_master beat;
    struct liveness_trees published;
    struct err err;

    if (entry->time <= trees->time ||
        record_decode(&scratch, &liveness_master_type, 1, entry->value, &beat, &err) < 0)
        return;
    trees->time = entry->time;
    liveness_read_trees(&scratch, &beat.published, &published);
    trees->published = fleet_trees_copy(trees->arena, &published);
}

/* --- whether it has them -------------------------------------------------------------- */

static const char *show_tree(const char *name)
{
    return name[0] ? name : "none";
}

static bool has_tree(const char *has, const char *wanted)
{
    return !wanted[0] || strcmp(has, wanted) == 0;
}

static bool has_rules(const struct liveness_trees *has, const struct liveness_trees *wanted)
{
    return has_tree(has->reactor, wanted->reactor) || strcmp(has->reactor, LIVENESS_RULES_OFF) == 0;
}

/* Where there is a canary, the states of it or those for all. */
static bool has_states(const struct liveness_trees *has, const struct liveness_trees *wanted)
{
    return has_tree(has->states, wanted->states) ||
           (wanted->canary[0] && strcmp(has->states, wanted->canary) == 0);
}

/* NULL: it has what is wanted. */
static const char *explain_lack(struct arena *arena, const struct liveness_trees *has,
                                const struct liveness_trees *wanted)
{
    const bool with_states = has_states(has, wanted);

    if (with_states && has_tree(has->settings, wanted->settings) && has_rules(has, wanted))
        return has->problem[0] ? has->problem : NULL;
    if (has->problem[0])
        return has->problem;
    if (!with_states)
        return arena_printf(arena, "still has states %s", show_tree(has->states));
    if (!has_tree(has->settings, wanted->settings))
        return arena_printf(arena, "still has settings %s", show_tree(has->settings));
    return arena_printf(arena, "still has rules %s", show_tree(has->reactor));
}

static const char *const use_names[] = {
    [FLEET_TREES_UNKNOWN] = "unknown",
    [FLEET_TREES_CURRENT] = "current",
    [FLEET_TREES_OLD] = "old",
};
_Static_assert(ARRAY_LEN(use_names) == FLEET_TREES_USES, "every kind has a name");

const char *fleet_trees_use_name(enum fleet_trees_use use)
{
    return use_names[use];
}

/* Peels do not say what rules masters use. */
static struct liveness_trees choose_peel_trees(const struct liveness_trees *wanted)
{
    struct liveness_trees trees = *wanted;

    trees.reactor = "";
    return trees;
}

enum fleet_trees_use fleet_trees_describe(struct arena *arena, const struct fleet_trees *trees,
                                          const struct fleet_peel *peel, int64_t now,
                                          const char **ret_why)
{
    struct liveness_trees wanted;
    const char *why;

    *ret_why = "";
    if (!fleet_peel_is_online(peel, now) || !peel->has_trees || trees->time == 0)
        return FLEET_TREES_UNKNOWN;
    wanted = choose_peel_trees(&trees->published);
    why = explain_lack(arena, &peel->trees, &wanted);
    *ret_why = why ? why : "";
    return why ? FLEET_TREES_OLD : FLEET_TREES_CURRENT;
}

/* --- waiting ------------------------------------------------------------------------ */

void fleet_reach_init(struct fleet_reach *reach, struct arena *arena,
                      const struct liveness_trees *wanted)
{
    *reach = (struct fleet_reach){ .arena = arena,
                                   .wanted = fleet_trees_copy(arena, wanted),
                                   .peels = MAP_INIT_IN(arena),
                                   .masters = MAP_INIT_IN(arena) };
}

static struct fleet_reach_one *get_one(struct fleet_reach *reach, struct map *map, struct str id)
{
    struct fleet_reach_one *one = map_find(map, id);

    if (one)
        return one;
    one = ARENA_NEW(reach->arena, struct fleet_reach_one);
    one->id = arena_str(reach->arena, id).p;
    one->trees = (struct liveness_trees){ "", "", "", "", "", "" };
    (void)map_set(map, str_from(one->id), one);
    return one;
}

static bool is_same_trees(const struct liveness_trees *a, const struct liveness_trees *b)
{
    return strcmp(a->states, b->states) == 0 && strcmp(a->settings, b->settings) == 0 &&
           strcmp(a->reactor, b->reactor) == 0 && strcmp(a->problem, b->problem) == 0 &&
           strcmp(a->refused, b->refused) == 0;
}

/* Copied only when they differ: heartbeats come every few seconds. */
static void note_trees(struct fleet_reach *reach, struct fleet_reach_one *one, int64_t time,
                       const struct value *map)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct liveness_trees trees;

    liveness_read_trees(&scratch, map, &trees);
    one->seen = time;
    one->has_trees = map->kind == VALUE_MAP;
    if (!is_same_trees(&one->trees, &trees))
        one->trees = fleet_trees_copy(reach->arena, &trees);
}

void fleet_reach_take_peel(struct fleet_reach *reach, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct liveness_peel beat;
    struct err err;

    if (!peel_id_is_valid(entry->key))
        return;
    if (entry->change != NATS_KV_PUT)
        (void)map_remove(&reach->peels, entry->key);
    else if (record_decode(&scratch, &liveness_peel_type, 1, entry->value, &beat, &err) == 0)
        note_trees(reach, get_one(reach, &reach->peels, entry->key), entry->time, &beat.trees);
}

void fleet_reach_take_master(struct fleet_reach *reach, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct liveness_master beat;
    struct err err;

    if (entry->change != NATS_KV_PUT)
        (void)map_remove(&reach->masters, entry->key);
    else if (record_decode(&scratch, &liveness_master_type, 1, entry->value, &beat, &err) == 0)
        note_trees(reach, get_one(reach, &reach->masters, entry->key), entry->time, &beat.trees);
}

/* Masters have rules, peels the others. A problem of a master may be of another tree. */
static const char *explain_missing(const struct fleet_reach *reach,
                                   const struct fleet_reach_one *one, bool is_master, int64_t now)
{
    struct liveness_trees wanted = choose_peel_trees(&reach->wanted), has = one->trees;
    const char *why;

    if (is_master) {
        wanted = (struct liveness_trees){ "", "", reach->wanted.reactor, "", "", "" };
        has.problem = has_rules(&has, &wanted) ? "" : has.problem;
    }
    if (!one->has_trees && (wanted.states[0] || wanted.settings[0] || wanted.reactor[0]))
        why = "does not say which trees it has";
    else
        why = explain_lack(reach->arena, &has, &wanted);
    if (why && now - one->seen > LATE_NS)
        return arena_printf(reach->arena, "no answer for %lld s",
                            (long long)((now - one->seen) / CLOCK_SECOND));
    return why;
}

static bool is_online(const struct fleet_reach_one *one, bool is_master, int64_t now)
{
    return now - one->seen < (is_master ? MASTER_SILENCE_NS : PEEL_SILENCE_NS);
}

static void count_map(const struct fleet_reach *reach, const struct map *map, int64_t now,
                      struct fleet_reach_result *ret)
{
    const bool is_master = map == &reach->masters;
    size_t all = 0, with = 0;

    MAP_EACH (map, entry) {
        const struct fleet_reach_one *one = entry->value;
        const char *why;

        if (!is_online(one, is_master, now))
            continue;
        all++;
        why = explain_missing(reach, one, is_master, now);
        with += !why;
        if (why)
            VEC_PUSH_IN(
                reach->arena, &ret->missing,
                (struct fleet_reach_missing){
                    is_master ? one->id : peel_id_name(reach->arena, one->id), why, is_master });
    }
    *(is_master ? &ret->masters : &ret->peels) = all;
    *(is_master ? &ret->masters_with : &ret->peels_with) = with;
}

static int compare_missing(const void *a, const void *b)
{
    const struct fleet_reach_missing *left = a, *right = b;

    if (left->is_master != right->is_master)
        return left->is_master ? -1 : 1;
    return strcmp(left->name, right->name);
}

void fleet_reach_count(const struct fleet_reach *reach, int64_t now, struct fleet_reach_result *ret)
{
    *ret = (struct fleet_reach_result){ 0 };
    count_map(reach, &reach->masters, now, ret);
    count_map(reach, &reach->peels, now, ret);
    if (ret->missing.n > 1)
        qsort(ret->missing.p, ret->missing.n, sizeof(ret->missing.p[0]), compare_missing);
}

/* It has fetched all, and says that it cannot use the settings. */
static bool has_refused(const struct fleet_reach *reach, const struct fleet_reach_one *one)
{
    return reach->wanted.settings[0] && one->trees.problem[0] &&
           strcmp(one->trees.refused, reach->wanted.settings) == 0 &&
           has_states(&one->trees, &reach->wanted);
}

bool fleet_reach_is_settled(const struct fleet_reach *reach, int64_t now)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fleet_reach view = *reach;

    view.arena = &scratch;
    MAP_EACH (&reach->masters, entry)
        if (is_online(entry->value, true, now) && explain_missing(&view, entry->value, true, now))
            return false;
    MAP_EACH (&reach->peels, entry)
        if (is_online(entry->value, false, now) && !has_refused(&view, entry->value) &&
            explain_missing(&view, entry->value, false, now))
            return false;
    return true;
}
