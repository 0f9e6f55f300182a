#include "core/data/value.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/map.h"

/* Deeper trees do not come from documents; an interpreter may still build one, even one that
 * contains itself. Comparing, hashing and copying stop here. */
#define DEPTH_MAX 512

/* Maps of this many pairs are searched from front to back. */
#define FEW_PAIRS 8

_Static_assert(sizeof(struct value) == 32, "values are passed by copy: keep them small");

/* --- making --------------------------------------------------------------- */

/* The items follow the list until there are more than expected. */
struct value_list *value_list_new(struct arena *arena, size_t expected)
{
    struct value_list *list =
        arena_alloc(arena, sizeof(*list) + mem_product(expected, sizeof(*list->items)));

    *list = (struct value_list){
        .cap = expected,
        .items = expected > 0 ? (struct value *)(list + 1) : NULL,
    };
    return list;
}

void value_list_grow(struct arena *arena, struct value_list *list)
{
    list->items = vec_grow(arena, list->items, &list->cap, sizeof(*list->items));
}

void value_list_add_all(struct arena *arena, struct value_list *list, const struct value_list *more)
{
    const size_t count = more->count;

    if (list->cap - list->count < count) {
        for (size_t i = 0; i < count; i++)
            value_list_push(arena, list, more->items[i]);
        return;
    }
    if (count > 0)
        memcpy(&list->items[list->count], more->items, count * sizeof(*more->items));
    list->count += count;
}

struct value_map *value_map_new(struct arena *arena, size_t expected)
{
    struct value_map *map =
        arena_alloc(arena, sizeof(*map) + mem_product(expected, sizeof(*map->pairs)));

    *map = (struct value_map){
        .cap = expected,
        .pairs = expected > 0 ? (struct value_pair *)(map + 1) : NULL,
    };
    return map;
}

struct value_map *value_map_new_like(struct arena *arena, const struct value_map *model)
{
    struct value_map *map = value_map_new(arena, model->count);

    map->ordered = model->ordered;
    return map;
}

/* Most keys are texts, and most comparisons fail at the length or the first byte. */
static inline bool is_same_key(const struct value *known, const struct value *key)
{
    if (known->kind != VALUE_STR || key->kind != VALUE_STR)
        return value_equal(known, key);
    return known->s.n == key->s.n &&
           (known->s.n == 0 ||
            (known->s.p[0] == key->s.p[0] && memcmp(known->s.p, key->s.p, key->s.n) == 0));
}

/* The slot that points to `key`, or the free one where it belongs. */
static uint32_t *find_pair_slot(const struct value_map *map, const struct value *key)
{
    size_t mask = map->slot_cap - 1;

    for (size_t i = value_hash(key) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &map->slots[i];

        if (*slot == 0 || is_same_key(&map->pairs[*slot - 1].key, key))
            return slot;
    }
}

static void fill_slots(struct value_map *map)
{
    memset(map->slots, 0, map->slot_cap * sizeof(*map->slots));
    for (size_t i = 0; i < map->count; i++)
        *find_pair_slot(map, &map->pairs[i].key) = (uint32_t)(i + 1);
}

static void grow_slots(struct arena *arena, struct value_map *map)
{
    size_t cap = map->slot_cap > 0 ? map->slot_cap : (size_t)FEW_PAIRS * 2;

    while (cap < map->count * 2)
        cap = mem_product(cap, 2);
    if (cap == map->slot_cap)
        return;
    map->slots = ARENA_ARRAY(arena, uint32_t, cap);
    map->slot_cap = cap;
    fill_slots(map);
}

const struct value_pair *value_map_find_pair(const struct value_map *map, const struct value *key)
{
    uint32_t slot;

    if (!map->slots) {
        for (size_t i = 0; i < map->count; i++)
            if (is_same_key(&map->pairs[i].key, key))
                return &map->pairs[i];
        return NULL;
    }
    slot = *find_pair_slot(map, key);
    return slot > 0 ? &map->pairs[slot - 1] : NULL;
}

