#include "core/data/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/data/time_text.h"
#include "core/data/value.h"

_Static_assert(sizeof(json_int_t) == sizeof(int64_t), "integers of JSON are 64 bits wide");

/* Beyond this a double does not hold every integer. */
#define EXACT_MAX 9007199254740992.0

/* --- reading -------------------------------------------------------------- */

/* The place where the text first exceeds the depth limit, or STR_NONE. The library's own limit is
 * far larger, and it would not report a place. */
static size_t find_too_deep(struct str text)
{
    bool quoted = false;
    size_t depth = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > JSON_DEPTH_MAX)
            return i;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return STR_NONE;
}

static struct place find_json_place(const char *file, struct str text, size_t at)
{
    struct place place = { .file = file, .line = 1 };
    size_t line_start = 0;

    for (size_t i = 0; i < at; i++)
        if (text.p[i] == '\n') {
            place.line++;
            line_start = i + 1;
        }
    place.column = (uint32_t)utf8_count(str_slice(text, line_start, at - line_start)) + 1;
    return place;
}

static struct value convert_json_node(struct arena *arena, const struct value_source *source,
                                      const json_t *node);

static struct value convert_list(struct arena *arena, const struct value_source *source,
                                 const json_t *node)
{
    struct value_list *list = value_list_new(arena, json_array_size(node));

    for (size_t i = 0; i < json_array_size(node); i++)
        value_list_push(arena, list, convert_json_node(arena, source, json_array_get(node, i)));
    return value_list(list);
}

static struct value convert_text(struct arena *arena, const struct value_source *source,
                                 const char *p, size_t n)
{
    struct value v = value_str(arena_str(arena, (struct str){ p, n }));

    v.source = source;
    v.flags = VALUE_QUOTED;
    return v;
}

static struct value convert_map(struct arena *arena, const struct value_source *source,
                                json_t *node)
{
    struct value_map *map = value_map_new(arena, json_object_size(node));
    const char *key;
    json_t *item;

    json_object_foreach(node, key, item)
        value_map_set(arena, map, convert_text(arena, source, key, strlen(key)),
                      convert_json_node(arena, source, item));
    return value_map(map);
}

/* Recursion is as deep as the text, which find_too_deep has measured. */
static struct value convert_json_node(struct arena *arena, const struct value_source *source,
                                      const json_t *node)
{
    struct value v = value_null();

    switch (json_typeof(node)) {
    case JSON_OBJECT: v = convert_map(arena, source, (json_t *)(uintptr_t)node); break;
    case JSON_ARRAY: v = convert_list(arena, source, node); break;
    case JSON_STRING:
        return convert_text(arena, source, json_string_value(node), json_string_length(node));
    case JSON_INTEGER: v = value_int(json_integer_value(node)); break;
    case JSON_REAL: v = value_double(json_real_value(node)); break;
    case JSON_TRUE: v = value_bool(true); break;
    case JSON_FALSE: v = value_bool(false); break;
    case JSON_NULL: break;
    }
    v.source = source;
    return v;
}

static const struct value_source *new_source(struct arena *arena, const char *file)
{
    struct value_source *source;

    if (!file)
        return NULL;
    source = ARENA_NEW(arena, struct value_source);
    source->file = arena_strdup(arena, file);
    return source;
}

/* The library's message, without "near '...'", which the shown line makes clearer; our own where
 * the library's would be unclear. */
static const char *describe_json_error(const json_error_t *error, struct arena *arena)
{
    struct str text = str_from(error->text);
    size_t near = str_find(text, STR(" near "), 0);

    switch (json_error_code(error)) {
    case json_error_numeric_overflow: return "a number that does not fit 64 bits";
    case json_error_duplicate_key:
        return arena_printf(arena, "duplicate key:%s",
                            near == STR_NONE ? "" : error->text + near + strlen(" near"));
    case json_error_end_of_input_expected: return "text after the end of the document";
    case json_error_premature_end_of_input: return "the document ends too early";
    default: return arena_strndup(arena, text.p, near == STR_NONE ? text.n : near);
    }
}

