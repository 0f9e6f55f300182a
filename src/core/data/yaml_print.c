#include "core/data/yaml_print.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/scalar.h"
#include "core/data/time_text.h"
#include "core/data/value.h"

#define INDENT 2
/* A longer key is written with "? ", which the parsers' limit for simple keys (1024) needs. */
#define SIMPLE_KEY_MAX 1000
/* Limits of YAML's time format: 0000-01-01 and 10000-01-01. */
#define TIME_MIN INT64_C(-62167219200)
#define TIME_END INT64_C(253402300800)

struct printer {
    struct buf *out;
    struct err *err;
    bool flow;
};

/* --- texts ------------------------------------------------------------------------ */

/* Characters that need no escape in a text, apart from line ends. */
static bool is_printable(uint32_t c)
{
    if (c < 0x80)
        return c >= 0x20 && c < 0x7f;
    return c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

static bool is_all_printable(struct str text, const char *besides)
{
    while (text.n > 0) {
        if (text.p[0] >= 0x20 && text.p[0] < 0x7f) {
            text = (struct str){ text.p + 1, text.n - 1 };
            continue;
        }
        bool bad = utf8_length_at(text) == 1 && (unsigned char)text.p[0] >= 0x80;
        uint32_t c = utf8_next(&text);

        if (bad || (!is_printable(c) && (c == 0 || c >= 0x80 || !strchr(besides, (int)c))))
            return false;
    }
    return true;
}

/* Begins like a time, or a number with a prefix. Other readers fail on such a text where ours does
 * not, so it is quoted. */
static bool is_suspect(struct str text)
{
    struct str digits = str_slice(text, strchr("+-", text.p[0]) ? 1 : 0, 2);
    size_t n = 0;

    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return (n == 4 && n < text.n && text.p[n] == '-') || str_is(digits, "0b") ||
           str_is(digits, "0x") || str_is(digits, "0o");
}

/* Can it do without quotes? The stricter rules of flow collections apply to keys, too. */
static bool is_plain_yaml_text(struct str text, bool strict)
{
    static const char first[] = "-?:,[]{}#&*!|>'\"%@`";
    static const char inside[] = ",[]{}:?#&*!|>'\"%@`";

    if (text.n == 0 || text.p[0] == ' ' || text.p[text.n - 1] == ' ' || strchr(first, text.p[0]))
        return false;
    if (text.p[text.n - 1] == ':' || str_find(text, STR(": "), 0) != STR_NONE ||
        str_find(text, STR(" #"), 0) != STR_NONE || str_is(text, "<<") || str_is(text, "=") ||
        str_starts(text, STR("...")))
        return false;
    for (size_t i = 0; strict && i < text.n; i++)
        if (text.p[i] != '\0' && strchr(inside, text.p[i]))
            return false;
    return is_all_printable(text, "") && !is_suspect(text) && scalar_is_text(text);
}

/* Lines below one another, unchanged. Texts that end in blank lines, or that a block would change,
 * are better quoted. */
static bool is_literal(struct str text)
{
    struct str last;

    if (str_find_char(text, '\n', 0) == STR_NONE || str_trim(text).n == 0)
        return false;
    last = str_line_at(text, text.n);
    if (last.n > 0 && str_trim(last).n == 0)
        return false;
    return is_all_printable(text, "\n\t");
}

static void print_escape(struct buf *out, uint32_t c)
{
    static const char known[] = "\"\"\\\\\nn\tt\rr\aa\bb\ff\vv\x1b"
                                "e";

    for (const char *k = known; *k; k += 2)
        if ((uint32_t)*k == c) {
            buf_printf(out, "\\%c", k[1]);
            return;
        }
    buf_printf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
}

static void print_double_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '"');
    while (text.n > 0) {
        uint32_t c = utf8_next(&text);

        if (is_printable(c) && c != '"' && c != '\\')
            utf8_add(out, c);
        else
            print_escape(out, c);
    }
    buf_add_char(out, '"');
}

static void print_single_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_add_char(out, '\'');
        buf_add_char(out, text.p[i]);
    }
    buf_add_char(out, '\'');
}

/* On one line. */
static void print_word(struct buf *out, struct str text, bool strict)
{
    if (is_plain_yaml_text(text, strict))
        buf_add_str(out, text);
    else if (is_all_printable(text, ""))
        print_single_quoted(out, text);
    else
        print_double_quoted(out, text);
}

