/*
 * value - one tree for everything that has no fixed shape.
 *
 * YAML, JSON and MessagePack are read into it, templates and Lua work on it,
 * parameters are decoded from it. A value is 32 bytes and is passed around by
 * copy; texts, lists and maps live in an arena. A tree is built by one owner and
 * then never changes: it may be shared by any number of readers and threads.
 * (Interpreters build their own lists and maps with the same calls.)
 *
 * Values read from text know their place: file, line and column. Others have a NULL source and line
 * 0.
 *
 * Equality and order are those of Python: 1 == 1.0 == true, and only numbers
 * compare across kinds. Maps keep the order of insertion; keys are scalars.
 *
 * Memory: the arena given to each call. Threads: any number of readers.
 */
#ifndef CORE_DATA_VALUE_H
#define CORE_DATA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/str.h"

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_STR,
    VALUE_BYTES,
    VALUE_TIME,
    VALUE_LIST,
    VALUE_MAP,
    VALUE_OBJECT, /* an object of an interpreter; never in a document */
};
#define VALUE_KINDS (VALUE_OBJECT + 1)

enum value_flag {
    VALUE_QUOTED = 1,    /* text that was quoted in its document */
    VALUE_SECRET = 2,    /* never to be shown */
    VALUE_SAFE = 4,      /* text that is already markup (Jinja autoescape) */
    VALUE_TUPLE = 8,     /* a list that prints as a tuple and never changes */
    VALUE_WIDE = 16,     /* an int that MessagePack writes in all of its eight bytes */
    VALUE_UNSIGNED = 32, /* the same, as an unsigned one */
};

/* A document, or a tagged part of one; values point to it. */
struct value_source {
    const char *file;
    struct str text; /* the whole document, for carets; may be a NULL view */
    const char *tag; /* "!lua"; NULL when there is none */
    bool salt;       /* YAML as Salt reads it: as text a boolean is "True", a mode is its digits */
};

/* UTC. */
struct value_time {
    int64_t seconds;
    uint32_t nanoseconds;
};

struct value_list;
struct value_map;
struct object;

struct value {
    uint8_t kind;
    uint8_t flags;
    uint16_t column; /* 65535: that or more */
    uint32_t line;
    const struct value_source *source;
    union {
        bool b;
        int64_t i;
        double d;
        struct str s; /* VALUE_STR: UTF-8; VALUE_BYTES: anything; both NUL-terminated */
        struct value_time t;
        struct value_list *list;
        struct value_map *map;
        struct object *object;
    };
};

struct value_list {
    size_t count, cap;
    struct value *items;
    const void *owner; /* the owner, who may still change it; NULL: none */
};

struct value_pair {
    struct value key, value;
};

struct value_map {
    size_t count, cap;
    struct value_pair *pairs; /* in order of insertion */
    uint32_t *slots;          /* hash index, made when there are more than a few pairs */
    size_t slot_cap;
    bool ordered;      /* its order is significant: core/data/yaml_dump.h */
    const void *owner; /* the owner, who may still change it; NULL: none */
};

/* --- making --------------------------------------------------------------- */

static inline struct value value_null(void)
{
    return (struct value){ .kind = VALUE_NULL };
}
static inline struct value value_bool(bool b)
{
    return (struct value){ .kind = VALUE_BOOL, .b = b };
}
static inline struct value value_int(int64_t i)
{
    return (struct value){ .kind = VALUE_INT, .i = i };
}
static inline struct value value_double(double d)
{
    return (struct value){ .kind = VALUE_DOUBLE, .d = d };
}
/* Borrows: the text must live as long as the value and have a NUL after its end. */
static inline struct value value_str(struct str s)
{
    return (struct value){ .kind = VALUE_STR, .s = s };
}
static inline struct value value_text(const char *text)
{
    return value_str(str_from(text));
}
static inline struct value value_bytes(struct str s)
{
    return (struct value){ .kind = VALUE_BYTES, .s = s };
}
static inline struct value value_time(int64_t seconds, uint32_t nanoseconds)
{
    return (struct value){ .kind = VALUE_TIME, .t = { seconds, nanoseconds } };
}
static inline struct value value_list(struct value_list *list)
{
    return (struct value){ .kind = VALUE_LIST, .list = list };
}
static inline struct value value_map(struct value_map *map)
{
    return (struct value){ .kind = VALUE_MAP, .map = map };
}
/* `v` with the place of `where`. */
static inline struct value value_at(struct value v, const struct value *where)
{
    v.source = where->source;
    v.line = where->line;
    v.column = where->column;
    return v;
}