static int report_json_error(const char *file, struct str text, const json_error_t *error,
                             struct diags *diags)
{
    struct place at = { .file = file };

    if (error->line > 0) {
        at.line = (uint32_t)error->line;
        at.column = error->column > 0 ? (uint32_t)error->column : 1;
    }
    (void)diag_add(diags, at, "not JSON: %s", describe_json_error(error, diags->arena));
    diag_source(diags, text);
    return -1;
}

int json_parse(struct arena *arena, const char *file, struct str text, struct value *ret,
               struct diags *diags)
{
    size_t deep;
    json_error_t error;
    json_t *root;

    if (text.n > JSON_SIZE_MAX)
        return diag_add(diags, (struct place){ .file = file },
                        "JSON of %zu bytes is larger than the limit of %zu", text.n, JSON_SIZE_MAX);
    deep = find_too_deep(text);
    if (deep != STR_NONE) {
        (void)diag_add(diags, find_json_place(file, text, deep),
                       "JSON is nested deeper than the limit of %d", JSON_DEPTH_MAX);
        diag_source(diags, text);
        return -1;
    }

    root = json_loadb(text.n > 0 ? text.p : "", text.n,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!root)
        return report_json_error(file, text, &error, diags);
    *ret = convert_json_node(arena, new_source(arena, file), root);
    json_decref(root);
    return 0;
}

/* Whole numbers again, as far as a double holds them all. Recursion is as deep as convert's. */
static void restore_integers(struct value *v)
{
    if (v->kind == VALUE_DOUBLE && trunc(v->d) == v->d && fabs(v->d) <= EXACT_MAX)
        *v = value_at(value_int((int64_t)v->d), v);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        restore_integers(&v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        restore_integers(&v->map->pairs[i].value);
}

int json_decode_lenient(struct arena *arena, struct str text, struct value *ret, struct err *err)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    bool large;
    json_error_t error;
    json_t *root;

    if (text.n > JSON_SIZE_MAX || find_too_deep(text) != STR_NONE)
        return err_set(err, ERR_LIMIT, "JSON is too large or nested too deeply");
    root = json_loadb(text.n > 0 ? text.p : "", text.n, flags, &error);
    large = !root && json_error_code(&error) == json_error_numeric_overflow;
    if (large)
        root = json_loadb(text.p, text.n, flags | JSON_DECODE_INT_AS_REAL, &error);
    if (!root)
        return err_set(err, ERR_INVALID, "not JSON: %s", error.text);
    *ret = convert_json_node(arena, NULL, root);
    json_decref(root);
    if (large)
        restore_integers(ret);
    return 0;
}

int json_decode(struct arena *arena, struct str text, struct value *ret, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&scratch);

    if (json_parse(arena, NULL, text, ret, &diags) < 0)
        return diags_to_err(&diags, err);
    return 0;
}

/* --- printing ------------------------------------------------------------- */

/* Every character that has a short escape is below. */
#define SHORT_FORMS 128

struct printer {
    struct buf *out;
    unsigned style;
    unsigned indent;
    struct err *err;
};

static void print_unicode(struct buf *out, uint32_t c)
{
    if (c >= 0x10000) {
        c -= 0x10000;
        buf_printf(out, "\\u%04x", 0xd800 + (c >> 10));
        c = 0xdc00 + (c & 0x3ff);
    }
    buf_printf(out, "\\u%04x", c);
}

static void print_character(struct buf *out, uint32_t c, unsigned style)
{
    static const char short_forms[SHORT_FORMS] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };
    bool html = c == '<' || c == '>' || c == '&' || c == '\'';

    if (c < sizeof(short_forms) && short_forms[c]) {
        buf_add_char(out, '\\');
        buf_add_char(out, short_forms[c]);
    } else if (c < ' ' || (html && (style & JSON_STYLE_HTML)) ||
               (c >= 0x7f && (style & JSON_STYLE_ASCII))) {
        print_unicode(out, c);
    } else {
        utf8_add(out, c);
    }
}

