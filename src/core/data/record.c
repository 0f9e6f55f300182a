#include "core/data/record.h"

#include <assert.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/msgpack.h"

static void set_number(const struct record_field *f, void *field, int64_t number)
{
    const int8_t i8 = (int8_t)number;
    const int16_t i16 = (int16_t)number;
    const int32_t i32 = (int32_t)number;

    switch (f->size) {
    case 1: memcpy(field, &i8, 1); break;
    case 2: memcpy(field, &i16, 2); break;
    case 4: memcpy(field, &i32, 4); break;
    default: memcpy(field, &number, 8);
    }
}

/* --- value to struct -------------------------------------------------------------- */

static const char *const kind_names[] = {
    [RECORD_BOOL] = "a boolean", [RECORD_INT] = "an integer", [RECORD_DOUBLE] = "a number",
    [RECORD_TEXT] = "a text",    [RECORD_STRING] = "a text",  [RECORD_BYTES] = "bytes",
    [RECORD_TIME] = "a time",    [RECORD_WORD] = "a word",    [RECORD_TEXTS] = "a list",
    [RECORD_ANY] = "anything",   [RECORD_MAP] = "a map",      [RECORD_STRUCT] = "a map",
    [RECORD_LIST] = "a list",    [RECORD_NAMED] = "a map",    [RECORD_REST] = "anything",
};
_Static_assert(ARRAY_LEN(kind_names) == RECORD_KINDS, "every kind has a name");

static int refuse_field_kind(const struct record_field *f, const struct value *v, struct err *err)
{
    return err_set(err, ERR_INVALID, "'%s' is %s, expected %s", f->name, value_describe(v),
                   kind_names[f->kind]);
}

static bool fits_type(const struct record_field *f, int64_t n)
{
    const unsigned bits = 8 * (unsigned)f->size;
    const int64_t top = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - f->is_signed)) - 1;
    const int64_t bottom = !f->is_signed ? 0 : bits == 64 ? INT64_MIN : -top - 1;

    return n >= bottom && n <= top;
}

static int read_int_field(const struct record_field *f, const struct value *v, void *field,
                          struct err *err)
{
    int64_t n = v->i;

    if (v->kind != VALUE_INT)
        return refuse_field_kind(f, v, err);
    if ((f->unit && __builtin_mul_overflow(n, f->unit, &n)) || !fits_type(f, n) ||
        (f->min != f->max && (n < f->min || n > f->max)))
        return err_set(err, ERR_INVALID, "'%s' is %lld, which is out of range", f->name,
                       (long long)v->i);
    set_number(f, field, n);
    return 0;
}

static int read_text_field(const char *name, const struct value *v, const char **ret,
                           struct err *err)
{
    if (!value_is_textual(v))
        return err_set(err, ERR_INVALID, "'%s' is %s, expected a text", name, value_describe(v));
    if (memchr(v->s.p, '\0', v->s.n))
        return err_set(err, ERR_INVALID, "'%s' is a text with a NUL inside", name);
    *ret = v->s.p;
    return 0;
}

static int read_enum_field(const struct record_field *f, const struct value *v, int *ret,
                           struct err *err)
{
    if (v->kind == VALUE_INT && (f->flags & RECORD_NUMBERED) && v->i >= 0 &&
        (uint64_t)v->i < f->word_count) {
        *ret = (int)v->i;
        return 0;
    }
    if (v->kind != VALUE_STR)
        return refuse_field_kind(f, v, err);
    for (size_t i = 0; i < f->word_count; i++)
        if (f->words[i] && str_is(v->s, f->words[i])) {
            *ret = (int)i;
            return 0;
        }
    return err_set(err, ERR_INVALID, "'%s' has the unknown value '%.*s'", f->name, STR_ARG(v->s));
}

static int read_texts(struct arena *arena, const struct record_field *f, const struct value *v,
                      struct param_strs *ret, struct err *err)
{
    const char **texts;

    if (v->kind != VALUE_LIST)
        return refuse_field_kind(f, v, err);
    texts = ARENA_ARRAY(arena, const char *, v->list->count + 1);
    for (size_t i = 0; i < v->list->count; i++)
        if (read_text_field(f->name, &v->list->items[i], &texts[i], err) < 0)
            return err_wrap(err, "item %zu", i + 1);
    *ret = (struct param_strs){ v->list->count, texts };
    return 0;
}

static struct record_items make_items(struct arena *arena, const struct record_type *type,
                                      size_t count)
{
    return (struct record_items){ arena_zalloc(arena, mem_product(count + 1, type->size)), count,
                                  count };
}

static int read_list_field(struct arena *arena, const struct record_field *f, unsigned version,
                           const struct value *v, void *field, struct err *err)
{
    struct record_items items;

    if (v->kind != VALUE_LIST)
        return refuse_field_kind(f, v, err);
    items = make_items(arena, f->inner, v->list->count);
    for (size_t i = 0; i < items.n; i++)
        if (record_read(arena, f->inner, version, &v->list->items[i], items.p + i * f->inner->size,
                        err) < 0)
            return err_wrap(err, "item %zu of '%s'", i + 1, f->name);
    memcpy(field, &items, sizeof(items));
    return 0;
}