/* The block belongs to a collection at column `column`; its lines are indented by INDENT from
 * there. */
static void print_literal(struct buf *out, struct str text, size_t column)
{
    const bool ends = str_ends(text, STR("\n"));

    buf_add_char(out, '|');
    if (strchr(" \t\n", text.p[0]))
        buf_printf(out, "%d", INDENT); /* blanks that would be read as indentation */
    if (!ends)
        buf_add_char(out, '-');
    else if (str_ends(text, STR("\n\n")))
        buf_add_char(out, '+');
    if (ends)
        text.n--;
    while (text.p) {
        struct str line = str_cut(&text, '\n');

        buf_add_char(out, '\n');
        if (line.n > 0)
            buf_fill(out, ' ', column + INDENT);
        buf_add_str(out, line);
    }
}

/* --- scalars ---------------------------------------------------------------------- */

/* A local tag; characters that cannot be part of a name are written as %XX, which parsers decode.
 */
static void print_yaml_tag(struct buf *out, const char *tag)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:";

    buf_add_char(out, '!');
    for (const char *p = tag + 1; *p; p++) {
        if (strchr(plain, *p))
            buf_add_char(out, *p);
        else
            buf_printf(out, "%%%02x", (unsigned char)*p);
    }
}

static int print_yaml_time(struct printer *p, struct value_time time)
{
    if (time.seconds < TIME_MIN || time.seconds >= TIME_END)
        return err_set(p->err, ERR_UNSUPPORTED, "YAML has no time beyond the year 9999");
    buf_add_text(p->out, "!!timestamp ");
    time_print(p->out, time);
    return 0;
}

static int print_yaml_scalar(struct printer *p, const struct value *v, bool strict)
{
    switch (v->kind) {
    case VALUE_STR: print_word(p->out, v->s, strict); return 0;
    case VALUE_TIME: return print_yaml_time(p, v->t);
    case VALUE_BYTES:
        buf_add_text(p->out, "!!binary \"");
        base64_encode(v->s, BASE64_STANDARD, p->out);
        buf_add_char(p->out, '"');
        return 0;
    default: scalar_print(p->out, v); return 0;
    }
}

static bool is_collection(const struct value *v)
{
    return (v->kind == VALUE_LIST && v->list->count > 0) ||
           (v->kind == VALUE_MAP && v->map->count > 0);
}

static int check_printable(const struct printer *p, const struct value *v, uint32_t depth)
{
    if (v->kind == VALUE_OBJECT)
        return err_set(p->err, ERR_UNSUPPORTED, "an object cannot be written as YAML");
    if ((v->kind == VALUE_LIST || v->kind == VALUE_MAP) && depth >= YAML_DEPTH_MAX)
        return err_set(p->err, ERR_LIMIT,
                       "lists and maps are nested too deeply to write as YAML (limit %d)",
                       YAML_DEPTH_MAX);
    if (p->out->full)
        return err_set(p->err, ERR_LIMIT, "the YAML text is too long (limit %zu)", p->out->max);
    return 0;
}

/* "key:" or, for a long key, "? key" and ":" on `column` of the next line. */
static int print_yaml_key(struct printer *p, const struct value *key, size_t column)
{
    AUTO_BUF struct buf text = BUF_INIT(p->out->max);
    struct printer inner = { &text, p->err, p->flow };
    const bool is_tagged = value_tag(key) != NULL;

    if (key->kind == VALUE_LIST || key->kind == VALUE_MAP)
        return err_set(p->err, ERR_UNSUPPORTED, "%s as a key cannot be written as YAML",
                       value_describe(key));
    if (check_printable(p, key, 0) < 0)
        return -1;
    if (is_tagged) {
        print_yaml_tag(&text, value_tag(key));
        buf_add_char(&text, ' ');
    }
    if (print_yaml_scalar(&inner, key, p->flow) < 0)
        return -1;
    if (text.n > SIMPLE_KEY_MAX)
        buf_add_text(p->out, "? ");
    buf_add_str(p->out, buf_view(&text));
    if (text.n > SIMPLE_KEY_MAX && !p->flow) {
        buf_add_char(p->out, '\n');
        buf_fill(p->out, ' ', column);
    } else if (text.n > SIMPLE_KEY_MAX) {
        buf_add_char(p->out, ' ');
    }
    buf_add_char(p->out, ':');
    return 0;
}

/* --- flow -------------------------------------------------------------------------- */