void value_map_append(struct arena *arena, struct value_map *map, struct value key,
                      struct value value)
{
    assert(map->pairs || map->cap == 0);
    if (map->count == map->cap)
        map->pairs = vec_grow(arena, map->pairs, &map->cap, sizeof(*map->pairs));
    map->pairs[map->count++] = (struct value_pair){ key, value };
    if (map->count <= FEW_PAIRS)
        return;
    if (map->count * 2 > map->slot_cap)
        grow_slots(arena, map);
    else
        *find_pair_slot(map, &key) = (uint32_t)map->count;
}

void value_map_set(struct arena *arena, struct value_map *map, struct value key, struct value value)
{
    const struct value_pair *known = value_map_find_pair(map, &key);

    if (known)
        map->pairs[known - map->pairs].value = value;
    else
        value_map_append(arena, map, key, value);
}

bool value_map_remove(struct value_map *map, const struct value *key)
{
    const struct value_pair *pair = value_map_find_pair(map, key);
    size_t at;

    if (!pair)
        return false;
    at = (size_t)(pair - map->pairs);
    memmove(&map->pairs[at], &map->pairs[at + 1], (map->count - at - 1) * sizeof(*pair));
    map->count--;
    if (map->slots)
        fill_slots(map);
    return true;
}

static struct value copy_tree(struct arena *arena, const struct value *v, unsigned depth)
{
    struct value made = *v;

    if (depth > DEPTH_MAX)
        return value_at(value_null(), v);
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        made.s = arena_str(arena, v->s);
    if (v->kind == VALUE_LIST) {
        made.list = value_list_new(arena, v->list->count);
        for (size_t i = 0; i < v->list->count; i++)
            value_list_push(arena, made.list, copy_tree(arena, &v->list->items[i], depth + 1));
    }
    if (v->kind == VALUE_MAP) {
        made.map = value_map_new_like(arena, v->map);
        for (size_t i = 0; i < v->map->count; i++)
            value_map_append(arena, made.map, copy_tree(arena, &v->map->pairs[i].key, depth + 1),
                             copy_tree(arena, &v->map->pairs[i].value, depth + 1));
    }
    return made;
}

struct value value_copy(struct arena *arena, const struct value *v)
{
    return copy_tree(arena, v, 0);
}

/* --- looking -------------------------------------------------------------- */

const struct value *value_map_find(const struct value_map *map, const struct value *key)
{
    const struct value_pair *pair = value_map_find_pair(map, key);

    return pair ? &pair->value : NULL;
}

const struct value *value_map_find_near(const struct value_map *map, struct str key,
                                        uint32_t *place)
{
    const struct value_pair *pair;
    struct value wanted;

    if (*place < map->count) {
        pair = &map->pairs[*place];
        if (pair->key.kind == VALUE_STR && str_eq(pair->key.s, key))
            return &pair->value;
    }
    wanted = value_str(key);
    pair = value_map_find_pair(map, &wanted);
    if (!pair)
        return NULL;
    *place = (uint32_t)(pair - map->pairs);
    return &pair->value;
}

const struct value *value_get_str(const struct value *v, struct str key)
{
    const struct value wanted = value_str(key);

    return v && v->kind == VALUE_MAP ? value_map_find(v->map, &wanted) : NULL;
}

const struct value *value_get(const struct value *v, const char *key)
{
    return value_get_str(v, str_from(key));
}

const char *value_get_text(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return found && value_is_textual(found) ? found->s.p : NULL;
}

struct str value_get_view(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return value_is(found, VALUE_STR) ? found->s : STR("");
}

int64_t value_get_int(const struct value *v, const char *key, int64_t fallback)
{
    const struct value *found = value_get(v, key);

    return value_is(found, VALUE_INT) ? found->i : fallback;
}

