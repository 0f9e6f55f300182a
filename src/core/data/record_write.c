/* From a struct to values and bytes; record.c is the way back. */
#include "core/data/record.h"

#include <assert.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/msgpack.h"

static struct record_items get_items(const void *field)
{
    struct record_items items;

    memcpy(&items, field, sizeof(items));
    return items;
}

static int64_t get_number(const struct record_field *f, const void *field)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
    } n;

    memcpy(&n, field, f->size);
    switch (f->size) {
    case 1: return f->is_signed ? (int64_t)n.i8 : (int64_t)n.u8;
    case 2: return f->is_signed ? (int64_t)n.i16 : (int64_t)n.u16;
    case 4: return f->is_signed ? (int64_t)n.i32 : (int64_t)n.u32;
    default: return n.i64;
    }
}

static bool is_field_given(const struct record_field *f, const void *record)
{
    return !f->given || *(const bool *)((const char *)record + f->given - 1);
}

/* --- struct to value -------------------------------------------------------------- */

static bool is_default_text(const struct record_field *f, const char *text)
{
    return !text || (f->fallback_text && strcmp(text, f->fallback_text) == 0);
}

static bool is_field_default(const struct record_field *f, const void *field)
{
    const struct value *any = field;
    const struct value_time *time = field;

    switch (f->kind) {
    case RECORD_BOOL: return *(const bool *)field == (f->fallback != 0);
    case RECORD_INT: return get_number(f, field) == f->fallback;
    case RECORD_WORD: return *(const int *)field == f->fallback;
    case RECORD_DOUBLE: return *(const double *)field == 0;
    case RECORD_TEXT: return is_default_text(f, *(const char *const *)field);
    case RECORD_STRING:
    case RECORD_BYTES: return !((const struct str *)field)->p;
    case RECORD_TIME: return time->seconds == f->fallback && time->nanoseconds == 0;
    case RECORD_TEXTS: return ((const struct param_strs *)field)->n == 0;
    case RECORD_ANY: return any->kind == VALUE_NULL;
    case RECORD_MAP:
    case RECORD_REST:
        /* An empty map is not nil. */
        return any->kind != VALUE_MAP || (any->map->count == 0 && !(f->flags & RECORD_NIL));
    case RECORD_LIST:
    case RECORD_NAMED: return get_items(field).n == 0;
    case RECORD_STRUCT: return false;
    }
    return false;
}

static struct value make_text_list(struct arena *arena, const struct param_strs *texts)
{
    struct value_list *list;

    if (!texts->p)
        return value_null();
    list = value_list_new(arena, texts->n);
    for (size_t i = 0; i < texts->n; i++)
        value_list_push(arena, list, value_text(texts->p[i]));
    return value_list(list);
}

static struct value list_value(struct arena *arena, const struct record_field *f,
                               struct record_items items)
{
    struct value_list *list;

    if (!items.p)
        return value_null();
    list = value_list_new(arena, items.n);
    for (size_t i = 0; i < items.n; i++)
        value_list_push(arena, list, record_value(arena, f->inner, items.p + i * f->inner->size));
    return value_list(list);
}

static void add_fields(struct arena *arena, struct value_map *map, const struct record_field *f,
                       const char *record);

/* A duplicate name is kept once. */
static struct value named_value(struct arena *arena, const struct record_field *f,
                                struct record_items items)
{
    struct value_map *map = value_map_new(arena, items.n);

    for (size_t i = 0; i < items.n; i++) {
        const char *record = items.p + i * f->inner->size;
        const char *name = *(const char *const *)(const void *)(record + f->inner->fields->offset);
        struct value_map *inner = value_map_new(arena, 8);

        add_fields(arena, inner, f->inner->fields + 1, record);
        value_map_set(arena, map, value_text(name), value_map(inner));
    }
    return value_map(map);
}

