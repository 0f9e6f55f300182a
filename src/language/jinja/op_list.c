/* Iteration, length and slices. */
#include "language/jinja/ops.h"

#include "core/base/utf8.h"
#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"

static int list_characters(struct render *render, const struct value *v,
                           const struct value_list **ret)
{
    struct value_list *list;

    if (text_expect_items(render, utf8_count(v->s)) < 0)
        return -1;
    list = container_new_list(render, utf8_count(v->s));
    for (size_t at = 0; at < v->s.n;) {
        size_t n = utf8_length_at(str_from_offset(v->s, at));

        value_list_push(render->arena, list, text_part(render, v, at, n));
        list->items[list->count - 1].flags = 0; /* iter(Markup) gives plain texts */
        at += n;
    }
    *ret = list;
    return 0;
}

static int list_bytes(struct render *render, const struct value *v, const struct value_list **ret)
{
    struct value_list *list;

    if (text_expect_items(render, v->s.n) < 0)
        return -1;
    list = container_new_list(render, v->s.n);
    for (size_t i = 0; i < v->s.n; i++)
        value_list_push(render->arena, list, value_int((unsigned char)v->s.p[i]));
    *ret = list;
    return 0;
}

static void list_map_keys(struct render *render, const struct value *v,
                          const struct value_list **ret)
{
    const struct value_map *map = container_map(render, v);
    struct value_list *list = container_new_list(render, map->count);

    for (size_t i = 0; i < map->count; i++)
        value_list_push(render->arena, list, map->pairs[i].key);
    *ret = list;
}

static int list_object(struct render *render, struct object *object, const struct value_list **ret)
{
    struct value_list *list;

    if (!object->type->list)
        return render_fail(render, RENDER_TYPE, "'%s' object is not iterable", object->type->name);
    if (object->type->list(render, object, &list) < 0)
        return -1;
    *ret = list;
    return 0;
}

bool op_is_iterable(const struct value *v)
{
    return v->kind == VALUE_LIST || v->kind == VALUE_MAP || v->kind == VALUE_STR ||
           v->kind == VALUE_BYTES || (v->kind == VALUE_OBJECT && v->object->type->list);
}

int op_list(struct render *render, const struct value *v, const struct value_list **ret)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_LIST: *ret = container_list(render, v); return 0;
    case VALUE_MAP: list_map_keys(render, v, ret); return 0;
    case VALUE_STR: return list_characters(render, v, ret);
    case VALUE_BYTES: return list_bytes(render, v, ret);
    case VALUE_OBJECT: return list_object(render, v->object, ret);
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DOUBLE:
    case VALUE_TIME: break;
    }
    return render_fail(render, RENDER_TYPE, "'%s' object is not iterable", op_type_name(v));
}

int op_length(struct render *render, const struct value *v, size_t *ret)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_LIST: *ret = container_list(render, v)->count; return 0;
    case VALUE_MAP: *ret = container_map(render, v)->count; return 0;
    case VALUE_STR: *ret = utf8_count(v->s); return 0;
    case VALUE_BYTES: *ret = v->s.n; return 0;
    case VALUE_OBJECT:
        if (v->object->type->length)
            return v->object->type->length(render, v->object, ret);
        break;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DOUBLE:
    case VALUE_TIME: break;
    }
    return render_fail(render, RENDER_TYPE, "object of type '%s' has no len()", op_type_name(v));
}

/* --- slices ---------------------------------------------------------------------- */

/* A slice clamped to a sequence: `count` items from `start`, `step` apart. */
struct cut {
    int64_t start, stop, step;
    uint64_t count;
};

/* One bound; `left_out` when there is none. */
static int read_slice_bound(struct render *render, const struct value *v, int64_t *ret,
                            bool *left_out)
{
    *left_out = !v || v->kind == VALUE_NULL;
    if (*left_out)
        return 0;
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL)
        return render_fail(render, RENDER_TYPE,
                           "slice indices must be integers or None or have an __index__ method");
    *ret = v->kind == VALUE_INT ? v->i : v->b;
    return 0;
}

static int64_t clamp_slice_bound(int64_t i, int64_t length, bool backwards)
{
    if (i < 0)
        i = i + length < 0 ? (backwards ? -1 : 0) : i + length;
    else if (i >= length)
        i = backwards ? length - 1 : length;
    return i;
}