bool value_get_bool(const struct value *v, const char *key)
{
    const struct value *found = value_get(v, key);

    return value_is(found, VALUE_BOOL) && found->b;
}

/* Digits as an index; -1 when they are not digits, or too large for any list. */
static int64_t parse_path_index(struct str digits)
{
    int64_t index = 0;

    if (digits.n == 0 || digits.n > 18)
        return -1;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return -1;
        index = index * 10 + (digits.p[i] - '0');
    }
    return index;
}

static const struct value *list_item(const struct value *v, struct str number)
{
    int64_t i = parse_path_index(number);

    return i >= 0 && (uint64_t)i < v->list->count ? &v->list->items[i] : NULL;
}

/* A key that YAML read as a number is found by its digits. */
static const struct value *map_item(const struct value *v, struct str key)
{
    const struct value *item = value_get_str(v, key);
    struct value number = value_int(parse_path_index(key));

    return item || number.i < 0 ? item : value_map_find(v->map, &number);
}

const struct value *value_path(const struct value *v, struct str path, char separator)
{
    while (v && path.p) {
        struct str rest = path;
        struct str head;

        if (v->kind == VALUE_MAP) {
            const struct value *whole = map_item(v, path);

            if (whole)
                return whole;
        }
        head = str_cut(&rest, separator);
        v = v->kind == VALUE_MAP    ? map_item(v, head)
            : v->kind == VALUE_LIST ? list_item(v, head)
                                    : NULL;
        path = rest;
    }
    return v;
}

bool value_is_textual(const struct value *v)
{
    return v->kind == VALUE_STR || v->kind == VALUE_BYTES;
}

bool value_is_true(const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: return false;
    case VALUE_BOOL: return v->b;
    case VALUE_INT: return v->i != 0;
    case VALUE_DOUBLE: return v->d != 0;
    case VALUE_STR:
    case VALUE_BYTES: return v->s.n > 0;
    case VALUE_LIST: return v->list->count > 0;
    case VALUE_MAP: return v->map->count > 0;
    case VALUE_TIME:
    case VALUE_OBJECT: break;
    }
    return true;
}

static bool is_number_value(const struct value *v)
{
    return v->kind == VALUE_BOOL || v->kind == VALUE_INT || v->kind == VALUE_DOUBLE;
}

static int64_t convert_to_int(const struct value *v)
{
    return v->kind == VALUE_BOOL ? v->b : v->i;
}

static int get_order(bool less, bool more)
{
    return less ? -1 : more;
}

/* Exact: a double is not rounded to compare it with an integer. NaN has no order. */
static int compare_int_double(int64_t i, double d, int *ret_order)
{
    if (isnan(d))
        return -1;
    if (d >= 0x1p63)
        *ret_order = -1;
    else if (d < -0x1p63)
        *ret_order = 1;
    else if (i != (int64_t)d)
        *ret_order = get_order(i < (int64_t)d, true);
    else
        *ret_order = get_order(d > trunc(d), d < trunc(d));
    return 0;
}

static int compare_number_values(const struct value *a, const struct value *b, int *ret_order)
{
    if (a->kind == VALUE_DOUBLE && b->kind == VALUE_DOUBLE) {
        *ret_order = get_order(a->d<b->d, a->d> b->d);
        return isnan(a->d) || isnan(b->d) ? -1 : 0;
    }
    if (b->kind == VALUE_DOUBLE)
        return compare_int_double(convert_to_int(a), b->d, ret_order);
    if (a->kind == VALUE_DOUBLE) {
        if (compare_int_double(convert_to_int(b), a->d, ret_order) < 0)
            return -1;
        *ret_order = -*ret_order;
        return 0;
    }
    *ret_order =
        get_order(convert_to_int(a) < convert_to_int(b), convert_to_int(a) > convert_to_int(b));
    return 0;
}

static bool are_trees_equal(const struct value *a, const struct value *b, unsigned depth);