static struct value int_value(const struct record_field *f, const void *field)
{
    const int64_t n = get_number(f, field);
    struct value v = value_int(f->unit ? n / f->unit : n);

    if (f->flags & RECORD_WIDE)
        v.flags |= f->is_signed ? VALUE_WIDE : VALUE_UNSIGNED;
    return v;
}

static struct value text_value(const struct record_field *f, const char *text)
{
    if (!text)
        text = f->fallback_text;
    return text ? value_text(text) : value_null();
}

static struct value field_value(struct arena *arena, const struct record_field *f,
                                const void *field)
{
    const struct value_time *time = field;
    const struct str *bytes = field;
    const int *word = field;

    switch (f->kind) {
    case RECORD_BOOL: return value_bool(*(const bool *)field);
    case RECORD_INT: return int_value(f, field);
    case RECORD_DOUBLE: return value_double(*(const double *)field);
    case RECORD_TEXT: return text_value(f, *(const char *const *)field);
    case RECORD_STRING: return bytes->p ? value_str(*bytes) : value_null();
    case RECORD_BYTES: return bytes->p ? value_bytes(*bytes) : value_null();
    case RECORD_TIME: return value_time(time->seconds, time->nanoseconds);
    case RECORD_WORD:
        assert(*word >= 0 && (size_t)*word < f->word_count);
        return value_text(f->words[*word]);
    case RECORD_TEXTS: return make_text_list(arena, field);
    case RECORD_ANY:
    case RECORD_MAP: return *(const struct value *)field;
    case RECORD_STRUCT: return record_value(arena, f->inner, field);
    case RECORD_LIST: return list_value(arena, f, get_items(field));
    case RECORD_NAMED: return named_value(arena, f, get_items(field));
    case RECORD_REST: break;
    }
    return value_null();
}

static void add_rest(struct arena *arena, struct value_map *map, const struct value *rest)
{
    for (size_t i = 0; rest->kind == VALUE_MAP && i < rest->map->count; i++)
        value_map_set(arena, map, rest->map->pairs[i].key, rest->map->pairs[i].value);
}

enum field_presence { ABSENT, AS_NIL, AS_VALUE };

/* The form in which a field is written. */
static enum field_presence get_presence(const struct record_field *f, const char *record)
{
    const bool silent =
        !is_field_given(f, record) || (!f->given && is_field_default(f, record + f->offset));

    if (!silent)
        return AS_VALUE;
    if (f->flags & RECORD_OMIT)
        return ABSENT;
    return (f->flags & RECORD_NIL) || f->given ? AS_NIL : AS_VALUE;
}

static void add_fields(struct arena *arena, struct value_map *map, const struct record_field *f,
                       const char *record)
{
    for (; f->name; f++) {
        const void *field = record + f->offset;
        enum field_presence presence;

        if (f->kind == RECORD_REST) {
            add_rest(arena, map, field);
            continue;
        }
        presence = get_presence(f, record);
        if (presence != ABSENT)
            value_map_append(arena, map, value_text(f->name),
                             presence == AS_NIL ? value_null() : field_value(arena, f, field));
    }
}

struct value record_value(struct arena *arena, const struct record_type *type, const void *record)
{
    struct value_map *map = value_map_new(arena, 8);

    if (type->rules & RECORD_TAGGED)
        value_map_append(arena, map, value_text(RECORD_TAG), value_text(type->name));
    add_fields(arena, map, type->fields, record);
    return value_map(map);
}

/* --- struct to bytes -------------------------------------------------------------- */

/* Without a tree of values between struct and bytes: records have lists of thousands. */
static int encode_record(struct buf *out, const struct record_type *type, const void *record,
                         unsigned depth, struct err *err);

static int encode_items(struct buf *out, const struct record_field *f, struct record_items items,
                        unsigned depth, struct err *err)
{
    if (msgpack_begin_list(out, items.n, depth, err) < 0)
        return -1;
    for (size_t i = 0; i < items.n && !out->full; i++)
        if (encode_record(out, f->inner, items.p + i * f->inner->size, depth + 1, err) < 0)
            return -1;
    return 0;
}

