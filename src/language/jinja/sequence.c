#include "language/jinja/sequence.h"

#include <math.h>

#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* --- range -------------------------------------------------------------------- */

static uint64_t range_count(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0)
        return start < stop ? ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1 : 0;
    return start > stop ? ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1 : 0;
}

int64_t range_item(const struct range *range, uint64_t i)
{
    return (int64_t)((uint64_t)range->start + i * (uint64_t)range->step);
}

bool range_has(const struct range *range, const struct value *item)
{
    uint64_t distance, step;
    int64_t i;

    if (item->kind == VALUE_DOUBLE) {
        if (!(item->d >= -0x1p63 && item->d < 0x1p63) || item->d != trunc(item->d))
            return false;
        i = (int64_t)item->d;
    } else if (item->kind == VALUE_INT || item->kind == VALUE_BOOL) {
        i = item->kind == VALUE_BOOL ? item->b : item->i;
    } else {
        return false;
    }
    if (range->step > 0 ? i < range->start || i >= range->stop
                        : i > range->start || i <= range->stop)
        return false;
    distance = range->step > 0 ? (uint64_t)i - (uint64_t)range->start
                               : (uint64_t)range->start - (uint64_t)i;
    step = range->step > 0 ? (uint64_t)range->step : 0 - (uint64_t)range->step;
    return distance % step == 0;
}

static int range_list(struct render *render, struct object *object, struct value_list **ret)
{
    const struct range *range = (const struct range *)object;
    struct value_list *list;

    if (text_expect_items(render, range->length) < 0)
        return -1;
    list = container_new_list(render, range->length);
    for (uint64_t i = 0; i < range->length; i++)
        value_list_push(render->arena, list, value_int(range_item(range, i)));
    *ret = list;
    return 0;
}

static int range_length(struct render *render, struct object *object, size_t *ret)
{
    (void)render;
    *ret = ((const struct range *)object)->length;
    return 0;
}

static int range_subscript(struct render *render, struct object *object, const struct value *key,
                           struct value *ret, bool *ret_found)
{
    const struct range *range = (const struct range *)object;
    int64_t i;

    (void)render;
    *ret_found = false;
    if (key->kind != VALUE_INT && key->kind != VALUE_BOOL)
        return 0;
    i = key->kind == VALUE_INT ? key->i : key->b;
    if (i < 0 && range->length <= INT64_MAX)
        i += (int64_t)range->length;
    if (i < 0 || (uint64_t)i >= range->length)
        return 0;
    *ret = value_int(range_item(range, (uint64_t)i));
    *ret_found = true;
    return 0;
}

static int range_get(struct render *render, struct object *object, struct str name,
                     struct value *ret, bool *ret_found)
{
    const struct range *range = (const struct range *)object;

    (void)render;
    *ret_found = true;
    if (str_is(name, "start"))
        *ret = value_int(range->start);
    else if (str_is(name, "stop"))
        *ret = value_int(range->stop);
    else if (str_is(name, "step"))
        *ret = value_int(range->step);
    else
        *ret_found = false;
    return 0;
}

static int range_print(struct render *render, struct object *object, struct buf *out)
{
    const struct range *range = (const struct range *)object;

    (void)render;
    buf_printf(out, "range(%lld, %lld", (long long)range->start, (long long)range->stop);
    if (range->step != 1)
        buf_printf(out, ", %lld", (long long)range->step);
    buf_add_char(out, ')');
    return 0;
}

static bool range_equal(struct object *a, struct object *b)
{
    const struct range *left = (const struct range *)a, *right = (const struct range *)b;

    return left->length == right->length &&
           (left->length == 0 ||
            (left->start == right->start && (left->length == 1 || left->step == right->step)));
}

const struct object_type range_type = {
    .name = "range",
    .get = range_get,
    .item = range_subscript,
    .list = range_list,
    .length = range_length,
    .print = range_print,
    .equal = range_equal,
};

static struct value make_range(struct render *render, int64_t start, int64_t stop, int64_t step)
{
    struct range *range = ARENA_NEW(render->arena, struct range);

    *range = (struct range){ { &range_type }, start, stop, step, range_count(start, stop, step) };
    return object_value(&range->object);
}

int range_new(struct render *render, int64_t start, int64_t stop, int64_t step, struct value *ret)
{
    if (step == 0)
        return render_fail(render, RENDER_TYPE, "range() arg 3 must not be zero");
    *ret = make_range(render, start, stop, step);
    return 0;
}

/* Python's ranges have no bounds; ours stop at the last number that fits 64 bits. */
static int64_t item_beyond(const struct range *range, int64_t i)
{
    int64_t distance, item;
    bool up = (range->step > 0) == (i > 0);

    if (__builtin_mul_overflow(i, range->step, &distance) ||
        __builtin_add_overflow(range->start, distance, &item))
        return up ? INT64_MAX : INT64_MIN;
    return item;
}