static bool are_lists_equal(const struct value *a, const struct value *b, unsigned depth)
{
    if (((a->flags ^ b->flags) & VALUE_TUPLE) || a->list->count != b->list->count)
        return false;
    if (a->list == b->list)
        return true;
    for (size_t i = 0; i < a->list->count; i++)
        if (!are_trees_equal(&a->list->items[i], &b->list->items[i], depth + 1))
            return false;
    return true;
}

static bool are_maps_equal(const struct value_map *a, const struct value_map *b, unsigned depth)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct value *other = value_map_find(b, &a->pairs[i].key);

        if (!other || !are_trees_equal(&a->pairs[i].value, other, depth + 1))
            return false;
    }
    return true;
}

static bool are_trees_equal(const struct value *a, const struct value *b, unsigned depth)
{
    int order;

    if (a->kind == VALUE_STR && b->kind == VALUE_STR)
        return str_eq(a->s, b->s);
    if (is_number_value(a) && is_number_value(b))
        return compare_number_values(a, b, &order) == 0 && order == 0;
    if (a->kind != b->kind || depth > DEPTH_MAX)
        return false;
    switch ((enum value_kind)a->kind) {
    case VALUE_STR:
    case VALUE_BYTES: return str_eq(a->s, b->s);
    case VALUE_TIME: return a->t.seconds == b->t.seconds && a->t.nanoseconds == b->t.nanoseconds;
    case VALUE_LIST: return are_lists_equal(a, b, depth);
    case VALUE_MAP: return are_maps_equal(a->map, b->map, depth);
    case VALUE_OBJECT: return a->object == b->object;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DOUBLE: break;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    return are_trees_equal(a, b, 0);
}

static int compare_trees(const struct value *a, const struct value *b, int *ret_order,
                         unsigned depth);

/* The first items that differ decide; a shorter list comes first. */
static int compare_list_values(const struct value_list *a, const struct value_list *b,
                               int *ret_order, unsigned depth)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (!are_trees_equal(&a->items[i], &b->items[i], depth + 1))
            return compare_trees(&a->items[i], &b->items[i], ret_order, depth + 1);
    *ret_order = get_order(a->count<b->count, a->count> b->count);
    return 0;
}

static int compare_trees(const struct value *a, const struct value *b, int *ret_order,
                         unsigned depth)
{
    if (is_number_value(a) && is_number_value(b))
        return compare_number_values(a, b, ret_order);
    if (a->kind != b->kind || depth > DEPTH_MAX)
        return -1;
    if (a->kind == VALUE_STR || a->kind == VALUE_BYTES) {
        int order = str_compare(a->s, b->s);

        *ret_order = get_order(order<0, order> 0);
        return 0;
    }
    if (a->kind == VALUE_TIME) {
        *ret_order = get_order(a->t.seconds<b->t.seconds, a->t.seconds> b->t.seconds);
        if (*ret_order == 0)
            *ret_order =
                get_order(a->t.nanoseconds<b->t.nanoseconds, a->t.nanoseconds> b->t.nanoseconds);
        return 0;
    }
    if (a->kind == VALUE_LIST)
        return compare_list_values(a->list, b->list, ret_order, depth);
    return -1;
}

int value_compare(const struct value *a, const struct value *b, int *ret_order)
{
    return compare_trees(a, b, ret_order, 0);
}

static uint32_t hash_number(const struct value *v)
{
    int64_t i = v->kind == VALUE_DOUBLE ? 0 : convert_to_int(v);

    if (v->kind == VALUE_DOUBLE) {
        if (!(v->d >= -0x1p63 && v->d < 0x1p63 && v->d == trunc(v->d)))
            return map_hash(&v->d, sizeof(v->d));
        i = (int64_t)v->d; /* 1.0 is the key 1 */
    }
    return map_hash(&i, sizeof(i));
}

