/*
 * params - a map of values into a C struct, by a table.
 *
 * One table of parameters drives decoding, type checks, defaults, "did you mean"
 * and the manual. A line names a key, a kind, a field and its purpose;
 * the rest is optional and designated:
 *
 *     #define ARGS struct symlink_args
 *     static const struct param symlink_params[] = {
 *         PARAM("name", PATH, ARGS, name, "where the link is", .flags = PARAM_REQUIRED),
 *         PARAM("mode", MODE, ARGS, mode, "permissions", .default_text = "0644"),
 *         { 0 },
 *     };
 *
 * The field must have the C type of its kind (see PARAM_TYPE_*); the compiler checks it.
 * A key whose value is null counts as not given, except for ANY.
 *
 * Every mistake of a map goes into the diagnostics, each at its place. The value of a secret
 * parameter is never shown, nor is its source line.
 *
 * A parameter of another program that cannot work here has a line as well, with a reason instead of
 * a purpose: PARAM_REFUSED is always a mistake, PARAM_IDLE only where unknown keys are.
 *
 * Memory: the struct points into the arena or the values. Threads: any.
 */
#ifndef CORE_DATA_PARAMS_H
#define CORE_DATA_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"

struct arena;
struct buf;
struct diags;
struct err;
struct suggest;
struct value;
struct value_map;
struct value_pair;

enum param_kind {
    PARAM_BOOL,
    PARAM_TRISTATE, /* a bool with a third state: not given */
    PARAM_INT,
    PARAM_DOUBLE, /* finite */
    PARAM_STR,    /* without NUL inside */
    PARAM_TEXT,   /* any bytes */
    PARAM_PATH,   /* begins with a slash */
    PARAM_MODE,   /* a file mode: at most 07777 */
    PARAM_DURATION,
    PARAM_SIZE,
    PARAM_CHOICE, /* the number of the word in `choices`, from 0 */
    PARAM_STRS,
    PARAM_STRMAP,
    PARAM_LIST,
    PARAM_MAP,
    PARAM_ANY,
};
#define PARAM_KINDS (PARAM_ANY + 1)

enum param_flag {
    PARAM_REQUIRED = 1,
    PARAM_SECRET = 2,       /* never shown, not even in an error */
    PARAM_PRIMARY = 4,      /* policy->primary is its default; one a table */
    PARAM_HIDDEN = 8,       /* not in the manual */
    PARAM_FILLED = 16,      /* text, list or map must not be empty when given */
    PARAM_UNSUPPORTED = 32, /* PARAM_REFUSED */
    PARAM_EFFECTLESS = 64,  /* PARAM_IDLE */
    PARAM_REST = 128,       /* for a MAP: the unknown keys, where they are allowed */
    PARAM_ANY_CASE = 256,   /* for a CHOICE: 'YAML' is 'yaml', and 'no' is 'false' */
    PARAM_BARE = 512,       /* an option at the end or before another one has the value "" */
};

enum param_tristate { PARAM_IS_UNSET, PARAM_IS_FALSE, PARAM_IS_TRUE };

struct param_strs {
    size_t n;
    const char *const *p;
};

struct param_pair {
    const char *key, *value;
};

struct param_strmap {
    size_t n;
    const struct param_pair *p; /* in the order of the map */
};

/* The C type of the field of each kind. */
#define PARAM_TYPE_BOOL     bool
#define PARAM_TYPE_TRISTATE enum param_tristate
#define PARAM_TYPE_INT      int64_t
#define PARAM_TYPE_DOUBLE   double
#define PARAM_TYPE_STR      const char *
#define PARAM_TYPE_TEXT     struct str
#define PARAM_TYPE_PATH     const char *
#define PARAM_TYPE_MODE     mode_t
#define PARAM_TYPE_DURATION int64_t /* nanoseconds */
#define PARAM_TYPE_SIZE     int64_t /* bytes */
#define PARAM_TYPE_CHOICE   int     /* or an enum that counts from 0 */
#define PARAM_TYPE_STRS     struct param_strs
#define PARAM_TYPE_STRMAP   struct param_strmap
#define PARAM_TYPE_LIST     const struct value *
#define PARAM_TYPE_MAP      const struct value *
#define PARAM_TYPE_ANY      const struct value *

struct param {
    const char *name; /* NULL ends a table */
    enum param_kind kind;
    unsigned flags;
    size_t offset;            /* offset of the field */
    size_t given;             /* PARAM_GIVEN; 0: not needed */
    const char *default_text; /* its default, read like a given value; NULL: the field stays zero */
    const char *aliases;      /* "path,file": other names of the key, or NULL */
    const char *choices;      /* "text|json|yaml", for CHOICE */
    int64_t min, max;         /* PARAM_RANGE, for INT, DURATION and SIZE */
    const char *doc;       /* its purpose, or the reason why it is not supported, in a few words */
    const char *when;      /* for REST: the key that makes others useful; NULL: they always are */
    const char *kind_text; /* its kind in the manual, for ANY; or NULL. Of an option: the word for
                              its value, "FILE" */
};

/* The value of a bool that may be unset, or else `otherwise`. */
bool param_choose(enum param_tristate given, bool otherwise);

/* A line of a table; more members may follow the words: `.flags = PARAM_SECRET`. An enum for CHOICE
 * is checked by size only. */
#define PARAM(key, word, type, field, ...)                                                         \
    {                                                                                              \
        .name = (key), .kind = PARAM_##word,                                                       \
        .offset = offsetof(type, field) + PARAM_CHECK(word, type, field), .doc = __VA_ARGS__       \
    }
