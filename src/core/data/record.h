/*
 * record - a C struct as a map of MessagePack or JSON, and back, by a table of its fields.
 *
 * Everything that is stored or sent is a struct and a table. A line of the table names a key, a
 * kind, a field and flags; the rest is optional and designated:
 *
 *     #define ARGS struct debt
 *     static const struct record_field debt_fields[] = {
 *         RECORD("state", TEXT, ARGS, state, RECORD_REQUIRED),
 *         RECORD("level", INT, ARGS, level, RECORD_OMIT, .since = 2),
 *         { 0 },
 *     };
 *     static const struct record_type debt_type = RECORD_TYPE("debt", ARGS, debt_fields, 0);
 *
 * The field must have the C type of its kind; the compiler checks it. Reading is strict about kinds
 * and ranges and names the wrong key. A key that is missing or nil means the default of its field
 * (zero, unless the table says otherwise); a missing required key is an error, unless the record is
 * older than the field. Unknown keys are kept in the field of kind REST, refused by a type with
 * RECORD_REFUSE_UNKNOWN, and ignored by the others. Keys are written in the order of the table, so
 * equal structs are equal bytes.
 *
 *     record_value  -> msgpack_encode, json_print     struct to value to bytes
 *     record_read   <- msgpack_decode, json_decode    bytes to value to struct
 *     record_encode, record_decode                    both steps at once, without a frame
 *     record_append                                   the same in a frame (core/data/frame.h)
 *
 * Pure. Memory: results live in the arena or in the value. Threads: any.
 */
#ifndef CORE_DATA_RECORD_H
#define CORE_DATA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct err;

enum record_kind {
    RECORD_BOOL,
    RECORD_INT, /* any integer type, checked against its range and `min` to `max` */
    RECORD_DOUBLE,
    RECORD_TEXT,   /* without NUL inside; goes as bytes when it is not UTF-8 */
    RECORD_STRING, /* a view of text, which may hold NUL; a NULL view is omitted */
    RECORD_BYTES,  /* any bytes; a NULL view is omitted */
    RECORD_TIME,   /* the timestamp extension; RECORD_TIME_UNSET is read as the default */
    RECORD_WORD,   /* an enum that counts from 0, as a word of `words` */
    RECORD_TEXTS,
    RECORD_ANY,    /* nil is a value like any other */
    RECORD_MAP,    /* a map of any values; null when it is missing */
    RECORD_STRUCT, /* a struct of the type `inner` */
    RECORD_LIST,   /* a vector of structs of the type `inner` */
    RECORD_NAMED,  /* the same, as a map: the first field of `inner` is the key */
    RECORD_REST,   /* a map of all keys outside the table */
};
#define RECORD_KINDS (RECORD_REST + 1)

enum record_flag {
    RECORD_REQUIRED = 1,
    RECORD_OMIT = 2,     /* the default is not written */
    RECORD_NIL = 4,      /* the default is written as nil; an empty map is not the default */
    RECORD_WIDE = 8,     /* an INT of eight bytes always; unsigned if its type is */
    RECORD_NUMBERED = 16 /* a WORD that older versions wrote as its number */
};

/* Flags of a type. */
enum record_rule {
    RECORD_REFUSE_UNKNOWN = 1,
    RECORD_LENIENT = 2, /* nil is an empty map, and bytes after the map are ignored */
    RECORD_TAGGED = 4,  /* the first key, RECORD_TAG, is the name of the type */
};

/* An unset time as programs in Go write it: the beginning of the year 1. */
#define RECORD_TIME_UNSET INT64_C(-62135596800)

#define RECORD_TAG "record"
/* Lines of a table. */
#define RECORD_FIELDS_MAX 64

/* The layout of every VEC(). */
struct record_items {
    char *p;
    size_t n, cap;
};

/* The C type of the field of each kind. */
#define RECORD_FITS_BOOL(type)   __builtin_types_compatible_p(type, bool)
#define RECORD_FITS_INT(type)    RECORD_FITS_NUMBER(type)
#define RECORD_FITS_DOUBLE(type) __builtin_types_compatible_p(type, double)
#define RECORD_FITS_TEXT(type)   __builtin_types_compatible_p(type, const char *)
#define RECORD_FITS_STRING(type) __builtin_types_compatible_p(type, struct str)
#define RECORD_FITS_BYTES(type)  __builtin_types_compatible_p(type, struct str)
#define RECORD_FITS_TIME(type)   __builtin_types_compatible_p(type, struct value_time)
#define RECORD_FITS_WORD(type)   (sizeof(type) == sizeof(int))
#define RECORD_FITS_TEXTS(type)  __builtin_types_compatible_p(type, struct param_strs)
#define RECORD_FITS_ANY(type)    __builtin_types_compatible_p(type, struct value)
#define RECORD_FITS_MAP(type)    __builtin_types_compatible_p(type, struct value)
#define RECORD_FITS_STRUCT(type) 1
#define RECORD_FITS_LIST(type)   (sizeof(type) == sizeof(VEC(char)))
#define RECORD_FITS_NAMED(type)  RECORD_FITS_LIST(type)
#define RECORD_FITS_REST(type)   __builtin_types_compatible_p(type, struct value)
#define RECORD_FITS_NUMBER(type)                                                                   \
    (sizeof(type) == 1 || sizeof(type) == 2 || sizeof(type) == 4 || sizeof(type) == 8)