static uint32_t hash_tree(const struct value *v, unsigned depth)
{
    uint32_t sum = v->kind;

    if (is_number_value(v))
        return hash_number(v);
    if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
        return map_hash(v->s.p, v->s.n);
    if (v->kind == VALUE_TIME)
        return map_hash(&v->t.seconds, sizeof(v->t.seconds));
    if (v->kind == VALUE_OBJECT) {
        const uintptr_t address = (uintptr_t)v->object;

        return map_hash(&address, sizeof(address));
    }
    if (depth > DEPTH_MAX)
        return 0;
    if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count; i++)
            sum = sum * 31 + hash_tree(&v->list->items[i], depth + 1);
    if (v->kind == VALUE_MAP) /* the order of pairs does not matter to equality */
        for (size_t i = 0; i < v->map->count; i++)
            sum += hash_tree(&v->map->pairs[i].key, depth + 1) * 31 +
                   hash_tree(&v->map->pairs[i].value, depth + 1);
    return sum;
}

uint32_t value_hash(const struct value *v)
{
    return hash_tree(v, 0);
}

const char *value_tag(const struct value *v)
{
    return v->source ? v->source->tag : NULL;
}

const char *value_kind_name(enum value_kind kind)
{
    static const char *const names[] = {
        [VALUE_NULL] = "null",        [VALUE_BOOL] = "a boolean", [VALUE_INT] = "an integer",
        [VALUE_DOUBLE] = "a number",  [VALUE_STR] = "a string",   [VALUE_BYTES] = "bytes",
        [VALUE_TIME] = "a time",      [VALUE_LIST] = "a list",    [VALUE_MAP] = "a map",
        [VALUE_OBJECT] = "an object",
    };
    _Static_assert(ARRAY_LEN(names) == VALUE_KINDS, "every kind has a name");

    return names[kind];
}

const char *value_describe(const struct value *v)
{
    return v ? value_kind_name((enum value_kind)v->kind) : "nothing";
}

struct place value_place(const struct value *v)
{
    return (struct place){ v->source ? v->source->file : NULL, v->line, v->column };
}

const struct value *value_point(const struct value *v, const char *key)
{
    const struct value *member = v->kind == VALUE_MAP ? value_get(v, key) : NULL;

    return member ? member : v;
}

int value_diag(struct diags *diags, const struct value *v, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(diags->arena, fmt, args);
    va_end(args);
    (void)diag_add(diags, value_place(v), "%s", text);
    if (v->source)
        diag_source(diags, v->source->text);
    return -1;
}

/* --- combining ------------------------------------------------------------ */

static struct value merge_trees(struct arena *arena, const struct value *base,
                                const struct value *over, enum value_merge how, unsigned depth)
{
    struct value made = *over;

    if (depth > DEPTH_MAX)
        return made;
    if (base->kind == VALUE_LIST && over->kind == VALUE_LIST && how == VALUE_MERGE_APPEND) {
        made.list = value_list_new(arena, base->list->count + over->list->count);
        value_list_add_all(arena, made.list, base->list);
        value_list_add_all(arena, made.list, over->list);
    }
    if (base->kind != VALUE_MAP || over->kind != VALUE_MAP)
        return made;
    made.map = value_map_new(arena, base->map->count + over->map->count);
    made.map->ordered = base->map->ordered || over->map->ordered;
    for (size_t i = 0; i < base->map->count; i++)
        value_map_set(arena, made.map, base->map->pairs[i].key, base->map->pairs[i].value);
    for (size_t i = 0; i < over->map->count; i++) {
        const struct value_pair *pair = &over->map->pairs[i];
        const struct value *below = value_map_find(base->map, &pair->key);

        value_map_set(arena, made.map, pair->key,
                      below ? merge_trees(arena, below, &pair->value, how, depth + 1)
                            : pair->value);
    }
    return made;
}

struct value value_merge(struct arena *arena, const struct value *base, const struct value *over,
                         enum value_merge how)
{
    return merge_trees(arena, base, over, how, 0);
}