/* A kind whose value is a tree. */
static int encode_built(struct buf *out, const struct record_field *f, const void *field,
                        unsigned depth, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value v = field_value(&arena, f, field);

    return msgpack_encode_at(out, &v, depth, err);
}

static bool is_built(const struct record_field *f)
{
    return f->kind == RECORD_TEXTS || f->kind == RECORD_LIST || f->kind == RECORD_NAMED;
}

static int encode_field(struct buf *out, const struct record_field *f, const void *field,
                        unsigned depth, struct err *err)
{
    struct value v;

    if (f->kind == RECORD_STRUCT)
        return encode_record(out, f->inner, field, depth, err);
    if (f->kind == RECORD_LIST && get_items(field).p)
        return encode_items(out, f, get_items(field), depth, err);
    if (is_built(f))
        return encode_built(out, f, field, depth, err);
    v = field_value(NULL, f, field);
    return msgpack_encode_at(out, &v, depth, err);
}

/* One bit for each line of the table: the present keys, and which of them are nil. */
static uint64_t find_present_fields(const struct record_type *type, const char *record,
                                    uint64_t *ret_nil)
{
    uint64_t present = 0, nil = 0;

    for (size_t i = 0; type->fields[i].name; i++) {
        const enum field_presence presence = get_presence(&type->fields[i], record);

        assert(i < RECORD_FIELDS_MAX);
        present |= (uint64_t)(presence != ABSENT) << i;
        nil |= (uint64_t)(presence == AS_NIL) << i;
    }
    *ret_nil = nil;
    return present;
}

static int encode_tag(struct buf *out, const struct record_type *type, unsigned depth,
                      struct err *err)
{
    const struct value tag = value_text(RECORD_TAG), name = value_text(type->name);

    return msgpack_encode_at(out, &tag, depth, err) < 0 ? -1
                                                        : msgpack_encode_at(out, &name, depth, err);
}

/* With the other keys of a REST field, which replace those of the table: through a tree. */
static int encode_tree(struct buf *out, const struct record_type *type, const void *record,
                       unsigned depth, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value v = record_value(&arena, type, record);

    return msgpack_encode_at(out, &v, depth, err);
}

static int encode_record(struct buf *out, const struct record_type *type, const void *record,
                         unsigned depth, struct err *err)
{
    const bool tagged = type->rules & RECORD_TAGGED;
    const struct value none = value_null();
    uint64_t present, nil;

    if (record_find_rest(type->fields))
        return encode_tree(out, type, record, depth, err);
    present = find_present_fields(type, record, &nil);
    if (msgpack_begin_map(out, (size_t)__builtin_popcountll(present) + tagged, depth, err) < 0)
        return -1;
    if (tagged && encode_tag(out, type, depth + 1, err) < 0)
        return -1;
    for (; present; present &= present - 1) {
        const struct record_field *f = &type->fields[__builtin_ctzll(present)];

        msgpack_add_key(out, f->name);
        if ((nil & present & -present
                 ? msgpack_encode_at(out, &none, depth + 1, err)
                 : encode_field(out, f, (const char *)record + f->offset, depth + 1, err)) < 0)
            return -1;
    }
    return 0;
}

int record_encode(struct buf *out, const struct record_type *type, const void *record,
                  struct err *err)
{
    return encode_record(out, type, record, 0, err) < 0 ? -1 : msgpack_end(out, err);
}

int record_append(struct buf *out, const struct record_type *type, const void *record,
                  uint16_t version, uint64_t salt, struct err *err)
{
    const size_t start = frame_begin(out);

    if (record_encode(out, type, record, err) < 0 && !out->full) {
        buf_cut(out, start);
        return -1;
    }
    return frame_end(out, start, version, salt, err);
}