#define PARAM_CHECK(word, type, field)                                                             \
    (0 * sizeof(struct {                                                                           \
         int unused;                                                                               \
         _Static_assert(PARAM_FITS(word, __typeof__(((type *)0)->field)),                          \
                        "the field has the type of its kind");                                     \
     }))
#define PARAM_FITS(word, type)                                                                     \
    (__builtin_types_compatible_p(type, PARAM_TYPE_##word) ||                                      \
     (PARAM_##word == PARAM_CHOICE && sizeof(type) == sizeof(int)))

/* Not supported: any value but null, false, an empty one or `.default_text` is refused. */
#define PARAM_REFUSED(key, reason, ...)                                                            \
    {                                                                                              \
        .name = (key), .kind = PARAM_ANY, .flags = PARAM_UNSUPPORTED, .doc = (reason), __VA_ARGS__ \
    }
/* No effect here, and harmless: refused only where unknown keys are, else a warning. */
#define PARAM_IDLE(key, reason)                                                                    \
    {                                                                                              \
        .name = (key), .kind = PARAM_ANY, .flags = PARAM_UNSUPPORTED | PARAM_EFFECTLESS,           \
        .doc = (reason)                                                                            \
    }

/* A bool field that is set when the parameter was given, by its key or as the primary. */
#define PARAM_GIVEN(type, field) .given = offsetof(type, field) + 1
/* Both ends belong to the range. */
#define PARAM_RANGE(low, high) .min = (low), .max = (high)

/* The empty table. */
extern const struct param params_none[];

/* A key of another program, and our name for it. */
struct param_foreign {
    const char *key, *hint;
};

/* How to read a map. All zero: coercing, nothing allowed beyond the table. */
struct params_policy {
    bool strict;                /* values are not coerced; a duration is text */
    const char *const *allowed; /* keys that another reader handles; ends with NULL; or NULL */
    const struct param_foreign
        *foreign; /* hints for unknown keys; ends with an empty one; or NULL */
    void (*offer)(struct suggest *suggest); /* other keys to suggest; or NULL */
    const char *owner;           /* the owner of the parameters: "file.symlink"; or NULL */
    const char *noun;            /* the word for a key in messages; NULL: "parameter" */
    const char *mark;            /* a prefix of keys in messages: "--"; or NULL */
    const struct value *primary; /* the default of the primary parameter, or NULL */
    struct diags *unknown;       /* unknown keys are collected here instead of refused; or NULL */
};

/* Decode `map` into `args`, which is all zero. A NULL or null map is an empty one. Returns -1 when
 * it added to `diags`; `args` then holds the values that could be read. */
int params_decode(struct arena *arena, const struct param *table,
                  const struct params_policy *policy, const struct value *map, void *args,
                  struct diags *diags);

/* Decode one value as if it had come under the key of `param`. */
int params_decode_one(struct arena *arena, const struct param *param,
                      const struct params_policy *policy, const struct value *v, void *args,
                      struct diags *diags);

/* By its name or an alias. No two parameters of a table share one. */
bool param_is_called(const struct param *param, struct str name);
/* NULL when there is none. */
const struct param *params_find(const struct param *table, struct str name);
/* The parameter that takes the unknown keys of this map; NULL when there is none, or it does not.
 */
const struct param *params_find_rest(const struct param *table, const struct value *map);
const struct param *params_find_primary(const struct param *table);
/* Is one of them secret? */
bool params_know_secrets(const struct param *table);
/* Refuse a value of an unsupported parameter, by name and with the reason. Returns 0 for an empty
 * value, and after a mere warning. `shows_line`: the line holds no secret. */
int params_refuse(const struct param *param, const struct params_policy *policy,
                  const struct value_pair *pair, bool shows_line, struct diags *diags);
/* The parameter at a place, for arguments without a name: the primary one first, then the others in
 * the order of the table. NULL beyond the last. */
const struct param *params_at(const struct param *table, size_t place);
/* The number of places; SIZE_MAX when the last one takes a list. */
size_t params_places(const struct param *table);
/* Assign arguments without a name to parameters by place; from the last place on they are one list
 * if it takes a list. Keys that `to` has already stay. Returns how many have a place; the others
 * are too many. */
size_t params_bind(struct arena *arena, const struct param *table, const struct value *items,
                   size_t count, struct value_map *to);
/* The same with words of a command line. */
size_t params_bind_words(struct arena *arena, const struct param *table,
                         const struct param_strs *words, struct value_map *to);
/* A parameter among the first `count` places that `given` has by its name or an alias; NULL: none.
 */
const struct param *params_find_twice(const struct param *table, size_t count,
                                      const struct value_map *given);

/* Checks the table itself: names unique, choices and texts present, defaults readable. For
 * tests. */
int params_check(const struct param *table, struct err *err);

/* Aligned lines for people: name, kind, default or "required", words. `primary` names the default
 * of the primary parameter ("the ID"); NULL: there is none. */
void params_print_doc(const struct param *table, const char *primary, struct buf *out);
/* The same as a table of Markdown. */
void params_print_markdown(const struct param *table, const char *primary, struct buf *out);
/* The same for machines: a list of maps with name, type, required, supported, secret, primary,
 * default, choices, aliases and doc. */
struct value params_doc_value(struct arena *arena, const struct param *table);
/* "file mode", "list of strings". */
const char *param_kind_word(enum param_kind kind);

#endif