struct value range_part(struct render *render, const struct range *range, int64_t start,
                        int64_t stop, int64_t step)
{
    int64_t stride;

    if (__builtin_mul_overflow(range->step, step, &stride))
        stride = (range->step > 0) == (step > 0) ? INT64_MAX : INT64_MIN;
    return make_range(render, item_beyond(range, start), item_beyond(range, stop), stride);
}

/* --- views ---------------------------------------------------------------------- */

struct view {
    struct object object;
    enum view_kind kind;
    struct render *render; /* equality needs the current map */
    struct value map;
};

static struct value view_entry(struct render *render, enum view_kind kind,
                               const struct value_pair *pair)
{
    struct value_list *both;
    struct value entry;

    if (kind != VIEW_ITEMS)
        return kind == VIEW_KEYS ? pair->key : pair->value;
    both = container_new_list(render, 2);
    value_list_push(render->arena, both, pair->key);
    value_list_push(render->arena, both, pair->value);
    entry = value_list(both);
    entry.flags = VALUE_TUPLE;
    return entry;
}

static int view_list(struct render *render, struct object *object, struct value_list **ret)
{
    const struct view *view = (const struct view *)object;
    const struct value_map *map = container_map(render, &view->map);
    struct value_list *list;

    if (text_expect_items(render, map->count) < 0)
        return -1;
    list = container_new_list(render, map->count);
    for (size_t i = 0; i < map->count; i++)
        value_list_push(render->arena, list, view_entry(render, view->kind, &map->pairs[i]));
    *ret = list;
    return 0;
}

static int view_length(struct render *render, struct object *object, size_t *ret)
{
    *ret = container_map(render, &((const struct view *)object)->map)->count;
    return 0;
}

static int view_print(struct render *render, struct object *object, struct buf *out)
{
    struct value_list *list;
    struct value v;

    if (view_list(render, object, &list) < 0)
        return -1;
    v = value_list(list);
    buf_printf(out, "%s(", object->type->name);
    if (op_repr(render, &v, out) < 0)
        return -1;
    buf_add_char(out, ')');
    return 0;
}

/* Keys and items compare as sets do. */
static bool view_equal(struct object *a, struct object *b)
{
    const struct view *left = (const struct view *)a, *right = (const struct view *)b;
    const struct value_map *these = container_map(left->render, &left->map);
    const struct value_map *those = container_map(right->render, &right->map);

    if (these->count != those->count)
        return false;
    for (size_t i = 0; i < these->count; i++) {
        const struct value *other = value_map_find(those, &these->pairs[i].key);
        bool same = other != NULL;

        if (same && left->kind == VIEW_ITEMS &&
            op_compare(left->render, OP_EQ, &these->pairs[i].value, other, &same) < 0)
            return false;
        if (!same)
            return false;
    }
    return true;
}

static const struct object_type view_types[] = {
    [VIEW_KEYS] = { .name = "dict_keys",
                    .list = view_list,
                    .length = view_length,
                    .print = view_print,
                    .equal = view_equal },
    [VIEW_VALUES] = { .name = "dict_values",
                      .list = view_list,
                      .length = view_length,
                      .print = view_print },
    [VIEW_ITEMS] = { .name = "dict_items",
                     .list = view_list,
                     .length = view_length,
                     .print = view_print,
                     .equal = view_equal },
};

struct value view_new(struct render *render, enum view_kind kind, const struct value *map)
{
    struct view *view = ARENA_NEW(render->arena, struct view);

    *view = (struct view){ { &view_types[kind] }, kind, render, *map };
    return object_value(&view->object);
}

/* --- generators ------------------------------------------------------------------ */

/* Each has its own type, so that messages name it as Python would. */
struct generator {
    struct object object;
    struct object_type type;
    const struct value_list *list;
    size_t next;
};

static int generator_list(struct render *render, struct object *object, struct value_list **ret)
{
    struct generator *generator = (struct generator *)object;
    struct value_list *list;

    if (text_expect_items(render, generator->list->count) < 0)
        return -1;
    list = container_new_list(render, generator->list->count);
    while (generator->next < generator->list->count)
        value_list_push(render->arena, list, generator->list->items[generator->next++]);
    *ret = list;
    return 0;
}

static int generator_print(struct render *render, struct object *object, struct buf *out)
{
    (void)render;
    buf_printf(out, "<%s object>", object->type->name);
    return 0;
}

static bool generator_is_true(struct object *object)
{
    (void)object;
    return true;
}

struct value generator_new(struct render *render, const char *type_name,
                           const struct value_list *list)
{
    struct generator *generator = ARENA_NEW(render->arena, struct generator);

    generator->type = (struct object_type){ .name = type_name,
                                            .list = generator_list,
                                            .print = generator_print,
                                            .is_true = generator_is_true };
    generator->object.type = &generator->type;
    generator->list = list;
    return object_value(&generator->object);
}
