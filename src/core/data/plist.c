#include "core/data/plist.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/time_text.h"
#include "core/data/value.h"

#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                 \
    "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "                                      \
    "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"                                        \
    "<plist version=\"1.0\">\n"

/* Lines of base64 are as long as plistlib's: a tab counts as eight columns. */
#define DATA_WIDTH     76
#define DATA_WIDTH_MIN 16
#define TAB_WIDTH      8

struct printing {
    struct arena *arena;
    struct buf *out;
    struct err *err;
    bool sort_keys;
};

static void indent_plist(struct printing *p, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        buf_add_char(p->out, '\t');
}

static int add_plist_text(struct printing *p, struct str text, struct str key)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return err_set(p->err, ERR_UNSUPPORTED,
                           "'%.*s': a property list cannot have control characters", STR_ARG(key));
        if (c == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            continue;
        if (c == '&')
            buf_add_text(p->out, "&amp;");
        else if (c == '<')
            buf_add_text(p->out, "&lt;");
        else if (c == '>')
            buf_add_text(p->out, "&gt;");
        else
            buf_add_char(p->out, c == '\r' ? '\n' : c);
    }
    return 0;
}

static int print_plist_text(struct printing *p, const char *tag, struct str text, struct str key)
{
    buf_printf(p->out, "<%s>", tag);
    if (add_plist_text(p, text, key) < 0)
        return -1;
    buf_printf(p->out, "</%s>\n", tag);
    return 0;
}

static void print_plist_data(struct printing *p, struct str bytes, unsigned depth)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const size_t used = (size_t)depth * TAB_WIDTH;
    const size_t width =
        used + DATA_WIDTH_MIN < DATA_WIDTH ? DATA_WIDTH - used : (size_t)DATA_WIDTH_MIN;
    const size_t line = width / 4 * 4;

    base64_encode(bytes, BASE64_STANDARD, &text);
    buf_add_text(p->out, "<data>\n");
    for (size_t at = 0; at < text.n; at += line) {
        indent_plist(p, depth);
        buf_add_str(p->out,
                    str_slice(buf_view(&text), at, text.n - at < line ? text.n - at : line));
        buf_add_char(p->out, '\n');
    }
    indent_plist(p, depth);
    buf_add_text(p->out, "</data>\n");
}

static int compare_plist_pairs(const void *a, const void *b)
{
    return str_compare(((const struct value_pair *)a)->key.s,
                       ((const struct value_pair *)b)->key.s);
}

static int print_plist_value(struct printing *p, const struct value *v, struct str key,
                             unsigned depth);

static int print_plist_map(struct printing *p, const struct value_map *map, unsigned depth)
{
    struct value_pair *pairs = ARENA_ARRAY(p->arena, struct value_pair, map->count + 1);

    for (size_t i = 0; i < map->count; i++) {
        pairs[i] = map->pairs[i];
        if (pairs[i].key.kind != VALUE_STR)
            return err_set(p->err, ERR_UNSUPPORTED,
                           "a property list cannot have %s as a key: write it in quotes",
                           value_describe(&pairs[i].key));
    }
    if (p->sort_keys)
        qsort(pairs, map->count, sizeof(*pairs), compare_plist_pairs);
    buf_add_text(p->out, "<dict>\n");
    for (size_t i = 0; i < map->count; i++) {
        indent_plist(p, depth + 1);
        if (print_plist_text(p, "key", pairs[i].key.s, pairs[i].key.s) < 0 ||
            print_plist_value(p, &pairs[i].value, pairs[i].key.s, depth + 1) < 0)
            return -1;
    }
    indent_plist(p, depth);
    buf_add_text(p->out, "</dict>\n");
    return 0;
}

static int print_plist_list(struct printing *p, const struct value_list *list, struct str key,
                            unsigned depth)
{
    buf_add_text(p->out, "<array>\n");
    for (size_t i = 0; i < list->count; i++)
        if (print_plist_value(p, &list->items[i], key, depth + 1) < 0)
            return -1;
    indent_plist(p, depth);
    buf_add_text(p->out, "</array>\n");
    return 0;
}

static int print_container(struct printing *p, const struct value *v, struct str key,
                           unsigned depth)
{
    if (depth >= PLIST_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT, "'%.*s': more than %d levels", STR_ARG(key),
                       PLIST_DEPTH_MAX);
    if (v->kind == VALUE_MAP && v->map->count > 0)
        return print_plist_map(p, v->map, depth);
    if (v->kind == VALUE_LIST && v->list->count > 0)
        return print_plist_list(p, v->list, key, depth);
    buf_add_text(p->out, v->kind == VALUE_MAP ? "<dict/>\n" : "<array/>\n");
    return 0;
}

static void print_real(struct printing *p, double d)
{
    buf_add_text(p->out, "<real>");
    number_print_double(d, p->out);
    buf_add_text(p->out, "</real>\n");
}

/* Whole seconds, as plistlib has them. */
static void print_date(struct printing *p, struct value_time time)
{
    time.nanoseconds = 0;
    buf_printf(p->out, "<date>%s</date>\n", time_text(p->arena, time));
}

static int print_plist_value(struct printing *p, const struct value *v, struct str key,
                             unsigned depth)
{
    indent_plist(p, depth);
    switch (v->kind) {
    case VALUE_BOOL: buf_add_text(p->out, v->b ? "<true/>\n" : "<false/>\n"); return 0;
    case VALUE_INT: buf_printf(p->out, "<integer>%lld</integer>\n", (long long)v->i); return 0;
    case VALUE_DOUBLE: print_real(p, v->d); return 0;
    case VALUE_STR: return print_plist_text(p, "string", v->s, key);
    case VALUE_BYTES: print_plist_data(p, v->s, depth); return 0;
    case VALUE_TIME: print_date(p, v->t); return 0;
    case VALUE_LIST:
    case VALUE_MAP: return print_container(p, v, key, depth);
    default:
        return err_set(p->err, ERR_UNSUPPORTED, "'%.*s': a property list cannot represent %s",
                       STR_ARG(key), value_describe(v));
    }
}

int plist_print(struct arena *arena, struct buf *out, const struct value *v, bool sort_keys,
                struct err *err)
{
    struct printing p = { arena, out, err, sort_keys };

    buf_add_text(out, HEAD);
    if (print_plist_value(&p, v, STR("plist"), 0) < 0)
        return -1;
    buf_add_text(out, "</plist>\n");
    return 0;
}