static int cut_read(struct render *render, const struct value *const bounds[3], size_t size,
                    struct cut *ret)
{
    int64_t length = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    int64_t start = 0, stop = 0, step = 1;
    bool no_start, no_stop, no_step;

    if (read_slice_bound(render, bounds[2], &step, &no_step) < 0 ||
        read_slice_bound(render, bounds[0], &start, &no_start) < 0 ||
        read_slice_bound(render, bounds[1], &stop, &no_stop) < 0)
        return -1;
    if (step == 0)
        return render_fail(render, RENDER_TYPE, "slice step cannot be zero");
    if (step == INT64_MIN)
        step = -INT64_MAX;
    start = no_start ? (step < 0 ? length - 1 : 0) : clamp_slice_bound(start, length, step < 0);
    stop = no_stop ? (step < 0 ? -1 : length) : clamp_slice_bound(stop, length, step < 0);
    ret->start = start;
    ret->stop = stop;
    ret->step = step;
    ret->count = 0;
    if (step > 0 && start < stop)
        ret->count = (uint64_t)((stop - start - 1) / step + 1);
    if (step < 0 && stop < start)
        ret->count = (uint64_t)((start - stop - 1) / -step + 1);
    return 0;
}

static size_t cut_index(const struct cut *cut, uint64_t i)
{
    return (size_t)(cut->start + (int64_t)i * cut->step);
}

static int slice_list(struct render *render, const struct value *v, const struct cut *cut,
                      struct value *ret)
{
    const struct value_list *list = container_list(render, v);
    struct value_list *made;

    if (text_expect_items(render, cut->count) < 0)
        return -1;
    made = container_new_list(render, cut->count);
    for (uint64_t i = 0; i < cut->count; i++)
        value_list_push(render->arena, made, list->items[cut_index(cut, i)]);
    *ret = value_list(made);
    ret->flags = v->flags & VALUE_TUPLE;
    return 0;
}

/* The offset of each character of `text`, in the arena. */
static size_t *character_offsets(struct arena *arena, struct str text, size_t count)
{
    size_t *offsets = ARENA_ARRAY(arena, size_t, count + 1);
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        offsets[i] = at;
        at += utf8_length_at(str_from_offset(text, at));
    }
    offsets[count] = at;
    return offsets;
}

static int slice_text(struct render *render, const struct value *v, size_t count,
                      const struct cut *cut, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    bool single = v->kind == VALUE_BYTES || count == v->s.n; /* a byte is a character */
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    size_t *offsets;

    if (cut->step == 1) {
        size_t at = single ? (size_t)cut->start : utf8_offset(v->s, (size_t)cut->start);
        struct str rest = str_from_offset(v->s, at);

        *ret = text_part(render, v, at, single ? cut->count : utf8_offset(rest, cut->count));
        return text_expect(render, ret->s.n);
    }
    offsets = single ? NULL : character_offsets(&scratch, v->s, count);
    for (uint64_t i = 0; i < cut->count; i++) {
        size_t n = cut_index(cut, i);
        size_t at = single ? n : offsets[n];

        buf_add(&out, v->s.p + at, single ? 1 : offsets[n + 1] - at);
    }
    if (text_finish(render, &out, v->flags & VALUE_SAFE, ret) < 0)
        return -1;
    ret->kind = v->kind;
    return 0;
}

int op_slice(struct render *render, const struct value *v, const struct value *start,
             const struct value *stop, const struct value *step, struct value *ret)
{
    const struct value *const bounds[] = { start, stop, step };
    const struct range *range = object_as(v, &range_type);
    struct cut cut = { 0 };
    size_t size;

    if (value_is_undefined(v))
        return undefined_fail(render, v);
    if (v->kind == VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "unhashable type: 'slice'");
    if (v->kind != VALUE_LIST && v->kind != VALUE_STR && v->kind != VALUE_BYTES && !range)
        return render_fail(render, RENDER_TYPE, "'%s' object is not subscriptable",
                           op_type_name(v));
    if (op_length(render, v, &size) < 0 || cut_read(render, bounds, size, &cut) < 0)
        return -1;
    if (v->kind == VALUE_LIST)
        return slice_list(render, v, &cut, ret);
    if (!range)
        return slice_text(render, v, size, &cut, ret);
    *ret = range_part(render, range, cut.start, cut.stop, cut.step);
    return 0;
}
