#include "core/data/toml.h"

#include <ctype.h>
#include <math.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/time_text.h"
#include "core/data/value.h"
#include "core/data/words.h"

struct printing {
    struct arena *arena;
    struct buf *out;
    struct err *err;
};

/* --- scalars ------------------------------------------------------------------------------- */

static void print_toml_text(struct buf *out, struct str text)
{
    static const char escapes[] = "\bb\tt\nn\ff\rr\"\"\\\\";

    buf_add_char(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        const char *escape = escapes;

        while (*escape && *escape != c)
            escape += 2;
        if (*escape)
            buf_printf(out, "\\%c", escape[1]);
        else if ((unsigned char)c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned)c);
        else
            buf_add_char(out, c);
    }
    buf_add_char(out, '"');
}

/* A number with a point or an exponent, or TOML's words for inf and nan. */
static void print_toml_double(struct buf *out, double d)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (!isfinite(d)) {
        buf_add_text(out, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return;
    }
    number_print_double(d, &text);
    buf_add_str(out, buf_view(&text));
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '.' || text.p[i] == 'e' || text.p[i] == 'E')
            return;
    buf_add_text(out, ".0");
}

static bool is_bare_toml_key(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (!isalnum((unsigned char)key.p[i]) && key.p[i] != '_' && key.p[i] != '-')
            return false;
    return key.n > 0;
}

/* "a" or "\"a b\""; a number is its text. */
static int key_text(struct printing *p, const struct value *key, struct str *ret)
{
    AUTO_BUF struct buf plain = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(BUF_NO_LIMIT);

    if (!words_print(&plain, key))
        return err_set(p->err, ERR_UNSUPPORTED, "TOML cannot have %s as a key",
                       value_describe(key));
    if (is_bare_toml_key(buf_view(&plain)))
        buf_add_str(&out, buf_view(&plain));
    else
        print_toml_text(&out, buf_view(&plain));
    *ret = buf_copy(&out, p->arena);
    return 0;
}

static int refuse_value(struct printing *p, const struct value *v, struct str path)
{
    return err_set(p->err, ERR_UNSUPPORTED, "'%.*s': TOML cannot represent %s", STR_ARG(path),
                   value_describe(v));
}

static int print_toml_value(struct printing *p, const struct value *v, struct str path,
                            unsigned depth)
{
    switch (v->kind) {
    case VALUE_BOOL: buf_add_text(p->out, v->b ? "true" : "false"); return 0;
    case VALUE_INT: number_print_int(v->i, p->out); return 0;
    case VALUE_DOUBLE: print_toml_double(p->out, v->d); return 0;
    case VALUE_STR: print_toml_text(p->out, v->s); return 0;
    case VALUE_TIME: buf_add_text(p->out, time_text(p->arena, v->t)); return 0;
    case VALUE_LIST: break;
    case VALUE_MAP:
        return err_set(p->err, ERR_UNSUPPORTED,
                       "'%.*s': a list in TOML holds either maps alone or none", STR_ARG(path));
    default: return refuse_value(p, v, path);
    }
    if (depth >= TOML_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT, "'%.*s': more than %d levels", STR_ARG(path),
                       TOML_DEPTH_MAX);
    buf_add_char(p->out, '[');
    for (size_t i = 0; i < v->list->count; i++) {
        buf_add_char(p->out, ' ');
        if (print_toml_value(p, &v->list->items[i], path, depth + 1) < 0)
            return -1;
        buf_add_char(p->out, ',');
    }
    buf_add_char(p->out, ']');
    return 0;
}

/* --- tables --------------------------------------------------------------------------------- */

static bool is_tables(const struct value *v)
{
    if (v->kind != VALUE_LIST || v->list->count == 0)
        return false;
    for (size_t i = 0; i < v->list->count; i++)
        if (v->list->items[i].kind != VALUE_MAP)
            return false;
    return true;
}

static bool is_table(const struct value *v)
{
    return v->kind == VALUE_MAP || is_tables(v);
}

static void begin_table(struct printing *p, const char *open, struct str path, const char *close)
{
    if (p->out->n > 0)
        buf_add_char(p->out, '\n');
    buf_printf(p->out, "%s%.*s%s\n", open, STR_ARG(path), close);
}

static int print_toml_table(struct printing *p, const struct value_map *map, struct str path,
                            unsigned depth);

/* A table whose keys are tables alone needs no line of its own. */
static bool needs_head(const struct value_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        if (!is_table(&map->pairs[i].value))
            return true;
    return map->count == 0;
}

static int print_below(struct printing *p, const struct value *v, struct str path, unsigned depth)
{
    if (v->kind == VALUE_MAP) {
        if (needs_head(v->map))
            begin_table(p, "[", path, "]");
        return print_toml_table(p, v->map, path, depth + 1);
    }
    for (size_t i = 0; i < v->list->count; i++) {
        begin_table(p, "[[", path, "]]");
        if (print_toml_table(p, v->list->items[i].map, path, depth + 1) < 0)
            return -1;
    }
    return 0;
}

static int print_toml_pair(struct printing *p, const struct value_pair *pair, struct str path,
                           unsigned depth)
{
    struct str key = STR(""), full;

    if (key_text(p, &pair->key, &key) < 0)
        return -1;
    full = key;
    if (path.n > 0)
        full = str_from(arena_printf(p->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(key)));
    if (is_table(&pair->value))
        return print_below(p, &pair->value, full, depth);
    buf_printf(p->out, "%.*s = ", STR_ARG(key));
    if (print_toml_value(p, &pair->value, full, depth) < 0)
        return -1;
    buf_add_char(p->out, '\n');
    return 0;
}

/* Other pairs come before tables: after one they would belong to it. */
static int print_toml_table(struct printing *p, const struct value_map *map, struct str path,
                            unsigned depth)
{
    if (depth > TOML_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT, "'%.*s': more than %d levels", STR_ARG(path),
                       TOML_DEPTH_MAX);
    for (int tables = 0; tables <= 1; tables++)
        for (size_t i = 0; i < map->count; i++)
            if (is_table(&map->pairs[i].value) == tables &&
                print_toml_pair(p, &map->pairs[i], path, depth) < 0)
                return -1;
    return 0;
}

int toml_print(struct arena *arena, struct buf *out, const struct value *v, struct err *err)
{
    struct printing p = { arena, out, err };

    if (v->kind != VALUE_MAP)
        return err_set(err, ERR_UNSUPPORTED, "a TOML document is a map, got %s", value_describe(v));
    return print_toml_table(&p, v->map, STR(""), 0);
}