static int read_record_fields(struct arena *arena, const struct record_type *type,
                              const struct record_field *fields, unsigned version,
                              const struct value *v, char *ret, struct err *err);

static int read_named_field(struct arena *arena, const struct record_field *f, unsigned version,
                            const struct value *v, void *field, struct err *err)
{
    const struct record_type *inner = f->inner;
    struct record_items items;

    if (v->kind != VALUE_MAP)
        return refuse_field_kind(f, v, err);
    items = make_items(arena, inner, v->map->count);
    for (size_t i = 0; i < items.n; i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        char *record = items.p + i * inner->size;
        const char **name = (const char **)(void *)(record + inner->fields->offset);

        if (read_text_field(f->name, &pair->key, name, err) < 0 ||
            read_record_fields(arena, inner, inner->fields + 1, version, &pair->value, record,
                               err) < 0)
            return err_wrap(err, "'%s' of '%s'", *name ? *name : "", f->name);
    }
    memcpy(field, &items, sizeof(items));
    return 0;
}

static int read_struct(struct arena *arena, const struct record_field *f, unsigned version,
                       const struct value *v, void *field, struct err *err)
{
    if (record_read(arena, f->inner, version, v, field, err) < 0)
        return err_wrap(err, "'%s'", f->name);
    return 0;
}

static int read_record_field(struct arena *arena, const struct record_field *f, unsigned version,
                             const struct value *v, void *field, struct err *err)
{
    switch (f->kind) {
    case RECORD_BOOL:
        if (v->kind != VALUE_BOOL)
            return refuse_field_kind(f, v, err);
        *(bool *)field = v->b;
        return 0;
    case RECORD_INT: return read_int_field(f, v, field, err);
    case RECORD_DOUBLE:
        if (v->kind != VALUE_DOUBLE && v->kind != VALUE_INT)
            return refuse_field_kind(f, v, err);
        *(double *)field = v->kind == VALUE_INT ? (double)v->i : v->d;
        return 0;
    case RECORD_TEXT: return read_text_field(f->name, v, field, err);
    case RECORD_STRING:
    case RECORD_BYTES:
        if (!value_is_textual(v))
            return refuse_field_kind(f, v, err);
        *(struct str *)field = v->s;
        return 0;
    case RECORD_TIME:
        if (v->kind != VALUE_TIME)
            return refuse_field_kind(f, v, err);
        if (v->t.seconds != RECORD_TIME_UNSET || v->t.nanoseconds != 0)
            *(struct value_time *)field = v->t;
        return 0;
    case RECORD_WORD: return read_enum_field(f, v, field, err);
    case RECORD_TEXTS: return read_texts(arena, f, v, field, err);
    case RECORD_MAP:
        if (v->kind != VALUE_MAP)
            return refuse_field_kind(f, v, err);
        *(struct value *)field = *v;
        return 0;
    case RECORD_ANY: *(struct value *)field = *v; return 0;
    case RECORD_STRUCT: return read_struct(arena, f, version, v, field, err);
    case RECORD_LIST: return read_list_field(arena, f, version, v, field, err);
    case RECORD_NAMED: return read_named_field(arena, f, version, v, field, err);
    case RECORD_REST: break;
    }
    return 0;
}

static void set_default(const struct record_field *f, void *field)
{
    switch (f->kind) {
    case RECORD_BOOL: *(bool *)field = f->fallback != 0; break;
    case RECORD_INT: set_number(f, field, f->fallback); break;
    case RECORD_WORD: *(int *)field = (int)f->fallback; break;
    case RECORD_TEXT: *(const char **)field = f->fallback_text; break;
    case RECORD_TIME: *(struct value_time *)field = (struct value_time){ f->fallback, 0 }; break;
    case RECORD_ANY:
    case RECORD_MAP:
    case RECORD_REST: *(struct value *)field = value_null(); break;
    default: break; /* stays zero */
    }
}

/* Keys mostly come in table order: `hint` is the line after the last one. */
static const struct record_field *find_record_field(const struct record_field *fields, size_t hint,
                                                    struct str key)
{
    if (fields[hint].name && fields[hint].kind != RECORD_REST && str_is(key, fields[hint].name))
        return &fields[hint];
    for (const struct record_field *f = fields; f->name; f++)
        if (f->kind != RECORD_REST && str_is(key, f->name))
            return f;
    return NULL;
}

const struct record_field *record_find_rest(const struct record_field *fields)
{
    for (; fields->name; fields++)
        if (fields->kind == RECORD_REST)
            return fields;
    return NULL;
}

static int read_unknown(struct arena *arena, const struct record_type *type,
                        const struct record_field *rest, const struct value_pair *pair, char *ret,
                        struct err *err)
{
    struct value *map;

