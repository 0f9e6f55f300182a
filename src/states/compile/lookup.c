#include "states/compile/lookup.h"

#include <assert.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/glob.h"
#include "core/base/suggest.h"

/* The first character of a key in the table is the kind of the rest. */
enum key_kind {
    KEY_FULL = 'f', /* module.function:id */
    KEY_FULL_NAME = 'F',
    KEY_FAMILY = 'm', /* module:id */
    KEY_FAMILY_NAME = 'M',
    KEY_ID = 'i',
    KEY_NAME = 'I',
    KEY_REF = 'r',
};

/* For a state without its own name: by ID. */
#define KEYS_OF_MOST 3
/* Enough for most keys. */
#define FEW_BYTES 256

struct numbers {
    VEC(uint32_t) list;
};

struct files {
    VEC(const char *) list;
};

void lookup_init(struct lookup *lookup, struct arena *arena)
{
    *lookup = (struct lookup){
        .arena = arena,
        .table = MAP_INIT_IN(arena),
        .refs = MAP_INIT_IN(arena),
        .below = MAP_INIT_IN(arena),
    };
}

static size_t measure_key(struct str module, struct str id)
{
    return module.n + id.n + 3;
}

/* "<kind><module>:<id>", without the colon when there is no module; `key` has room for it. */
static struct str make_lookup_key(char *key, enum key_kind kind, struct str module, struct str id)
{
    size_t n = 0;

    key[n++] = (char)kind;
    if (module.p) {
        memcpy(key + n, module.p, module.n);
        n += module.n;
        key[n++] = ':';
    }
    if (id.n > 0)
        memcpy(key + n, id.p, id.n);
    n += id.n;
    key[n] = '\0';
    return (struct str){ key, n };
}

static void add_lookup_key(struct lookup *lookup, enum key_kind kind, struct str module,
                           const char *id, uint32_t number)
{
    char *room = arena_alloc(lookup->arena, measure_key(module, str_from(id)));
    const struct str key = make_lookup_key(room, kind, module, str_from(id));
    void **place = map_place(&lookup->table, key);
    struct numbers *numbers = *place;

    if (!numbers)
        *place = numbers = ARENA_NEW(lookup->arena, struct numbers);
    if (numbers->list.n == 0 || numbers->list.p[numbers->list.n - 1] != number)
        VEC_PUSH_IN(lookup->arena, &numbers->list, number);
}

static struct str cut_module_family(const char *module)
{
    const char *dot = strrchr(module, '.');

    return dot ? str_bytes(module, (size_t)(dot - module)) : str_from(module);
}

static void index_state(struct lookup *lookup, uint32_t number)
{
    const struct lookup_names *names = &lookup->states.p[number];
    const struct str module = str_from(names->module),
                     descendants = cut_module_family(names->module);
    const struct str none = { NULL, 0 };
    const char *const ids[] = { names->id, names->alias };

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        if (!ids[i])
            continue;
        add_lookup_key(lookup, KEY_FULL, module, ids[i], number);
        add_lookup_key(lookup, KEY_FAMILY, descendants, ids[i], number);
        add_lookup_key(lookup, KEY_ID, none, ids[i], number);
    }
    if (names->name) {
        add_lookup_key(lookup, KEY_FULL_NAME, module, names->name, number);
        add_lookup_key(lookup, KEY_FAMILY_NAME, descendants, names->name, number);
        add_lookup_key(lookup, KEY_NAME, none, names->name, number);
    }
    add_lookup_key(lookup, KEY_REF, none, names->ref, number);
}

void lookup_add(struct lookup *lookup, const struct lookup_names *names)
{
    VEC_PUSH_IN(lookup->arena, &lookup->states, *names);
}

void lookup_index(struct lookup *lookup)
{
    map_reserve(&lookup->table, lookup->states.n * KEYS_OF_MOST);
    for (; lookup->indexed < lookup->states.n; lookup->indexed++)
        index_state(lookup, (uint32_t)lookup->indexed);
}

void lookup_add_ref(struct lookup *lookup, const char *ref, const char *first)
{
    (void)map_set(&lookup->refs, str_from(ref), arena_strdup(lookup->arena, first));
}

void lookup_add_below(struct lookup *lookup, const char *by, const char *ref)
{
    void **place = map_place(&lookup->below, str_from(by));
    struct files *files = *place;

    if (!files)
        *place = files = ARENA_NEW(lookup->arena, struct files);
    VEC_PUSH_IN(lookup->arena, &files->list, ref);
}

static struct plan_targets find_lookup_key(const struct lookup *lookup, enum key_kind kind,
                                           struct str module, struct str id)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT; /* rarely used: not worth the memory */
    const size_t size = measure_key(module, id);
    char few[FEW_BYTES];
    char *room = size <= sizeof(few) ? few : arena_alloc(&scratch, size);
    const struct numbers *numbers =
        map_find(&lookup->table, make_lookup_key(room, kind, module, id));

    assert(lookup->indexed == lookup->states.n);
    return numbers ? (struct plan_targets){ numbers->list.p, numbers->list.n }
                   : (struct plan_targets){ NULL, 0 };
}