/* Is the type of the field of an INT signed? */
#define RECORD_SIGN_BOOL(type)   false
#define RECORD_SIGN_INT(type)    ((type)-1 < (type)1)
#define RECORD_SIGN_DOUBLE(type) false
#define RECORD_SIGN_TEXT(type)   false
#define RECORD_SIGN_STRING(type) false
#define RECORD_SIGN_BYTES(type)  false
#define RECORD_SIGN_TIME(type)   false
#define RECORD_SIGN_WORD(type)   false
#define RECORD_SIGN_TEXTS(type)  false
#define RECORD_SIGN_ANY(type)    false
#define RECORD_SIGN_MAP(type)    false
#define RECORD_SIGN_STRUCT(type) false
#define RECORD_SIGN_LIST(type)   false
#define RECORD_SIGN_NAMED(type)  false
#define RECORD_SIGN_REST(type)   false

struct record_type;

struct record_field {
    const char *name; /* NULL ends a table; "" for REST */
    enum record_kind kind;
    unsigned flags;
    size_t offset, size; /* place in the struct */
    bool is_signed;
    uint16_t since;            /* the version that brought it; 0: the first */
    size_t given;              /* RECORD_GIVEN; 0: not needed */
    int64_t fallback;          /* default of BOOL, INT, WORD; seconds of TIME */
    const char *fallback_text; /* default of TEXT */
    int64_t min, max;          /* range of an INT, when they differ */
    int64_t unit;              /* an INT is written divided by this; 0: as it is */
    const char *const *words;
    size_t word_count;
    const struct record_type *inner;
};

struct record_type {
    const char *name; /* for messages: "debt" */
    size_t size;
    const struct record_field *fields;
    unsigned rules;                                    /* enum record_rule */
    int (*check)(const void *record, struct err *err); /* a check beyond the kinds; or NULL */
};

/* A line of a table: key, kind, struct, field, flags (or 0); more members may follow. */
#define RECORD(key, word, type, field, ...)                                                        \
    {                                                                                              \
        .name = (key), .kind = RECORD_##word,                                                      \
        .offset = offsetof(type, field) + RECORD_CHECK(word, __typeof__(((type *)0)->field)),      \
        .size = sizeof(((type *)0)->field),                                                        \
        .is_signed = RECORD_SIGN_##word(__typeof__(((type *)0)->field)), .flags = __VA_ARGS__      \
    }
#define RECORD_CHECK(word, type)                                                                   \
    (0 * sizeof(struct {                                                                           \
         int unused;                                                                               \
         _Static_assert(RECORD_FITS_##word(type), "the field has the type of its kind");           \
     }))
/* A type: its name, its struct, its table, its rules (or 0); more members may follow. */
#define RECORD_TYPE(word, type, table, ...)                                                        \
    {                                                                                              \
        .name = (word), .size = sizeof(type), .fields = (table), .rules = __VA_ARGS__              \
    }
/* A bool field: was the key present? When it is false, the default is written. */
#define RECORD_GIVEN(type, field) .given = offsetof(type, field) + 1
#define RECORD_WORDS(array)       .words = (array), .word_count = ARRAY_LEN(array)
/* Both ends belong to the range. */
#define RECORD_RANGE(low, high) .min = (low), .max = (high)

/* Is the table itself sound: names unique, words and inner types present and sound, fields within
 * the struct? For tests. */
int record_check(const struct record_type *type, struct err *err);

/* The line of kind REST; NULL: there is none. */
const struct record_field *record_find_rest(const struct record_field *fields);

/* The struct as a map. Borrows its texts. */
struct value record_value(struct arena *arena, const struct record_type *type, const void *record);
/* A value, written by `version` of the table, into the struct. Fails with ERR_INVALID; `ret` then
 * holds a part. Borrows texts of `v`. */
int record_read(struct arena *arena, const struct record_type *type, unsigned version,
                const struct value *v, void *ret, struct err *err);

/* Append the map; fails with ERR_LIMIT when `out` is full. */
int record_encode(struct buf *out, const struct record_type *type, const void *record,
                  struct err *err);
int record_decode(struct arena *arena, const struct record_type *type, unsigned version,
                  struct str bytes, void *ret, struct err *err);

/* Append the map in a frame. On failure `out` is unchanged. */
int record_append(struct buf *out, const struct record_type *type, const void *record,
                  uint16_t version, uint64_t salt, struct err *err);

/* The type that the tag of a map names, as an index into `types`. False: none of them. */
bool record_find_type(const struct value *v, const struct record_type *const *types, size_t count,
                      size_t *ret_index);

#endif