/* The number of bytes at the beginning that need no escape in any style. */
static size_t count_plain(struct str text)
{
    static const bool is_special[0x80] = {
        ['"'] = true, ['\\'] = true, ['<'] = true, ['>'] = true, ['&'] = true, ['\''] = true
    };
    size_t n = 0;

    while (n < text.n && text.p[n] >= ' ' && text.p[n] < 0x7f &&
           !is_special[(unsigned char)text.p[n]])
        n++;
    return n;
}

/* A text without characters to escape, as most are; false: it has one, or there is no room. */
static bool print_plain_json_text(struct buf *out, struct str text)
{
    char *room;

    if (count_plain(text) < text.n)
        return false;
    room = buf_reserve(out, text.n + 2);
    if (!room)
        return false;
    room[0] = '"';
    memcpy(room + 1, text.p, text.n);
    room[text.n + 1] = '"';
    room[text.n + 2] = '\0';
    out->n += text.n + 2;
    return true;
}

void json_print_text(struct buf *out, struct str text, unsigned style)
{
    if (text.n > 0 && print_plain_json_text(out, text))
        return;
    buf_add_char(out, '"');
    while (text.n > 0 && !out->full) {
        const size_t plain = count_plain(text);

        buf_add(out, text.p, plain);
        text = str_from_offset(text, plain);
        if (text.n > 0)
            print_character(out, utf8_next(&text), style);
    }
    buf_add_char(out, '"');
}

static int print_json_double(struct printer *p, double d)
{
    if (isfinite(d)) {
        number_print_double(d, p->out);
        return 0;
    }
    if (!(p->style & JSON_STYLE_NAN))
        return err_set(p->err, ERR_UNSUPPORTED, "a number that is not finite has no JSON form");
    buf_add_text(p->out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
    return 0;
}

static void print_bytes(struct printer *p, struct str bytes)
{
    if (p->style & JSON_STYLE_TEXT) {
        json_print_text(p->out, bytes, p->style);
        return;
    }
    buf_add_char(p->out, '"');
    base64_encode(bytes, BASE64_STANDARD, p->out);
    buf_add_char(p->out, '"');
}

static int print_json_scalar(struct printer *p, const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: buf_add_text(p->out, "null"); return 0;
    case VALUE_BOOL: buf_add_text(p->out, v->b ? "true" : "false"); return 0;
    case VALUE_INT: buf_printf(p->out, "%lld", (long long)v->i); return 0;
    case VALUE_DOUBLE: return print_json_double(p, v->d);
    case VALUE_STR: json_print_text(p->out, v->s, p->style); return 0;
    case VALUE_BYTES: print_bytes(p, v->s); return 0;
    case VALUE_TIME:
        buf_add_char(p->out, '"');
        time_print(p->out, v->t);
        buf_add_char(p->out, '"');
        return 0;
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_OBJECT: break;
    }
    return err_set(p->err, ERR_UNSUPPORTED, "%s has no JSON form here", value_describe(v));
}

/* A key is text: other scalars are printed and quoted. */
static int print_json_key(struct printer *p, const struct value *key)
{
    bool bare = key->kind == VALUE_NULL || key->kind == VALUE_BOOL || key->kind == VALUE_INT ||
                key->kind == VALUE_DOUBLE;

    if (!bare)
        return print_json_scalar(p, key);
    buf_add_char(p->out, '"');
    if (print_json_scalar(p, key) < 0)
        return -1;
    buf_add_char(p->out, '"');
    return 0;
}

/* The separator before item `i`, or (`count`) before the closing bracket. */
static void print_json_gap(struct printer *p, size_t i, size_t count, unsigned depth)
{
    if (i > 0 && i < count)
        buf_add_char(p->out, ',');
    if (p->indent > 0) {
        buf_add_char(p->out, '\n');
        buf_fill(p->out, ' ', (size_t)p->indent * (i < count ? depth + 1 : depth));
    } else if (i > 0 && i < count && (p->style & JSON_STYLE_SPACED)) {
        buf_add_char(p->out, ' ');
    }
}