static int print_flow(struct printer *p, const struct value *v, uint32_t depth)
{
    const bool is_list = v->kind == VALUE_LIST;
    size_t count = is_list ? v->list->count : v->kind == VALUE_MAP ? v->map->count : 0;

    if (check_printable(p, v, depth) < 0)
        return -1;
    if (value_tag(v)) {
        print_yaml_tag(p->out, value_tag(v));
        buf_add_char(p->out, ' ');
    }
    if (!is_list && v->kind != VALUE_MAP)
        return print_yaml_scalar(p, v, true);
    buf_add_char(p->out, is_list ? '[' : '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_text(p->out, ", ");
        if (!is_list) {
            if (print_yaml_key(p, &v->map->pairs[i].key, 0) < 0)
                return -1;
            buf_add_char(p->out, ' ');
        }
        if (print_flow(p, is_list ? &v->list->items[i] : &v->map->pairs[i].value, depth + 1) < 0)
            return -1;
    }
    buf_add_char(p->out, is_list ? ']' : '}');
    return 0;
}

/* --- blocks ------------------------------------------------------------------------ */

static int print_yaml_block(struct printer *p, const struct value *v, size_t column,
                            uint32_t depth);

/* A scalar or an empty collection, with the line end. */
static int print_leaf(struct printer *p, const struct value *v, size_t column)
{
    if (v->kind == VALUE_STR && is_literal(v->s))
        print_literal(p->out, v->s, column);
    else if (v->kind == VALUE_LIST || v->kind == VALUE_MAP)
        buf_add_text(p->out, v->kind == VALUE_LIST ? "[]" : "{}");
    else if (print_yaml_scalar(p, v, false) < 0)
        return -1;
    buf_add_char(p->out, '\n');
    return 0;
}

/* The rest of the line after "key:" or "-" of a collection at `column`, its line end included. A
 * list item that is a collection begins on the line of its dash. */
static int print_member(struct printer *p, const struct value *v, size_t column, bool in_list,
                        uint32_t depth)
{
    const char *tag = value_tag(v);

    if (tag) {
        buf_add_char(p->out, ' ');
        print_yaml_tag(p->out, tag);
    }
    if (is_collection(v)) {
        if (in_list && !tag) {
            buf_fill(p->out, ' ', INDENT - 1);
        } else {
            buf_add_char(p->out, '\n');
            buf_fill(p->out, ' ', column + INDENT);
        }
        return print_yaml_block(p, v, column + INDENT, depth + 1);
    }
    if (check_printable(p, v, depth + 1) < 0)
        return -1;
    buf_add_char(p->out, ' ');
    return print_leaf(p, v, column);
}

/* A collection that is not empty; the cursor is at `column`. */
static int print_yaml_block(struct printer *p, const struct value *v, size_t column, uint32_t depth)
{
    const bool is_list = v->kind == VALUE_LIST;
    size_t count = is_list ? v->list->count : v->map->count;

    if (check_printable(p, v, depth) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct value *member = is_list ? &v->list->items[i] : &v->map->pairs[i].value;

        if (i > 0)
            buf_fill(p->out, ' ', column);
        if (is_list)
            buf_add_char(p->out, '-');
        else if (print_yaml_key(p, &v->map->pairs[i].key, column) < 0)
            return -1;
        if (print_member(p, member, column, is_list, depth) < 0)
            return -1;
    }
    return 0;
}

/* The root: no dash, no key, no indentation. */
static int print_root(struct printer *p, const struct value *v)
{
    if (value_tag(v)) {
        print_yaml_tag(p->out, value_tag(v));
        buf_add_char(p->out, is_collection(v) ? '\n' : ' ');
    }
    if (is_collection(v))
        return print_yaml_block(p, v, 0, 0);
    if (check_printable(p, v, 0) < 0)
        return -1;
    return print_leaf(p, v, 0);
}

static int finish_print(const struct printer *p, int result)
{
    if (result < 0)
        return -1;
    return check_printable(p, &(struct value){ .kind = VALUE_NULL }, 0);
}

int yaml_print(struct buf *out, const struct value *v, struct err *err)
{
    struct printer p = { out, err, false };

    return finish_print(&p, print_root(&p, v));
}

int yaml_print_flow(struct buf *out, const struct value *v, struct err *err)
{
    struct printer p = { out, err, true };

    return finish_print(&p, print_flow(&p, v, 0));
}
