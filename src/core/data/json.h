/*
 * json - JSON text into values, and values into JSON text.
 *
 * Reading is strict: one document, no duplicate keys, integers that fit 64 bits, finite numbers,
 * valid UTF-8, named limits on size and depth. Mistakes are reported with file, line and column.
 * Values know their file but not their line: the library gives places for errors only.
 *
 * Printing follows Python's json.dumps, so that templates look as they do there:
 * doubles in the shortest form that reads back, keys other than text as their
 * text (true is "true", 1 is "1", null is "null"). Bytes become base64, times
 * RFC 3339. The defaults give {"a":1}; styles are added together.
 *
 *     json_print(&out, &v, JSON_STYLE_PRETTY | JSON_STYLE_SORTED, &err)
 *
 * Memory: values live in the arena and share nothing with the text. Threads: any.
 */
#ifndef CORE_DATA_JSON_H
#define CORE_DATA_JSON_H

#include "core/base/str.h"

struct arena;
struct buf;
struct diags;
struct err;
struct value;

#define JSON_SIZE_MAX  ((size_t)64 << 20)
#define JSON_DEPTH_MAX 128

enum json_style {
    JSON_STYLE_COMPACT = 0,
    JSON_STYLE_SPACED = 1,      /* {"a": 1, "b": 2} on one line, Python's default */
    JSON_STYLE_SORTED = 2,      /* keys in order: numbers before text, text by bytes */
    JSON_STYLE_ASCII = 4,       /* everything else as \uXXXX */
    JSON_STYLE_HTML = 8,        /* also < > & ' as \uXXXX: safe inside a page */
    JSON_STYLE_NAN = 16,        /* NaN, Infinity and -Infinity instead of an error */
    JSON_STYLE_TEXT = 32,       /* bytes as text (invalid ones as U+FFFD) instead of base64 */
    JSON_STYLE_PRETTY = 2 << 8, /* lines, with 2 blanks for each level */
};

/* Lines, with `n` blanks for each level. */
#define JSON_STYLE_INDENT(n) ((unsigned)(n) << 8)

/* Read the one document of `text`. `file` is for messages and may be NULL. Returns -1 when it added
 * to `diags`. */
int json_parse(struct arena *arena, const char *file, struct str text, struct value *ret,
               struct diags *diags);

/* The same for machine messages: ERR_INVALID with line and column in the text. */
int json_decode(struct arena *arena, struct str text, struct value *ret, struct err *err);

/* The same for output of other programs: the last of duplicate keys counts, and integers that do
 * not fit 64 bits become the nearest double. */
int json_decode_lenient(struct arena *arena, struct str text, struct value *ret, struct err *err);

/* Append `v`, in a sum of enum json_style. Fails with ERR_UNSUPPORTED when a value has no JSON
 * form, with ERR_LIMIT when it is too deep or `out` is full; `out` then holds a part. */
int json_print(struct buf *out, const struct value *v, unsigned style, struct err *err);

/* Append `text` quoted and escaped, nothing else. */
void json_print_text(struct buf *out, struct str text, unsigned style);

#endif