static int print_json_value(struct printer *p, const struct value *v, unsigned depth);

static int print_json_list(struct printer *p, const struct value_list *list, unsigned depth)
{
    buf_add_char(p->out, '[');
    for (size_t i = 0; i < list->count && !p->out->full; i++) {
        print_json_gap(p, i, list->count, depth);
        if (print_json_value(p, &list->items[i], depth + 1) < 0)
            return -1;
    }
    if (list->count > 0)
        print_json_gap(p, list->count, list->count, depth);
    buf_add_char(p->out, ']');
    return 0;
}

/* Comparable kinds share a rank. */
static int rank_json_key(const struct value *key)
{
    static const int ranks[VALUE_KINDS] = {
        [VALUE_NULL] = 0, [VALUE_BOOL] = 1, [VALUE_INT] = 1,   [VALUE_DOUBLE] = 1,
        [VALUE_TIME] = 2, [VALUE_STR] = 3,  [VALUE_BYTES] = 4,
    };

    return ranks[key->kind];
}

static int compare_json_pairs(const void *a, const void *b)
{
    const struct value *x = &(*(const struct value_pair *const *)a)->key;
    const struct value *y = &(*(const struct value_pair *const *)b)->key;
    int order = 0;

    if (rank_json_key(x) != rank_json_key(y))
        return rank_json_key(x) - rank_json_key(y);
    if (value_compare(x, y, &order) == 0)
        return order;
    return 0;
}

static const struct value_pair **ordered_pairs(const struct value_map *map, bool sorted)
{
    const struct value_pair **pairs =
        mem_alloc(mem_product(map->count + 1, sizeof(const struct value_pair *)));

    for (size_t i = 0; i < map->count; i++)
        pairs[i] = &map->pairs[i];
    if (sorted)
        qsort(pairs, map->count, sizeof(const struct value_pair *), compare_json_pairs);
    return pairs;
}

static int print_json_map(struct printer *p, const struct value_map *map, unsigned depth)
{
    AUTO_FREE const struct value_pair **pairs = ordered_pairs(map, p->style & JSON_STYLE_SORTED);
    bool spaced = p->indent > 0 || (p->style & JSON_STYLE_SPACED);

    buf_add_char(p->out, '{');
    for (size_t i = 0; i < map->count && !p->out->full; i++) {
        print_json_gap(p, i, map->count, depth);
        if (print_json_key(p, &pairs[i]->key) < 0)
            return -1;
        buf_add_text(p->out, spaced ? ": " : ":");
        if (print_json_value(p, &pairs[i]->value, depth + 1) < 0)
            return -1;
    }
    if (map->count > 0)
        print_json_gap(p, map->count, map->count, depth);
    buf_add_char(p->out, '}');
    return 0;
}

static int print_json_value(struct printer *p, const struct value *v, unsigned depth)
{
    bool nests = v->kind == VALUE_LIST || v->kind == VALUE_MAP;

    if (nests && depth >= JSON_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT, "a value nested deeper than the limit of %d",
                       JSON_DEPTH_MAX);
    if (v->kind == VALUE_LIST)
        return print_json_list(p, v->list, depth);
    if (v->kind == VALUE_MAP)
        return print_json_map(p, v->map, depth);
    return print_json_scalar(p, v);
}

int json_print(struct buf *out, const struct value *v, unsigned style, struct err *err)
{
    struct printer printer = {
        .out = out,
        .style = style,
        .indent = style >> 8,
        .err = err,
    };

    if (print_json_value(&printer, v, 0) < 0)
        return err_wrap(err, "print JSON");
    if (out->full)
        return err_set(err, ERR_LIMIT, "JSON text is longer than the limit of %zu bytes", out->max);
    return 0;
}