    if ((type->rules & RECORD_TAGGED) && value_is(&pair->key, VALUE_STR) &&
        str_is(pair->key.s, RECORD_TAG))
        return 0;
    if (!rest && (type->rules & RECORD_REFUSE_UNKNOWN))
        return err_set(err, ERR_INVALID, "'%.*s' is not a key of '%s'",
                       value_is_textual(&pair->key) ? str_int(pair->key.s.n) : 0,
                       value_is_textual(&pair->key) ? pair->key.s.p : "", type->name);
    if (!rest)
        return 0;
    map = (struct value *)(void *)(ret + rest->offset);
    if (map->kind != VALUE_MAP)
        *map = value_map(value_map_new(arena, 1));
    value_map_set(arena, map->map, pair->key, pair->value);
    return 0;
}

static int read_missing(const struct record_field *fields, unsigned version, uint64_t seen,
                        struct err *err)
{
    for (size_t i = 0; fields[i].name; i++)
        if (!(seen >> i & 1) && (fields[i].flags & RECORD_REQUIRED) && version >= fields[i].since)
            return err_set(err, ERR_INVALID, "'%s' is missing", fields[i].name);
    return 0;
}

static int read_record_fields(struct arena *arena, const struct record_type *type,
                              const struct record_field *fields, unsigned version,
                              const struct value *v, char *ret, struct err *err)
{
    const struct record_field *rest = record_find_rest(fields);
    uint64_t seen = 0;
    size_t number = 0;

    if (v->kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "%s, expected a map", value_describe(v));
    for (const struct record_field *f = fields; f->name; f++)
        set_default(f, ret + f->offset);
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        const struct record_field *f =
            value_is(&pair->key, VALUE_STR) ? find_record_field(fields, number, pair->key.s) : NULL;

        if (!f) {
            if (read_unknown(arena, type, rest, pair, ret, err) < 0)
                return -1;
            continue;
        }
        number = (size_t)(f - fields) + 1;
        if (pair->value.kind == VALUE_NULL && f->kind != RECORD_ANY)
            continue;
        if (read_record_field(arena, f, version, &pair->value, ret + f->offset, err) < 0)
            return -1;
        assert(number <= RECORD_FIELDS_MAX);
        seen |= UINT64_C(1) << (number - 1);
        if (f->given)
            *(bool *)(ret + f->given - 1) = true;
    }
    if (read_missing(fields, version, seen, err) < 0)
        return -1;
    return type->check ? type->check(ret, err) : 0;
}

int record_read(struct arena *arena, const struct record_type *type, unsigned version,
                const struct value *v, void *ret, struct err *err)
{
    const struct value empty = value_map(value_map_new(arena, 0));

    memset(ret, 0, type->size);
    if (v->kind == VALUE_NULL && (type->rules & RECORD_LENIENT))
        v = &empty;
    return read_record_fields(arena, type, type->fields, version, v, ret, err);
}

/* --- bytes ------------------------------------------------------------------------ */

int record_decode(struct arena *arena, const struct record_type *type, unsigned version,
                  struct str bytes, void *ret, struct err *err)
{
    struct value v;
    int rc = (type->rules & RECORD_LENIENT) ? msgpack_decode_front(arena, bytes, &v, err)
                                            : msgpack_decode(arena, bytes, &v, err);

    return rc < 0 ? -1 : record_read(arena, type, version, &v, ret, err);
}

bool record_find_type(const struct value *v, const struct record_type *const *types, size_t count,
                      size_t *ret_index)
{
    const struct value *tag = value_get(v, RECORD_TAG);

    for (size_t i = 0; value_is(tag, VALUE_STR) && i < count; i++)
        if (str_is(tag->s, types[i]->name)) {
            *ret_index = i;
            return true;
        }
    return false;
}

/* --- tables ----------------------------------------------------------------------- */

static int check_record_field(const struct record_type *type, const struct record_field *f,
                              struct err *err)
{
    const bool inner =
        f->kind == RECORD_STRUCT || f->kind == RECORD_LIST || f->kind == RECORD_NAMED;

    for (const struct record_field *before = type->fields; before < f; before++)
        if (strcmp(before->name, f->name) == 0)
            return err_set(err, ERR_INVALID, "'%s' is listed twice", f->name);
    if (f->offset + f->size > type->size || f->given > type->size)
        return err_set(err, ERR_INVALID, "'%s' is not in the struct", f->name);
    if ((f->kind == RECORD_WORD && !f->words) || (inner && !f->inner))
        return err_set(err, ERR_INVALID, "'%s' has no words or no inner type", f->name);
    if (f->kind == RECORD_NAMED && f->inner->fields->kind != RECORD_TEXT)
        return err_set(err, ERR_INVALID, "'%s' has an inner type without a name", f->name);
    if (inner && record_check(f->inner, err) < 0)
        return err_wrap(err, "'%s'", f->name);
    return 0;
}

int record_check(const struct record_type *type, struct err *err)
{
    for (const struct record_field *f = type->fields; f->name; f++) {
        if (f - type->fields >= RECORD_FIELDS_MAX)
            return err_set(err, ERR_LIMIT, "'%s' has more than %d fields", type->name,
                           RECORD_FIELDS_MAX);
        if (check_record_field(type, f, err) < 0)
            return err_wrap(err, "%s", type->name);
    }
    return 0;
}