static struct plan_targets find_either(const struct lookup *lookup, enum key_kind by_id,
                                       enum key_kind by_name, struct str module, struct str id)
{
    const struct plan_targets found = find_lookup_key(lookup, by_id, module, id);

    return found.n > 0 ? found : find_lookup_key(lookup, by_name, module, id);
}

struct plan_targets lookup_full(const struct lookup *lookup, struct str module, struct str id)
{
    return find_either(lookup, KEY_FULL, KEY_FULL_NAME, module, id);
}

struct plan_targets lookup_exact(const struct lookup *lookup, struct str text)
{
    return find_lookup_key(lookup, KEY_FULL, (struct str){ NULL, 0 }, text);
}

struct plan_targets lookup_family(const struct lookup *lookup, struct str descendants,
                                  struct str id)
{
    return find_either(lookup, KEY_FAMILY, KEY_FAMILY_NAME, descendants, id);
}

struct plan_targets lookup_id(const struct lookup *lookup, struct str id)
{
    return find_either(lookup, KEY_ID, KEY_NAME, (struct str){ NULL, 0 }, id);
}

bool lookup_ref(const struct lookup *lookup, struct str ref, struct plan_targets *ret)
{
    const char *first = map_find(&lookup->refs, ref);

    if (!first)
        return false;
    *ret = find_lookup_key(lookup, KEY_REF, (struct str){ NULL, 0 }, str_from(first));
    return true;
}

/* --- Salt lookups -------------------------------------------------------------------------- */

/* Two ascending lists as one. */
static struct plan_targets join_targets(struct arena *arena, struct plan_targets a,
                                        struct plan_targets b)
{
    struct numbers both = { .list = VEC_INIT };
    size_t i = 0, k = 0;

    if (a.n == 0 || b.n == 0)
        return a.n == 0 ? b : a;
    VEC_RESERVE_IN(arena, &both.list, a.n + b.n);
    while (i < a.n || k < b.n) {
        const bool first = k == b.n || (i < a.n && a.p[i] <= b.p[k]);
        const uint32_t next = first ? a.p[i] : b.p[k];

        i += i < a.n && a.p[i] == next;
        k += k < b.n && b.p[k] == next;
        VEC_PUSH_IN(arena, &both.list, next);
    }
    return (struct plan_targets){ both.list.p, both.list.n };
}

struct plan_targets lookup_all(const struct lookup *lookup, struct arena *arena,
                               struct str descendants, struct str id)
{
    return join_targets(
        arena, find_lookup_key(lookup, descendants.p ? KEY_FAMILY : KEY_ID, descendants, id),
        find_lookup_key(lookup, descendants.p ? KEY_FAMILY_NAME : KEY_NAME, descendants, id));
}

bool lookup_ref_all(const struct lookup *lookup, struct arena *arena, struct str ref,
                    struct plan_targets *ret)
{
    const struct str none = { NULL, 0 };
    const char *first = map_find(&lookup->refs, ref);
    const struct files *files;

    if (!lookup_ref(lookup, ref, ret))
        return false;
    files = map_find(&lookup->below, str_from(first));
    for (size_t i = 0; files && i < files->list.n; i++)
        *ret = join_targets(arena, *ret,
                            find_lookup_key(lookup, KEY_REF, none, str_from(files->list.p[i])));
    return true;
}

static bool matches_state(const struct lookup_names *names, struct str module, struct str pattern)
{
    if (module.p && !str_is(module, names->module) &&
        !str_eq(module, cut_module_family(names->module)))
        return false;
    return glob_match(pattern, str_from(names->id)) ||
           (names->alias && glob_match(pattern, str_from(names->alias))) ||
           (names->name && glob_match(pattern, str_from(names->name)));
}

struct plan_targets lookup_glob(const struct lookup *lookup, struct arena *arena, struct str module,
                                struct str pattern)
{
    struct numbers found = { .list = VEC_INIT };

    for (uint32_t i = 0; i < lookup->states.n; i++)
        if (matches_state(&lookup->states.p[i], module, pattern))
            VEC_PUSH_IN(arena, &found.list, i);
    return (struct plan_targets){ found.list.p, found.list.n };
}

struct str lookup_suggest(const struct lookup *lookup, struct arena *arena, struct str text)
{
    struct suggest best;

    suggest_init(&best, text);
    VEC_EACH (&lookup->states, names)
        suggest_offer(&best, str_from(arena_printf(arena, "%s:%s", names->module, names->id)));
    return suggest_best(&best);
}

struct str lookup_suggest_id(const struct lookup *lookup, struct str text)
{
    struct suggest best;

    suggest_init(&best, text);
    VEC_EACH (&lookup->states, names)
        suggest_offer(&best, str_from(names->id));
    return suggest_best(&best);
}
