#include "states/compile/output.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/words.h"

/* Maximum size of one argument. */
#define OUTPUT_TEXT_MAX ((size_t)16 << 20)
/* Maximum digits of the number in a mark. */
#define MARK_DIGITS_MAX 10
/* Deeper values are not searched; YAML does not create them. */
#define OUTPUT_DEPTH_MAX 200

struct str output_mark(struct output_list *outputs, const char *target, struct str path,
                       struct place at)
{
    const struct output output = {
        .target = arena_strdup(outputs->arena, target),
        .path = arena_str(outputs->arena, path),
        .at = at,
    };

    if (outputs->list.n >= OUTPUT_MARKS_MAX)
        return (struct str){ NULL, 0 };
    VEC_PUSH_IN(outputs->arena, &outputs->list, output);
    return str_from(
        arena_printf(outputs->arena, OUTPUT_BEGIN "%zu" OUTPUT_END, outputs->list.n - 1));
}

/* The next mark at or after `from`: where it begins, where it ends, its number. */
static bool find_output_mark(struct str text, size_t from, size_t *ret_begin, size_t *ret_end,
                             uint64_t *ret_number)
{
    struct err ignored;

    for (size_t at = from;; at++) {
        const size_t begin = str_find(text, STR(OUTPUT_BEGIN), at);
        if (begin == STR_NONE)
            return false;

        const size_t digits = begin + STR(OUTPUT_BEGIN).n;
        const size_t length = str_find(str_slice(text, digits, MARK_DIGITS_MAX + STR(OUTPUT_END).n),
                                       STR(OUTPUT_END), 0);
        const size_t end = length == STR_NONE ? digits : digits + length;
        if (number_parse_uint(str_slice(text, digits, end - digits), ret_number, &ignored) == 0) {
            *ret_begin = begin;
            *ret_end = end + STR(OUTPUT_END).n;
            return true;
        }
        at = begin;
    }
}

struct search {
    struct output_list *outputs; /* NULL: any mark */
    output_found_fn *found;
    void *user;
    size_t count;
};

static void search_text(struct search *search, struct str text)
{
    size_t begin, end = 0;
    uint64_t number;

    while (find_output_mark(text, end, &begin, &end, &number)) {
        if (search->outputs && number < search->outputs->list.n)
            search->found(search->user, &search->outputs->list.p[number]);
        search->count++;
    }
}

static void search_value(struct search *search, const struct value *v, unsigned depth)
{
    if (depth > OUTPUT_DEPTH_MAX)
        return;
    if (v->kind == VALUE_STR) {
        search_text(search, v->s);
    } else if (v->kind == VALUE_LIST) {
        for (size_t i = 0; i < v->list->count; i++)
            search_value(search, &v->list->items[i], depth + 1);
    } else if (v->kind == VALUE_MAP) {
        for (size_t i = 0; i < v->map->count; i++) {
            search_value(search, &v->map->pairs[i].key, depth + 1);
            search_value(search, &v->map->pairs[i].value, depth + 1);
        }
    }
}

bool output_has_mark(const struct value *v)
{
    struct search search = { 0 };

    search_value(&search, v, 0);
    return search.count > 0;
}

void output_each(struct output_list *outputs, const struct value *v, output_found_fn *found,
                 void *user)
{
    struct search search = { .outputs = outputs, .found = found, .user = user };

    search_value(&search, v, 0);
}

struct filling {
    struct arena *arena;
    const struct output_list *outputs;
    output_details_fn *details;
    void *user;
    struct err *err;
};

/* The current value of a mark. */
static int find_output_value(const struct filling *filling, const struct output *output,
                             const struct value **ret)
{
    const struct value *details = filling->details(filling->user, output->state);

    if (!details)
        return err_set(filling->err, ERR_NOT_FOUND, "outputs('%s'): that state has not run",
                       output->target);
    if (output->path.n == 0 || details->kind != VALUE_MAP)
        *ret = details;
    else
        *ret = value_path(details, output->path, '.');
    if (!*ret)
        return err_set(filling->err, ERR_NOT_FOUND, "outputs('%s') has no '%.*s'", output->target,
                       STR_ARG(output->path));
    return 0;
}

static int fill_output_text(const struct filling *filling, const struct value *v, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_TEXT_MAX);
    size_t at = 0, begin, end = 0;
    uint8_t flags = v->flags;
    uint64_t number;

    while (find_output_mark(v->s, end, &begin, &end, &number)) {
        const struct value *now;

        if (number >= filling->outputs->list.n)
            continue; /* other use of these characters */
        if (find_output_value(filling, &filling->outputs->list.p[number], &now) < 0)
            return -1;
        if (begin == 0 && end == v->s.n) {
            *ret = value_at(value_copy(filling->arena, now), v);
            return 0;
        }
        buf_add_str(&out, str_slice(v->s, at, begin - at));
        if (!words_print(&out, now) && now->kind != VALUE_NULL)
            return err_set(filling->err, ERR_INVALID, "outputs('%s'): %s cannot be part of a text",
                           filling->outputs->list.p[number].target, value_describe(now));
        flags |= now->flags & VALUE_SECRET;
        at = end;
    }
    buf_add_str(&out, str_from_offset(v->s, at));
    if (out.full)
        return err_set(filling->err, ERR_LIMIT,
                       "an argument with outputs exceeds the limit of %zu bytes", OUTPUT_TEXT_MAX);
    *ret = value_at(value_str(buf_copy(&out, filling->arena)), v);
    ret->flags = flags;
    return 0;
}

static int fill_output_value(const struct filling *filling, const struct value *v, unsigned depth,
                             struct value *ret)
{
    *ret = *v;
    if (depth > OUTPUT_DEPTH_MAX)
        return 0;
    if (v->kind == VALUE_STR)
        return fill_output_text(filling, v, ret);
    if (v->kind == VALUE_LIST) {
        ret->list = value_list_new(filling->arena, v->list->count);
        for (size_t i = 0; i < v->list->count; i++) {
            struct value item;

            if (fill_output_value(filling, &v->list->items[i], depth + 1, &item) < 0)
                return -1;
            value_list_push(filling->arena, ret->list, item);
        }
    } else if (v->kind == VALUE_MAP) {
        ret->map = value_map_new_like(filling->arena, v->map);
        for (size_t i = 0; i < v->map->count; i++) {
            struct value key, item;

            if (fill_output_value(filling, &v->map->pairs[i].key, depth + 1, &key) < 0 ||
                fill_output_value(filling, &v->map->pairs[i].value, depth + 1, &item) < 0)
                return -1;
            value_map_set(filling->arena, ret->map, key, item);
        }
    }
    return 0;
}

int output_fill(struct arena *arena, const struct output_list *outputs, const struct value *v,
                output_details_fn *details, void *user, struct value *ret, struct err *err)
{
    const struct filling filling = { arena, outputs, details, user, err };
    struct value filled;

    if (fill_output_value(&filling, v, 0, &filled) < 0)
        return -1;
    *ret = filled;
    return 0;
}