struct value_list *value_list_new(struct arena *arena, size_t expected);
/* Make room for another item. */
void value_list_grow(struct arena *arena, struct value_list *list);
static inline void value_list_push(struct arena *arena, struct value_list *list, struct value item)
{
    if (list->count == list->cap)
        value_list_grow(arena, list);
    list->items[list->count++] = item;
}
/* All items of another list, or of the same one. */
void value_list_add_all(struct arena *arena, struct value_list *list,
                        const struct value_list *more);

struct value_map *value_map_new(struct arena *arena, size_t expected);
/* A new map like `model`, which says whether the order is significant. */
struct value_map *value_map_new_like(struct arena *arena, const struct value_map *model);
/* Add, or replace in its place. */
void value_map_set(struct arena *arena, struct value_map *map, struct value key,
                   struct value value);
/* Add a key that is not in the map yet: no search. */
void value_map_append(struct arena *arena, struct value_map *map, struct value key,
                      struct value value);
/* Later pairs move up. False when there is no such key. */
bool value_map_remove(struct value_map *map, const struct value *key);

/* A deep copy, texts included, that shares nothing with `v`. */
struct value value_copy(struct arena *arena, const struct value *v);

/* --- looking -------------------------------------------------------------- */

/* Borrowed from the map; NULL when there is none, or when `v` is not a map. */
const struct value *value_map_find(const struct value_map *map, const struct value *key);
/* The same for a text key. `*place` is a hint where to look first, mostly from another map of the
 * same form; it is updated. */
const struct value *value_map_find_near(const struct value_map *map, struct str key,
                                        uint32_t *place);
const struct value_pair *value_map_find_pair(const struct value_map *map, const struct value *key);
const struct value *value_get(const struct value *v, const char *key);
const struct value *value_get_str(const struct value *v, struct str key);
/* The value of a key of a map, if it has that kind; else NULL or
 * `fallback`. */
const char *value_get_text(const struct value *v, const char *key);
struct str value_get_view(const struct value *v, const char *key); /* else an empty one */
int64_t value_get_int(const struct value *v, const char *key, int64_t fallback);
bool value_get_bool(const struct value *v, const char *key);

/* Follow `path` ("os.family", "users.0.name") from map to map, and through lists by number. NULL
 * when there is no such path. A key that itself contains separators wins over its parts. */
const struct value *value_path(const struct value *v, struct str path, char separator);

/* False for NULL. */
static inline bool value_is(const struct value *v, enum value_kind kind)
{
    return v && v->kind == kind;
}
/* VALUE_STR or VALUE_BYTES. */
bool value_is_textual(const struct value *v);
/* True as in Python: not null, false, zero or empty. */
bool value_is_true(const struct value *v);
bool value_equal(const struct value *a, const struct value *b);
/* Sets -1, 0 or 1; returns -1 when the two have no order. */
int value_compare(const struct value *a, const struct value *b, int *ret_order);
/* Equal values hash alike. Lists and maps hash too, by content. */
uint32_t value_hash(const struct value *v);
/* The tag, "!lua", or NULL. */
const char *value_tag(const struct value *v);

/* "a map", "a number": for messages. */
const char *value_kind_name(enum value_kind kind);
const char *value_describe(const struct value *v);

/* The place where it was written; no file and line 0 when it was not. */
struct place value_place(const struct value *v);
/* The value of this key of a map, else the value itself: the place for a diagnostic about a key. */
const struct value *value_point(const struct value *v, const char *key);
/* diag_add at the value, with its source line. Returns -1. */
int value_diag(struct diags *diags, const struct value *v, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* --- combining ------------------------------------------------------------ */

enum value_merge {
    VALUE_MERGE_REPLACE, /* lists of the second replace those of the first */
    VALUE_MERGE_APPEND,  /* lists are joined */
};

/* `over` on top of `base`: maps merge key by key, deeply; everything else is replaced, lists as
 * `how` says. Neither changes; the result may share parts of both. */
struct value value_merge(struct arena *arena, const struct value *base, const struct value *over,
                         enum value_merge how);

#endif
